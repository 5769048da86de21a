/* SPDX-License-Identifier: MIT */
/* conv_example.h - a convolution in two dimensions, channels last, its operands drawn, its results
 * by the sums that define them, in double. */
#ifndef CONV_EXAMPLE_H
#define CONV_EXAMPLE_H

#include "train/kernels/panel_product.h"
#include "train/kernels/primitive.h"
#include "train/kernels/train_kernels.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_run.h"

static uint32_t state_of_random = 20260521;

/* -1..1 */
static inline float next(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (float)(state_of_random >> 8) * 0x1p-23f - 1.0f;
}

static inline float *numbers(int64_t n)
{
    float *p = malloc((size_t)n * sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < n; i++)
        p[i] = next();
    return p;
}

/* One convolution, its operands, and what the definition makes of them. */
struct example {
    struct prim_conv_shape s;
    int64_t n_x, n_w, n_y;
    float *x, *w, *dy, *bias;
    double *y, *dx, *dw, *db;
};

static inline struct prim_conv_shape shape(int64_t n, int64_t c, int64_t o, int64_t h, int64_t w,
                                           int64_t k, int64_t begin, int64_t end)
{
    struct prim_conv_shape s = {.axes = 2,
                                .n = n,
                                .c = c,
                                .o = o,
                                .group = 1,
                                .in = {h, w},
                                .kernel = {k, k},
                                .stride = {1, 1},
                                .dilation = {1, 1},
                                .pad_begin = {begin, end},
                                .pad_end = {end, begin}};
    for (int i = 0; i < 2; i++)
        s.out[i] = s.in[i] + begin + end - k + 1;
    return s;
}

/* What one output and one tap of the kernel add to each of the results. */
static inline void add_tap(struct example *e, int64_t pixel, int64_t from, int64_t kh, int64_t kw)
{
    const struct prim_conv_shape *s = &e->s;
    for (int64_t o = 0; o < s->o; o++)
        for (int64_t c = 0; c < s->c; c++) {
            int64_t w = ((o * s->c + c) * s->kernel[0] + kh) * s->kernel[1] + kw;
            double dy = (double)e->dy[pixel * s->o + o], x = (double)e->x[from * s->c + c];
            e->y[pixel * s->o + o] += x * (double)e->w[w];
            e->dx[from * s->c + c] += dy * (double)e->w[w];
            e->dw[w] += dy * x;
        }
}

static inline void define(struct example *e)
{
    const struct prim_conv_shape *s = &e->s;
    for (int64_t pixel = 0; pixel < s->n * s->out[0] * s->out[1]; pixel++) {
        int64_t ow = pixel % s->out[1], oh = pixel / s->out[1] % s->out[0];
        int64_t n = pixel / (s->out[0] * s->out[1]);
        for (int64_t o = 0; o < s->o; o++) {
            e->y[pixel * s->o + o] += (double)e->bias[o];
            e->db[o] += (double)e->dy[pixel * s->o + o];
        }
        for (int64_t k = 0; k < s->kernel[0] * s->kernel[1]; k++) {
            int64_t h = oh * s->stride[0] + k / s->kernel[1] * s->dilation[0] - s->pad_begin[0];
            int64_t w = ow * s->stride[1] + k % s->kernel[1] * s->dilation[1] - s->pad_begin[1];
            if (h >= 0 && h < s->in[0] && w >= 0 && w < s->in[1])
                add_tap(e, pixel, (n * s->in[0] + h) * s->in[1] + w, k / s->kernel[1],
                        k % s->kernel[1]);
        }
    }
}

static inline struct example make(const struct prim_conv_shape *s)
{
    struct example e = {.s = *s,
                        .n_x = s->n * s->in[0] * s->in[1] * s->c,
                        .n_w = s->o * s->c * s->kernel[0] * s->kernel[1],
                        .n_y = s->n * s->out[0] * s->out[1] * s->o};
    e.x = numbers(e.n_x);
    e.w = numbers(e.n_w);
    e.dy = numbers(e.n_y);
    e.bias = numbers(s->o);
    e.y = calloc((size_t)e.n_y, sizeof(double));
    e.dx = calloc((size_t)e.n_x, sizeof(double));
    e.dw = calloc((size_t)e.n_w, sizeof(double));
    e.db = calloc((size_t)s->o, sizeof(double));
    assert_true(e.y && e.dx && e.dw && e.db);
    define(&e);
    return e;
}

static inline void drop(struct example *e)
{
    void *all[] = {e->x, e->w, e->dy, e->bias, e->y, e->dx, e->dw, e->db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* bound: of the largest value */
static inline void compare(const struct example *e, const char *what, const float *got,
                           const double *want, int64_t n, double bound)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)got[i] - want[i]));
        largest = fmax(largest, fabs(want[i]));
        if (isnan(got[i]))
            worst = INFINITY;
    }
    const struct prim_conv_shape *s = &e->s;
    if (worst > bound * largest)
        print_error("%s of %lldx%lldx%lldx%lld to %lld, kernel %lld: off by %g of %g\n", what,
                    (long long)s->n, (long long)s->in[0], (long long)s->in[1], (long long)s->c,
                    (long long)s->o, (long long)s->kernel[0], worst, largest);
    assert_true(worst <= bound * largest);
}

/* Everything that is written ends where it should: a line of known numbers follows. */
static inline float *room(int64_t n)
{
    float *p = malloc((size_t)(n + 16) * sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < n + 16; i++)
        p[i] = 12345.0f;
    return p;
}

static inline void check_end(const float *p, int64_t n)
{
    for (int64_t i = n; i < n + 16; i++)
        assert_true(p[i] == 12345.0f);
}

#endif
