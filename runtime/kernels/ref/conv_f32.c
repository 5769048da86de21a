/* SPDX-License-Identifier: MIT */
/* conv_f32.c - direct convolution and what copies for others, the definition of right
 * (kernel_dense.h).
 *
 * Taps outside the image contribute nothing. The direct loops add channel by channel, then row by
 * row, then column by column: that order is part of the definition (docs/arithmetic.md). */
#include "kernels/ref/activate.h"
#include "kernels/kernel_dense.h"

/* Input coordinate under tap `tap` of output `out`, or SIZE_MAX outside the image. out * stride
 * + tap * dil < 2^48: no overflow. */
static size_t under(size_t out, size_t tap, size_t stride, size_t dil, size_t pad, size_t size)
{
    size_t at = out * stride + tap * dil;
    return at >= pad && at - pad < size ? at - pad : SIZE_MAX;
}

/* The taps of one axis that lie inside the image for one output: [begin, end), the first of them
 * at input coordinate `at`. Taps outside are left out, not multiplied by 0: an infinite weight
 * in the padding then has no effect. */
struct taps {
    size_t begin, end, at;
};

static struct taps taps_of(size_t out, size_t kernel, size_t stride, size_t dil, size_t pad,
                           size_t size)
{
    size_t start = out * stride; /* coordinates shifted by pad, so that none is negative */
    struct taps t = {0, kernel, 0};
    if (start < pad)
        t.begin = (pad - start + dil - 1) / dil;
    if (start + (kernel - 1) * dil >= pad + size)
        t.end = start < pad + size ? (pad + size - 1 - start) / dil + 1 : 0;
    if (t.begin < t.end)
        t.at = start + t.begin * dil - pad;
    return t;
}

/* Sum over the window of one output pixel: x [C, H, W], w [C, KH, KW]. One chain of additions,
 * in the order that docs/arithmetic.md names. */
static float window(const struct conv_geom *g, const float *x, const float *w,
                    const struct taps *ty, const struct taps *tx)
{
    float sum = 0.0f;
    for (size_t c = 0; c < g->c; c++, x += (size_t)g->h * g->w, w += (size_t)g->kh * g->kw) {
        const float *row = x + ty->at * g->w;
        for (size_t ky = ty->begin; ky < ty->end; ky++, row += (size_t)g->dil_h * g->w) {
            size_t ix = tx->at;
            for (size_t kx = tx->begin; kx < tx->end; kx++, ix += g->dil_w)
                sum += w[ky * g->kw + kx] * row[ix];
        }
    }
    return sum;
}

/* Bias, then residual, then the activation. */
void pith_conv_f32(const struct conv_f32_job *job)
{
    const struct conv_geom *g = job->g;
    size_t w_step = (size_t)g->c * g->kh * g->kw, pixels = (size_t)g->oh * g->ow;
    for (size_t o = job->o0; o < job->o1; o++)
        for (size_t p = 0; p < pixels; p++) {
            struct taps ty = taps_of(p / g->ow, g->kh, g->stride_h, g->dil_h, g->pad_top, g->h);
            struct taps tx = taps_of(p % g->ow, g->kw, g->stride_w, g->dil_w, g->pad_left, g->w);
            float sum = window(g, job->x, job->w + o * w_step, &ty, &tx);
            if (job->bias)
                sum += job->bias[o];
            if (job->residual)
                sum += job->residual[o * pixels + p];
            job->y[o * pixels + p] = pith_activate(job->act.kind, job->act.a, job->act.b, sum);
        }
}

/* A convolution of one channel a group. */
void pith_depthwise_f32(const struct depthwise_f32_job *job)
{
    struct conv_geom g = *job->g;
    size_t taps = (size_t)g.kh * g.kw;
    g.c = g.o = 1;
    for (size_t i = 0; i < job->planes; i++) {
        struct conv_f32_job one = {.g = &g,
                                   .x = job->x + i * job->x_step,
                                   .w = job->w + i * taps,
                                   .y = job->y + i * job->y_step,
                                   .bias = job->bias ? job->bias + i : NULL,
                                   .residual =
                                       job->residual ? job->residual + i * job->y_step : NULL,
                                   .o0 = 0,
                                   .o1 = 1,
                                   .act = job->act};
        pith_conv_f32(&one);
    }
}

/* Channels are the fast index of k, as in the packed weights. */
void pith_im2col_f32(const struct im2col_f32_job *job)
{
    const struct conv_geom *g = job->g;
    for (size_t k = job->k0; k < job->k1; k++) {
        size_t ky = k / g->c / g->kw, kx = k / g->c % g->kw;
        const float *x = job->x + k % g->c * job->plane;
        for (size_t j = 0; j < job->n; j++) {
            size_t p = job->p0 + j;
            size_t iy = under(p / g->ow, ky, g->stride_h, g->dil_h, g->pad_top, g->h);
            size_t ix = under(p % g->ow, kx, g->stride_w, g->dil_w, g->pad_left, g->w);
            bool inside = iy != SIZE_MAX && ix != SIZE_MAX;
            job->b[(k - job->k0) * job->ldb + j] = inside ? x[iy * g->w + ix] : 0.0f;
        }
    }
}

void pith_even_f32(float *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[2 * i];
}
