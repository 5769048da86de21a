/* SPDX-License-Identifier: MIT */
/* feedback_round.c - rounding with error feedback (Frantar & Alistarh, "Optimal Brain Compression",
 * 2022; Frantar et al., "GPTQ", 2023).
 *
 * A row of weights becomes q * s so that the layer's sums over the samples' patches x change little from
 * those of a goal g: the row itself, or what makes up for what the layers before have lost (sum_goals.c).
 * e (H + D) e^T is to be small, where e = g - q s, H is the sum of x x^T, and D, a part of H's mean
 * diagonal, stands for what the samples do not show.
 *
 * With H + D = U^T U this is |U e|^2, and going
 * from the last weight to the first, the j-th term,
 *
 *     U[j, j] (g_j - q_j s) + sum over i > j of U[j, i] e_i,
 *
 * is least for q_j nearest to (g_j + sum over i > j of U[j, i] e_i / U[j, j]) / s. That is GPTQ's
 * rule in the form of Babai's nearest plane: one factorisation, no inverse. Weights are taken in
 * the order of falling H[k, k], so the ones that matter most are rounded first and made up for by
 * all others.
 *
 * A scale a little below largest / most cuts the largest weights but makes all steps finer: the row is
 * rounded with several (weight_scale_search.c), and that with the least error stays.
 *
 * Deliberately not done: moving single weights afterwards until none lowers the error, with scales
 * fitted to them in between. It lowers the error on the samples only (docs/results.md). */
#include "feedback_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cholesky.h"
#include "layer_moments.h"
#include "row_rounding.h"
#include "sum_goals.h"
#include "weight_scale_search.h"

#define DAMPING 0.03 /* of the mean of H's diagonal */
#define MORE_DAMPING 0.01 /* of each element, when rounding errors do harm */
#define MOST_COLUMNS 8192u /* three matrices of doubles: 1.5 GiB */

struct rounding {
    struct layer_moments moments;
    struct integer_layer *l;
    size_t n;        /* weights of a row */
    double *u;       /* [n, n] by place: factor of the damped h */
    double *damping; /* [n] by weight */
    size_t *order;   /* [n] weight at each place; the last is rounded first */
    struct sum_goals goals;
    double *e;       /* [3, n] room of the row */
    double *goal;    /* [n] by place */
    uint8_t *kept;   /* [n] by place: 0: pruned */
    int16_t *q;      /* [n] by place */
};

/* ---- order and factor -------------------------------------------------------------------------- */

static double diagonal(const struct rounding *r, size_t k)
{
    return r->moments.h[0][k * r->n + k];
}

static void damp(struct rounding *r)
{
    double add = DAMPING * pith_mean_diagonal(r->moments.h[0], r->n);
    for (size_t k = 0; k < r->n; k++)
        r->damping[k] = add;
}

/* Ascending by diagonal, of equal ones the later first (a merge sort by halves). */
static void merge(const struct rounding *r, size_t *to, const size_t *a, size_t n_a,
                  const size_t *b, size_t n_b)
{
    while (n_a || n_b) {
        bool first = n_b == 0 || (n_a && diagonal(r, *a) <= diagonal(r, *b));
        if (first) {
            *to++ = *a++;
            n_a--;
        } else {
            *to++ = *b++;
            n_b--;
        }
    }
}

static void sort_order(struct rounding *r, size_t *room)
{
    for (size_t k = 0; k < r->n; k++)
        r->order[k] = k;
    for (size_t run = 1; run < r->n; run *= 2) {
        for (size_t at = 0; at < r->n; at += 2 * run) {
            size_t n_a = run < r->n - at ? run : r->n - at;
            size_t n_b = run < r->n - at - n_a ? run : r->n - at - n_a;
            merge(r, room + at, r->order + at, n_a, r->order + at + n_a, n_b);
        }
        memcpy(r->order, room, r->n * sizeof *room);
    }
}

/* With more and more damping until rounding errors do no harm. */
static void factor(struct rounding *r)
{
    for (;;) {
        for (size_t i = 0; i < r->n; i++)
            for (size_t k = i; k < r->n; k++)
                r->u[i * r->n + k] = r->moments.h[0][r->order[i] * r->n + r->order[k]] +
                                     (i == k ? r->damping[r->order[i]] : 0);
        if (pith_cholesky(r->u, r->n))
            return;
        for (size_t k = 0; k < r->n; k++)
            r->damping[k] += MORE_DAMPING * (diagonal(r, k) + r->damping[k]);
    }
}

/* ---- a row ------------------------------------------------------------------------------------- */

static double weight(const struct rounding *r, uint64_t row, size_t k)
{
    return (double)r->l->w[row * r->n + k] * r->l->w_factor;
}

/* In places. What was pruned stays 0: the goal may be there what it likes. */
static void find_goal(struct rounding *r, uint64_t row)
{
    const double *goal = r->goals.row ? r->goals.row + row % r->moments.rows * r->n : NULL;
    for (size_t i = 0; i < r->n; i++)
        r->goal[i] = goal ? goal[r->order[i]] : weight(r, row, r->order[i]);
}

static void round_row(struct rounding *r, uint64_t row)
{
    struct row_rounding one = {
        .n = r->n, .u = r->u, .goal = r->goal, .kept = NULL, .most = r->l->most, .lowest = r->l->lowest, .e = r->e};
    find_goal(r, row);
    for (size_t i = 0; i < r->n && r->l->mask; i++) {
        r->kept[i] = r->l->mask[row * r->n + r->order[i]];
        one.kept = r->kept;
    }
    if (r->l->may_scale)
        r->l->scale[row] = pith_search_weight_scale(&one, r->l, row, r->q);
    pith_round_row(&one, r->l->scale[row], HUGE_VAL, r->q);
    for (size_t i = 0; i < r->n; i++)
        r->l->q[row * r->n + r->order[i]] = r->q[i];
}

/* ---- a layer ----------------------------------------------------------------------------------- */

static bool make_room(struct rounding *r)
{
    r->u = malloc(r->n * r->n * sizeof *r->u);
    r->damping = malloc(r->n * sizeof *r->damping);
    r->order = malloc(2 * r->n * sizeof *r->order);
    r->e = malloc(3 * r->n * sizeof *r->e);
    r->goal = malloc(r->n * sizeof *r->goal);
    r->kept = malloc(r->n);
    r->q = malloc(r->n * sizeof *r->q);
    if (r->moments.in->goal && !(r->goals.row = malloc(r->moments.rows * r->n * sizeof *r->goals.row)))
        return false;
    return r->u && r->damping && r->order && r->e && r->goal && r->kept && r->q;
}

static void free_room(struct rounding *r)
{
    free(r->goals.row);
    free(r->u);
    free(r->damping);
    free(r->order);
    free(r->e);
    free(r->goal);
    free(r->kept);
    free(r->q);
}

enum pith_status pith_feedback_round(const struct layer_inputs *in, struct integer_layer *l)
{
    struct rounding r = {.l = l, .n = l->shape.cols};
    if (r.n > MOST_COLUMNS || l->most > INT8_MAX) /* 16 bits are as good as none lost */
        return PITH_OK;
    enum pith_status st = pith_layer_moments(in, l, &r.moments);
    if (!st && !make_room(&r))
        st = PITH_ERR_MEMORY;
    r.goals.u = r.u;
    r.goals.room = r.e;
    for (uint64_t group = 0; group < l->shape.groups && !st; group++) {
        pith_layer_moments_sum(&r.moments, group);
        if (r.goals.row)
            pith_find_sum_goals(&r.moments, group, &r.goals);
        l->goal_share += r.goals.share / (double)l->shape.groups;
        pith_layer_moments_join(&r.moments);
        damp(&r);
        sort_order(&r, r.order + r.n);
        factor(&r);
        for (size_t o = 0; o < r.moments.rows; o++)
            round_row(&r, group * r.moments.rows + o);
    }
    pith_layer_moments_end(&r.moments);
    free_room(&r);
    if (!st)
        pith_layer_store(l);
    return st;
}
