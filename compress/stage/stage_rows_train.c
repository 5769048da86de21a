/* SPDX-License-Identifier: MIT */
/* stage_rows_train.c - what the stage `train` has beside the options of pith_train. */
#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"
#include "base/number_text.h"
#include "pith_train_options.h"
#include "stage_rows.h"

#define AT(member) offsetof(struct pith_stage, member)

/* ---- integers -------------------------------------------------------------------------------- */

static enum pith_status read_integers(struct pith_stage *s, const char *text,
                                      struct pith_stage_texts *texts, struct pith_error *err)
{
    struct pith_integer_spec spec;
    (void)texts;
    if (!pith_integer_spec_parse(text, &spec))
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "'%.60s': give int8, w4a8 (2 to 8 bits each), ternary or fixed:8, and "
            ",all behind it",
            text);
    s->integers = text;
    return PITH_OK;
}

static void print_integers(const struct pith_stage *s, char *text, size_t room)
{
    snprintf(text, room, "%s", s->integers);
}

static bool has_integers(const struct pith_stage *s)
{
    return s->integers != NULL;
}

static const struct pith_option_own integers = {read_integers, print_integers, has_integers, false};

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct pith_word keep[] = {{"best", 1}, {"last", 0}, {NULL, 0}};

static const struct pith_option rows[] = {
    PITH_ROW(TEXT, "teacher", teacher, "MODEL", "distillation teacher; start: the model itself",
             .source = "Hinton et al., 2015, Distilling the knowledge in a neural network"),
    PITH_OWN_ROW(
        "quantize", &integers, "SPEC", "quantization-aware: int8, w4a8, w4a4, ternary, fixed:8",
        .without = "levels|bias_levels|sparsity|keep_weights|"
                   "remove_dead_channels|norms",
        .level = PITH_OPTION_PLAIN, .source = "Esser et al., 2020, Learned step size quantization"),
    PITH_ROW(UINT, "start", start, NULL, NULL, .max = PITH_STAGE_STEPS,
             .flags = PITH_OPTION_RECIPE),
    PITH_ROW(PERCENT, "until_drop", until_drop, "P%",
             "stop when top-1 is within P of the start or teacher", .max = 1, .normal = -1),
    PITH_ROW(CHOICE, "keep", train.keep_best, "WHICH", "which epoch to keep, by validation loss",
             PITH_ADVANCED("Steps"), .normal = 1, .words = keep),
    PITH_ROW(SEED, "seed", seed, NULL, NULL, .min = 1, .max = 9e18, .flags = PITH_OPTION_RECIPE),
};

static const struct pith_option_set added = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_train_stage_options = {
    "train", {{&pith_train_options, AT(train)}, {&added, 0}}};
