/* SPDX-License-Identifier: MIT */
/* observed_run.h - samples run with somebody looking at (or changing) every f32 value. */
#ifndef PITH_OBSERVED_RUN_H
#define PITH_OBSERVED_RUN_H

#include "pith_calibrate.h"
#include "measure/sample_feed.h"

struct observed_run {
    /* Called with each f32 input before a run and with each f32 output of a node behind it: x, [n]
     * numbers that what follows reads. */
    void (*see)(void *user, uint32_t value, float *x, size_t n);
    /* The same of values of other types, x being `bytes` long; or NULL. */
    void (*see_other)(void *user, uint32_t value, void *x, size_t bytes);
    void *user;
    /* see gets outputs, and what pith_answer_value finds of each, alone, behind each run: layers
     * may be fused. */
    bool answers_only;
    bool own_sizes; /* pictures of several sizes run each at its own; else as they are cut */
    const struct pith_engine *weights_of; /* of a run of the same model, open as long; or NULL */
    const struct pith_model *m;           /* borrows, as all it is opened with */
    const struct pith_calibrate_opts *opts;
    struct pith_feed_input one;
    struct pith_feed feed;      /* opts->feed, or of opts->data */
    struct pith_engine *engine; /* owns */
    struct feeder feeder;       /* owns */
    const uint32_t *shown;      /* while `see` runs: the shape of the value */
    uint32_t *answer;           /* owns: [n_answers] with answers_only: the values that see gets */
    uint32_t n_answers;
    bool mismatch;
};

/* see, user, answers_only, own_sizes and weights_of are set, all else is 0. Close in any case. */
enum pith_status pith_observed_run_open(struct observed_run *run, const struct pith_model *m,
                                        const struct pith_calibrate_opts *opts,
                                        struct pith_error *err);
void pith_observed_run_close(struct observed_run *run);
uint64_t pith_observed_run_samples(const struct observed_run *run); /* as many as are wanted */
enum pith_status pith_observed_run_sample(struct observed_run *run, uint64_t i,
                                          struct pith_error *err);

/* For those who run the plan themselves: shows the inputs that lie in it. */
void pith_observed_run_inputs(struct observed_run *run);

/* The value on which the error of output number `output` is measured: itself, or the input of a
 * final Softmax. */
uint32_t pith_answer_value(const struct pith_model *m, uint32_t output);

/* Tests what can be tested without a plan; messages name the only input. */
enum pith_status pith_calibrate_check(const struct pith_model *m,
                                      const struct pith_calibrate_opts *opts,
                                      struct pith_error *err);
const char *pith_calibrate_sample_name(const struct pith_calibrate_opts *opts, uint64_t i);

#endif
