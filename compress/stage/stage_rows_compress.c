/* SPDX-License-Identifier: MIT */
/* stage_rows_compress.c - what `compress` is asked for beside the options of the stages it runs:
 * which stages these are, and the goal they have to reach. */
#include "stage_rows.h"

static const struct pith_option rows[] = {
    PITH_ROW(TEXT, "recipe", recipe, "FILE", "stages and options as JSON", .letter = 'r',
             .without = "preset", .flags = PITH_OPTION_COMMAND),
    PITH_ROW(TEXT, "preset", preset, "NAME", "stages and options by a name: pith help presets"),
    PITH_ROW(PERCENT, "max_drop", goal.max_drop, "P%",
             "exit 1 if more top-1 is lost; NAME.missed.pith, not NAME", .max = 1, .normal = -1,
             .flags = PITH_OPTION_GOAL),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_compress_options = {"compress", {{&all, 0}, {NULL, 0}}};
