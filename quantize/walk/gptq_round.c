/* SPDX-License-Identifier: MIT */
/* gptq_round.c - rounding with error feedback (Frantar & Alistarh, "Optimal Brain Compression",
 * 2022; Frantar et al., "GPTQ", 2023).
 *
 * A row of weights becomes q * s so that the layer's sums over the samples' patches x change little
 * from those of a goal g: the row itself, or what makes up for what the layers before have lost
 * (adaptive_targets.c). e (H + D) e^T is to be small, where e = g - q s, H is the sum of x x^T, and
 * D, a part of H's mean diagonal, stands for what the samples do not show.
 *
 * How a row is rounded, and along how many paths, stands in pith_error_feedback.h.
 *
 * A scale a little below largest / most cuts the largest weights but makes all steps finer: the row
 * is rounded with several (numeric/scale_search.c), and that with the least error stays.
 *
 * Weights of fewer than 8 bits are looked for along four paths: ResNet-20 with weights of 4 bits
 * has 22.8 dB so and 22.2 with one; 16 find no more that holds on other samples, and with 8 bits
 * what is left is the activations' noise.
 *
 * Where there are few samples for the length of a row, H = X X^T is of low rank: U is then never
 * made, but found through X (pith_low_rank_factor.h), which makes a layer of 4,096 inputs and 64
 * samples eleven times as fast. Rows do not depend on one another and are rounded on all threads.
 *
 * Deliberately not done: moving single weights afterwards until none lowers the error, with scales
 * fitted to them in between. It lowers the error on the samples only (docs/tried.md). */
#include "gptq_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pith_cholesky.h"
#include "pith_error_feedback.h"
#include "pith_feedback_panel.h"
#include "pith_in_parallel.h"
#include "few_patches.h"
#include "layer_moments.h"
#include "adaptive_targets.h"
#include "weight_scale_search.h"

#define DAMPING 0.03       /* of the mean of H's diagonal */
#define MORE_DAMPING 0.01  /* of each element, when rounding errors do harm */
#define MOST_COLUMNS 8192u /* three matrices of doubles: 1.5 GiB */
#define PATHS 4u           /* of a row (pith_error_feedback.h), where bits are few */
#define TASKS 16u          /* parts of the rows, at most */

struct rounding {
    struct integer_layer *l;
    size_t n, rows; /* weights of a row, rows of a group */
    uint32_t paths;
    bool few; /* what samples tell: */
    struct few_patches patches;
    struct layer_moments moments;  /* else */
    const double *h;               /* [n, n] of the group, all samples; few: not used */
    double *diagonal;              /* [n] of H, by weight */
    double *damping;               /* [n] by weight */
    size_t *order;                 /* [n] weight at each place; the last is rounded first */
    double *u;                     /* [n, n] by place: factor of the damped h; few: not used */
    struct low_rank_factor factor; /* few: the same */
    struct adaptive_targets goals;
    double *room; /* [3, n] */
    struct row_panel_kernels kernels;
    uint32_t beside; /* rows that are rounded beside each other, one copy of u for all: 1 or
                        PITH_ROW_PANEL */
};

/* Rows [first, last) of the layer, on one thread. */
struct part {
    const struct rounding *r;
    uint64_t first, last;
    double *e;     /* [n, paths], [n, beside] */
    double *goal;  /* [n] by place */
    double *seen;  /* [patches, paths], [patches, beside] */
    uint8_t *kept; /* [n] by place: 0: pruned */
    int16_t *q;    /* [beside, n] by place */
    double *goals; /* [n, beside] */
    uint8_t *all_kept;
};

/* ---- order and factor ------------------------------------------------------------------------ */

static void damp(struct rounding *r)
{
    double mean = pith_mean_diagonal(r->diagonal, r->n, 1);
    for (size_t k = 0; k < r->n; k++)
        r->damping[k] = DAMPING * mean;
}

static bool try_low_rank(struct rounding *r)
{
    for (size_t j = 0; j < r->n; j++)
        r->room[j] = r->damping[r->order[j]];
    return pith_low_rank_cholesky(&r->factor, r->room, r->patches.room);
}

static bool try_dense(struct rounding *r)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = i; k < r->n; k++)
            r->u[i * r->n + k] =
                r->h[r->order[i] * r->n + r->order[k]] + (i == k ? r->damping[r->order[i]] : 0);
    return pith_cholesky(r->u, r->n);
}

/* With more and more damping until rounding errors do no harm. */
static void factor(struct rounding *r)
{
    while (!(r->few ? try_low_rank(r) : try_dense(r)))
        for (size_t k = 0; k < r->n; k++)
            r->damping[k] += MORE_DAMPING * (r->diagonal[k] + r->damping[k]);
}

/* ---- a row ----------------------------------------------------------------------------------- */

static double weight(const struct rounding *r, uint64_t row, size_t k)
{
    return (double)r->l->w[row * r->n + k] * r->l->w_factor;
}

/* In places. What was pruned stays 0: the goal may be there what it likes. */
static void find_goal(const struct part *p, uint64_t row)
{
    const struct rounding *r = p->r;
    const double *goal = r->goals.row ? r->goals.row + row % r->rows * r->n : NULL;
    for (size_t i = 0; i < r->n; i++)
        p->goal[i] = goal ? goal[r->order[i]] : weight(r, row, r->order[i]);
}

static struct error_feedback one_row(const struct part *p, uint64_t row)
{
    const struct rounding *r = p->r;
    find_goal(p, row);
    for (size_t i = 0; i < r->n && r->l->mask; i++)
        p->kept[i] = r->l->mask[row * r->n + r->order[i]];
    return (struct error_feedback){.n = r->n,
                                   .u = r->u,
                                   .factor = &r->factor,
                                   .goal = p->goal,
                                   .kept = r->l->mask ? p->kept : NULL,
                                   .most = r->l->most,
                                   .lowest = r->l->lowest,
                                   .n_paths = r->paths,
                                   .e = p->e,
                                   .seen = p->seen};
}

static void store_row(const struct rounding *r, uint64_t row, const int16_t *q)
{
    for (size_t i = 0; i < r->n; i++)
        r->l->q[row * r->n + r->order[i]] = q[i];
}

static void round_row(const struct part *p, uint64_t row)
{
    const struct rounding *r = p->r;
    const struct error_feedback one = one_row(p, row);
    if (r->l->may_scale)
        r->l->scale[row] = pith_search_weight_scale(&one, r->l, row, p->q);
    pith_error_feedback(&one, r->l->scale[row], HUGE_VAL, p->q);
    store_row(r, row, p->q);
}

/* ---- rows beside each other ------------------------------------------------------------------ */

static void set_aside(const struct part *p, uint32_t i)
{
    for (size_t j = 0; j < p->r->n; j++) {
        p->goals[j * PITH_ROW_PANEL + i] = p->goal[j];
        p->all_kept[j * PITH_ROW_PANEL + i] = p->kept[j];
    }
}

/* Rows first to first + panel->rows - 1: those of the panel. */
static void round_panel(const struct part *p, const struct feedback_panel *panel, uint64_t first)
{
    const struct rounding *r = p->r;
    double widest[PITH_ROW_PANEL], least[PITH_ROW_PANEL], scale[PITH_ROW_PANEL],
        enough[PITH_ROW_PANEL], error[PITH_ROW_PANEL];
    for (uint32_t i = 0; i < panel->rows; i++) {
        const struct error_feedback one = one_row(p, first + i);
        set_aside(p, i);
        widest[i] = pith_widest_weight_scale(&one, r->l, first + i, &least[i]);
        enough[i] = HUGE_VAL;
    }
    if (r->l->may_scale)
        pith_search_scales(panel, widest, least, r->l->radix, scale);
    for (uint32_t i = 0; i < panel->rows; i++) {
        if (r->l->may_scale && widest[i] > 0)
            r->l->scale[first + i] = scale[i];
        scale[i] = r->l->scale[first + i];
    }
    pith_feedback_panel(panel, scale, enough, error);
    for (uint32_t i = 0; i < panel->rows; i++)
        store_row(r, first + i, p->q + i * r->n);
}

static void round_panels(const struct part *p)
{
    const struct rounding *r = p->r;
    struct feedback_panel panel = {.n = r->n,
                                   .u = r->u,
                                   .factor = &r->factor,
                                   .goal = p->goals,
                                   .kept = r->l->mask ? p->all_kept : NULL,
                                   .lowest = r->l->lowest,
                                   .most = r->l->most,
                                   .e = p->e,
                                   .seen = p->seen,
                                   .q = p->q,
                                   .kernels = &r->kernels};
    for (uint64_t row = p->first; row < p->last; row += panel.rows) {
        panel.rows = p->last - row < PITH_ROW_PANEL ? (uint32_t)(p->last - row) : PITH_ROW_PANEL;
        round_panel(p, &panel, row);
    }
}

static void round_part(void *parts, uint32_t i)
{
    const struct part *p = (const struct part *)parts + i;
    if (p->r->beside > 1)
        round_panels(p);
    for (uint64_t row = p->first; row < p->last && p->r->beside == 1; row++)
        round_row(p, row);
}

/* ---- a group of rows ------------------------------------------------------------------------- */

static bool make_part(const struct rounding *r, struct part *p)
{
    const uint32_t beside = r->beside;
    p->r = r;
    const uint32_t lanes = r->paths > beside ? r->paths : beside;
    p->e = calloc(r->n * lanes, sizeof *p->e);
    p->goal = malloc(r->n * sizeof *p->goal);
    p->seen = malloc((r->patches.r + 1) * lanes * sizeof *p->seen);
    p->kept = calloc(r->n, 1);
    p->q = malloc(beside * r->n * sizeof *p->q);
    p->goals = calloc(beside * r->n, sizeof *p->goals);
    p->all_kept = calloc(beside * r->n, 1);
    return p->e && p->goal && p->seen && p->kept && p->q && p->goals && p->all_kept;
}

static void free_parts(struct part part[TASKS])
{
    for (uint32_t i = 0; i < TASKS; i++) {
        free(part[i].e);
        free(part[i].goal);
        free(part[i].seen);
        free(part[i].kept);
        free(part[i].q);
        free(part[i].goals);
        free(part[i].all_kept);
    }
}

static enum pith_status round_rows(const struct rounding *r, uint64_t group,
                                   const struct pith_opts *opts)
{
    struct part part[TASKS] = {{0}};
    uint32_t n = r->rows < TASKS ? (uint32_t)r->rows : TASKS;
    bool room = true;
    for (uint32_t i = 0; i < n && room; i++) {
        room = make_part(r, &part[i]);
        part[i].first = group * r->rows + r->rows * i / n;
        part[i].last = group * r->rows + r->rows * (i + 1) / n;
    }
    if (room)
        pith_in_parallel(opts, n, round_part, part);
    free_parts(part);
    return room ? PITH_OK : PITH_ERR_MEMORY;
}

static void place_patches(struct rounding *r)
{
    damp(r);
    pith_order_by_diagonal(r->diagonal, r->n, r->order);
    pith_few_patches_place(&r->patches, r->order);
}

static void look_at_patches(struct rounding *r, uint64_t group)
{
    pith_few_patches_read(&r->patches, group, r->diagonal);
    place_patches(r);
}

static void look_at_products(struct rounding *r, const double *h)
{
    r->h = h;
    for (size_t k = 0; k < r->n; k++)
        r->diagonal[k] = h[k * r->n + k];
    damp(r);
    pith_order_by_diagonal(r->diagonal, r->n, r->order);
}

static void look_at_moments(struct rounding *r, uint64_t group)
{
    pith_layer_moments_sum(&r->moments, group);
    if (r->goals.row)
        pith_find_adaptive_targets(&r->moments, group, &r->goals);
    r->l->goal_share += r->goals.share / (double)r->l->shape.groups;
    pith_layer_moments_join(&r->moments);
    look_at_products(r, r->moments.h[0]);
}

/* ---- a layer --------------------------------------------------------------------------------- */

static bool make_room(struct rounding *r, bool goals)
{
    r->paths = r->l->most < INT8_MAX ? PATHS : 1;
    r->kernels = pith_row_panel_kernels();
    r->beside = r->paths == 1 && pith_feedback_panel_pays(&r->kernels) ? PITH_ROW_PANEL : 1;
    r->diagonal = malloc(r->n * sizeof *r->diagonal);
    r->damping = malloc(r->n * sizeof *r->damping);
    r->order = malloc(2 * r->n * sizeof *r->order);
    r->room = malloc(3 * r->n * sizeof *r->room);
    r->u = r->few ? NULL : malloc(r->n * r->n * sizeof *r->u);
    r->factor.diagonal = r->few ? malloc(r->n * sizeof *r->factor.diagonal) : NULL;
    if (goals && !(r->goals.row = malloc(r->rows * r->n * sizeof *r->goals.row)))
        return false;
    return r->diagonal && r->damping && r->order && r->room && (r->few ? r->factor.diagonal : r->u);
}

static void point_factor(struct rounding *r)
{
    r->factor.n = r->n;
    r->factor.r = r->patches.r;
    r->factor.x = r->patches.by_place;
    r->factor.p = r->patches.p;
}

static enum pith_status begin(const struct layer_inputs *in, struct rounding *r)
{
    enum pith_status st;
    r->few = !in->goal && pith_patches_are_few(in, r->l);
    st = r->few ? pith_few_patches(in, r->l, &r->patches)
                : pith_layer_moments(in, r->l, &r->moments);
    if (!st && !make_room(r, in->goal != NULL))
        st = PITH_ERR_MEMORY;
    r->goals.u = r->u;
    r->goals.room = r->room;
    point_factor(r);
    return st;
}

static void end(struct rounding *r)
{
    if (r->few)
        pith_few_patches_end(&r->patches);
    else
        pith_layer_moments_end(&r->moments);
    free(r->goals.row);
    free(r->u);
    free(r->factor.diagonal);
    free(r->diagonal);
    free(r->damping);
    free(r->order);
    free(r->room);
}

bool pith_gptq_applies(const struct integer_layer *l)
{
    return l->shape.cols <= MOST_COLUMNS &&
           l->most <= INT8_MAX; /* 16 bits are as good as none lost */
}

enum pith_status pith_gptq_round_patches(const struct few_patches *patches,
                                         const struct pith_opts *opts, struct integer_layer *l)
{
    struct rounding r = {
        .l = l, .n = l->shape.cols, .rows = l->shape.rows, .few = true, .patches = *patches};
    enum pith_status st = make_room(&r, false) ? PITH_OK : PITH_ERR_MEMORY;
    point_factor(&r);
    if (!st) {
        pith_few_patches_diagonal(&r.patches, r.diagonal);
        place_patches(&r);
        factor(&r);
        st = round_rows(&r, 0, opts);
    }
    r.patches = (struct few_patches){0}; /* the caller's */
    end(&r);
    return st;
}

enum pith_status pith_gptq_round_sums(const double *h, const struct pith_opts *opts,
                                      struct integer_layer *l)
{
    struct rounding r = {.l = l, .n = l->shape.cols, .rows = l->shape.rows / l->shape.groups};
    enum pith_status st = make_room(&r, false) ? PITH_OK : PITH_ERR_MEMORY;
    for (uint64_t group = 0; group < l->shape.groups && !st; group++) {
        look_at_products(&r, h + group * r.n * r.n);
        factor(&r);
        st = round_rows(&r, group, opts);
    }
    end(&r);
    return st;
}

enum pith_status pith_gptq_round(const struct layer_inputs *in, const struct pith_opts *opts,
                                 struct integer_layer *l)
{
    struct rounding r = {.l = l, .n = l->shape.cols, .rows = l->shape.rows / l->shape.groups};
    if (!pith_gptq_applies(l))
        return PITH_OK;
    enum pith_status st = begin(in, &r);
    for (uint64_t group = 0; group < l->shape.groups && !st; group++) {
        if (r.few)
            look_at_patches(&r, group);
        else
            look_at_moments(&r, group);
        factor(&r);
        st = round_rows(&r, group, opts);
    }
    end(&r);
    if (!st)
        pith_layer_store(l);
    return st;
}
