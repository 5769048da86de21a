/* SPDX-License-Identifier: MIT */
/* stage_rows_encode.c - the options of the stage `encode`. Recipes say them in this order. */
#include <stdio.h>
#include <string.h>

#include "pith_error_fill.h"
#include "stage_rows.h"

#define AT(member) offsetof(struct pith_stage, member)

static enum pith_status read_coder(struct pith_stage *s, const char *text,
                                   struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    bool huffman = strcmp(text, "huffman") == 0, adaptive = strcmp(text, "adaptive") == 0;
    if (!huffman && !adaptive && strcmp(text, "none") != 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': give huffman, adaptive or none",
                               text);
    s->encode.huffman = huffman;
    s->encode.adaptive = adaptive;
    s->encode.plain = !huffman && !adaptive;
    return PITH_OK;
}

static void print_coder(const struct pith_stage *s, char *text, size_t room)
{
    enum pith_code code = pith_encode_code(&s->encode);
    snprintf(text, room, "%s",
             code == PITH_CODE_PLAIN      ? "none"
             : code == PITH_CODE_ADAPTIVE ? "adaptive"
                                          : "huffman");
}

static bool has_coder(const struct pith_stage *s)
{
    return !pith_encode_chooses(&s->encode);
}

static const struct pith_option_own coder = {read_coder, print_coder, has_coder, false};

static const struct pith_word goals[] = {{"speed", 0}, {"size", 1}, {NULL, 0}};

static const struct pith_option rows[] = {
    {.key = "coder",
     .kind = PITH_OPTION_OWN,
     .own = &coder,
     .level = PITH_OPTION_BASIC,
     .arg = "NAME",
     .help = "huffman (default), adaptive (--for size: where it pays) or none"},
    {.key = "for",
     .kind = PITH_OPTION_CHOICE,
     .at = AT(encode.compact),
     .words = goals,
     .flags = PITH_OPTION_ALWAYS,
     .level = PITH_OPTION_BASIC,
     .arg = "GOAL",
     .help = "of size the header is compact, without names"},
    {.key = "keep_history",
     .kind = PITH_OPTION_FLAG,
     .at = AT(encode.keep_history),
     .level = PITH_OPTION_BASIC,
     .help = "with --for size: keep the history chunk"},
    {.key = "lossless",
     .kind = PITH_OPTION_FLAG,
     .at = AT(encode.lossless),
     .level = PITH_OPTION_BASIC,
     .help = "no number changes: grids are found, nothing is folded"},
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_encode_stage_options = {"encode", {{&all, 0}, {NULL, 0}}};
