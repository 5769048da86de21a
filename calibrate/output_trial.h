/* SPDX-License-Identifier: MIT */
/* output_trial.h - what does a change of some values do to the outputs of a network? */
#ifndef PITH_OUTPUT_TRIAL_H
#define PITH_OUTPUT_TRIAL_H

#include "kept_floats.h"
#include "measure/difference.h"
#include "prefix_reuse.h"
#include "observed_run.h"

#define PITH_TRIAL_STARTS 7u
#define PITH_TRIAL_LANES 8u

struct output_trial;

/* A plan for every n_lanes-th sample, which runs beside those of other lanes. Private. */
struct trial_lane {
    struct output_trial *trial;
    struct observed_run run;
    struct prefix_reuse middle,
        last;                    /* last: the middle before, where it comes before the middle */
    size_t *middle_at, *last_at; /* own: [n_samples] each sample's outputs observed before there */
    /* Places on the way that nothing before a middle changes: where a sample was there once, a run
     * to another middle behind begins there. */
    struct prefix_reuse start[PITH_TRIAL_STARTS];
    size_t *start_at; /* owns: [PITH_TRIAL_STARTS, n_samples] as middle_at */
    uint32_t current;
    size_t at;    /* the current sample's outputs observed so far */
    double error; /* against them */
    struct pith_difference_sums centred;
    bool behind; /* the middle, in this run */
    bool no_memory;
    enum pith_status status;
    struct pith_error err;
};

struct output_trial {
    /* Called with every f32 value while a trial runs: x, [n], may be changed. On several threads at
     * once, each with another lane < PITH_TRIAL_LANES. */
    void (*change)(void *user, uint32_t lane, uint32_t value, float *x, size_t n);
    /* Called behind each sample, in their order: no other runs where it is true. Or NULL. */
    bool (*enough)(void *user, uint32_t sample);
    void *user;
    /* Borrows: takes the changes of outputs less their means besides, of those behind the place
     * where a run begins. NULL: not wanted. */
    struct pith_difference_sums *centred;
    double *signal; /* owns: [n_samples] of all outputs as they are, less their means */
    bool apart;     /* samples do not depend on each other: a trial may run some of them */
    bool stopped;   /* by the progress callback */
    uint32_t n_samples;
    uint64_t n_runs;
    size_t most_bytes; /* may be kept of the middle of runs, as much of the middle before, and as
                          much of the places on the way; set before it is opened */
    /* the rest is private */
    struct pith_model *m;
    struct trial_lane lane[PITH_TRIAL_LANES];
    uint32_t n_lanes;
    struct pith_calibrate_opts opts; /* of each lane */
    struct pith_opts runtime;        /* owns threads, where lanes run on several */
    bool *is_output;                 /* owns: [n_values] compared */
    uint64_t *sample;                /* owns: [n_samples] */
    uint8_t **input; /* owns: [n_samples] the inputs of each sample, one behind the other */
    struct kept_floats *output; /* owns: [n_samples] of all its steps */
    uint32_t from;              /* sample of the first lane that runs now */
    bool keeps;
    struct pith_error *err;
};

/* change, enough, user, centred and most_bytes are set, all else is 0. Runs up to `most` of the
 * samples as they are: evenly spread ones, of a stream its first. Close in any case. What running
 * returns. */
enum pith_status pith_output_trial_open(struct output_trial *t, struct pith_model *m,
                                        const struct pith_calibrate_opts *samples, uint32_t most,
                                        struct pith_error *err);
/* Until the next call `change` leaves all values alone that come before those of node `step`
 * (NO_STEP: none): the second run of a sample and those that follow begin there, the first perhaps
 * on the way. */
void pith_output_trial_behind(struct output_trial *t, uint32_t step);
/* Samples from..to-1, of a stream all up to there, with what `change` does; *error: the sum of the
 * squared changes of the outputs, of a final Softmax's input. Never NaN. No sample runs once *error
 * is `most` or more. */
enum pith_status pith_output_trial_run(struct output_trial *t, uint32_t from, uint32_t to,
                                       double most, double *error);
/* The first sample, of a stream it alone, with n changes, each by itself, as many beside each other
 * as there are lanes: begin chooses change i, that `change` makes in this lane, and returns the
 * node as pith_output_trial_behind takes it. error: [n] as above. */
enum pith_status pith_output_trial_each(struct output_trial *t, uint32_t n,
                                        uint32_t (*begin)(void *user, uint32_t lane, uint32_t i),
                                        double *error);
void pith_output_trial_close(struct output_trial *t);

#endif
