/* SPDX-License-Identifier: MIT */
/* rounding_choice.c - error feedback fits what it rounds to the samples' correlations. Where inputs
 * have none, or samples are few, it overfits, and nearest rounding is better on other samples (by
 * 0.2 to 1.1 dB on white inputs). The held-out samples show which it is. */
#include "rounding_choice.h"

#include <stdlib.h>
#include <string.h>

#include "layer_patches.h"

#define POSITIONS 512u /* of all held-out samples */

bool pith_rounded_take(const struct integer_layer *l, struct rounded_weights *w)
{
    const size_t rows = (size_t)l->shape.rows, n = rows * (size_t)l->shape.cols;
    *w = (struct rounded_weights){.q = malloc(n * sizeof *w->q),
                                  .scale = malloc(rows * sizeof *w->scale),
                                  .bias_shift = malloc(rows * sizeof *w->bias_shift),
                                  .goal_share = l->goal_share,
                                  .n_corrected = l->n_corrected};
    if (!w->q || !w->scale || !w->bias_shift)
        return false;
    memcpy(w->q, l->q, n * sizeof *w->q);
    memcpy(w->scale, l->scale, rows * sizeof *w->scale);
    memcpy(w->bias_shift, l->bias_shift, rows * sizeof *w->bias_shift);
    return true;
}

void pith_rounded_put(const struct rounded_weights *w, struct integer_layer *l)
{
    const size_t rows = (size_t)l->shape.rows, n = rows * (size_t)l->shape.cols;
    memcpy(l->q, w->q, n * sizeof *w->q);
    memcpy(l->scale, w->scale, rows * sizeof *w->scale);
    memcpy(l->bias_shift, w->bias_shift, rows * sizeof *w->bias_shift);
    l->goal_share = w->goal_share;
    l->n_corrected = w->n_corrected;
    pith_layer_store(l);
}

void pith_rounded_free(struct rounded_weights *w)
{
    free(w->q);
    free(w->scale);
    free(w->bias_shift);
}

/* Of a row at one position. |sum| < 2^31: the layer's sums are held by 32 bits, or by 52. */
static double row_error(const struct layer_patches *p, const struct integer_layer *l, uint64_t n,
                        uint64_t o, uint64_t position, const int16_t *patch)
{
    const int16_t *q = l->q + o * l->shape.cols;
    const float *w = l->w + o * l->shape.cols;
    const double unit = pith_patch_unit(p) * pith_layer_input_scale(l, o);
    int64_t sum = 0;
    double wanted = 0;
    for (uint64_t k = 0; k < l->shape.cols; k++)
        sum += (int32_t)q[k] * patch[k];
    if (p->in->goal)
        return (double)sum * l->scale[o] * unit - pith_layer_goal(p, l, n, o, position);
    for (uint64_t k = 0; k < l->shape.cols; k++)
        wanted += (double)w[k] * patch[k];
    return ((double)sum * l->scale[o] - wanted * l->w_factor) * unit + l->bias_shift[o];
}

static double position_error(const struct layer_patches *p, const struct integer_layer *l,
                             uint64_t n, uint64_t position, int16_t *patch)
{
    const uint64_t rows = l->shape.rows / l->shape.groups;
    double error = 0;
    for (uint64_t g = 0; g < l->shape.groups; g++) {
        pith_patch_row(p, n, g, position, patch, 1);
        for (uint64_t o = g * rows; o < (g + 1) * rows; o++) {
            double d = row_error(p, l, n, o, position, patch);
            error += d * d;
        }
    }
    return error;
}

bool pith_held_out_error(const struct layer_inputs *in, const struct integer_layer *l,
                         double *error)
{
    const struct layer_patches p = pith_layer_patches(in, l);
    const uint64_t each = POSITIONS / in->n_held + 1,
                   step = p.positions > each ? p.positions / each : 1;
    int16_t *patch = malloc((size_t)p.cols * sizeof *patch);
    *error = 0;
    for (uint32_t n = in->n_samples; n < in->n_samples + in->n_held && patch; n++)
        for (uint64_t at = n % step; at < p.positions; at += step)
            *error += position_error(&p, l, n, at, patch);
    free(patch);
    return patch != NULL;
}
