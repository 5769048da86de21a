/* SPDX-License-Identifier: MIT */
/* pith_rounding_noise.h - how much of the error that rounding makes is left by error feedback,
 * layer by layer: known before anything is rounded, from a few samples. Inputs that are much alike
 * leave little. */
#ifndef PITH_ROUNDING_NOISE_H
#define PITH_ROUNDING_NOISE_H

#include "pith_measure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rounding_noise_opts {
    const struct pith_feed *feed; /* borrowed */
    uint64_t samples;             /* the first of the feed, that are run; 0: all */
    uint64_t all_samples;         /* that a sweep will have: what samples leave in doubt is less by
                                     then; 0: as many as are run */
    const struct pith_opts *runtime; /* cpu_mask, parallel_for; NULL: one thread */
};

/* share: [weights of pith_model_weights, in its order], above 0 and at most 1: the squared error of
 * a layer's results with error feedback over that of rounding each weight to the nearest; 1 where
 * nothing is known: in loops and branches, of weights without statistics (tables, transposed
 * convolutions). The same bits for any number of threads. PITH_ERR_MEMORY, and what reading data
 * and running the network return. */
enum pith_status pith_rounding_noise(const struct pith_model *m,
                                     const struct rounding_noise_opts *opts, double *share,
                                     struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
