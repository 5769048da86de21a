/* SPDX-License-Identifier: MIT */
/* stage_rows_compress.c - what `compress` is asked for beside the options of the stages it runs:
 * which stages these are, and the goal they have to reach. */
#include "stage_rows.h"

#define GOAL .flags = PITH_OPTION_GOAL
#define MORE .level = PITH_OPTION_PLAIN

static const struct pith_word ways[] = {{"any", PITH_GOAL_RUN_ANY},
                                        {"float", PITH_GOAL_RUN_FLOAT},
                                        {"int8", PITH_GOAL_RUN_INT8},
                                        {NULL, 0}};

static const struct pith_option rows[] = {
    PITH_ROW(TEXT, "recipe", recipe, "FILE", "stages and options as JSON", .letter = 'r',
             .without = "preset", .flags = PITH_OPTION_COMMAND),
    PITH_ROW(TEXT, "preset", preset, "NAME", "stages and options by a name: pith help presets"),
    PITH_ROW(PERCENT, "max_drop", goal.max_drop, "P%",
             "the most that may be lost; 0.5% where nothing limits it", .max = 1, .normal = -1,
             GOAL),
    PITH_ROW(SHARE, "min_agreement", goal.min_agreement, "SHARE",
             "samples of the original's class, at least", .max = 1, GOAL),
    PITH_ROW(NUMBER, "min_snr", goal.min_snr, "DB", "SQNR of the outputs, at least", .max = 200,
             GOAL, MORE),
    PITH_ROW(BYTES, "max_size", goal.max_size, "BYTES", "of the file, at most: 500K, 2M",
             .max = 1e18, GOAL),
    PITH_ROW(BYTES, "max_ram", goal.max_ram, "BYTES", "that it takes to run, at most", .max = 1e18,
             GOAL, MORE),
    PITH_ROW(TIME, "max_latency", goal.max_latency, "T",
             "9 of 10 runs here end within T by tuned kernels: 2ms", .max = 1e6, GOAL, MORE),
    PITH_ROW(TIME, "time", goal.time, "T", "that the search may take: 90s, 30m, 1.5h", .max = 1e9,
             GOAL, MORE),
    PITH_ROW(WORD, "run", goal.run, "HOW", "layers compute with", .words = ways, GOAL, MORE),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_compress_options = {"compress", {{&all, 0}, {NULL, 0}}};
