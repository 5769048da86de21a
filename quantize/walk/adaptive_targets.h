/* SPDX-License-Identifier: MIT */
/* adaptive_targets.h - adaptive rounding, with the idea of AdaRound (Nagel et al., 2020) and solved
 * by ridge regression: rows that make of inputs which are rounded already the sums that the float
 * network has. GPTQ then rounds towards these rows. */
#ifndef ADAPTIVE_TARGETS_H
#define ADAPTIVE_TARGETS_H

#include "layer_moments.h"

struct adaptive_targets {
    double *row;  /* [rows, n]; NULL: rows stay what they are */
    double *u;    /* [n, n] room */
    double *room; /* [3, n] */
    double share; /* gone of the way to what least squares asks for: 0 to 1 */
};

/* Of one group, before pith_layer_moments_join. */
void pith_find_adaptive_targets(const struct layer_moments *m, uint64_t group,
                                struct adaptive_targets *g);

/* The mean of the n numbers h[k * step], a matrix's diagonal where step is n + 1; 1 where they are
 * 0. */
double pith_mean_diagonal(const double *h, size_t n, size_t step);

#endif
