/* SPDX-License-Identifier: MIT */
/* stage_rows_compress.c - the options of `compress` beside those of the stages it runs:
 * which stages these are, and the goal they have to reach. */
#include <stdio.h>
#include "export/export.h"
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

/* No row of words: help would list them all. */
static enum pith_status read_target(struct pith_stage *s, const char *text,
                                    struct pith_stage_texts *texts, struct pith_error *err)
{
    static const struct pith_option word = {.kind = PITH_OPTION_WORD, .words = pith_export_targets};
    (void)texts;
    return pith_option_read(&word, text, &s->goal.target, err);
}

static void print_target(const struct pith_stage *s, char *text, size_t room)
{
    const struct pith_word *w = pith_export_targets;
    while (w->text && w->value != s->goal.target)
        w++;
    snprintf(text, room, "%s", w->text ? w->text : "");
}

static bool has_target(const struct pith_stage *s)
{
    return s->goal.target != 0;
}

static const struct pith_option_own target = {read_target, print_target, has_target, false};

static const struct pith_option rows[] = {
    PITH_ROW(TEXT, "recipe", recipe, "FILE", "JSON file of stages and options (pith help recipe)",
             .letter = 'r', .without = "preset", .flags = PITH_OPTION_COMMAND),
    PITH_ROW(TEXT, "preset", preset, "NAME", "a named recipe (pith help presets)"),
    PITH_ROW(PERCENT, "max_drop", goal.max_drop, "P%",
             "largest accuracy drop in points of top-1 (default 0.5%)", .max = 1, .normal = -1,
             GOAL),
    PITH_ROW(SHARE, "min_agreement", goal.min_agreement, "SHARE",
             "smallest top-1 agreement with the original", .max = 1, GOAL),
    PITH_ROW(NUMBER, "min_snr", goal.min_snr, "DB", "smallest SQNR of the outputs, in dB",
             .max = 200, GOAL, MORE),
    PITH_ROW(BYTES, "max_size", goal.max_size, "BYTES", "largest file: 500K, 2M", .min = 1,
             .max = 1e18, GOAL),
    PITH_ROW(BYTES, "max_ram", goal.max_ram, "BYTES", "largest working memory of the runtime",
             .min = 1, .max = 1e18, GOAL, MORE),
    PITH_OWN_ROW("target", &target, "CPU", "processor on which exported code keeps max_ram",
                 .needs = "max_ram", GOAL, .level = PITH_OPTION_RARE),
    PITH_ROW(TIME, "max_latency", goal.max_latency, "T",
             "90th-percentile latency on this machine, tuned: 2ms", .max = 1e6, GOAL, MORE),
    PITH_ROW(TIME, "time", goal.time, "T", "time budget of the search: 90s, 30m, 1.5h", .max = 1e9,
             GOAL, MORE),
    PITH_ROW(WORD, "run", goal.run, "HOW", "arithmetic of the layers", .words = ways, GOAL, MORE),
    PITH_OWN_ROW("pattern", &pattern, "P", "sparsity pattern: 2:4, balanced:12/128, 4x4 (blocks)",
                 .without = "run=int8", GOAL, MORE,
                 .source = "Frantar & Alistarh, 2023, SparseGPT"),
    PITH_ROW(UINT, "levels", goal.levels, "N", "largest number of distinct weight values: 3 to 16",
             .min = 3, .max = 16, .without = "run=int8", GOAL, MORE),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_compress_options = {"compress", {{&all, 0}, {NULL, 0}}};
