/* SPDX-License-Identifier: MIT */
/* layer_factor.c - what GPTQ calls the Hessian of a row, H = X^T X, damped and factored. Weights
 * are put in the order of rising diagonal, and rounded from the last place to the first: those that
 * matter most first, as GPTQ's act-order has it. */
#include "layer_factor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/cholesky.h"
#include "numeric/error_feedback.h"
#include "base/error_fill.h"
#include "pith_host.h"
#include "base/in_parallel.h"
#include "numeric/row_panel.h"

#define LEAST_TRACE 1e-6 /* of a group, of the mean group's: so that each has a factor */
/* Times the shrinkage: targets are fitted to all that earlier layers did to the samples. */
#define TARGET_SHRINKAGE 2.0

double pith_layer_damping(const struct layer_moments *s)
{
    return s->h ? PITH_LAYER_DAMPING + s->shrinkage : 0;
}

/* The sum of the diagonal, always added in one order, so that its bits do not vary. */
static double trace_of(const double *h, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += h[i * n + i];
    return sum;
}

/* A trellis runs along the row as it is stored: as rounding begins at the last place, element 0 is
 * put there. */
static void order_as_stored(size_t n, size_t *order)
{
    for (size_t k = 0; k < n; k++)
        order[k] = n - 1 - k;
}

/* Those of a window, which are few, by rising diagonal; equal ones as they are. */
static void insert_by_diagonal(const double *diagonal, size_t width, size_t first, size_t *order)
{
    for (size_t k = 0; k < width; k++) {
        size_t to = k;
        for (; to > 0 && diagonal[k] < diagonal[order[to - 1] - first]; to--)
            order[to] = order[to - 1];
        order[to] = first + k;
    }
}

/* order: [2 n], of which the second half is room, as is sum [n]. */
static void order_by_windows(const double *diagonal, size_t n, size_t window, size_t *order,
                             double *sum)
{
    const size_t windows = (n + window - 1) / window;
    for (size_t i = 0; i < windows; i++)
        sum[i] = 0;
    for (size_t k = 0; k < n; k++)
        sum[k / window] += diagonal[k];
    pith_order_by_diagonal(sum, windows, order);
    for (size_t i = 0; i < windows; i++)
        order[2 * n - windows + i] = order[i];
    for (size_t i = 0, at = 0; i < windows; i++) {
        const size_t first = order[2 * n - windows + i] * window,
                     width = n - first < window ? n - first : window;
        insert_by_diagonal(diagonal + first, width, first, order + at);
        at += width;
    }
}

/* h, symmetric, with its rows and columns in an order; diagonal: [n] that of h. In place: what is
 * put below the diagonal is read above it. */
static void reorder(double *h, size_t n, const size_t *order, const double *diagonal)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const size_t a = order[i] < order[k] ? order[i] : order[k],
                         b = order[i] < order[k] ? order[k] : order[i];
            h[k * n + i] = h[a * n + b];
        }
    for (size_t i = 0; i < n; i++) {
        h[i * n + i] = diagonal[order[i]];
        for (size_t k = i + 1; k < n; k++)
            h[i * n + k] = h[k * n + i];
    }
}

/* By place. room: [2, n] */
static void order_group(struct layer_factor *f, uint32_t g, size_t window, double *room)
{
    const size_t n = f->n;
    size_t *order = f->order + g * n;
    double *h = f->u + g * n * n;
    for (size_t k = 0; k < n; k++)
        room[k] = h[k * n + k];
    if (window == 0)
        order_as_stored(n, order);
    else if (window == 1)
        pith_order_by_diagonal(room, n, order);
    else
        order_by_windows(room, n, window, order, room + n);
    reorder(h, n, order, room);
    for (size_t k = 0; k < n; k++)
        f->diagonal[g * n + k] = h[k * n + k];
}

/* From what is below the diagonal, which stays. */
static bool factor_group(struct layer_factor *f, uint32_t g, double ridge)
{
    const size_t n = f->n;
    double *h = f->u + g * n * n, noise = 0;
    f->ridge[g] = ridge;
    for (size_t i = 0; i < n; i++) {
        h[i * n + i] = f->diagonal[g * n + i] + ridge;
        for (size_t k = i + 1; k < n; k++)
            h[i * n + k] = h[k * n + i];
    }
    if (!pith_cholesky_on(h, n, f->runtime))
        return false;
    for (size_t k = 0; k < n; k++)
        noise += h[k * n + k] * h[k * n + k];
    f->noise[g] = noise / (double)n;
    return true;
}

static bool factor_with(struct layer_factor *f, double damping)
{
    const size_t n = f->n;
    double all = 0;
    bool ok = f->u != NULL;
    for (size_t i = 0; i < f->groups * n && ok; i++)
        all += f->diagonal[i] / f->groups;
    for (uint32_t g = 0; g < f->groups && ok; g++) {
        double trace = 0;
        for (size_t k = 0; k < n; k++)
            trace += f->diagonal[g * n + k];
        ok = factor_group(f, g, damping * fmax(trace, LEAST_TRACE * all) / (double)n);
    }
    return ok;
}

void pith_layer_factor_end(struct layer_factor *f)
{
    pith_low_rank_close(&f->low);
    free(f->u);
    free(f->diagonal);
    free(f->ridge);
    free(f->order);
    free(f->cross);
    free(f->target);
    free(f->trace);
    free(f->noise);
    *f = (struct layer_factor){0};
}

/* The identity: where there are no moments, or nothing ever comes in. Rounding to nearest is
 * what feedback with the identity is. */
static void make_data_free(struct layer_factor *f, bool as_stored)
{
    free(f->u);
    free(f->cross);
    f->u = f->cross = NULL;
    for (uint32_t g = 0; g < f->groups; g++) {
        f->noise[g] = 1;
        f->trace[g] = (double)f->n;
        for (size_t k = 0; k < f->n; k++)
            f->order[g * f->n + k] = as_stored ? f->n - 1 - k : k;
    }
}

/* PITH_ERR_ARGUMENT of factoring: there is no factor; the layer is data-free then, no failure. */
enum pith_status pith_layer_factor(struct layer_moments *s, double centre, double damping,
                                   size_t window, struct layer_factor *f, struct pith_error *err)
{
    *f = (struct layer_factor){.n = s->n,
                               .groups = s->groups,
                               .damping = damping,
                               .shrinkage = s->shrinkage,
                               .runtime = s->runtime};
    f->order = malloc((s->groups + (size_t)1) * s->n * sizeof *f->order); /* and room behind */
    f->trace = calloc(s->groups, sizeof *f->trace);
    f->noise = calloc(s->groups, sizeof *f->noise);
    f->diagonal = calloc(s->groups * s->n, sizeof *f->diagonal);
    f->ridge = calloc(s->groups, sizeof *f->ridge);
    double *room = malloc(2 * s->n * sizeof *room);
    if (!f->order || !f->trace || !f->noise || !f->diagonal || !f->ridge || !room) {
        free(room);
        return pith_error_no_memory(err);
    }
    for (uint32_t g = 0; g < s->groups && s->h; g++)
        f->trace[g] = trace_of(s->h + g * s->n * s->n, s->n);
    pith_layer_centre(s, centre);
    f->u = s->h;
    f->cross = s->cross;
    f->of_results = s->of_results;
    s->h = s->cross = NULL;
    for (uint32_t g = 0; g < f->groups && f->u; g++)
        order_group(f, g, window, room);
    free(room);
    if (!factor_with(f, damping))
        make_data_free(f, window == 0);
    return PITH_OK;
}

/* ---- few rows of inputs ---------------------------------------------------------------------- */

#define LOW_RANK_COLUMNS 512u /* of shorter rows the whole factor is fast, too */
#define COLUMNS_FOR_A_ROW 8u  /* with so many low rank takes half of the products */

bool pith_layer_is_low_rank(const struct layer_moments *m)
{
    return m->h && m->groups == 1 && m->n > LOW_RANK_COLUMNS && m->rows <= m->n / COLUMNS_FOR_A_ROW;
}

/* (H + ridge I) target = cross + ridge w. */
static bool solve_targets(struct layer_factor *f, const struct layer_moments *m, const float *w,
                          double ridge)
{
    const size_t rows = m->n_others;
    const double *cross = m->cross;
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < f->n; i++)
            f->target[row * f->n + i] =
                cross[f->order[i] * rows + row] + ridge * (double)w[row * f->n + f->order[i]];
    f->w = w;
    return pith_low_rank_solve(&f->low, ridge, f->target, rows);
}

enum pith_status pith_layer_factor_low(struct layer_moments *m, double centre, const float *w,
                                       uint64_t rows, struct layer_factor *f,
                                       struct pith_error *err)
{
    const size_t n = m->n;
    const double damping = pith_layer_damping(m);
    *f = (struct layer_factor){.n = n, .groups = 1, .damping = damping};
    f->order = malloc(2 * n * sizeof *f->order); /* and room behind */
    f->diagonal = malloc(n * sizeof *f->diagonal);
    f->target = m->cross ? malloc((size_t)rows * n * sizeof *f->target) : NULL;
    pith_layer_centre(m, centre);
    bool ok = f->order && f->diagonal && (f->target || !m->cross) &&
              pith_low_rank_open(m->h, n, (size_t)m->rows, &f->low);
    const double ridge = trace_of(m->h, n) / (double)n;
    for (size_t k = 0; k < n && ok; k++)
        f->diagonal[k] = m->h[k * n + k];
    if (ok)
        pith_order_by_diagonal(f->diagonal, n, f->order);
    if (ok && f->low.rank)
        ok = pith_low_rank_factor(&f->low, f->order, damping * ridge);
    if (ok && f->low.rank && m->cross)
        ok = solve_targets(f, m, w, (damping + (TARGET_SHRINKAGE - 1) * m->shrinkage) * ridge);
    else if (!f->low.rank) {
        free(f->target);
        f->target = NULL;
    }
    return ok ? PITH_OK : pith_error_no_memory(err);
}

/* ---- targets --------------------------------------------------------------------------------- */

struct targets {
    const struct layer_factor *f;
    const float *w;
    double *target;
    uint64_t each; /* rows of a group */
    uint32_t n_threads;
    double *room; /* [n_threads, 2, n, PITH_ROW_PANEL] */
    struct row_panel_kernels kernels;
};

/* y [n, PITH_ROW_PANEL]: what the inputs have in common with the results of these rows. */
static void take_results(const struct targets *g, uint32_t group, uint64_t first, uint64_t rows,
                         double *y)
{
    const size_t n = g->f->n, *order = g->f->order + group * n;
    for (size_t i = 0; i < n; i++)
        for (uint64_t row = 0; row < PITH_ROW_PANEL; row++)
            y[i * PITH_ROW_PANEL + row] =
                row < rows ? g->f->cross[(group * n + order[i]) * g->each + (first + row) % g->each]
                           : 0;
}

/* Of as many rows as a panel has, or as are left of the group. */
static void find_panel(const struct targets *g, uint32_t group, uint64_t first, uint64_t rows,
                       double *room)
{
    const struct layer_factor *f = g->f;
    const size_t n = f->n;
    double *x = room, *y = room + n * PITH_ROW_PANEL;
    for (size_t k = 0; k < n; k++)
        for (uint64_t row = 0; row < PITH_ROW_PANEL; row++)
            x[k * PITH_ROW_PANEL + row] = row < rows ? (double)g->w[(first + row) * n + k] : 0;
    if (f->of_results)
        take_results(g, group, first, rows, y);
    else
        g->kernels.multiply(f->cross + group * n * n, n, f->order + group * n, x, y);
    for (size_t i = 0; i < n; i++)
        for (size_t row = 0; row < PITH_ROW_PANEL; row++)
            y[i * PITH_ROW_PANEL + row] +=
                f->ridge[group] * x[f->order[group * n + i] * PITH_ROW_PANEL + row];
    g->kernels.solve(f->u + group * n * n, n, y);
    for (uint64_t row = 0; row < rows; row++)
        for (size_t i = 0; i < n; i++)
            g->target[(first + row) * n + i] = y[i * PITH_ROW_PANEL + row];
}

static void find_panels(void *arg, uint32_t thread)
{
    const struct targets *g = arg;
    const uint64_t panels = (g->each + PITH_ROW_PANEL - 1) / PITH_ROW_PANEL;
    double *room = g->room + thread * 2 * g->f->n * PITH_ROW_PANEL;
    for (uint64_t i = thread; i < panels * g->f->groups; i += g->n_threads) {
        const uint64_t group = i / panels, at = i % panels * PITH_ROW_PANEL, left = g->each - at;
        find_panel(g, (uint32_t)group, group * g->each + at,
                   left < PITH_ROW_PANEL ? left : PITH_ROW_PANEL, room);
    }
}

/* Shrinkage only adds to the diagonal: what had a factor has one again. */
enum pith_status pith_layer_targets(struct layer_factor *f, const float *w, uint64_t rows,
                                    const struct pith_opts *runtime, struct pith_error *err)
{
    struct targets g = {.f = f, .w = w, .each = rows / f->groups, .n_threads = 1};
    if (!f->cross)
        return PITH_OK;
    if (f->shrinkage > 0)
        factor_with(f, f->damping + (TARGET_SHRINKAGE - 1) * f->shrinkage);
    if (runtime && runtime->parallel_for)
        g.n_threads = pith_threads_count(runtime);
    g.kernels = pith_row_panel_kernels();
    g.target = malloc((size_t)rows * f->n * sizeof *g.target);
    g.room = malloc(g.n_threads * 2 * f->n * PITH_ROW_PANEL * sizeof *g.room);
    const bool room = g.target && g.room;
    if (room)
        pith_in_parallel(runtime, g.n_threads, find_panels, &g);
    free(g.room);
    f->target = g.target;
    if (f->shrinkage > 0)
        factor_with(f, f->damping);
    if (!room)
        return pith_error_no_memory(err);
    f->w = w;
    free(f->cross);
    f->cross = NULL;
    return PITH_OK;
}

void pith_layer_row_target(const struct layer_factor *f, uint32_t group, const float *w,
                           double *target, double *room)
{
    size_t n = f->n;
    const size_t *order = f->order + group * n;
    if (f->target) {
        memcpy(target, f->target + (w - f->w), n * sizeof *target);
        return;
    }
    if (!f->cross) {
        for (size_t i = 0; i < n; i++)
            target[i] = (double)w[order[i]];
        return;
    }
    const double *crossed = f->cross + group * n * n;
    for (size_t k = 0; k < n; k++)
        room[k] = (double)w[k];
    for (size_t i = 0; i < n; i++)
        target[i] = pith_dot(crossed + order[i] * n, room, n) + f->ridge[group] * room[order[i]];
    pith_cholesky_solve(f->u + group * n * n, n, target);
}
