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
#include <string.h>

#include "pith_cholesky.h"

#define MOST_ROWS 64u /* evenly spaced, tell enough */

static const double dampings[] = {0.03, 0.3, 3}; /* of the mean of H's diagonal */

double pith_mean_diagonal(const double *h, size_t n, size_t step)
{
    double mean = 0;
    for (size_t k = 0; k < n; k++)
        mean += h[k * step] / (double)n;
    return mean > 0 ? mean : 1;
}

static void read_row(const struct layer_moments *m, uint64_t group, size_t o, double *w)
{
    const float *from = m->l->w + (group * m->rows + o) * m->n;
    for (size_t k = 0; k < m->n; k++)
        w[k] = (double)from[k] * m->l->w_factor;
}

/* to += c - H w of a half */
static void add_shortfall(const struct layer_moments *m, int half, size_t o, const double *w,
                          double *to)
{
    for (size_t i = 0; i < m->n; i++)
        to[i] += m->c[half][o * m->n + i] - pith_dot(m->h[half] + i * m->n, w, m->n);
}

/* Of one half, or (other) of both together. */
static bool factor(const struct layer_moments *m, int half, const double *other, double damping,
                   double *u)
{
    memcpy(u, m->h[half], m->n * m->n * sizeof *u);
    for (size_t i = 0; i < m->n * m->n && other; i++)
        u[i] += other[i];
    double add = damping * pith_mean_diagonal(u, m->n, m->n + 1);
    for (size_t k = 0; k < m->n; k++)
        u[k * m->n + k] += add;
    return pith_cholesky(u, m->n);
}

/* What either half gains by the other; *share: how far it is best to go. */
static double gain(const struct layer_moments *m, uint64_t group, double damping,
                   struct adaptive_targets *g, double *share)
{
    double *w = g->room, *change = w + m->n, *asked = w + 2 * m->n, agreed = 0, all = 0;
    size_t step = (m->rows + MOST_ROWS - 1) / MOST_ROWS;
    for (int half = 0; half < 2; half++) {
        if (!factor(m, half, NULL, damping, g->u))
            return 0;
        for (size_t o = 0; o < m->rows; o += step) {
            read_row(m, group, o, w);
            memset(change, 0, 2 * m->n * sizeof *change);
            add_shortfall(m, half, o, w, change);
            pith_cholesky_solve(g->u, m->n, change);
            add_shortfall(m, 1 - half, o, w, asked);
            agreed += pith_dot(change, asked, m->n);
            for (size_t i = 0; i < m->n; i++)
                all += change[i] * pith_dot(m->h[1 - half] + i * m->n, change, m->n);
        }
    }
    *share = all > 0 ? fmin(fmax(agreed / all, 0), 1) : 0;
    return 2 * *share * agreed - *share * *share * all;
}

static void go(const struct layer_moments *m, uint64_t group, struct adaptive_targets *g)
{
    double *w = g->room, *change = w + m->n;
    for (size_t o = 0; o < m->rows; o++) {
        read_row(m, group, o, w);
        memset(change, 0, m->n * sizeof *change);
        if (g->share > 0) {
            add_shortfall(m, 0, o, w, change);
            add_shortfall(m, 1, o, w, change);
            pith_cholesky_solve(g->u, m->n, change);
        }
        for (size_t k = 0; k < m->n; k++) /* what floats overflow in asks for nothing */
            g->row[o * m->n + k] = w[k] + (isfinite(change[k]) ? g->share * change[k] : 0);
    }
}

void pith_find_adaptive_targets(const struct layer_moments *m, uint64_t group,
                                struct adaptive_targets *g)
{
    double most = 0, damping = dampings[0];
    g->share = 0;
    for (size_t i = 0; i < sizeof dampings / sizeof *dampings; i++) {
        double share = 0, gained = gain(m, group, dampings[i], g, &share);
        if (gained > most) {
            most = gained;
            damping = dampings[i];
            g->share = share;
        }
    }
    if (g->share > 0 && !factor(m, 0, m->h[1], damping, g->u))
        g->share = 0;
    go(m, group, g);
}
