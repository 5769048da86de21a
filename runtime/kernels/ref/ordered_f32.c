/* SPDX-License-Identifier: MIT */
/* ordered_f32.c - ordered_f32_impl.h for every CPU: registers of 16 bytes, or what a compiler makes
 * of them. */
#define ORDERED(name) name##_ordered
#define LANES 4
#define ROWS 4u
#define VECTORS 2u
#include <string.h>
#include "kernels/kernel_ordered.h"

typedef float vec __attribute__((vector_size(16)));

/* Outputs [begin, end) of a row under tap kx, those it lies inside of the image for. */
static void reach_of(const struct conv_geom *g, uint32_t kx, uint32_t *begin, uint32_t *end)
{
    const uint32_t at = kx * g->dil_w, stride = g->stride_w, last = g->pad_left + g->w - 1;
    *begin = at >= g->pad_left ? 0 : (g->pad_left - at + stride - 1) / stride;
    *end = at > last ? 0 : (last - at) / stride + 1;
    *end = *end < g->ow ? *end : g->ow;
}

/* y[ox] += w * x[ox * stride]: one tap of a row. With a constant stride of 1 it is vectorized. */
static void add_tap(const float *x, uint32_t stride, float w, float *y, uint32_t n)
{
    if (stride == 1)
        for (uint32_t i = 0; i < n; i++)
            y[i] += w * x[i];
    else
        for (uint32_t i = 0; i < n; i++)
            y[i] += w * x[(size_t)i * stride];
}

static void row_of_taps(const struct conv_geom *g, const float *x, const float *w, uint32_t oy,
                        float *y)
{
    memset(y, 0, g->ow * sizeof *y);
    for (uint32_t ky = 0; ky < g->kh; ky++) {
        /* rows above the image wrap round to large numbers */
        const uint32_t iy = oy * g->stride_h + ky * g->dil_h - g->pad_top;
        for (uint32_t kx = 0, begin, end; iy < g->h && kx < g->kw; kx++) {
            reach_of(g, kx, &begin, &end);
            if (begin >= end)
                continue;
            const size_t ix = (size_t)begin * g->stride_w + kx * g->dil_w - g->pad_left;
            add_tap(x + (size_t)iy * g->w + ix, g->stride_w, w[ky * g->kw + kx], y + begin,
                    end - begin);
        }
    }
}

static void sum_taps(const struct depthwise_f32_job *job)
{
    const struct conv_geom *g = job->g;
    for (size_t i = 0; i < job->planes; i++)
        for (uint32_t oy = 0; oy < g->oh; oy++)
            row_of_taps(g, job->x + i * job->x_step, job->w + i * g->kh * g->kw, oy,
                        job->y + i * job->y_step + (size_t)oy * g->ow);
}

#include "kernels/ref/ordered_f32_impl.h"
