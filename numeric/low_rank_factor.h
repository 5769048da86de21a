/* SPDX-License-Identifier: MIT */
/* low_rank_factor.h - the Cholesky factor of D + X X^T in O(n r^2), where X has few columns.
 */
#ifndef PITH_LOW_RANK_FACTOR_H
#define PITH_LOW_RANK_FACTOR_H

#include <stdbool.h>
#include <stddef.h>

/* U of D + X X^T = U^T U: U[j, j] = diagonal[j], and U[j, i] = p[j] . x[i] for i > j. */
struct low_rank_factor {
    size_t n, r;
    const double *x;  /* [n, r] row-major */
    double *p;        /* [n, r] */
    double *diagonal; /* [n] > 0 */
};

/* Fills f->p and f->diagonal. d: [n] the diagonal of D, > 0. room: [r, r + 1].
 * false: the matrix is not positive definite in double. */
bool pith_low_rank_cholesky(struct low_rank_factor *f, const double *d, double *room);

#endif
