/* SPDX-License-Identifier: MIT */
/* feedback_sweep.h - a network as it was and as it becomes, through all samples from step to step.
 *
 * Layers are changed one after the other, each told by what comes in behind those that were changed
 * before. So each step is computed once in each network, for all samples, before the next one:
 *
 *     from      cut   to       from .. cut - 1: for good; what is read from the cut on is kept
 *     |--- run ---|use|        cut .. to - 1: looked at; they run again when the sweep comes by
 *
 * What is kept are the values that a later step reads (pith_kept_values.h), of all samples. Samples
 * go in units: those of a slice. */
#ifndef FEEDBACK_SWEEP_H
#define FEEDBACK_SWEEP_H

#include "pith_kept_values.h"
#include "pith_train.h"
#include "tape_stretch.h"

struct feedback_sweep {
    struct tape *now, *before; /* alike but for their parameters; before's are the model's */
    struct tensor_life *life;
    struct kept_values *kept[2]; /* of now, before */
    struct pith_data *data;
    const struct pith_train_opts *opts;
    struct pith_error *err;
    uint32_t samples, slices; /* of a unit; units at once */
    uint64_t n_units;
    uint32_t at; /* steps that are done */
};

/* Whoever looks at a step: its inputs are there, in this slice of both tapes. */
struct sweep_use {
    enum pith_status (*look)(void *arg, uint32_t step, uint32_t slice, uint64_t unit);
    void *arg;
};

/* Over n_samples of data, from the first again where there are fewer; n_samples: a multiple of
 * PITH_TRAIN_SLICES times most_samples, which is the most that a unit has. The model may not change
 * while this is open. *s is zeros; what fails leaves it to be closed. PITH_ERR_MEMORY, and what
 * pith_tape_new returns. */
enum pith_status pith_sweep_open(const struct pith_model *m, struct pith_data *data,
                                 const struct pith_train_opts *opts, uint32_t most_samples,
                                 uint64_t n_samples, struct feedback_sweep *s,
                                 struct pith_error *err);
void pith_sweep_close(struct feedback_sweep *s); /* accepts zeros */
/* Unit `unit` of the samples: into input 0 of a slice. What pith_data_read returns. */
enum pith_status pith_sweep_read(const struct feedback_sweep *s, uint64_t unit, struct tape *t,
                                 uint32_t slice);
/* On to the cut; steps cut .. to - 1 are shown, in order, unit after unit. Parameters of now may
 * change between calls, those of steps before the cut no more. PITH_ERR_MEMORY, _IO, what
 * pith_sweep_read and use return. */
enum pith_status pith_sweep_go(struct feedback_sweep *s, uint32_t cut, uint32_t to,
                               const struct sweep_use *use);

#endif
