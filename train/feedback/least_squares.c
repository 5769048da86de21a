/* SPDX-License-Identifier: MIT */
/* least_squares.c - Cholesky from the last row up: the first columns of R then tell what the first
 * unknowns cost when all later ones are at their best. */
#include "least_squares.h"

#include <math.h>
#include <stddef.h>

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum[4] = {0, 0, 0, 0};
    uint32_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (uint32_t i = 0; i < 4; i++)
            sum[i] += a[k + i] * b[k + i];
    for (; k < n; k++)
        sum[0] += a[k] * b[k];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

bool pith_factor_upper(uint32_t n, double *h)
{
    for (uint32_t j = n; j-- > 0;) {
        double *own = h + (size_t)j * n;
        double square = own[j] - dot(own + j + 1, own + j + 1, n - 1 - j);
        if (!(square > 0) || !isfinite(square))
            return false;
        own[j] = sqrt(square);
        for (uint32_t i = 0; i < j; i++) {
            double *row = h + (size_t)i * n;
            row[j] = (row[j] - dot(row + j + 1, own + j + 1, n - 1 - j)) / own[j];
        }
    }
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            h[(size_t)i * n + j] = 0;
    return true;
}

void pith_solve_rows(uint32_t n, const double *r, double *x)
{
    for (uint32_t j = n; j-- > 0;)
        x[j] = (x[j] - dot(r + (size_t)j * n + j + 1, x + j + 1, n - 1 - j)) / r[(size_t)j * n + j];
}

/* R y = b from the last up, then R^T x = y from the first down, row by row of R. */
void pith_solve_upper(uint32_t n, const double *r, double *x)
{
    pith_solve_rows(n, r, x);
    for (uint32_t j = 0; j < n; j++) {
        const double *row = r + (size_t)j * n;
        x[j] /= row[j];
        for (uint32_t k = j + 1; k < n; k++)
            x[k] -= row[k] * x[j];
    }
}
