/* SPDX-License-Identifier: MIT */
/* cholesky.c - right-looking, by panels of rows: a panel of PANEL rows of U is finished, then taken
 * off the triangle below it.
 *
 *     U[p, p..]  finished row by row
 *     A[i, i..] -= sum over p of U[p, i] * U[p, i..]      for all i below the panel
 *
 * The inner loop adds one row to another, element by element, so it is the same whether a compiler
 * makes vectors of it or not; a row of A stays in the first cache while the panel passes. */
#include "cholesky.h"

#include <math.h>

#include "base/in_parallel.h"

/* Rows. Of 1,000 columns a panel is 256 KB: a part of a core's second cache. */
#define PANEL 32u

static void subtract_row(double *restrict a, const double *restrict u, double factor, size_t n)
{
    for (size_t k = 0; k < n; k++)
        a[k] -= factor * u[k];
}

/* Four rows, U[p, i..] for p to p + 3, one after the other in each element: the same numbers as
 * subtract_row makes, and a goes through memory once. u: U[p, i], rows n numbers apart. */
static void subtract_four(double *restrict a, const double *restrict u, size_t n, size_t count)
{
    const double *b = u + n, *c = b + n, *d = c + n;
    const double f[4] = {u[0], b[0], c[0], d[0]};
    for (size_t k = 0; k < count; k++)
        a[k] = (((a[k] - f[0] * u[k]) - f[1] * b[k]) - f[2] * c[k]) - f[3] * d[k];
}

/* Rows first to last - 1 of A become those of U. false: a pivot is not above 0, so A is not
 * positive definite in this precision (Golub and Van Loan, "Matrix Computations", section 4.2). */
static bool finish_panel(double *a, size_t n, size_t first, size_t last)
{
    for (size_t p = first; p < last; p++) {
        double *row = a + p * n;
        if (!(row[p] > 0) || !isfinite(row[p]))
            return false;
        double root = sqrt(row[p]);
        for (size_t k = p; k < n; k++)
            row[k] /= root;
        for (size_t i = p + 1; i < last; i++)
            subtract_row(a + i * n + i, row + i, row[i], n - i);
    }
    return true;
}

struct update {
    double *a;
    size_t n, first, last; /* rows of the panel */
};

/* Of PANEL rows below the panel, which has all its rows, as some are below it. */
static void take_panel_off(void *arg, uint32_t piece)
{
    const struct update *u = arg;
    const size_t n = u->n, begin = u->last + (size_t)piece * PANEL,
                 end = n - begin < PANEL ? n : begin + PANEL;
    for (size_t i = begin; i < end; i++)
        for (size_t p = u->first; p < u->last; p += 4)
            subtract_four(u->a + i * n + i, u->a + p * n + i, n, n - i);
}

bool pith_cholesky_on(double *a, size_t n, const struct pith_opts *runtime)
{
    for (size_t first = 0; first < n; first += PANEL) {
        struct update u = {a, n, first, first + PANEL < n ? first + PANEL : n};
        if (!finish_panel(a, n, first, u.last))
            return false;
        pith_in_parallel(runtime, (uint32_t)((n - u.last + PANEL - 1) / PANEL), take_panel_off, &u);
    }
    return true;
}

bool pith_cholesky(double *a, size_t n)
{
    return pith_cholesky_on(a, n, NULL);
}

/* From the first, row by row of U. */
void pith_cholesky_forward(const double *u, size_t n, double *x)
{
    for (size_t j = 0; j < n; j++) {
        x[j] /= u[j * n + j];
        subtract_row(x + j + 1, u + j * n + j + 1, x[j], n - j - 1);
    }
}

/* U x = y from the last. */
void pith_cholesky_solve(const double *u, size_t n, double *x)
{
    pith_cholesky_forward(u, n, x);
    for (size_t j = n; j-- > 0;) {
        double sum = 0;
        for (size_t k = j + 1; k < n; k++)
            sum += u[j * n + k] * x[k];
        x[j] = (x[j] - sum) / u[j * n + j];
    }
}

/* Four sums side by side, so that an addition need not wait for the one before; their number is
 * written down, as bits of files depend on it. */
double pith_dot(const double *restrict a, const double *restrict b, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
