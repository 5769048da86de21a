/* SPDX-License-Identifier: MIT */
/* gptq_round.c - rounding with error feedback (Frantar & Alistarh, "Optimal Brain Compression",
 * 2022; Frantar et al., "GPTQ", 2023).
 *
 * A row of weights becomes q * s so that the layer's sums over the samples' rows x change little
 * from those of a target g: the weights themselves, or what makes up for what the layers before
 * have lost (adaptive_targets.c). e (H + D) e^T is to be small, where e = g - q s, H is the sum of
 * x x^T, and D, a part of H's mean diagonal, stands for what the samples do not show.
 *
 * How a row is rounded, and along how many paths, stands in error_feedback.h; H and its factor
 * in layers/.
 *
 * A scale a little below largest / most cuts the largest weights but makes all steps finer: the row
 * is rounded with several (numeric/scale_search.c), and that with the least error stays.
 *
 * There are many rows x for each weight: few are overfitted. Rounded adaptively,
 * SqueezeNet v1.1 with weights of 4 bits had 15.2 dB with 8 for each, 16.0 with 24.
 *
 * Weights of fewer than 8 bits are looked for along four paths: ResNet-20 with weights of 4 bits
 * has 22.8 dB so and 22.2 with one; 16 find no more that holds on other samples, and with 8 bits
 * what is left is the activations' noise.
 *
 * Where there are few samples for the length of a row, H = X X^T is of low rank: U is then never
 * made, but found through X (few_rows.h), which makes a layer of 4,096 inputs and 64 samples eleven
 * times as fast. Rows do not depend on one another and are rounded on all threads.
 *
 * Deliberately not done: moving single weights afterwards until none lowers the error, with scales
 * fitted to them in between. It lowers the error on the samples only (docs/tried.md). */
#include "gptq_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adaptive_targets.h"
#include "numeric/error_feedback.h"
#include "numeric/feedback_panel.h"
#include "base/in_parallel.h"
#include "layers/layer_round.h"
#include "quantize/layer/weight_scale_search.h"

#define ROWS_PER_COLUMN 64u /* of moments, where the samples have so many */
#define LEAST_ROWS 4096u
#define MOST_COLUMNS 8192u /* two matrices of doubles: 1 GiB */
#define PATHS 4u           /* of a row (error_feedback.h), where bits are few */
#define TASKS 16u          /* parts of the rows, at most */

/* Of a group of rows. */
struct rounding {
    struct integer_layer *l;
    size_t n, rows; /* weights of a row, rows of a group */
    uint32_t paths;
    const size_t *order;                  /* [n] weight at each place; the last is rounded first */
    const double *u;                      /* [n, n] by place; NULL: */
    const struct low_rank_factor *factor; /* the same */
    const double *target;                 /* [all rows, n]; NULL: the weights */
    struct row_panel_kernels kernels;
    uint32_t beside; /* rows that are rounded beside each other, one copy of u for all: 1 or
                        PITH_ROW_PANEL */
};

/* Rows [first, last) of the layer, on one thread. */
struct part {
    const struct rounding *r;
    uint64_t first, last;
    double *e;          /* [n, paths], [n, beside] */
    double *goal;       /* [n] by place */
    double *projection; /* [r, paths], [r, beside] of a factor of rank r */
    uint8_t *kept;      /* [n] by place: 0: pruned */
    int16_t *q;         /* [beside, n] by place */
    double *goals;      /* [n, beside] */
    uint8_t *all_kept;
};

/* ---- a row ----------------------------------------------------------------------------------- */

static double weight(const struct rounding *r, uint64_t row, size_t k)
{
    return (double)r->l->w[row * r->n + k] * r->l->w_factor;
}

/* In places. What was pruned stays 0: the goal may be there what it likes. */
static void find_goal(const struct part *p, uint64_t row)
{
    const struct rounding *r = p->r;
    const double *goal = r->target ? r->target + row * r->n : NULL;
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
                                   .factor = r->factor,
                                   .goal = p->goal,
                                   .kept = r->l->mask ? p->kept : NULL,
                                   .most = r->l->most,
                                   .lowest = r->l->lowest,
                                   .n_paths = r->paths,
                                   .e = p->e,
                                   .projection = p->projection};
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
                                   .factor = r->factor,
                                   .goal = p->goals,
                                   .kept = r->l->mask ? p->all_kept : NULL,
                                   .lowest = r->l->lowest,
                                   .most = r->l->most,
                                   .e = p->e,
                                   .projection = p->projection,
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
    p->projection = malloc(((r->factor ? r->factor->r : 0) + 1) * lanes * sizeof *p->projection);
    p->kept = calloc(r->n, 1);
    p->q = malloc(beside * r->n * sizeof *p->q);
    p->goals = calloc(beside * r->n, sizeof *p->goals);
    p->all_kept = calloc(beside * r->n, 1);
    return p->e && p->goal && p->projection && p->kept && p->q && p->goals && p->all_kept;
}

static void free_parts(struct part part[TASKS])
{
    for (uint32_t i = 0; i < TASKS; i++) {
        free(part[i].e);
        free(part[i].goal);
        free(part[i].projection);
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

static struct rounding rounding_of(struct integer_layer *l)
{
    struct rounding r = {.l = l, .n = l->shape.cols, .rows = l->shape.rows / l->shape.groups};
    r.paths = l->most < INT8_MAX ? PATHS : 1;
    r.kernels = pith_row_panel_kernels();
    r.beside = r.paths == 1 && pith_feedback_panel_pays(&r.kernels) ? PITH_ROW_PANEL : 1;
    return r;
}

enum pith_status pith_gptq_round_rows(struct few_rows *few, const struct pith_opts *opts,
                                      struct integer_layer *l)
{
    struct rounding r = rounding_of(l);
    pith_few_rows_factor(few, PITH_LAYER_DAMPING_WITH_MEANS);
    r.order = few->order;
    r.factor = &few->factor;
    return round_rows(&r, 0, opts);
}

/* What never comes in has the identity as its factor: all is rounded to nearest. */
static enum pith_status round_groups(const struct layer_factor *f, const double *target,
                                     const struct pith_opts *opts, struct integer_layer *l)
{
    struct rounding r = rounding_of(l);
    double *ones = malloc(f->n * sizeof *ones);
    const struct low_rank_factor identity = {.n = f->n, .x = ones, .p = ones, .diagonal = ones};
    enum pith_status st = ones ? PITH_OK : PITH_ERR_MEMORY;
    for (size_t k = 0; k < f->n && ones; k++)
        ones[k] = 1;
    r.target = target;
    r.factor = f->u ? NULL : &identity;
    for (uint32_t g = 0; g < f->groups && !st; g++) {
        r.order = f->order + g * f->n;
        r.u = f->u ? f->u + g * f->n * f->n : NULL;
        st = round_rows(&r, g, opts);
    }
    free(ones);
    return st;
}

static enum pith_status round_to(struct layer_moments *m, const double *target,
                                 const struct pith_opts *opts, struct integer_layer *l)
{
    struct layer_factor f;
    enum pith_status st = pith_layer_factor(m, 0, PITH_LAYER_DAMPING_WITH_MEANS, 1, &f, NULL);
    if (!st)
        st = round_groups(&f, target, opts, l);
    pith_layer_factor_end(&f);
    return st;
}

enum pith_status pith_gptq_round_moments(struct layer_moments *m, const struct pith_opts *opts,
                                         struct integer_layer *l)
{
    return round_to(m, NULL, opts, l);
}

/* ---- a layer --------------------------------------------------------------------------------- */

bool pith_gptq_applies(const struct integer_layer *l)
{
    return l->shape.cols <= MOST_COLUMNS &&
           l->most <= INT8_MAX; /* 16 bits are as good as none lost */
}

static struct moments_opts moments_of(const struct integer_rows *rows, const struct pith_opts *opts)
{
    return (struct moments_opts){.samples = rows->in->n_samples,
                                 .per_column = ROWS_PER_COLUMN,
                                 .least_rows = LEAST_ROWS,
                                 .runtime = opts};
}

enum pith_status pith_gptq_moments(const struct integer_rows *rows, const struct pith_opts *opts,
                                   struct layer_moments *m)
{
    const struct moments_opts o = moments_of(rows, opts);
    return pith_layer_moments(&rows->x, NULL, &o, m, NULL);
}

static enum pith_status round_few(const struct integer_rows *rows, const struct pith_opts *opts,
                                  struct integer_layer *l)
{
    struct few_rows few;
    struct row_reader from;
    struct rounding r = rounding_of(l);
    enum pith_status st = pith_few_rows(r.n, (size_t)(rows->x.places * rows->in->n_samples), &few);
    if (!pith_row_reader_open(&from, rows))
        st = PITH_ERR_MEMORY;
    r.order = few.order;
    r.factor = &few.factor;
    for (uint32_t group = 0; group < l->shape.groups && !st; group++) {
        pith_few_rows_read(&few, &from, group);
        pith_few_rows_factor(&few, PITH_LAYER_DAMPING_WITH_MEANS);
        st = round_rows(&r, group, opts);
    }
    pith_row_reader_close(&from);
    pith_few_rows_end(&few);
    return st;
}

/* Both halves' as one, with what their means make. */
static void join(struct layer_moments half[2])
{
    const size_t all = half->groups * half->n * half->n;
    const double samples = (double)(half[0].samples + half[1].samples),
                 part[] = {(double)half[0].samples / samples, (double)half[1].samples / samples};
    pith_layer_centre(&half[0], -1);
    pith_layer_centre(&half[1], -1);
    for (size_t i = 0; i < all; i++)
        half[0].h[i] = part[0] * half[0].h[i] + part[1] * half[1].h[i];
}

static enum pith_status round_adaptively(const struct integer_rows *rows,
                                         const struct pith_opts *opts, struct integer_layer *l)
{
    struct layer_moments half[2] = {{0}};
    struct moments_opts o = moments_of(rows, opts);
    double *target = malloc(l->shape.rows * l->shape.cols * sizeof *target);
    enum pith_status st = target ? PITH_OK : PITH_ERR_MEMORY;
    o.step = 2;
    for (o.first = 0; o.first < 2 && !st; o.first++) {
        st = pith_layer_moments(&rows->x, &rows->goal, &o, &half[o.first], NULL);
        if (!st)
            pith_layer_centre(&half[o.first], 1);
    }
    if (!st)
        st = pith_adaptive_targets(half, l, target, &l->goal_share);
    if (!st) {
        join(half);
        free(half[0].cross);
        half[0].cross = NULL;
        st = round_to(half, target, opts, l);
    }
    free(target);
    pith_layer_moments_end(&half[0]);
    pith_layer_moments_end(&half[1]);
    return st;
}

enum pith_status pith_gptq_round(const struct layer_inputs *in, const struct pith_opts *opts,
                                 struct integer_layer *l)
{
    struct integer_rows rows;
    struct layer_moments m = {0};
    if (!pith_gptq_applies(l))
        return PITH_OK;
    enum pith_status st = pith_integer_rows(in, l, &rows);
    if (!st && in->goal && in->n_samples > 1)
        st = round_adaptively(&rows, opts, l);
    else if (!st && pith_rows_are_few(in, l))
        st = round_few(&rows, opts, l);
    else if (!st && !(st = pith_gptq_moments(&rows, opts, &m)))
        st = round_to(&m, NULL, opts, l);
    pith_layer_moments_end(&m);
    pith_integer_rows_end(&rows);
    if (!st)
        pith_layer_store(l);
    return st;
}
