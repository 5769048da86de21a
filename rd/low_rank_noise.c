/* SPDX-License-Identifier: MIT */
/* low_rank_noise.c - h = X X^T by Cholesky's factor with pivoting, which ends with the rank
 * (Higham, "Analysis of the Cholesky decomposition of a semi-definite matrix", 1990); what that and
 * a ridge make together is factored through X (pith_low_rank_factor.h). */
#include "low_rank_noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pith_cholesky.h"
#include "pith_error_feedback.h"
#include "pith_low_rank_factor.h"

#define NOTHING 1e-6 /* of the trace: what floats that were added up leave on the diagonal */

struct parts {
    size_t n, rank;
    double *diagonal; /* [n] of h */
    double *left;     /* [n] of it, in the order of places */
    double *x;        /* [n, rank], by place */
    double *p;        /* [n, rank] */
    double *of_u;     /* [n] */
    double *room;     /* [rank, rank + 1] */
    size_t *order;    /* [2 n] the column at each place */
};

static bool open_parts(struct parts *f)
{
    const size_t n = f->n, r = f->rank;
    f->diagonal = calloc(n, sizeof *f->diagonal);
    f->left = malloc(n * sizeof *f->left);
    f->x = calloc(n * r, sizeof *f->x);
    f->p = malloc(n * r * sizeof *f->p);
    f->of_u = malloc(n * sizeof *f->of_u);
    f->room = malloc(r * (r + 1) * sizeof *f->room);
    f->order = malloc(2 * n * sizeof *f->order);
    return f->diagonal && f->left && f->x && f->p && f->of_u && f->room && f->order;
}

static void close_parts(struct parts *f)
{
    free(f->diagonal);
    free(f->left);
    free(f->x);
    free(f->p);
    free(f->of_u);
    free(f->room);
    free(f->order);
}

static size_t largest(const double *v, size_t n)
{
    size_t at = 0;
    for (size_t k = 1; k < n; k++)
        at = v[k] > v[at] ? k : at;
    return at;
}

/* Column number c of X, from the row of h at the place whose diagonal is the largest. */
static void take_column(struct parts *f, const double *h, size_t c)
{
    const size_t at = largest(f->left, f->n), r = f->rank;
    const double root = sqrt(f->left[at]), *row = h + f->order[at] * f->n;
    for (size_t k = 0; k < f->n; k++) {
        const double known = pith_dot(f->x + k * r, f->x + at * r, c);
        const double x = (row[f->order[k]] - known) / root;
        f->x[k * r + c] = x;
        f->left[k] -= x * x;
    }
}

/* False: something is left behind the last column. */
static bool find_rows(struct parts *f, const double *h)
{
    double trace = 0;
    for (size_t k = 0; k < f->n; k++) {
        f->left[k] = f->diagonal[f->order[k]];
        trace += f->left[k];
    }
    for (size_t c = 0; c < f->rank && f->left[largest(f->left, f->n)] > NOTHING * trace; c++)
        take_column(f, h, c);
    return f->left[largest(f->left, f->n)] <= NOTHING * trace;
}

enum pith_status pith_low_rank_noise(const double *h, size_t n, size_t rank, double ridge,
                                     double *noise)
{
    struct parts f = {.n = n, .rank = rank};
    const bool room = open_parts(&f);
    bool ok = room;
    double sum = 0;
    for (size_t k = 0; k < n && ok; k++)
        f.diagonal[k] = h[k * n + k];
    if (ok) {
        pith_order_by_diagonal(f.diagonal, n, f.order);
        ok = find_rows(&f, h);
    }
    for (size_t k = 0; k < n && ok; k++)
        f.left[k] = ridge;
    struct low_rank_factor u = {.n = n, .r = rank, .x = f.x, .p = f.p, .diagonal = f.of_u};
    ok = ok && pith_low_rank_cholesky(&u, f.left, f.room);
    for (size_t k = 0; k < n && ok; k++)
        sum += f.of_u[k] * f.of_u[k];
    close_parts(&f);
    if (ok)
        *noise = sum / (double)n;
    return ok ? PITH_OK : room ? PITH_ERR_ARGUMENT : PITH_ERR_MEMORY;
}
