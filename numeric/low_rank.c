/* SPDX-License-Identifier: MIT */
/* low_rank.c - the Schur complement of the places before j is, by Woodbury's identity,
 *
 *     ridge I + X P X^T,    P = (I + X_before^T X_before / ridge)^-1,
 *
 * whose row j gives that of U; P loses a product of two vectors with each place. */
#include "low_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cholesky.h"

#define LEAST_LEFT 1e-9 /* of the trace: what is left of H is rounding */

static size_t largest(const double *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* Column k of X by the pivot at; left: [n] the diagonal of what X leaves of h. */
static void add_column(struct low_rank *f, const double *h, size_t stride, size_t at, double *left)
{
    const double root = sqrt(left[at]), *pivot = f->x + at * stride;
    for (size_t i = 0; i < f->n; i++) {
        double *x = f->x + i * stride;
        x[f->rank] = (h[at * f->n + i] - pith_dot(x, pivot, f->rank)) / root;
        left[i] = i == at ? 0 : left[i] - x[f->rank] * x[f->rank];
    }
    f->rank++;
}

bool pith_low_rank_open(const double *h, size_t n, size_t most, struct low_rank *f)
{
    double *left = malloc(n * sizeof *left), trace = 0;
    *f = (struct low_rank){.n = n,
                           .x = malloc((n * most + 1) * sizeof *f->x),
                           .a = malloc((n * most + 1) * sizeof *f->a),
                           .diagonal = malloc(n * sizeof *f->diagonal)};
    const bool room = left && f->x && f->a && f->diagonal;
    for (size_t i = 0; i < n && room; i++)
        trace += left[i] = h[i * n + i];
    while (room && f->rank < most) {
        const size_t at = largest(left, n);
        if (!(left[at] > LEAST_LEFT * trace))
            break;
        add_column(f, h, most, at, left);
    }
    for (size_t i = 0; i < n && room; i++)
        memmove(f->x + i * f->rank, f->x + i * most, f->rank * sizeof *f->x);
    free(left);
    return room;
}

void pith_low_rank_close(struct low_rank *f)
{
    free(f->x);
    free(f->a);
    free(f->diagonal);
    *f = (struct low_rank){0};
}

/* a of a place, and P without it. */
static void take_place(struct low_rank *f, size_t j, double ridge, double *p)
{
    const size_t r = f->rank;
    const double *x = f->x + j * r;
    double *a = f->a + j * r;
    for (size_t k = 0; k < r; k++)
        a[k] = pith_dot(p + k * r, x, r);
    const double u = sqrt(ridge + pith_dot(a, x, r));
    f->diagonal[j] = u;
    for (size_t k = 0; k < r; k++)
        a[k] /= u;
    for (size_t k = 0; k < r; k++)
        for (size_t i = 0; i < r; i++)
            p[k * r + i] -= a[k] * a[i];
}

bool pith_low_rank_factor(struct low_rank *f, const size_t *order, double ridge)
{
    const size_t r = f->rank;
    double *p = calloc(r * r + 1, sizeof *p), *x = malloc((f->n * r + 1) * sizeof *x);
    const bool room = p && x;
    for (size_t j = 0; j < f->n && room; j++)
        memcpy(x + j * r, f->x + order[j] * r, r * sizeof *x);
    if (room) {
        double *was = f->x;
        f->x = x;
        x = was;
    }
    for (size_t k = 0; k < r && room; k++)
        p[k * r + k] = 1;
    for (size_t j = 0; j < f->n && room; j++)
        take_place(f, j, ridge, p);
    free(p);
    free(x);
    return room;
}

/* ridge I + X^T X, factored. */
static bool factor_small(const struct low_rank *f, double ridge, double *m)
{
    const size_t r = f->rank;
    for (size_t j = 0; j < f->n; j++)
        for (size_t i = 0; i < r; i++)
            for (size_t k = i; k < r; k++)
                m[i * r + k] += f->x[j * r + i] * f->x[j * r + k];
    for (size_t k = 0; k < r; k++)
        m[k * r + k] += ridge;
    return pith_cholesky(m, r);
}

bool pith_low_rank_solve(const struct low_rank *f, double ridge, double *b, size_t columns)
{
    const size_t r = f->rank;
    double *m = calloc(r * r + 1, sizeof *m), *s = malloc((r + 1) * sizeof *s);
    const bool ok = m && s && factor_small(f, ridge, m);
    for (double *end = b + columns * f->n; b < end && ok; b += f->n) {
        memset(s, 0, r * sizeof *s);
        for (size_t j = 0; j < f->n; j++)
            for (size_t k = 0; k < r; k++)
                s[k] += f->x[j * r + k] * b[j];
        pith_cholesky_solve(m, r, s);
        for (size_t j = 0; j < f->n; j++)
            b[j] = (b[j] - pith_dot(f->x + j * r, s, r)) / ridge;
    }
    free(m);
    free(s);
    return ok;
}
