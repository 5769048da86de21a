/* SPDX-License-Identifier: MIT */
/* shrinkage.h - how uncertain the Gram matrix of few samples is: how far it is to be drawn to a
 * multiple of the identity so that it comes closest to that of all (Ledoit and Wolf, 2004).
 * Rows of one sample are much alike, so samples are what is independent, not rows.
 *
 * With H the mean of N single samples' matrices H_s and V = E |H_s - H|^2 / (N - 1), all elements'
 * squares added up, the best share of the identity is V / |H - (tr H / n) I|^2. |H_s|^2 is the sum
 * of (x, y)^2 over pairs of the sample's rows: some rows of some samples are kept for that. */
#ifndef SHRINKAGE_H
#define SHRINKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shrinkage {
    size_t n;
    uint64_t samples, rows; /* that are summed up; rows of a sample, in each group */
    uint32_t groups;
    uint64_t each_sample, each_row; /* one of so many is kept */
    uint32_t each_group;
    uint64_t kept_samples, kept_rows;
    float *x;    /* [kept groups, kept samples, kept rows, n] */
    float *root; /* [kept samples, kept rows] */
};

/* False: no memory; the shrinkage is to be closed then, too. */
bool pith_shrinkage_open(struct shrinkage *d, uint64_t samples, uint64_t rows, uint32_t groups,
                         size_t n);
void pith_shrinkage_close(struct shrinkage *d); /* accepts zeros */

/* A row of a sample, x [n] times root, the square root of what it counts. Each may be added by a
 * thread of its own. */
void pith_shrinkage_add(struct shrinkage *d, uint64_t sample, uint64_t row, uint32_t group,
                        const float *x, float root);

/* The matrices that are shrunk. */
struct shrunk {
    const double *h;    /* [groups, n, n] */
    const double *mean; /* [groups, n] of a row, by weight */
    double scale;       /* what the sum of all rows' products was multiplied with */
    double places;      /* what products of means are multiplied with */
    double centre;      /* 0..1: share of these, which is taken off */
};

/* a / (1 - a) of the share a: what the mean of H's diagonal is to be multiplied with before it is
 * added to the diagonal. One for all groups. As much as may be, where there is one sample. */
double pith_shrinkage_find(const struct shrinkage *d, const struct shrunk *of);

#endif
