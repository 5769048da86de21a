/* SPDX-License-Identifier: MIT */
/* low_rank.h - the Cholesky factor of H + ridge I, where H = X X^T is the Gram matrix of few rows
 * of inputs and X has few columns. Above its diagonal the factor is a product of two such matrices,
 *
 *     U[j, i] = a_j . x_i,    i > j,
 *
 * so the errors of the places behind one are fed back as the sum of x_i e_i alone: 2 * rank
 * products a weight instead of n / 2 (error_feedback.h).
 *
 *     pith_low_rank_open(h, n, rows, &f);
 *     pith_low_rank_factor(&f, order, ridge);       x by place, a, diagonal
 *     pith_low_rank_solve(&f, ridge, b, n_b);
 *     pith_low_rank_close(&f);
 */
#ifndef PITH_LOW_RANK_H
#define PITH_LOW_RANK_H

#include <stdbool.h>
#include <stddef.h>

struct low_rank {
    size_t n, rank;
    double *x;        /* owns: [n, rank] */
    double *a;        /* owns: [n, rank] */
    double *diagonal; /* owns: [n] U[j, j] */
};

/* X of a symmetric positive semidefinite h [n, n], by Cholesky factorization with pivots (Higham,
 * 1990), most columns at most, fewer where these leave nothing of h. False: no memory; close in any
 * case. */
bool pith_low_rank_open(const double *h, size_t n, size_t most, struct low_rank *f);
void pith_low_rank_close(struct low_rank *f); /* accepts zeros */
/* Once: row order[i] of X goes to place i, and a and diagonal are those of X X^T + ridge I by
 * place, ridge > 0. False: no memory. */
bool pith_low_rank_factor(struct low_rank *f, const size_t *order, double ridge);
/* b [columns, n], each by place, becomes (X X^T + ridge I)^-1 b. False: no memory. */
bool pith_low_rank_solve(const struct low_rank *f, double ridge, double *b, size_t columns);

#endif
