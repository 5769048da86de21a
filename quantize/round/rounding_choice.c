/* SPDX-License-Identifier: MIT */
/* rounding_choice.c - error feedback fits what it rounds to the samples' correlations. Where inputs
 * have none, or samples are few, it overfits, and nearest rounding is better on other samples (by
 * 0.2 to 1.1 dB on white inputs). The held-out samples show which it is. */
#include "rounding_choice.h"

#include <stdlib.h>
#include <string.h>

#include "integer_rows.h"

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

/* Of a row at a position that was read. */
static double row_error(const struct row_reader *at, uint64_t o, uint64_t first)
{
    const struct integer_layer *l = at->rows->l;
    const uint64_t cols = l->shape.cols;
    const float *w = l->w + o * cols;
    const double unit = pith_layer_input_scale(l, o),
                 is = pith_integer_dot(l->q + o * cols, at->row, cols) * l->scale[o];
    double wanted = 0;
    if (at->rows->goal.n)
        return (is - (double)at->goal[o - first]) * unit;
    for (uint64_t k = 0; k < cols; k++)
        wanted += (double)w[k] * (double)at->row[k];
    return (is - wanted * l->w_factor) * unit + l->bias_shift[o];
}

static double position_error(struct row_reader *at, uint64_t position)
{
    const struct layer_shape *shape = &at->rows->l->shape;
    const uint64_t rows = shape->rows / shape->groups;
    double error = 0;
    for (uint32_t g = 0; g < shape->groups; g++) {
        pith_row_reader_at(at, g, position);
        for (uint64_t o = g * rows; o < (g + 1) * rows; o++) {
            double d = row_error(at, o, g * rows);
            error += d * d;
        }
    }
    return error;
}

bool pith_held_out_error(const struct layer_inputs *in, const struct integer_layer *l,
                         double *error)
{
    struct integer_rows r;
    struct row_reader at = {0};
    const bool room = !pith_integer_rows(in, l, &r) && pith_row_reader_open(&at, &r);
    const uint64_t each = POSITIONS / in->n_held + 1,
                   step = r.x.places > each ? r.x.places / each : 1;
    *error = 0;
    for (uint32_t n = in->n_samples; n < in->n_samples + in->n_held && room; n++) {
        pith_row_reader_sample(&at, n);
        for (uint64_t i = n % step; i < r.x.places; i += step)
            *error += position_error(&at, i);
    }
    pith_row_reader_close(&at);
    pith_integer_rows_end(&r);
    return room;
}
