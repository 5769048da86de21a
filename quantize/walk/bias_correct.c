/* SPDX-License-Identifier: MIT */
/* bias_correct.c - with weights w' = q s in the place of w, the mean of an output channel moves by
 * (w' - w) mean(x), and a constant moves it back (Nagel et al., "Data-Free Quantization Through
 * Weight Equalization and Bias Correction", 2019; here with the inputs that the layers before
 * really give).
 *
 * The mean of (w - w') x over a sample needs no sums of the layer: it is w - w' times the mean of
 * all patches. Of these means, one a sample, the mean is what the bias gets, where it is more than
 * twice its standard error: what the samples cannot tell from chance would be overfitted.
 *
 * What the layer's inputs lost themselves is deliberately not made up for. Where a range was cut,
 * what is lost lies in few large numbers, and shifting all others by their mean does harm:
 * MobileNet-v2 fell from 24 to 13 dB that way. */
#include "bias_correct.h"

#include <math.h>
#include <stdlib.h>

#include "layer_patches.h"

/* So many samples go through a layer's weights together. */
#define BESIDE 16u

/* Sums of the patches of some samples. */
struct sample_sums {
    uint32_t n;
    int64_t *of[BESIDE]; /* [groups * cols] of each */
    double *beside;      /* [groups * cols, BESIDE] the same, 0 behind n */
};

/* Means of (w - q s) x over the positions of each sample: loss [BESIDE]. */
static void mean_losses(const struct layer_patches *p, const struct integer_layer *l, uint64_t o,
                        const struct sample_sums *sums, double *loss)
{
    const uint64_t cols = l->shape.cols, group = o / (l->shape.rows / l->shape.groups);
    const float *w = l->w + o * cols;
    const int16_t *q = l->q + o * cols;
    const double *x = sums->beside + group * cols * BESIDE;
    double lost[BESIDE] = {0};
    for (uint64_t k = 0; k < cols; k++, x += BESIDE) {
        double e = (double)w[k] * l->w_factor - (double)q[k] * l->scale[o];
        for (uint32_t i = 0; i < BESIDE; i++)
            lost[i] += e * x[i];
    }
    for (uint32_t i = 0; i < BESIDE; i++)
        loss[i] = lost[i] / (double)p->positions * pith_layer_input_scale(l, o);
}

/* Mean of y - q s x, y being what the float network has there. */
static double mean_shortfall(const struct layer_patches *p, const struct integer_layer *l,
                             uint64_t n, uint64_t o, const int64_t *sum)
{
    uint64_t group = o / (l->shape.rows / l->shape.groups);
    double wanted = 0, has = 0;
    for (uint64_t k = 0; k < l->shape.cols; k++)
        has += (double)l->q[o * l->shape.cols + k] * (double)sum[group * l->shape.cols + k];
    for (uint64_t at = 0; at < p->positions; at++)
        wanted += pith_layer_goal(p, l, n, o, at);
    has *= l->scale[o] * pith_layer_input_scale(l, o);
    return (wanted - has) / (double)p->positions;
}

static void correct(struct integer_layer *l, const double *sum, const double *squares, uint32_t n)
{
    l->n_corrected = 0;
    for (uint64_t o = 0; o < l->shape.rows && n > 1; o++) {
        double mean = sum[o] / n, variance = fmax(squares[o] / n - mean * mean, 0) * n / (n - 1);
        if (isfinite(mean) && mean * mean > 4 * variance / n) {
            l->bias_shift[o] += mean;
            l->n_corrected++;
        }
    }
    pith_layer_store(l);
}

static bool begin_sums(struct sample_sums *s, uint64_t size)
{
    *s = (struct sample_sums){0};
    s->of[0] = malloc((size_t)size * BESIDE * sizeof *s->of[0]);
    s->beside = malloc((size_t)size * BESIDE * sizeof *s->beside);
    for (uint32_t i = 1; i < BESIDE && s->of[0]; i++)
        s->of[i] = s->of[i - 1] + size;
    return s->of[0] && s->beside;
}

static void end_sums(struct sample_sums *s)
{
    free(s->of[0]);
    free(s->beside);
}

/* Of samples first to first + s->n - 1. */
static void add_patches(const struct layer_patches *p, uint32_t first, struct sample_sums *s)
{
    uint64_t size = p->groups * p->cols;
    for (uint32_t i = 0; i < s->n; i++)
        pith_patch_sums(p, first + i, s->of[i]);
    for (uint64_t k = 0; k < size; k++)
        for (uint32_t i = 0; i < BESIDE; i++)
            s->beside[k * BESIDE + i] = i < s->n ? (double)s->of[i][k] : 0;
}

static void add_losses(const struct layer_patches *p, const struct integer_layer *l, uint32_t first,
                       const struct sample_sums *s, double *sum, double *squares)
{
    double lost[BESIDE];
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        mean_losses(p, l, o, s, lost);
        for (uint32_t i = 0; i < s->n; i++) {
            if (l->goal_share > 0)
                lost[i] += l->goal_share * (mean_shortfall(p, l, first + i, o, s->of[i]) - lost[i]);
            sum[o] += lost[i];
            squares[o] += lost[i] * lost[i];
        }
    }
}

enum pith_status pith_bias_correct(const struct layer_inputs *in, struct integer_layer *l)
{
    struct layer_patches p = pith_layer_patches(in, l);
    uint64_t rows = l->shape.rows;
    struct sample_sums s;
    double *sum = calloc(rows, sizeof *sum), *squares = calloc(rows, sizeof *squares);
    bool room = begin_sums(&s, p.groups * p.cols) && sum && squares;
    for (uint32_t n = 0; n < in->n_samples && room; n += BESIDE) {
        s.n = in->n_samples - n < BESIDE ? in->n_samples - n : BESIDE;
        add_patches(&p, n, &s);
        add_losses(&p, l, n, &s, sum, squares);
    }
    if (room)
        correct(l, sum, squares, in->n_samples);
    end_sums(&s);
    free(sum);
    free(squares);
    return room ? PITH_OK : PITH_ERR_MEMORY;
}
