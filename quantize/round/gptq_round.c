/* SPDX-License-Identifier: MIT */
/* gptq_round.c - rounding with error feedback (Frantar & Alistarh, "Optimal Brain Compression",
 * 2022; Frantar et al., "GPTQ", 2023).
 *
 * A row of weights becomes q * s so that the layer's sums over the samples' rows x change little
 * from those of a target g: the weights themselves, or what makes up for what the layers before
 * have lost (layer_factor.h). e (H + D) e^T is to be small, where e = g - q s, H is the sum of
 * x x^T less what the bias makes up for, and D, a part of H's mean diagonal and its shrinkage,
 * stands for what the samples do not show: where they show chance alone, rounding is to nearest.
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

#include "layers/layer_round.h"

#define ROWS_PER_COLUMN 64u /* of moments, where the samples have so many */
#define LEAST_ROWS 1024u
#define MOST_COLUMNS 8192u /* two matrices of doubles: 1 GiB */
#define PATHS 4u           /* of a row (error_feedback.h), where bits are few */

bool pith_gptq_applies(const struct integer_layer *l)
{
    return l->shape.cols <= MOST_COLUMNS &&
           l->most <= INT8_MAX; /* 16 bits are as good as none lost */
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* Gemm's alpha is in them. least: [rows] */
static bool scale_rows(const struct integer_layer *l, float *w, double *least)
{
    for (uint64_t i = 0; i < l->shape.rows * l->shape.cols && w; i++)
        w[i] = (float)((double)l->real.w[i] * l->real.w_factor);
    for (uint64_t row = 0; row < l->shape.rows && least; row++)
        least[row] = pith_layer_least_scale(l, row);
    return w && least;
}

static enum pith_status round_rows(const struct layer_factor *f, const float *w,
                                   const double *least, const struct pith_opts *opts,
                                   struct integer_layer *l)
{
    struct layer_round r = {.factor = f,
                            .rows = l->shape.rows,
                            .w = w,
                            .step = l->scale,
                            .least_step = l->may_scale ? least : NULL,
                            .halves = l->radix,
                            .kept = l->real.mask,
                            .lowest = l->lowest,
                            .most = l->most,
                            .paths = l->most < INT8_MAX ? PATHS : 1,
                            .runtime = opts,
                            .q = l->q};
    const enum pith_status st = pith_layer_round(&r, NULL);
    free(r.error);
    return st;
}

/* What never comes in has the identity as its factor: all is rounded to nearest. */
static enum pith_status round_to(struct layer_moments *m, double centre,
                                 const struct pith_opts *opts, struct integer_layer *l)
{
    const uint64_t rows = l->shape.rows;
    float *w = malloc((size_t)(rows * l->shape.cols) * sizeof *w);
    double *least = malloc((size_t)rows * sizeof *least);
    struct layer_factor f = {0};
    enum pith_status st = scale_rows(l, w, least) ? PITH_OK : PITH_ERR_MEMORY;
    if (!st && pith_layer_is_low_rank(m))
        st = pith_layer_factor_low(m, centre, w, rows, &f, NULL);
    else if (!st) {
        st = pith_layer_factor(m, centre, pith_layer_damping(m), 1, &f, NULL);
        if (!st)
            st = pith_layer_targets(&f, w, rows, opts, NULL);
    }
    if (!st)
        st = round_rows(&f, w, least, opts, l);
    pith_layer_factor_end(&f);
    free(w);
    free(least);
    return st;
}

enum pith_status pith_gptq_round_moments(struct layer_moments *m, const struct pith_opts *opts,
                                         struct integer_layer *l)
{
    return round_to(m, 0, opts, l);
}

/* ---- a layer --------------------------------------------------------------------------------- */

static enum pith_status find_moments(const struct integer_rows *rows, bool targets, double centre,
                                     const struct pith_opts *opts, struct layer_moments *m)
{
    const struct moments_opts o = {.samples = rows->in->n_samples,
                                   .per_column = ROWS_PER_COLUMN,
                                   .least_rows = LEAST_ROWS,
                                   .centre = centre,
                                   .runtime = opts};
    const enum pith_status st =
        pith_layer_moments(&rows->x, targets ? &rows->goal : NULL, &o, m, NULL);
    m->of_results = targets;
    return st;
}

enum pith_status pith_gptq_moments(const struct integer_rows *rows, const struct pith_opts *opts,
                                   struct layer_moments *m)
{
    return find_moments(rows, false, 0, opts, m);
}

enum pith_status pith_gptq_round(const struct layer_inputs *in, bool shifts_bias,
                                 const struct pith_opts *opts, struct integer_layer *l)
{
    const double centre = shifts_bias ? PITH_BIAS_SHARE : 0;
    struct integer_rows rows;
    struct layer_moments m = {0};
    if (!pith_gptq_applies(l))
        return PITH_OK;
    enum pith_status st = pith_integer_rows(in, l, &rows);
    l->to_results = in->goal && in->n_samples > 1;
    if (!st) {
        st = find_moments(&rows, l->to_results, centre, opts, &m);
        if (!st)
            st = round_to(&m, centre, opts, l);
    }
    pith_layer_moments_end(&m);
    pith_integer_rows_end(&rows);
    if (!st)
        pith_layer_store(l);
    return st;
}
