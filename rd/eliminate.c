/* SPDX-License-Identifier: MIT */
/* eliminate.c - sums in the order of rows and columns, so that they are the same on all machines. A
 * unit's block of H^-1 is A = U^T U: what w_B costs is |U^-T w_B|^2. */
#include "eliminate.h"

#include <math.h>
#include <string.h>

#include "numeric/cholesky.h"

/* A column that nothing depends on any more, but for rounding of the doubles: as if it had this
 * share of the diagonal of its block's first column. */
#define LEAST_PIVOT 1e-12

static double inverse_at(const struct elimination *x, size_t i, size_t k)
{
    return i < k ? x->inverse[i * x->n + k] : x->inverse[k * x->n + i];
}

/* The factor of unit i's block, in room. */
static double *factor_block(const struct elimination *x, size_t i)
{
    const size_t b = x->unit, first = i * b;
    double *u = x->room + b * x->n;
    for (size_t r = 0; r < b; r++)
        for (size_t c = r; c < b; c++)
            u[r * b + c] = x->inverse[(first + r) * x->n + first + c];
    if (pith_cholesky(u, b))
        return u;
    for (size_t r = 0; r < b; r++)
        for (size_t c = r; c < b; c++)
            u[r * b + c] = c == r ? sqrt(fmax(x->inverse[(first + r) * x->n + first + r],
                                              LEAST_PIVOT * x->inverse[first * x->n + first]))
                                  : 0;
    return u;
}

static double cost_of_one(const struct elimination *x, size_t i)
{
    double sum = 0;
    for (size_t row = 0; row < x->rows; row++)
        sum += x->loss[row] / 2 * x->w[row * x->n + i] * x->w[row * x->n + i];
    return sum / x->inverse[i * x->n + i];
}

static double cost_of(const struct elimination *x, size_t i)
{
    const size_t b = x->unit;
    if (b == 1)
        return cost_of_one(x, i);
    const double *u = factor_block(x, i);
    double *v = x->room + b * (x->n + b), sum = 0;
    for (size_t row = 0; row < x->rows; row++) {
        memcpy(v, x->w + row * x->n + i * b, b * sizeof *v);
        pith_cholesky_forward(u, b, v);
        for (size_t k = 0; k < b; k++)
            sum += x->loss[row] / 2 * v[k] * v[k];
    }
    return sum;
}

size_t pith_eliminate_cheapest(const struct elimination *x, double *cost)
{
    const size_t units = x->n / x->unit;
    size_t best = units;
    for (size_t i = 0; i < units; i++) {
        const double c = x->gone[i] ? HUGE_VAL : cost_of(x, i);
        if (!x->gone[i] && (best == units || c < *cost)) {
            best = i;
            *cost = c;
        }
    }
    return best;
}

/* y [unit, n] = U^-T [H^-1]_B, row by row. */
static void solve_rows(const struct elimination *x, const double *u, size_t first, double *y)
{
    const size_t b = x->unit, n = x->n;
    for (size_t r = 0; r < b; r++) {
        double *to = y + r * n;
        for (size_t k = 0; k < n; k++)
            to[k] = inverse_at(x, first + r, k);
        for (size_t before = 0; before < r; before++) {
            const double by = u[before * b + r], *from = y + before * n;
            for (size_t k = 0; k < n; k++)
                to[k] -= by * from[k];
        }
        for (size_t k = 0; k < n; k++)
            to[k] /= u[r * b + r];
    }
}

/* H^-1 -= y^T y, of what is not gone. */
static void subtract_squares(struct elimination *x, const double *y)
{
    const size_t n = x->n;
    for (size_t i = 0; i < n; i++) {
        double *to = x->inverse + i * n;
        for (size_t r = 0; r < x->unit && !x->gone[i / x->unit]; r++) {
            const double by = y[r * n + i], *from = y + r * n;
            for (size_t k = i; k < n; k++)
                to[k] -= by * from[k];
        }
    }
}

/* w -= (U^-T w_B) y. */
static void make_up(struct elimination *x, const double *u, size_t first, const double *y)
{
    const size_t b = x->unit, n = x->n;
    double *v = x->room + b * (n + b);
    for (size_t row = 0; row < x->rows; row++) {
        double *w = x->w + row * n;
        memcpy(v, w + first, b * sizeof *v);
        pith_cholesky_forward(u, b, v);
        for (size_t r = 0; r < b; r++)
            for (size_t k = 0; k < n; k++)
                w[k] -= v[r] * y[r * n + k];
    }
}

/* What is gone is 0 and stays so: nothing depends on it. */
static void clear(struct elimination *x)
{
    for (size_t i = 0; i < x->n; i++)
        for (size_t row = 0; row < x->rows && x->gone[i / x->unit]; row++)
            x->w[row * x->n + i] = 0;
}

/* All that stay make up for what goes, and the diagonal of their inverse is smaller then: each
 * costs more to remove. */
void pith_eliminate(struct elimination *x, size_t i)
{
    const double *u = factor_block(x, i);
    double *y = x->room;
    solve_rows(x, u, i * x->unit, y);
    make_up(x, u, i * x->unit, y);
    x->gone[i] = 1;
    subtract_squares(x, y);
    clear(x);
}
