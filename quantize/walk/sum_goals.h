/* SPDX-License-Identifier: MIT */
/* sum_goals.h - rows that make of inputs which are rounded already the sums that the float network
 * has. */
#ifndef SUM_GOALS_H
#define SUM_GOALS_H

#include "layer_moments.h"

struct sum_goals {
    double *row;  /* [rows, n]; NULL: rows stay what they are */
    double *u;    /* [n, n] room */
    double *room; /* [3, n] */
    double share; /* gone of the way to what least squares asks for: 0 to 1 */
};

/* Of one group, before pith_layer_moments_join. */
void pith_find_sum_goals(const struct layer_moments *m, uint64_t group, struct sum_goals *g);

/* The mean of the n numbers h[k * step], a matrix's diagonal where step is n + 1; 1 where they are
 * 0. */
double pith_mean_diagonal(const double *h, size_t n, size_t step);

#endif
