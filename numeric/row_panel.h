/* SPDX-License-Identifier: MIT */
/* row_panel.h - products and solutions for several right sides at once: a matrix goes through
 * memory once for all of them. Each has the bits that pith_dot and pith_cholesky_solve
 * (cholesky.h) give it alone, on every machine; sums of add() have one order, too. */
#ifndef PITH_ROW_PANEL_H
#define PITH_ROW_PANEL_H

#include <stddef.h>
#include <stdint.h>

#define PITH_ROW_PANEL 8u /* right sides, beside each other: x is [n, PITH_ROW_PANEL] */

/* sum [rows, k] += u e, term by term from the first on. */
struct panel_sum {
    const double *u; /* [rows, n], its rows stride apart */
    const double *e; /* [n, k] */
    double *sum;
    size_t stride, rows, n;
    uint32_t k; /* of whole panels */
};

struct row_panel_kernels {
    /* y[i] = the product of row order[i] of a [n, n] and x, i < n. y is not x. */
    void (*multiply)(const double *a, size_t n, const size_t *order, const double *x, double *y);
    /* x: b before, the solution of U^T U x = b after; u: [n, n], its upper triangle. */
    void (*solve)(const double *u, size_t n, double *x);
    /* y [PITH_ROW_PANEL] = the products of a [n] and each column of x. */
    void (*dot)(const double *a, const double *x, size_t n, double *y);
    void (*add)(const struct panel_sum *s);
    uint32_t vector_bytes; /* of the loops */
};

/* The fastest for this CPU, whose features take long to read. */
struct row_panel_kernels pith_row_panel_kernels(void);

#endif
