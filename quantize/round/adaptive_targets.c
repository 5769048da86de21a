/* SPDX-License-Identifier: MIT */
/* adaptive_targets.c - ridge regression, judged by samples that it has not seen.
 *
 * Where x are a layer's inputs as the layers before it, rounded already, give them, and y the sums
 * that the float network has, a row w should rather be w + d, and
 *
 *     (H + damping) d = c - H w,      H = sum of x x^T,  c = sum of y x^T, both less their means',
 *
 * makes the squared difference from y least (Li et al., "GPTAQ", 2025). Means are the bias's
 * business.
 *
 * Few samples are overfitted: the classifier of MobileNet-v2 has 1,280 weights a row, and 63
 * images give it 63 patches. So each half of the samples tells how much of what the other half asks
 * for is true. The error of w + a d on a half with H and c,
 *
 *     ... - 2 a d (c - H w) + a^2 d H d,
 *
 * is least for a = d (c - H w) / d H d, and less by a d (c - H w) than that of w. Both ways and all
 * rows together give one share a, for each of a few dampings; the one that gains most is taken. */
#include "adaptive_targets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/cholesky.h"

#define MOST_ROWS 64u /* evenly spaced, tell enough */

static const double dampings[] = {0.03, 0.3, 3}; /* of the mean of H's diagonal */

/* Of one group. */
struct targets {
    const struct integer_layer *l;
    size_t n, rows, first;         /* the layer's rows from first on */
    const double *h[2];            /* [n, n] of each half */
    const double *c[2];            /* [n, rows] */
    double *u;                     /* [n, n] room */
    double *w, *change, *residual; /* [n] room */
    double share;
};

static void read_row(const struct targets *t, size_t o)
{
    const float *from = t->l->w + (t->first + o) * t->n;
    for (size_t k = 0; k < t->n; k++)
        t->w[k] = (double)from[k] * t->l->w_factor;
}

/* to += c - H w of a half */
static void add_shortfall(const struct targets *t, int half, size_t o, double *to)
{
    for (size_t i = 0; i < t->n; i++)
        to[i] += t->c[half][i * t->rows + o] - pith_dot(t->h[half] + i * t->n, t->w, t->n);
}

/* Of one half, or (other) of both together. */
static bool factor(const struct targets *t, int half, const double *other, double damping)
{
    const size_t n = t->n;
    double mean = 0;
    memcpy(t->u, t->h[half], n * n * sizeof *t->u);
    for (size_t i = 0; i < n * n && other; i++)
        t->u[i] += other[i];
    for (size_t k = 0; k < n; k++)
        mean += t->u[k * n + k] / (double)n;
    for (size_t k = 0; k < n; k++)
        t->u[k * n + k] += damping * (mean > 0 ? mean : 1);
    return pith_cholesky(t->u, n);
}

/* What either half gains by the other; *share: how far it is best to go. */
static double gain(const struct targets *t, double damping, double *share)
{
    const size_t n = t->n, step = (t->rows + MOST_ROWS - 1) / MOST_ROWS;
    double agreed = 0, all = 0;
    for (int half = 0; half < 2; half++) {
        if (!factor(t, half, NULL, damping))
            return 0;
        for (size_t o = 0; o < t->rows; o += step) {
            read_row(t, o);
            memset(t->change, 0, n * sizeof *t->change);
            memset(t->residual, 0, n * sizeof *t->residual);
            add_shortfall(t, half, o, t->change);
            pith_cholesky_solve(t->u, n, t->change);
            add_shortfall(t, 1 - half, o, t->residual);
            agreed += pith_dot(t->change, t->residual, n);
            for (size_t i = 0; i < n; i++)
                all += t->change[i] * pith_dot(t->h[1 - half] + i * n, t->change, n);
        }
    }
    *share = all > 0 ? fmin(fmax(agreed / all, 0), 1) : 0;
    return 2 * *share * agreed - *share * *share * all;
}

static void choose_share(struct targets *t)
{
    double most = 0, damping = dampings[0];
    t->share = 0;
    for (size_t i = 0; i < sizeof dampings / sizeof *dampings; i++) {
        double share = 0, gained = gain(t, dampings[i], &share);
        if (gained > most) {
            most = gained;
            damping = dampings[i];
            t->share = share;
        }
    }
    if (t->share > 0 && !factor(t, 0, t->h[1], damping))
        t->share = 0;
}

static void find_targets(const struct targets *t, double *target)
{
    for (size_t o = 0; o < t->rows; o++) {
        read_row(t, o);
        memset(t->change, 0, t->n * sizeof *t->change);
        if (t->share > 0) {
            add_shortfall(t, 0, o, t->change);
            add_shortfall(t, 1, o, t->change);
            pith_cholesky_solve(t->u, t->n, t->change);
        }
        for (size_t k = 0; k < t->n; k++) /* what floats overflow in asks for nothing */
            target[o * t->n + k] = t->w[k] + (isfinite(t->change[k]) ? t->share * t->change[k] : 0);
    }
}

enum pith_status pith_adaptive_targets(const struct layer_moments half[2],
                                       const struct integer_layer *l, double *target, double *share)
{
    const size_t n = half->n, rows = half->n_others;
    double *room = malloc(n * (n + 3) * sizeof *room);
    if (!room)
        return PITH_ERR_MEMORY;
    *share = 0;
    for (uint32_t g = 0; g < half->groups; g++) {
        struct targets t = {.l = l,
                            .n = n,
                            .rows = rows,
                            .first = g * rows,
                            .u = room + 3 * n,
                            .w = room,
                            .change = room + n,
                            .residual = room + 2 * n};
        for (int i = 0; i < 2; i++) {
            t.h[i] = half[i].h + g * n * n;
            t.c[i] = half[i].cross + g * n * rows;
        }
        choose_share(&t);
        find_targets(&t, target + t.first * n);
        *share += t.share / half->groups;
    }
    free(room);
    return PITH_OK;
}
