/* SPDX-License-Identifier: MIT */
/* layer_patches.c - patches of integers under a layer's taps. */
#include "layer_patches.h"

#include <string.h>

#include "pith_im2col.h"
#include "contract/pith_op_semantics.h"

static struct shape shape_of(const struct pith_value *v)
{
    struct shape s = {.rank = v->rank};
    for (uint32_t i = 0; i < v->rank; i++)
        s.dim[i] = v->dim[i];
    return s;
}

struct layer_patches pith_layer_patches(const struct layer_inputs *in,
                                        const struct integer_layer *l)
{
    struct layer_patches p = {.in = in,
                              .is_conv = in->product->op == PITH_OP_CONV_INTEGER,
                              .groups = l->shape.groups,
                              .cols = l->shape.cols,
                              .zero_point = l->x->zero_point,
                              .each = (size_t)pith_type_bytes(in->x->type)};
    if (!p.is_conv) {
        p.positions = in->bytes / p.each / l->shape.cols;
        return p;
    }
    struct shape x = shape_of(in->x), w = shape_of(in->w), y = shape_of(in->y);
    p.window = pith_window_conv(in->product->attr, &x, &w, &y);
    p.positions = (uint64_t)in->x->dim[0] * p.window.out;
    return p;
}

static int32_t number_at(const struct layer_patches *p, const uint8_t *x, size_t i)
{
    const void *at = x;
    switch (p->in->x->type) {
    case PITH_U8:
        return x[i] - p->zero_point;
    case PITH_I8:
        return ((const int8_t *)at)[i] - p->zero_point;
    case PITH_U16:
        return ((const uint16_t *)at)[i] - p->zero_point;
    default:
        return ((const int16_t *)at)[i] - p->zero_point;
    }
}

/* Of 17 bits the upper 9, rounded. */
static int16_t short_number_at(const struct layer_patches *p, const uint8_t *x, size_t i)
{
    int32_t q = number_at(p, x, i);
    return (int16_t)(p->each == 1 ? q : (q + 128) >> 8);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Of one tap over the rows of one channel. */
static int64_t tap_sum(const struct layer_patches *p, const uint8_t *x, size_t tap)
{
    const struct window *v = &p->window;
    size_t width = (size_t)v->axis[v->n - 1].in, stride = (size_t)v->axis[v->n - 1].stride;
    int64_t sum = 0;
    for (size_t r = 0; r < v->out_rows; r++) {
        size_t in_row;
        int64_t begin, end, first;
        if (!pith_window_row(v, r, tap, &in_row, &begin, &end, &first))
            continue;
        const uint8_t *row = x + (in_row * width + (size_t)first) * p->each;
        for (size_t i = 0; i < (size_t)(end - begin); i++)
            sum += number_at(p, row, i * stride);
    }
    return sum;
}

static void conv_sums(const struct layer_patches *p, const uint8_t *x, int64_t *sum)
{
    size_t taps = p->window.taps, channels = (size_t)(p->groups * p->cols) / taps;
    for (uint32_t image = 0; image < p->in->x->dim[0]; image++)
        for (size_t c = 0; c < channels; c++, x += p->window.in * p->each)
            for (size_t tap = 0; tap < taps; tap++)
                sum[c * taps + tap] += tap_sum(p, x, tap);
}

void pith_patch_sums(const struct layer_patches *p, uint64_t n, int64_t *sum)
{
    const uint8_t *x = p->in->data + n * p->in->bytes;
    memset(sum, 0, (size_t)(p->groups * p->cols) * sizeof *sum);
    if (p->is_conv) {
        conv_sums(p, x, sum);
        return;
    }
    for (uint64_t row = 0; row < p->positions; row++)
        for (uint64_t k = 0; k < p->cols; k++)
            sum[k] += number_at(p, x, row * p->cols + k);
}

/* ---- single patches -------------------------------------------------------------------------- */

void pith_patch_row(const struct layer_patches *p, uint64_t n, uint64_t group, uint64_t position,
                    int16_t *row, size_t step)
{
    const uint8_t *x = p->in->data + n * p->in->bytes;
    if (!p->is_conv) {
        for (uint64_t k = 0; k < p->cols; k++)
            row[k * step] = short_number_at(p, x, position * p->cols + k);
        return;
    }
    const struct window *v = &p->window;
    size_t channels = (size_t)p->cols / v->taps;
    x += (position / v->out * p->groups + group) * channels * v->in * p->each;
    for (size_t tap = 0; tap < v->taps; tap++) {
        size_t offset;
        bool inside = pith_im2col_offset(v, position % v->out, tap, &offset);
        for (size_t c = 0; c < channels; c++)
            row[(c * v->taps + tap) * step] =
                inside ? short_number_at(p, x, c * v->in + offset) : 0;
    }
}

double pith_patch_unit(const struct layer_patches *p)
{
    return p->each == 1 ? 1 : 256;
}

double pith_layer_goal(const struct layer_patches *p, const struct integer_layer *l, uint64_t n,
                       uint64_t o, uint64_t position)
{
    const float *y = p->in->goal + n * p->in->n_goals;
    uint64_t rows = l->shape.rows, at = position * rows + o;
    if (p->is_conv)
        at = (position / p->window.out * rows + o) * p->window.out + position % p->window.out;
    return (double)y[at] - pith_layer_bias(l, o);
}
