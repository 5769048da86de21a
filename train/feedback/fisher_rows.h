/* SPDX-License-Identifier: MIT */
/* fisher_rows.h - the sensitivity of rows (sensitivity.h), from gradients of labels that
 * are drawn from what the network itself answers (sampled_fisher.h): one sample at a time, forward
 * and backward. */
#ifndef PITH_FISHER_ROWS_H
#define PITH_FISHER_ROWS_H

#include "pith_measure.h"
#include "layers/sensitivity.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pith_fisher_opts {
    uint32_t size_bytes;
    uint64_t samples; /* the first of the data; 0, or more than there are: all */
    uint64_t seed;    /* of the draws */
    bool squares;     /* the first output is no score of classes: its squared error counts, as a
                         share of its power on the mean of samples */
    const double *output_scale; /* of squares: [outputs] all outputs count, each number times this;
                                   0: not this one; borrowed. NULL: the first alone */
    double temperature; /* > 1: of scores divided by it, so that gradients do not vanish where the
                           network is certain of nearly all samples; 0: 1 */
    bool (*progress)(void *user, uint64_t done, uint64_t all); /* false: stop; may be NULL */
    void *user;
    const struct pith_feed *feed; /* borrowed; instead of data, which may then be NULL: several
                                     inputs, states, each step of which counts for itself, as it
                                     came. samples are its own */
};

/* Of all constants that m's outputs have gradients of: weights and biases. opts may be NULL. The
 * same bits for any number of threads. PITH_ERR_UNSUPPORTED: an operator without
 * gradient, no float weight that the first output depends on, several inputs and no feed;
 * PITH_ERR_ARGUMENT ("interrupted"), PITH_ERR_MEMORY, what reading data returns. */
enum pith_status pith_fisher_rows(const struct pith_model *m, struct pith_data *data,
                                  const struct pith_fisher_opts *opts, struct pith_sensitivity *s,
                                  struct pith_error *err);
void pith_fisher_rows_free(struct pith_sensitivity *s); /* accepts zeros */

#ifdef __cplusplus
}
#endif
#endif
