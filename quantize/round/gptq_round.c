/* SPDX-License-Identifier: MIT */
/* gptq_round.c - rounding with error feedback (Frantar & Alistarh, "Optimal Brain Compression",
 * 2022; Frantar et al., "GPTQ", 2023).
 *
 * A row of weights becomes q * s so that the layer's sums over the samples' rows x change little
 * from those of a target g: the weights themselves, or what makes up for what the layers before
 * have lost (adaptive_targets.c). e (H + D) e^T is to be small, where e = g - q s, H is the sum of
 * x x^T, and D, a part of H's mean diagonal, stands for what the samples do not show.
 *
 * How a row is rounded, and along how many paths, stands in layers/ (layer_round.h).
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
 * Deliberately not done: moving single weights afterwards until none lowers the error, with scales
 * fitted to them in between. It lowers the error on the samples only (docs/tried.md). */
#include "gptq_round.h"

#include <stdlib.h>

#include "adaptive_targets.h"
#include "layers/layer_round.h"

#define ROWS_PER_COLUMN 64u /* of moments, where the samples have so many */
#define LEAST_ROWS 4096u
#define MOST_COLUMNS 8192u /* two matrices of doubles: 1 GiB */
#define COLUMNS_FOR_A_ROW 4u
#define PATHS 4u /* of a row (error_feedback.h), where bits are few */

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

/* ---- rounding -------------------------------------------------------------------------------- */

/* The factor's from now on: targets [rows, n] as weights are stored, or NULL: the weights. */
static enum pith_status set_targets(struct layer_factor *f, double *target,
                                    const struct integer_layer *l)
{
    const size_t n = f->n, rows = (size_t)l->shape.rows;
    const bool plain = !target && l->w_factor == 1;
    double *row = malloc(n * sizeof *row);
    f->target = plain || target ? target : malloc(rows * n * sizeof *f->target);
    f->w = l->w;
    for (size_t r = 0; r < rows && row && f->target; r++) {
        const size_t *order = f->order + r / (rows / f->groups) * n;
        for (size_t k = 0; k < n; k++)
            row[k] = target ? target[r * n + k] : (double)l->w[r * n + k] * l->w_factor;
        for (size_t i = 0; i < n; i++)
            f->target[r * n + i] = row[order[i]];
    }
    const bool room = row && (plain || f->target);
    free(row);
    return room ? PITH_OK : PITH_ERR_MEMORY;
}

/* least: [rows] */
static struct layer_round rounding_of(const struct layer_factor *f, double *least,
                                      const struct pith_opts *opts, struct integer_layer *l)
{
    for (uint64_t row = 0; row < l->shape.rows; row++)
        least[row] = pith_layer_least_scale(l, row);
    return (struct layer_round){.factor = f,
                                .rows = l->shape.rows,
                                .w = l->w,
                                .step = l->scale,
                                .least_step = l->may_scale ? least : NULL,
                                .halves = l->radix,
                                .kept = l->mask,
                                .lowest = l->lowest,
                                .most = l->most,
                                .paths = l->most < INT8_MAX ? PATHS : 1,
                                .runtime = opts,
                                .q = l->q};
}

/* target: as stored, taken over; NULL: the weights. What never comes in has the identity as its
 * factor: all is rounded to nearest. */
static enum pith_status round_to(struct layer_moments *m, double *target,
                                 const struct pith_opts *opts, struct integer_layer *l)
{
    struct layer_factor f;
    double *least = malloc((size_t)l->shape.rows * sizeof *least);
    enum pith_status st = pith_layer_factor(m, 0, PITH_LAYER_DAMPING_WITH_MEANS, 1, &f, NULL);
    if (st)
        free(target);
    else
        st = set_targets(&f, target, l);
    if (!st && !least)
        st = PITH_ERR_MEMORY;
    if (!st) {
        struct layer_round r = rounding_of(&f, least, opts, l);
        st = pith_layer_round(&r, NULL);
        free(r.error);
    }
    pith_layer_factor_end(&f);
    free(least);
    return st;
}

enum pith_status pith_gptq_round_moments(struct layer_moments *m, const struct pith_opts *opts,
                                         struct integer_layer *l)
{
    return round_to(m, NULL, opts, l);
}

/* ---- a layer --------------------------------------------------------------------------------- */

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
        target = NULL;
    }
    free(target);
    pith_layer_moments_end(&half[0]);
    pith_layer_moments_end(&half[1]);
    return st;
}

/* Rows x that a matrix of all pairs of weights has so little of that its factor is not worth its
 * time: two layers of 4,096 and 64 samples take 49 s with it and lose the same without. */
static bool few_for_their_length(const struct integer_rows *rows)
{
    return rows->x.n > PITH_LAYER_MOST_COLUMNS &&
           rows->x.places * rows->in->n_samples <= rows->x.n / COLUMNS_FOR_A_ROW;
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
    else if (!st && !few_for_their_length(&rows) && !(st = pith_gptq_moments(&rows, opts, &m)))
        st = round_to(&m, NULL, opts, l);
    pith_layer_moments_end(&m);
    pith_integer_rows_end(&rows);
    if (!st)
        pith_layer_store(l);
    return st;
}
