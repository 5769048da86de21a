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

static enum pith_status read_pattern(struct pith_stage *s, const char *text,
                                     struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    return pith_pattern_parse(text, &s->goal.pattern, err);
}

static void print_pattern(const struct pith_stage *s, char *text, size_t room)
{
    pith_pattern_print(&s->goal.pattern, text, room);
}

static bool has_pattern(const struct pith_stage *s)
{
    return s->goal.pattern.kind != PITH_PATTERN_ANY;
}

static const struct pith_option_own pattern = {read_pattern, print_pattern, has_pattern, false};

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
    PITH_OWN_ROW("pattern", &pattern, "P", "weights keep it: 2:4, balanced:12/128, 4x4 (blocks)",
                 .without = "run=int8", GOAL, MORE,
                 .source = "Frantar & Alistarh, 2023, SparseGPT"),
    PITH_ROW(SHARE, "pattern_sparsity", goal.sparsity, "SHARE",
             "of each layer's blocks that go; else by their price", .max = 0.999,
             .without = "run=int8", GOAL, .level = PITH_OPTION_RARE),
    PITH_ROW(UINT, "levels", goal.levels, "N", "different values of a weight, at most: 3 to 16",
             .min = 3, .max = 16, .without = "run=int8", GOAL, MORE),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_compress_options = {"compress", {{&all, 0}, {NULL, 0}}};
