/* SPDX-License-Identifier: MIT */
/* output_sqnr.h - the SQNR (signal-to-quantization-noise ratio) of a network's outputs: how far
 * they are from those it, or another one, gave before.
 *
 * Each time an output is computed, its change is taken less its mean, against the output less its
 * mean: what all numbers of an output have in common decides nothing. Of a Softmax its input
 * counts, for probabilities hide how far apart predictions were. */
#ifndef OUTPUT_SQNR_H
#define OUTPUT_SQNR_H

#include "measure/difference.h"
#include "calibrate/kept_floats.h"
#include "calibrate/observed_run.h"

struct kept_outputs {
    uint32_t value;          /* that the output is compared by */
    struct kept_floats kept; /* owns: of all runs */
    size_t at;               /* so many are compared */
    struct output_kind kind;
    uint32_t own_value; /* the output itself, and the same of it */
    struct kept_floats own;
    size_t own_at;
    struct pith_difference_sums own_sums;
};

struct output_sqnr {
    struct kept_outputs *output; /* owns: [n_outputs] */
    uint32_t n_outputs;
    bool keeps, adds, no_memory;
    struct kept_floats now;  /* owns: what output 0 is compared by, in the runs compared */
    struct kept_floats more; /* owns: the same of other samples, as it was */
    struct pith_difference_sums all, first; /* of all outputs; of output 0 */
};

/* PITH_ERR_MEMORY. Close in any case. */
enum pith_status pith_sqnr_open(struct output_sqnr *a, const struct pith_model *m);
void pith_sqnr_close(struct output_sqnr *a);
/* What follows are runs of m, which has as many outputs: their outputs are kept (others are
 * forgotten), or compared with those kept. */
void pith_sqnr_begin(struct output_sqnr *a, const struct pith_model *m, bool keeps);
/* What follows are runs of m on other samples, before it is changed: they are not compared, but
 * show what predictions there are to change. */
void pith_sqnr_begin_more(struct output_sqnr *a, const struct pith_model *m);
void pith_sqnr_see(struct output_sqnr *a, uint32_t value, const float *x, size_t n);
/* In dB, as pith_difference_snr_db. */
double pith_sqnr_db(const struct output_sqnr *a);
/* As pith_compare measures it (pith_difference_logit_db): of the worst of the outputs that are no
 * states of feed (NULL: none is); where all are, of all. *error: its standard error in dB. */
double pith_sqnr_reported_db(const struct output_sqnr *a, const struct pith_feed *feed,
                             double *error);
/* Predictions of output 0 in the runs compared, and how many changed; 0: it is no row of classes.
 */
uint64_t pith_sqnr_predictions(const struct output_sqnr *a, uint64_t *changed);
/* Share of predictions of output 0 that such changes change: those of each sample compared, added
 * to the logits of every sample, the others included. A dozen samples thus show changes that are
 * too rare for the dozen itself to hold one. NAN: output 0 is no row of classes. */
double pith_sqnr_expected_changes(const struct output_sqnr *a);
/* Sum of squared errors; HUGE_VAL: some output is NaN or infinite in one of the networks alone. */
double pith_sqnr_noise(const struct output_sqnr *a);

/* Runs n of the samples: evenly spread, or where they are steps of a stream its first. */
enum pith_status pith_sqnr_run(struct observed_run *run, uint64_t n, struct pith_error *err);

#endif
