/* SPDX-License-Identifier: MIT */
/* narrow_conv.c - see narrow_conv.h. Picture after picture: those with pads are copied between
 * zeros. Weights are rearranged in each call, for they are few, and their gradient's sums are kept
 * picture by picture, which bounds their error. */
#include "narrow_conv.h"

#include "pith_host.h"
#include "train_kernels.h"

#include <stdlib.h>
#include <string.h>

struct narrow_conv {
    struct prim_conv_shape s;
    const struct narrow_kernels *kernels;
    int64_t taps, padded; /* KH * KW * C, O */
    int64_t rows, row;    /* of a picture with its pads: rows, and numbers in one */
    bool pads;
};

bool pith_narrow_conv_suits(const struct prim_conv_shape *s)
{
    if (s->axes != 2 || s->group != 1 || s->c > 3 || s->dilation[0] != 1 || s->dilation[1] != 1)
        return false;
    int64_t rows = s->kernel[0], width = s->kernel[1] * s->c;
    return (rows == 3 && (width == 3 || width == 9)) || (rows == 5 && width == 5);
}

enum pith_status pith_narrow_conv_new(const struct prim_conv_shape *s,
                                      const struct narrow_kernels *kernels,
                                      struct narrow_conv **conv)
{
    struct narrow_conv *v = calloc(1, sizeof *v);
    if (!v)
        return PITH_ERR_MEMORY;
    v->s = *s;
    v->kernels = kernels ? kernels : pith_train_kernels().narrow;
    v->taps = s->kernel[0] * s->kernel[1] * s->c;
    v->padded = (s->o + v->kernels->lanes - 1) / v->kernels->lanes * v->kernels->lanes;
    v->rows = s->in[0] + s->pad_begin[0] + s->pad_end[0];
    v->row = (s->in[1] + s->pad_begin[1] + s->pad_end[1]) * s->c;
    v->pads = v->rows * v->row > s->in[0] * s->in[1] * s->c;
    *conv = v;
    return PITH_OK;
}

void pith_narrow_conv_free(struct narrow_conv *conv)
{
    free(conv);
}

static int64_t weights_count(const struct narrow_conv *v)
{
    return (1 + v->taps) * v->padded;
}

uint64_t pith_narrow_conv_scratch_bytes(const struct narrow_conv *v)
{
    int64_t count = weights_count(v) + (v->pads ? v->rows * v->row : 0);
    return (uint64_t)count * sizeof(float);
}

static struct narrow_picture picture_of(const struct narrow_conv *v)
{
    const struct prim_conv_shape *s = &v->s;
    return (struct narrow_picture){.x_row = v->row,
                                   .row_step = v->row * s->stride[0],
                                   .pixel_step = s->stride[1] * s->c,
                                   .rows = s->kernel[0],
                                   .width = s->kernel[1] * s->c,
                                   .out_rows = s->out[0],
                                   .out_columns = s->out[1],
                                   .o = s->o,
                                   .padded = v->padded};
}

/* Picture i of x, between pads, whose zeros are there already. */
static const float *between_pads(const struct narrow_conv *v, const float *x, int64_t i,
                                 float *pads)
{
    const struct prim_conv_shape *s = &v->s;
    const int64_t row = s->in[1] * s->c;
    x += i * s->in[0] * row;
    if (!v->pads)
        return x;
    for (int64_t h = 0; h < s->in[0]; h++)
        memcpy(pads + (h + s->pad_begin[0]) * v->row + s->pad_begin[1] * s->c, x + h * row,
               (size_t)row * sizeof *x);
    return pads;
}

static float *clear_pads(const struct narrow_conv *v, float *pads)
{
    if (v->pads)
        memset(pads, 0, (size_t)(v->rows * v->row) * sizeof *pads);
    return pads;
}

static void count_from(struct prim *p, uint64_t start)
{
    pith_prim_count(p, 1e-9 * (double)(pith_clock_ns(NULL) - start));
}

/* Tap t of the kernels' order, [KH, KW, C], in the model's, [C, KH, KW]. */
static int64_t tap_at(const struct narrow_conv *v, int64_t t)
{
    const int64_t window = v->taps / v->s.c;
    return t % v->s.c * window + t / v->s.c;
}

void pith_narrow_conv_forward(const struct narrow_conv *v, struct prim *p, void *scratch,
                              const float *x, const float *w, const float *bias, float *y)
{
    uint64_t start = pith_clock_ns(NULL);
    struct narrow_picture picture = picture_of(v);
    float *packed = scratch, *pads = clear_pads(v, packed + weights_count(v));
    memset(packed, 0, (size_t)weights_count(v) * sizeof *packed);
    for (int64_t o = 0; o < v->s.o && bias; o++)
        packed[o] = bias[o];
    for (int64_t t = 0; t < v->taps; t++)
        for (int64_t o = 0; o < v->s.o; o++)
            packed[(1 + t) * v->padded + o] = w[o * v->taps + tap_at(v, t)];
    for (int64_t i = 0; i < v->s.n; i++, y += v->s.out[0] * v->s.out[1] * v->s.o) {
        picture.x = between_pads(v, x, i, pads);
        v->kernels->forward(&picture, packed, y);
    }
    count_from(p, start);
}

void pith_narrow_conv_backward(const struct narrow_conv *v, struct prim *p, void *scratch,
                               const float *x, const float *dy, float *dw, float *db)
{
    uint64_t start = pith_clock_ns(NULL);
    struct narrow_picture picture = picture_of(v);
    float *sums = scratch, *pads = clear_pads(v, sums + weights_count(v));
    memset(sums, 0, (size_t)weights_count(v) * sizeof *sums);
    for (int64_t i = 0; i < v->s.n; i++, dy += v->s.out[0] * v->s.out[1] * v->s.o) {
        picture.x = between_pads(v, x, i, pads);
        v->kernels->weights(&picture, dy, sums);
    }
    for (int64_t o = 0; o < v->s.o && db; o++)
        db[o] = sums[o];
    for (int64_t t = 0; t < v->taps && dw; t++)
        for (int64_t o = 0; o < v->s.o; o++)
            dw[o * v->taps + tap_at(v, t)] = sums[(1 + t) * v->padded + o];
    count_from(p, start);
}
