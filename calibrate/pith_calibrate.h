/* SPDX-License-Identifier: MIT */
/* pith_calibrate.h - activation statistics over a calibration set: what numbers do a network's
 * values take, and which scale and zero point suit them?
 *
 *     struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data, .n_samples = 64};
 *     pith_calibrate(model, &o, &n_samples, &err);
 *     ... model->values[v].min, .max, .n_observed, .stats ...
 *
 * One pass in memory that does not grow with the number of samples. Results are added to what the
 * model already holds: two runs over two data sets, or two models merged, give to the bit what one
 * run over both gives. */
#ifndef PITH_CALIBRATE_H
#define PITH_CALIBRATE_H

#include "pith_data.h"
#include "pith_measure.h"
#include "pith_model.h"
#include "pith_value_stats.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_calibrate_opts {
    uint32_t size_bytes;
    struct pith_data *data; /* borrowed; its samples have the shape of the model's only input */
    const struct pith_feed *feed; /* borrowed; instead of data: several inputs, states */
    uint64_t n_samples;           /* the first so many; 0 or more than there are: all */
    uint32_t threads;             /* 0: 1. Results do not depend on it */
    uint32_t cpu_mask;            /* as pith_opts */
    /* Called after each sample; returning false ends the run early, keeping what was observed.
     * NULL: no callback. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
};

/* *n_samples (may be NULL): samples run. Grids of observed values are dropped. A value that was
 * infinite keeps its extremes and has no statistics. On failure the model is as before.
 * PITH_ERR_ARGUMENT (several inputs, shapes differ), PITH_ERR_UNSUPPORTED (a value became NaN), and
 * what pith_model_pack, the plan and the data return. */
enum pith_status pith_calibrate(struct pith_model *m, const struct pith_calibrate_opts *opts,
                                uint64_t *n_samples, struct pith_error *err);

/* Adds what `other` holds, the same network calibrated elsewhere. PITH_ERR_ARGUMENT when the two
 * are not the same network, PITH_ERR_MEMORY; m is then as before. */
enum pith_status pith_calibrate_merge(struct pith_model *m, const struct pith_model *other,
                                      struct pith_error *err);

/* Forgets all ranges, statistics and grids: min > max, n_observed 0. */
void pith_calibrate_reset(struct pith_model *m);

/* ---- grids
 * ---------------------------------------------------------------------------------------
 *
 *     struct pith_range_opts r = {.size_bytes = sizeof r, .samples = &o};
 *     pith_choose_grids(model, &r, report, &err);
 *     ... model->values[v].grid ...
 *
 * Chooses a grid for every value with a histogram, from its statistics alone; AUTO also measures
 * on some samples how much each choice changes the network's outputs. Values of one sign get
 * numbers without sign from 0 on; 0 is always on the grid. A value that was always 0 gets the
 * scale 1. A scale below the smallest normal number (2^-126) becomes that number: what is smaller
 * than half of it becomes 0. Scales by channel cover the channels' extremes, cut where the whole
 * value is cut; a channel that was always 0 has the scale of the whole value. */

enum pith_range_per {
    PITH_RANGE_PER_DEFAULT = 0, /* by channel where depthwise convolutions alone read a value */
    PITH_RANGE_PER_TENSOR = 1,
    PITH_RANGE_PER_CHANNEL = 2 /* wherever channels were kept */
};

struct pith_range_opts {
    uint32_t size_bytes;
    enum pith_range_method method; /* 0: AUTO */
    double percentile;             /* PERCENTILE and AUTO: above 50, at most 100; 0: 99.99 */
    uint32_t bits;                 /* 2..16; 0: 8 */
    bool symmetric;                /* zero point 0: values with both signs are signed numbers */
    bool radix;                    /* scales are powers of two; symmetric, too */
    double headroom; /* 1..16 (0: 1): grids of one scale cover so many times the range chosen, for
                        numbers larger than any observed, but no more than a Clip, Sigmoid, Tanh or
                        Softmax can give */
    enum pith_range_per per;
    /* AUTO: some of these samples are run; NULL: the method is MSE. Its progress is called after
     * each run, with total 0; returning false ends the runs early: what is not decided is MSE. */
    const struct pith_calibrate_opts *samples;
};

struct pith_range_report {
    uint32_t n_grids;         /* values that got one */
    uint32_t n_method[6];     /* of which by each method, by its number */
    uint32_t n_channel_grids; /* of which with a scale a channel */
    uint32_t n_zero;          /* of which always 0 */
    uint32_t n_tiny;          /* of which with a scale that underflowed */
    uint32_t n_without;       /* observed values without a grid: infinite, or without a histogram */
    uint64_t n_runs;          /* AUTO: of the network */
};

/* report may be NULL. On failure the model's grids are as before. PITH_ERR_ARGUMENT (options;
 * nothing calibrated), PITH_ERR_MEMORY, and with samples what pith_calibrate returns. */
enum pith_status pith_choose_grids(struct pith_model *m, const struct pith_range_opts *opts,
                                   struct pith_range_report *report, struct pith_error *err);

/* "max", "percentile", "kl", "mse", "aciq", "auto"; NULL for other numbers. */
const char *pith_range_method_text(enum pith_range_method method);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
