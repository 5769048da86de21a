/* SPDX-License-Identifier: MIT */
/* stage_rows_compress.c - what `compress` is asked for beside the options of the stages it runs:
 * which stages these are, and the goal they have to reach. */
#include "stage_rows.h"

#define AT(member) offsetof(struct pith_stage, member)

static const struct pith_option rows[] = {
    {.key = "recipe",
     .letter = 'r',
     .kind = PITH_OPTION_TEXT,
     .at = AT(recipe),
     .without = "preset",
     .flags = PITH_OPTION_COMMAND,
     .level = PITH_OPTION_BASIC,
     .arg = "FILE",
     .help = "stages and options as JSON"},
    {.key = "preset",
     .kind = PITH_OPTION_TEXT,
     .at = AT(preset),
     .level = PITH_OPTION_BASIC,
     .arg = "NAME",
     .help = "stages and options by a name: pith help presets"},
    {.key = "max_drop",
     .kind = PITH_OPTION_PERCENT,
     .at = AT(goal.max_drop),
     .max = 1,
     .normal = -1,
     .flags = PITH_OPTION_GOAL,
     .level = PITH_OPTION_BASIC,
     .arg = "P%",
     .help = "exit 1 if more top-1 is lost; NAME.missed.pith, not NAME"},
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_compress_options = {"compress", {{&all, 0}, {NULL, 0}}};
