/* SPDX-License-Identifier: MIT */
/* stage_rows_encode.c - the options of the stage `encode`. Recipes say them in this order. */
#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"
#include "stage_rows.h"

static const char *const coder_name[] = {[PITH_CODE_PLAIN] = "none",
                                         [PITH_CODE_HUFFMAN] = "huffman",
                                         [PITH_CODE_ADAPTIVE] = "adaptive",
                                         [PITH_CODE_RANS] = "rans"};
#define CODERS (sizeof coder_name / sizeof *coder_name)

static enum pith_status read_coder(struct pith_stage *s, const char *text,
                                   struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    uint32_t code = 0;
    while (code < CODERS && strcmp(text, coder_name[code]) != 0)
        code++;
    if (code == CODERS)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "'%.60s': give huffman, rans, adaptive or none", text);
    s->encode.plain = code == PITH_CODE_PLAIN;
    s->encode.huffman = code == PITH_CODE_HUFFMAN;
    s->encode.adaptive = code == PITH_CODE_ADAPTIVE;
    s->encode.rans = code == PITH_CODE_RANS;
    return PITH_OK;
}

static void print_coder(const struct pith_stage *s, char *text, size_t room)
{
    snprintf(text, room, "%s", coder_name[pith_encode_code(&s->encode)]);
}

static bool has_coder(const struct pith_stage *s)
{
    return !pith_encode_chooses(&s->encode);
}

static const struct pith_option_own coder = {read_coder, print_coder, has_coder, false};

static const struct pith_word goals[] = {
    {"speed", PITH_FOR_SPEED}, {"size", PITH_FOR_SIZE}, {"flash", PITH_FOR_FLASH}, {NULL, 0}};

static const struct pith_option rows[] = {
    PITH_OWN_ROW("coder", &coder, "NAME", "huffman, rans, adaptive, none (default: by --for)"),
    PITH_ROW(WORD, "for", encode.goal, "GOAL", "optimise for", .words = goals,
             .flags = PITH_OPTION_ALWAYS),
    PITH_ROW(FLAG, "keep_history", encode.keep_history, NULL, "keep the history in a compact file"),
    PITH_ROW(FLAG, "lossless", encode.lossless, NULL,
             "bit-identical outputs: detect quantized weights, fold nothing"),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_encode_stage_options = {"encode", {{&all, 0}, {NULL, 0}}};
