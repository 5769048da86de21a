/* SPDX-License-Identifier: MIT */
/* stage_rows_calibrate.c - the options of the stage `calibrate`. Recipes say them in this order. */
#include "stage_rows.h"

static const struct pith_word methods[] = {{"default", 0},
                                           {"max", PITH_RANGE_MAX},
                                           {"percentile", PITH_RANGE_PERCENTILE},
                                           {"kl", PITH_RANGE_KL},
                                           {"mse", PITH_RANGE_MSE},
                                           {"aciq", PITH_RANGE_ACIQ},
                                           {"auto", PITH_RANGE_AUTO},
                                           {NULL, 0}};
static const struct pith_word pers[] = {{"depthwise", PITH_RANGE_PER_DEFAULT},
                                        {"tensor", PITH_RANGE_PER_TENSOR},
                                        {"channel", PITH_RANGE_PER_CHANNEL},
                                        {NULL, 0}};
static const struct pith_word data[] = {{"none", 0}, {"DATA", 1}, {NULL, 0}};

static const struct pith_option rows[] = {
    /* on the command line -d, which says more than whether there is some */
    PITH_ROW(CHOICE, "data", with_data, NULL, NULL, .normal = 1, .words = data,
             .flags = PITH_OPTION_RECIPE),
    PITH_ROW(UINT, "samples", samples, "N", "use the first N samples (default: all)", .min = 1,
             .max = 1e9, .needs = "data=DATA"),
    PITH_ROW(WORD, "method", ranges.method, "HOW", "default auto with -d, else mse",
             .words = methods, .needs = "auto: data=DATA",
             .source = "Migacz, 2017 (kl); Banner et al., 2019, ACIQ"),
    PITH_ROW(NUMBER, "percentile", ranges.percentile, "P",
             "for method percentile: 50 to 100 (default 99.99)", .min = 50, .max = 100,
             .needs = "data=DATA|method=percentile",
             .without = "method=max|method=kl|method=mse|method=aciq"),
    PITH_ROW(UINT, "bits", ranges.bits, "B", "bits of an integer: 2 to 16 (default 8)", .min = 2,
             .max = 16),
    PITH_ROW(WORD, "per", ranges.per, "WHAT", "one scale per", .words = pers),
    PITH_ROW(FLAG, "symmetric", ranges.symmetric, NULL, "symmetric ranges: zero point 0"),
    PITH_ROW(FLAG, "radix", ranges.radix, NULL, "scales are powers of two; implies --symmetric"),
    PITH_ROW(FLAG, "add", add, NULL, "add to the stored histograms instead of replacing them",
             .needs = "data=DATA"),
    PITH_ROW(FLAG, "merge", merge, NULL, "merge the histograms of several calibrated copies",
             .without = "data=DATA|add", .flags = PITH_OPTION_COMMAND),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_calibrate_stage_options = {"calibrate", {{&all, 0}, {NULL, 0}}};
