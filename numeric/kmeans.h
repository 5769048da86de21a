/* SPDX-License-Identifier: MIT */
/* kmeans.h - one-dimensional k-means over sorted values. */
#ifndef PITH_KMEANS_H
#define PITH_KMEANS_H

#include "sorted_values.h"

enum { KMEANS_MAX = 256 };

/* Centroids ascending, distinct. Where pin_zero, one of them is exactly 0 and stays it. */
struct centroids {
    double at[KMEANS_MAX];
    uint32_t n;
    uint32_t wanted; /* 1..KMEANS_MAX; n <= wanted */
    bool pin_zero;   /* the values contain 0 */
};

/* Ascending order; of equal ones one stays. */
void pith_kmeans_sort(struct centroids *c);

/* Starting centroids; c->wanted and c->pin_zero are set and the values hold more distinct values
 * than wanted. May give fewer than wanted (coinciding quantiles or choices): Lloyd's iteration adds
 * them. */
void pith_kmeans_linear(const struct sorted_values *s, struct centroids *c);
/* The optimum (kmeans_exact.c); false without memory. */
bool pith_kmeans_exact(const struct sorted_values *s, struct centroids *c);

/* Lloyd's iteration until no boundary moves, at most 300 times. */
void pith_kmeans_lloyd(const struct sorted_values *s, struct centroids *c);

#endif
