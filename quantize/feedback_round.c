/* SPDX-License-Identifier: MIT */
/* feedback_round.c - rounding with error feedback (Frantar & Alistarh, "Optimal Brain Compression",
 * 2022; Frantar et al., "GPTQ", 2023).
 *
 * A row w of weights becomes q * s so that the layer's sums over the samples' patches X change
 * little: e H e^T is to be small, where e = w - q s and H = X^T X. With H = U^T U this is |U e|^2,
 * and going from the last weight to the first, the j-th term,
 *
 *     U[j, j] (w_j - q_j s) + sum over i > j of U[j, i] e_i,
 *
 * is least for q_j nearest to (w_j + sum over i > j of U[j, i] e_i / U[j, j]) / s. That is GPTQ's
 * rule in the form of Babai's nearest plane: one factorisation, no inverse. Weights are taken in
 * the order of falling H[k, k], so the ones that matter most are rounded first and made up for by
 * all others.
 *
 * H is summed over patches at evenly spaced positions of all samples, as integers in pieces that 32
 * bits hold, so it is exact and the same everywhere. DAMPING of its mean diagonal is added to the
 * diagonal, for what the samples do not show.
 *
 * A scale a little below largest / most cuts the largest weights but makes all steps finer: of a
 * few, the one with the least error by H's diagonal is taken before rounding. */
#include "feedback_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cholesky.h"
#include "layer_patches.h"

#define DAMPING 0.01
#define PATCHES_PER_WEIGHT 8u /* of a row, where the samples have so many */
#define LEAST_PATCHES 4096u
#define PIECE 512u /* patches: 512 * 255^2 fits 32 bits */
#define FINEST 0.5 /* of the scale that cuts nothing */
#define SCALE_STEPS 25u
#define MOST_COLUMNS 8192u /* two matrices of doubles: 1 GiB */

struct rounding {
    const struct layer_inputs *in;
    struct integer_layer *l;
    struct layer_patches patches;
    size_t n;            /* weights of a row */
    uint64_t per_sample; /* patches taken of each */
    int16_t *piece;      /* [n, PIECE] */
    double *h;           /* [n, n] of one group; then permuted, damped, factored */
    double *u;           /* [n, n] */
    double *diagonal;    /* [n] of h, damped */
    size_t *order;       /* [n] weight at each place; the last is rounded first */
    double *e;           /* [n] of one row, by place */
};

/* ---- H
 * --------------------------------------------------------------------------------------------------
 */

static int32_t dot(const int16_t *restrict a, const int16_t *restrict b, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_piece(struct rounding *r, size_t filled)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = i; k < r->n; k++)
            r->h[i * r->n + k] += dot(r->piece + i * PIECE, r->piece + k * PIECE, filled);
}

static void sum_h(struct rounding *r, uint64_t group)
{
    size_t filled = 0;
    uint64_t positions = r->patches.positions;
    memset(r->h, 0, r->n * r->n * sizeof *r->h);
    for (uint64_t s = 0; s < r->in->n_samples; s++)
        for (uint64_t i = 0; i < r->per_sample; i++) {
            /* samples begin at different places, so that together they see all */
            uint64_t at = (i * positions + s * positions / r->in->n_samples) / r->per_sample;
            pith_patch_row(&r->patches, s, group, at < positions ? at : positions - 1,
                           r->piece + filled, PIECE);
            if (++filled == PIECE) {
                add_piece(r, filled);
                filled = 0;
            }
        }
    if (filled)
        add_piece(r, filled);
}

/* ---- order and factor
 * ------------------------------------------------------------------------------------ */

static void damp(struct rounding *r)
{
    double mean = 0;
    for (size_t k = 0; k < r->n; k++)
        mean += r->h[k * r->n + k] / (double)r->n;
    double add = mean > 0 ? DAMPING * mean : 1;
    for (size_t k = 0; k < r->n; k++)
        r->diagonal[k] = r->h[k * r->n + k] += add;
}

/* Ascending by diagonal, of equal ones the later first (a merge sort by halves). */
static void merge(const struct rounding *r, size_t *to, const size_t *a, size_t n_a,
                  const size_t *b, size_t n_b)
{
    while (n_a || n_b) {
        bool first = n_b == 0 || (n_a && r->diagonal[*a] <= r->diagonal[*b]);
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

static double h_at(const struct rounding *r, size_t i, size_t k)
{
    return i <= k ? r->h[i * r->n + k] : r->h[k * r->n + i];
}

/* With more and more damping until rounding errors do no harm. */
static void factor(struct rounding *r)
{
    for (double more = 0;; more = more > 0 ? 10 * more : DAMPING) {
        for (size_t i = 0; i < r->n; i++)
            for (size_t k = i; k < r->n; k++)
                r->u[i * r->n + k] = h_at(r, r->order[i], r->order[k]) * (i == k ? 1 + more : 1);
        if (pith_cholesky(r->u, r->n))
            return;
    }
}

/* ---- a row
 * -------------------------------------------------------------------------------------------------
 */

static double weight(const struct rounding *r, uint64_t row, size_t k)
{
    return (double)r->l->w[row * r->n + k] * r->l->w_factor;
}

static double nearest(const struct rounding *r, double w, double scale)
{
    return fmin(fmax(nearbyint(w / scale), -r->l->most), r->l->most);
}

static double scale_error(const struct rounding *r, uint64_t row, double scale)
{
    double error = 0;
    for (size_t k = 0; k < r->n; k++) {
        double w = weight(r, row, k), d = w - scale * nearest(r, w, scale);
        error += d * d * r->diagonal[k];
    }
    return error;
}

static void choose_scale(struct rounding *r, uint64_t row)
{
    double widest = r->l->scale[row], best = widest, least = scale_error(r, row, widest);
    for (uint32_t i = 1; i <= SCALE_STEPS; i++) {
        double scale = widest * (1 - (1 - FINEST) * i / SCALE_STEPS);
        double error = scale_error(r, row, scale);
        if (error < least && scale >= pith_layer_least_scale(r->l, row)) {
            least = error;
            best = scale;
        }
    }
    r->l->scale[row] = best;
}

static double carried(const double *restrict u, const double *restrict e, size_t n)
{
    double sum[4] = {0}; /* four sums: the order is fixed, the additions overlap */
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += u[i + k] * e[i + k];
    for (; i < n; i++)
        sum[0] += u[i] * e[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* What was pruned stays 0. */
static void round_row(struct rounding *r, uint64_t row)
{
    double scale = r->l->scale[row];
    const uint8_t *mask = r->l->mask ? r->l->mask + row * r->n : NULL;
    for (size_t j = r->n; j-- > 0;) {
        const double *u = r->u + j * r->n;
        double w = weight(r, row, r->order[j]), q = 0;
        if (!mask || mask[r->order[j]])
            q = nearest(r, w + carried(u + j + 1, r->e + j + 1, r->n - j - 1) / u[j], scale);
        r->l->q[row * r->n + r->order[j]] = (int8_t)q;
        r->e[j] = w - q * scale;
    }
}

static void round_group(struct rounding *r, uint64_t group)
{
    uint64_t rows = r->l->shape.rows / r->l->shape.groups;
    for (uint64_t row = group * rows; row < (group + 1) * rows; row++) {
        if (r->l->may_scale)
            choose_scale(r, row);
        round_row(r, row);
    }
}

/* ---- a layer
 * ------------------------------------------------------------------------------------------------
 */

static bool make_room(struct rounding *r)
{
    r->piece = malloc(r->n * PIECE * sizeof *r->piece);
    r->h = malloc(r->n * r->n * sizeof *r->h);
    r->u = malloc(r->n * r->n * sizeof *r->u);
    r->diagonal = malloc(r->n * sizeof *r->diagonal);
    r->order = malloc(2 * r->n * sizeof *r->order);
    r->e = malloc(r->n * sizeof *r->e);
    return r->piece && r->h && r->u && r->diagonal && r->order && r->e;
}

static void free_room(struct rounding *r)
{
    free(r->piece);
    free(r->h);
    free(r->u);
    free(r->diagonal);
    free(r->order);
    free(r->e);
}

static uint64_t patches_per_sample(const struct rounding *r)
{
    uint64_t wanted =
        PATCHES_PER_WEIGHT * r->n > LEAST_PATCHES ? PATCHES_PER_WEIGHT * r->n : LEAST_PATCHES;
    uint64_t each = (wanted + r->in->n_samples - 1) / r->in->n_samples;
    return each < r->patches.positions ? each : r->patches.positions;
}

enum pith_status pith_feedback_round(const struct layer_inputs *in, struct integer_layer *l)
{
    struct rounding r = {
        .in = in, .l = l, .patches = pith_layer_patches(in, l), .n = l->shape.cols};
    if (r.n > MOST_COLUMNS)
        return PITH_OK;
    bool room = make_room(&r);
    r.per_sample = patches_per_sample(&r);
    for (uint64_t group = 0; group < l->shape.groups && room; group++) {
        sum_h(&r, group);
        damp(&r);
        sort_order(&r, r.order + r.n);
        factor(&r);
        round_group(&r, group);
    }
    free_room(&r);
    if (!room)
        return PITH_ERR_MEMORY;
    pith_layer_store(l);
    return PITH_OK;
}
