/* SPDX-License-Identifier: MIT */
/* cholesky.h - A = L L^T for symmetric positive definite matrices, in an order of its own: the
 * same bits on every machine. */
#ifndef PITH_CHOLESKY_H
#define PITH_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

struct pith_opts;

/* a: [n, n] row-major, of which the upper triangle is read; it becomes U = L^T, A = U^T U (below
 * the diagonal: unspecified). false: A is not positive definite in double. */
bool pith_cholesky(double *a, size_t n);
/* The same numbers, on the threads of runtime, or NULL. */
bool pith_cholesky_on(double *a, size_t n, const struct pith_opts *runtime);

/* Added up in four sums, whose additions overlap; the order is fixed. */
double pith_dot(const double *restrict a, const double *restrict b, size_t n);

/* x: [n] b before, the solution of U^T x = b after. */
void pith_cholesky_forward(const double *u, size_t n, double *x);
/* x: [n] b before, the solution of U^T U x = b after. */
void pith_cholesky_solve(const double *u, size_t n, double *x);

#endif
