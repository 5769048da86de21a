/* SPDX-License-Identifier: MIT */
/* least_squares.h - small symmetric systems, in double. */
#ifndef LEAST_SQUARES_H
#define LEAST_SQUARES_H

#include <stdbool.h>
#include <stdint.h>

/* h [n, n], symmetric: becomes R, upper triangular, with R R^T = h; below the diagonal: 0. False: h
 * is not positive definite. */
bool pith_factor_upper(uint32_t n, double *h);
/* x [n]: the solution of R R^T x = b, in place of b. */
void pith_solve_upper(uint32_t n, const double *r, double *x);
/* x [n]: the solution of R x = b, in place of b. */
void pith_solve_rows(uint32_t n, const double *r, double *x);

#endif
