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

/* Mean of (w - q s) x over the positions of a sample, from the sums of its patches. */
static double mean_loss(const struct layer_patches *p, const struct integer_layer *l, uint64_t o,
                        const int64_t *sum)
{
    uint64_t group = o / (l->shape.rows / l->shape.groups);
    double lost = 0;
    for (uint64_t k = 0; k < l->shape.cols; k++) {
        uint64_t i = o * l->shape.cols + k;
        double e = (double)l->w[i] * l->w_factor - (double)l->q[i] * l->scale[o];
        lost += e * (double)sum[group * l->shape.cols + k];
    }
    return lost / (double)p->positions * pith_layer_input_scale(l, o);
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

enum pith_status pith_bias_correct(const struct layer_inputs *in, struct integer_layer *l)
{
    struct layer_patches p = pith_layer_patches(in, l);
    uint64_t rows = l->shape.rows;
    int64_t *patch = malloc((size_t)(p.groups * p.cols) * sizeof *patch);
    double *sum = calloc(rows, sizeof *sum), *squares = calloc(rows, sizeof *squares);
    bool room = patch && sum && squares;
    for (uint32_t n = 0; n < in->n_samples && room; n++) {
        pith_patch_sums(&p, n, patch);
        for (uint64_t o = 0; o < rows; o++) {
            double lost = mean_loss(&p, l, o, patch);
            if (l->goal_share > 0)
                lost += l->goal_share * (mean_shortfall(&p, l, n, o, patch) - lost);
            sum[o] += lost;
            squares[o] += lost * lost;
        }
    }
    if (room)
        correct(l, sum, squares, in->n_samples);
    free(patch);
    free(sum);
    free(squares);
    return room ? PITH_OK : PITH_ERR_MEMORY;
}
