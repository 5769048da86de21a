/* SPDX-License-Identifier: MIT */
/* channel_reestimate.c - batch normalization divides by the standard deviation that a channel had
 * in the float network. Behind integers it has another one: what ranges cut off and rounding lost
 * makes sums smaller or larger, layer by layer. Estimated anew (Sun et al., "Hybrid 8-bit Floating
 * Point (HFP8) Training and Inference for Deep Neural Networks", 2019), mean and variance are again
 * what the layers behind were trained with. Folded, a normalization is the row's scale and bias,
 * which every layer has, so that layers that never had one gain as well, and nothing is added to
 * what runs.
 *
 * Of few samples some channels' statistics are chance. So either half of the samples gets the
 * correction of the other half, and a channel that is not nearer to its goal that way stays as it
 * was. */
#include "channel_reestimate.h"

#include <math.h>
#include <stdlib.h>

#include "integer_rows.h"

#define POSITIONS 2048u /* of all samples */
#define MOST_GAIN 2.0   /* or its inverse: nearly constant sums have no reliable deviation */

/* Of a row, over the positions of every second sample: its sums s and goals y. */
struct channel_sums {
    double n, s, y, ss, sy, yy;
};

struct affine {
    double gain, shift;
};

static void add(struct channel_sums *to, double s, double y)
{
    to->n++;
    to->s += s;
    to->y += y;
    to->ss += s * s;
    to->sy += s * y;
    to->yy += y * y;
}

/* gain s + shift has mean and variance of y. */
static struct affine match(const struct channel_sums *c, bool may_scale)
{
    double s = c->s / c->n, y = c->y / c->n;
    double of_s = c->ss / c->n - s * s, of_y = c->yy / c->n - y * y;
    double gain = may_scale && of_s > 0 && of_y > 0 ? sqrt(of_y / of_s) : 1;
    if (!(gain <= MOST_GAIN && gain >= 1 / MOST_GAIN))
        gain = 1;
    return (struct affine){gain, y - gain * s};
}

/* Mean of (gain s + shift - y)^2 */
static double error_of(const struct channel_sums *c, struct affine a)
{
    double sum = a.gain * a.gain * c->ss + a.shift * a.shift * c->n + c->yy +
                 2 * a.gain * a.shift * c->s - 2 * a.gain * c->sy - 2 * a.shift * c->y;
    return sum / c->n;
}

/* Sums of all rows at one position, as numbers. */
static void add_position(struct row_reader *at, uint64_t position, struct channel_sums *sums)
{
    const struct integer_layer *l = at->rows->l;
    const uint64_t rows = l->shape.rows / l->shape.groups, cols = l->shape.cols;
    for (uint32_t g = 0; g < l->shape.groups; g++) {
        pith_row_reader_at(at, g, position);
        for (uint64_t o = g * rows; o < (g + 1) * rows; o++) {
            const double unit = pith_layer_input_scale(l, o);
            const double y = (double)at->goal[o - g * rows] * unit;
            if (isfinite(y))
                add(&sums[o], pith_integer_dot(l->q + o * cols, at->row, cols) * l->scale[o] * unit,
                    y);
        }
    }
}

static void apply(struct integer_layer *l, uint64_t o, const struct channel_sums *halves)
{
    const struct channel_sums *a = &halves[o], *b = &halves[l->shape.rows + o];
    bool may_scale = l->may_scale && !l->radix && !pith_layer_is_shared(l);
    const struct affine as_it_is = {1, 0};
    if (a->n < 2 || b->n < 2)
        return;
    double before = error_of(a, as_it_is) + error_of(b, as_it_is);
    double after = error_of(a, match(b, may_scale)) + error_of(b, match(a, may_scale));
    if (!(after < before))
        return;
    const struct channel_sums both = {a->n + b->n,   a->s + b->s,   a->y + b->y,
                                      a->ss + b->ss, a->sy + b->sy, a->yy + b->yy};
    struct affine all = match(&both, may_scale);
    double scale = l->scale[o] * all.gain;
    if (all.gain != 1 && scale < pith_layer_least_scale(l, o)) {
        scale = l->scale[o];
        all = match(&both, false);
    }
    l->scale[o] = scale;
    l->bias_shift[o] += all.shift;
    l->n_corrected++;
}

enum pith_status pith_reestimate_channels(const struct layer_inputs *in, struct integer_layer *l)
{
    struct integer_rows r;
    struct row_reader at = {0};
    struct channel_sums *sums = calloc(2 * l->shape.rows, sizeof *sums);
    const bool room = !pith_integer_rows(in, l, &r) && sums && pith_row_reader_open(&at, &r);
    const uint64_t per_sample = POSITIONS / in->n_samples + 1, positions = r.x.places,
                   step = positions > per_sample ? positions / per_sample : 1;
    for (uint32_t n = 0; n < in->n_samples && room; n++) { /* not in the same column each time */
        pith_row_reader_sample(&at, n);
        for (uint64_t i = n % step; i < positions; i += step)
            add_position(&at, i, sums + n % 2 * l->shape.rows);
    }
    l->n_corrected = 0;
    for (uint64_t o = 0; o < l->shape.rows && room; o++)
        apply(l, o, sums);
    if (room)
        pith_layer_store(l);
    free(sums);
    pith_row_reader_close(&at);
    pith_integer_rows_end(&r);
    return room ? PITH_OK : PITH_ERR_MEMORY;
}
