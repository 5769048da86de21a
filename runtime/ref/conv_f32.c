/* SPDX-License-Identifier: MIT */
/* conv_f32.c - direct convolution and im2col, the definition of right (kernel_dense.h).
 *
 * Taps outside the image contribute nothing. The direct loops add channel by channel, then row by
 * row, then column by column: that order is part of the definition (docs/arithmetic.md). */
#include "activate.h"
#include "kernel_dense.h"

/* Input coordinate under tap `tap` of output `out`, or SIZE_MAX outside the image. */
static size_t under(size_t out, size_t tap, size_t stride, size_t dil, size_t pad, size_t size)
{
    size_t at = out * stride + tap * dil;
    return at >= pad && at - pad < size ? at - pad : SIZE_MAX;
}

/* Sum of w [KH, KW] over the window of output pixel (oy, ox) in plane x [H, W], on top of sum. */
static float window(const struct conv_geom *g, const float *x, const float *w, size_t oy, size_t ox,
                    float sum)
{
    for (size_t ky = 0; ky < g->kh; ky++) {
        size_t iy = under(oy, ky, g->stride_h, g->dil_h, g->pad_top, g->h);
        if (iy == SIZE_MAX)
            continue;
        for (size_t kx = 0; kx < g->kw; kx++) {
            size_t ix = under(ox, kx, g->stride_w, g->dil_w, g->pad_left, g->w);
            if (ix != SIZE_MAX)
                sum += w[ky * g->kw + kx] * x[iy * g->w + ix];
        }
    }
    return sum;
}

void pith_conv_f32(const struct conv_f32_job *job)
{
    const struct conv_geom *g = job->g;
    size_t plane = (size_t)g->h * g->w, taps = (size_t)g->kh * g->kw;
    size_t pixels = (size_t)g->oh * g->ow;
    for (size_t o = job->o0; o < job->o1; o++)
        for (size_t p = 0; p < pixels; p++) {
            const float *w = job->w + o * g->c * taps;
            float sum = 0.0f;
            for (size_t c = 0; c < g->c; c++)
                sum = window(g, job->x + c * plane, w + c * taps, p / g->ow, p % g->ow, sum);
            if (job->bias)
                sum += job->bias[o];
            if (job->residual)
                sum += job->residual[o * pixels + p];
            job->y[o * pixels + p] = pith_activate(job->act.kind, job->act.a, job->act.b, sum);
        }
}

void pith_depthwise_f32(const struct depthwise_f32_job *job)
{
    struct conv_geom g = *job->g;
    size_t taps = (size_t)g.kh * g.kw, pixels = (size_t)g.oh * g.ow;
    g.c = g.o = 1;
    for (size_t i = 0; i < job->planes; i++) {
        struct conv_f32_job one = {.g = &g, .x = job->x + i * job->x_step, .w = job->w + i * taps,
                                   .y = job->y + i * pixels,
                                   .bias = job->bias ? job->bias + i : NULL,
                                   .residual = job->residual ? job->residual + i * pixels : NULL,
                                   .o0 = 0, .o1 = 1, .act = job->act};
        pith_conv_f32(&one);
    }
}

void pith_im2col_f32(const struct im2col_f32_job *job)
{
    const struct conv_geom *g = job->g;
    for (size_t k = job->k0; k < job->k1; k++) {
        size_t ky = k / g->c / g->kw, kx = k / g->c % g->kw;
        const float *x = job->x + k % g->c * g->h * g->w;
        for (size_t j = 0; j < job->n; j++) {
            size_t p = job->p0 + j;
            size_t iy = under(p / g->ow, ky, g->stride_h, g->dil_h, g->pad_top, g->h);
            size_t ix = under(p % g->ow, kx, g->stride_w, g->dil_w, g->pad_left, g->w);
            bool inside = iy != SIZE_MAX && ix != SIZE_MAX;
            job->b[(k - job->k0) * job->ldb + j] = inside ? x[iy * g->w + ix] : 0.0f;
        }
    }
}
