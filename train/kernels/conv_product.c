/* SPDX-License-Identifier: MIT */
/* conv_product.c - see conv_product.h. */
#include "conv_product.h"

#include <stdlib.h>
#include <string.h>

struct conv_product {
    struct prim *p;
    struct prim_conv_shape s;
    int64_t rows, width; /* of columns */
    float *columns;      /* [rows, width] of the last x */
    float *dcolumns;     /* [rows, width]; NULL: dx is not wanted */
    float *w_last;       /* [O, KH, KW, C] */
};

/* Columns that leave the cache cost more than they save, and memory. */
static const int64_t most_columns = 1 << 20;

bool pith_conv_product_suits(const struct prim_conv_shape *s)
{
    bool plain = s->axes == 2 && s->group == 1 && s->dilation[0] == 1 && s->dilation[1] == 1;
    bool awkward = s->c % 16 != 0 && s->o % 16 != 0 && s->c >= 8 && s->o >= 8;
    int64_t window = s->kernel[0] * s->kernel[1];
    return plain && awkward && window >= 9 && window <= most_columns / s->c &&
           s->n * s->out[0] <= most_columns / (window * s->c) / s->out[1];
}

enum pith_status pith_conv_product_new(struct prim *p, const struct prim_conv_shape *s,
                                       bool need_dx, struct conv_product **conv)
{
    struct conv_product *made = calloc(1, sizeof *made);
    if (!made)
        return PITH_ERR_MEMORY;
    made->p = p;
    made->s = *s;
    made->rows = s->n * s->out[0] * s->out[1];
    made->width = s->kernel[0] * s->kernel[1] * s->c;
    size_t count = (size_t)(made->rows * made->width);
    made->columns = malloc(count * sizeof(float));
    made->w_last = malloc((size_t)(s->o * made->width) * sizeof(float));
    made->dcolumns = need_dx ? malloc(count * sizeof(float)) : NULL;
    if (!made->columns || !made->w_last || (need_dx && !made->dcolumns)) {
        pith_conv_product_free(made);
        return PITH_ERR_MEMORY;
    }
    *conv = made;
    return PITH_OK;
}

void pith_conv_product_free(struct conv_product *conv)
{
    if (!conv)
        return;
    free(conv->columns);
    free(conv->dcolumns);
    free(conv->w_last);
    free(conv);
}

/* The part of a window's row that lies in x: its first element there and in the columns' row, and
 * its length, 0 where there is none. */
struct overlap {
    size_t x, column, n;
};

static struct overlap overlap_of(const struct prim_conv_shape *s, int64_t row, int64_t kh)
{
    int64_t ow = row % s->out[1], oh = row / s->out[1] % s->out[0];
    int64_t n = row / (s->out[0] * s->out[1]);
    int64_t h = oh * s->stride[0] + kh - s->pad_begin[0];
    int64_t w = ow * s->stride[1] - s->pad_begin[1], end = w + s->kernel[1];
    int64_t first = w < 0 ? 0 : w;
    end = end > s->in[1] ? s->in[1] : end;
    if (h < 0 || h >= s->in[0] || end <= first)
        return (struct overlap){0, 0, 0};
    return (struct overlap){(size_t)(((n * s->in[0] + h) * s->in[1] + first) * s->c),
                            (size_t)((kh * s->kernel[1] + first - w) * s->c),
                            (size_t)((end - first) * s->c)};
}

static void gather(struct conv_product *conv, const float *x)
{
    const struct prim_conv_shape *s = &conv->s;
    bool pads = s->pad_begin[0] || s->pad_begin[1] || s->pad_end[0] || s->pad_end[1];
    float *to = conv->columns;
    for (int64_t row = 0; row < conv->rows; row++, to += conv->width) {
        if (pads)
            memset(to, 0, (size_t)conv->width * sizeof *to);
        for (int64_t kh = 0; kh < s->kernel[0]; kh++) {
            struct overlap o = overlap_of(s, row, kh);
            memcpy(to + o.column, x + o.x, o.n * sizeof *to);
        }
    }
}

static void scatter(const struct conv_product *conv, float *dx)
{
    const struct prim_conv_shape *s = &conv->s;
    const float *from = conv->dcolumns;
    memset(dx, 0, (size_t)(s->n * s->in[0] * s->in[1] * s->c) * sizeof *dx);
    for (int64_t row = 0; row < conv->rows; row++, from += conv->width)
        for (int64_t kh = 0; kh < s->kernel[0]; kh++) {
            struct overlap o = overlap_of(s, row, kh);
            for (size_t i = 0; i < o.n; i++)
                dx[o.x + i] += from[o.column + i];
        }
}

/* Between the model's [O, C, KH*KW] and [O, KH*KW, C]. */
static void channels_last(const struct prim_conv_shape *s, const float *w, float *last)
{
    int64_t window = s->kernel[0] * s->kernel[1];
    for (int64_t o = 0; o < s->o; o++, w += window * s->c, last += window * s->c)
        for (int64_t k = 0; k < window; k++)
            for (int64_t c = 0; c < s->c; c++)
                last[k * s->c + c] = w[c * window + k];
}

static void channels_first(const struct prim_conv_shape *s, const float *last, float *w)
{
    int64_t window = s->kernel[0] * s->kernel[1];
    for (int64_t o = 0; o < s->o; o++, w += window * s->c, last += window * s->c)
        for (int64_t c = 0; c < s->c; c++)
            for (int64_t k = 0; k < window; k++)
                w[c * window + k] = last[k * s->c + c];
}

void pith_conv_product_forward(struct conv_product *conv, const float *x, const float *w,
                               const float *bias, float *y)
{
    const struct prim_conv_shape *s = &conv->s;
    gather(conv, x);
    channels_last(s, w, conv->w_last);
    for (int64_t row = 0; row < conv->rows && bias; row++)
        memcpy(y + row * s->o, bias, (size_t)s->o * sizeof *y);
    pith_prim_gemm(conv->p, false, true, conv->rows, s->o, conv->width, 1.0f, conv->columns,
                   conv->width, conv->w_last, conv->width, bias != NULL, y, s->o);
}

void pith_conv_product_backward(struct conv_product *conv, const float *w, const float *dy,
                                float *dx, float *dw, float *db)
{
    const struct prim_conv_shape *s = &conv->s;
    if (dx) {
        channels_last(s, w, conv->w_last);
        pith_prim_gemm(conv->p, false, false, conv->rows, conv->width, s->o, 1.0f, dy, s->o,
                       conv->w_last, conv->width, false, conv->dcolumns, conv->width);
        scatter(conv, dx);
    }
    if (dw) {
        pith_prim_gemm(conv->p, true, false, s->o, conv->width, conv->rows, 1.0f, dy, s->o,
                       conv->columns, conv->width, false, conv->w_last, conv->width);
        channels_first(s, conv->w_last, dw);
    }
    if (db)
        memset(db, 0, (size_t)s->o * sizeof *db);
    for (int64_t row = 0; row < conv->rows && db; row++)
        for (int64_t o = 0; o < s->o; o++)
            db[o] += dy[row * s->o + o];
}
