/* SPDX-License-Identifier: MIT */
/* answer_error.h - how far a network's answers are from those it, or another one, gave before.
 *
 * Each time an output is computed, its change is taken less its mean, against the output less its
 * mean: what all numbers of an answer have in common decides nothing. Of a Softmax its input
 * counts, for probabilities hide how far apart answers were. */
#ifndef ANSWER_ERROR_H
#define ANSWER_ERROR_H

#include "pith_kept_floats.h"
#include "pith_observed_run.h"

struct kept_answers {
    uint32_t value;          /* that the output is judged by */
    struct kept_floats kept; /* owns: of all runs */
    size_t at;               /* so many are compared */
};

struct answer_error {
    struct kept_answers *output; /* owns: [n_outputs] */
    uint32_t n_outputs;
    bool keeps, no_memory;
    double signal, noise;
    uint64_t answers, changed; /* of output 0: compared; their largest number is another one now */
};

/* PITH_ERR_MEMORY. Close in any case. */
enum pith_status pith_answers_open(struct answer_error *a, const struct pith_model *m);
void pith_answers_close(struct answer_error *a);
/* What follows are runs of m, which has as many outputs: their answers are kept (others are
 * forgotten), or compared with those kept. */
void pith_answers_begin(struct answer_error *a, const struct pith_model *m, bool keeps);
void pith_answers_see(struct answer_error *a, uint32_t value, const float *x, size_t n);
/* Signal to noise in dB; HUGE_VAL: nothing changed. */
double pith_answers_db(const struct answer_error *a);

/* Runs n of the samples: evenly spread, or where they are steps of a stream its first. */
enum pith_status pith_answers_run(struct observed_run *run, uint64_t n, struct pith_error *err);

#endif
