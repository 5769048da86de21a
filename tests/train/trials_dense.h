/* SPDX-License-Identifier: MIT */
/* trials_dense.h - trials of kernel_dense.h and kernel_sparse.h. Bounds: sums of K terms
 * of at most 1 in f32, whatever their order (the headers' contracts). */
#ifndef TRIALS_DENSE_H
#define TRIALS_DENSE_H

#include "kernel_trial.h"
#include "kernels/kernel_ordered.h"
#include "products/integer_conv.h"
#include "products/quad_form.h"
#include "products/run_form.h"

static inline struct dense_kernels dense_of(const struct trial *t)
{
    struct dense_kernels d;
    pith_dense_kernels_fill(&d, t->features);
    return d;
}

/* 2 (K + 2) 2^-24 (K + 2) */
static inline double sum_bound(size_t k)
{
    return ldexp(2.0 * (double)(k + 2) * (double)(k + 2), -24);
}

static void trial_gemm_f32(struct trial *t)
{
    struct dense_kernels d = dense_of(t);
    uint32_t m = size(t, 1, 40, 256), k = size(t, 1, 300, 512), n = pick(1, 24);
    uint32_t mr = d.mr ? d.mr : 5;
    n = t->timed ? d.nr ? d.nr : 24 : n;
    float *w = reals(t, (size_t)m * k), *b = reals(t, (size_t)k * n), *bias = reals(t, m);
    float *c = take(t, (size_t)m * n * sizeof *c);
    struct gemm_f32_job job = {.a_step = (size_t)mr * k,
                               .b = b,
                               .ldb = n,
                               .c = c,
                               .ldc = n,
                               .bias_row = bias,
                               .m = m,
                               .n = n,
                               .k = k,
                               .finish = true,
                               .act = {ACT_RELU, 0, 0}};
    float *a = take(t, (m + mr - 1) / mr * job.a_step * sizeof *a);
    pith_pack_rows_f32(&(struct pack_rows_job){w, a, k, 1, m, k, mr, job.a_step});
    job.a = a;
    if (d.gemm_f32)
        CALL(t, (double)m * n * k, d.gemm_f32(&job));
    else
        CALL(t, (double)m * n * k, pith_gemm_f32(&job, mr));
    leaves_reals(t, c, (size_t)m * n, sum_bound(k));
}

static inline struct conv_geom geom_of(const struct trial *t, uint32_t c, uint32_t o)
{
    struct conv_geom g = {.c = c, .o = o, .kh = 3, .kw = 3, .dil_h = 1, .dil_w = 1};
    g.stride_h = g.stride_w = size(t, 1, 2, 1);
    g.pad_top = g.pad_left = size(t, 0, 2, 1);
    g.h = size(t, 3, 12, 56);
    g.w = size(t, 3, 40, 56);
    g.oh = (g.h + 2 * g.pad_top - 3) / g.stride_h + 1;
    g.ow = (g.w + 2 * g.pad_left - 3) / g.stride_w + 1;
    return g;
}

static void trial_even_f32(struct trial *t)
{
    const size_t n = size(t, 1, 50, 112);
    const float *x = reals(t, 2 * n - 1);
    float *to = take(t, n * sizeof *to);
    CALL(t, (double)n, dense_of(t).even_f32(to, x, n));
    leaves_bytes(t, to, n * sizeof *to);
}

static void trial_im2col_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, size(t, 1, 5, 32), 1);
    uint32_t pixels = g.oh * g.ow, n = pixels < 48 ? pixels : 48, k = g.c * 9;
    struct im2col_f32_job job = {.g = &g,
                                 .x = reals(t, (size_t)g.c * g.h * g.w),
                                 .ldb = 48,
                                 .p0 = pick(0, pixels - n),
                                 .n = n,
                                 .k1 = k};
    job.b = take(t, (size_t)k * 48 * sizeof(float));
    CALL(t, (double)k * n, dense_of(t).im2col_f32(&job));
    for (uint32_t r = 0; r < k && r < 20; r++)
        leaves_bytes(t, job.b + (size_t)r * 48, n * sizeof(float));
}

/* As the contract has it, where a table has none. w: [m, taps, channels] */
static inline void plain_conv_rows(const struct conv_rows_f32_job *job, const float *w)
{
    for (size_t o = 0; o < job->m; o++)
        for (size_t i = 0; i < (size_t)job->rows * job->ow; i++) {
            float sum = job->bias[o];
            const float *at = job->b + i / job->ow * job->b_row + i % job->ow;
            for (size_t k = 0; k < (size_t)job->taps * job->channels; k++)
                sum += w[o * job->taps * job->channels + k] *
                       at[k % job->channels * job->plane + job->tap[k / job->channels]];
            job->y[o * job->ldy + i] = sum > 0 ? sum : 0;
        }
}

static void trial_conv_rows_f32(struct trial *t)
{
    struct dense_kernels d = dense_of(t);
    const uint32_t mr = d.mr ? d.mr : 5;
    struct conv_rows_f32_job job = {.taps = 9,
                                    .channels = size(t, 1, 5, 32),
                                    .m = size(t, 1, 19, 32),
                                    .rows = size(t, 1, 5, 4),
                                    .ow = size(t, 1, 70, 112),
                                    .act = {ACT_RELU, 0, 0}};
    size_t tap[9], k = 9 * (size_t)job.channels;
    job.b_row = job.ow + 2;
    job.plane = (size_t)(job.rows + 2) * job.b_row;
    job.ldy = (size_t)job.rows * job.ow;
    for (uint32_t i = 0; i < 9; i++)
        tap[i] = i / 3 * job.b_row + i % 3;
    float *w = reals(t, job.m * k);
    float *a = take(t, (job.m + mr - 1) / mr * mr * k * sizeof *a);
    job.a_step = k * mr;
    pith_pack_rows_f32(&(struct pack_rows_job){w, a, k, 1, job.m, k, mr, job.a_step});
    job.a = a, job.tap = tap;
    job.b = reals(t, job.channels * job.plane + DENSE_PANEL_ALIGN);
    job.bias = reals(t, job.m);
    job.y = take(t, job.m * job.ldy * sizeof(float));
    if (d.conv_rows_f32)
        CALL(t, (double)job.m * (double)job.ldy * (double)k, d.conv_rows_f32(&job));
    else
        CALL(t, (double)job.m * (double)job.ldy * (double)k, plain_conv_rows(&job, w));
    leaves_reals(t, job.y, job.m * job.ldy, sum_bound(k));
}

static void trial_conv_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, size(t, 1, 5, 16), size(t, 1, 5, 16));
    struct conv_f32_job job = {.g = &g, .o1 = g.o, .act = {ACT_RELU, 0, 0}};
    size_t n = (size_t)g.o * g.oh * g.ow;
    job.x = reals(t, (size_t)g.c * g.h * g.w);
    job.w = reals(t, (size_t)g.o * g.c * 9);
    job.bias = reals(t, g.o);
    job.y = take(t, n * sizeof(float));
    CALL(t, (double)n * g.c * 9, dense_of(t).conv_f32(&job));
    leaves_reals(t, job.y, n, sum_bound(g.c * 9));
}

static void trial_depthwise_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, 1, 1);
    struct depthwise_f32_job job = {
        .g = &g, .planes = size(t, 1, 6, 16), .x_step = (size_t)g.h * g.w, .act = {ACT_RELU, 0, 0}};
    job.y_step = (size_t)g.oh * g.ow;
    size_t n = (size_t)job.planes * g.oh * g.ow;
    job.x = reals(t, job.planes * job.x_step);
    job.w = reals(t, job.planes * 9);
    job.bias = reals(t, job.planes);
    job.y = take(t, n * sizeof(float));
    CALL(t, (double)n * 9, dense_of(t).depthwise_f32(&job));
    leaves_reals(t, job.y, n, sum_bound(9));
}

static void trial_gemv_f32(struct trial *t)
{
    struct gemv_f32_job job = {
        .rows = size(t, 1, 40, 256), .k = size(t, 1, 300, 512), .act = {ACT_RELU, 0, 0}};
    job.ldw = job.k;
    job.w = reals(t, (size_t)job.rows * job.k);
    job.x = reals(t, job.k);
    job.bias = reals(t, job.rows);
    job.y = take(t, job.rows * sizeof(float));
    CALL(t, (double)job.rows * job.k, dense_of(t).gemv_f32(&job));
    leaves_reals(t, job.y, job.rows, sum_bound(job.k));
}

static inline void plain_max_pool(const struct pool_f32_job *job)
{
    const struct conv_geom *g = job->g;
    for (size_t i = 0; i < job->planes * g->oh * g->ow; i++) {
        const float *x = job->x + i / g->ow / g->oh * g->h * g->w;
        float most = -INFINITY;
        for (size_t k = 0; k < 9; k++) {
            size_t row = i / g->ow % g->oh * g->stride_h + k / 3 - g->pad_top;
            size_t column = i % g->ow * g->stride_w + k % 3 - g->pad_left;
            if (row < g->h && column < g->w) /* what is above or left of it wraps around */
                most = fmaxf(most, x[row * g->w + column]);
        }
        job->y[i] = most;
    }
}

static void trial_pool_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, 1, 1);
    struct dense_kernels d = dense_of(t);
    struct pool_f32_job job = {.g = &g, .planes = size(t, 1, 6, 16)};
    size_t n = job.planes * g.oh * g.ow;
    job.x = reals(t, job.planes * g.h * g.w);
    job.y = take(t, n * sizeof(float));
    if (d.pool_f32)
        CALL(t, (double)n * 9, d.pool_f32(&job));
    else
        CALL(t, (double)n * 9, plain_max_pool(&job));
    leaves_bytes(t, job.y, n * sizeof(float));
}

/* As the contract has it, where a table has none. */
static inline void plain_winograd_in(float *v, size_t step, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t line = 0; line < 8; line++) {
            float *d = v + i + (line < 4 ? 4 * line * step : (line - 4) * step);
            const size_t by = line < 4 ? step : 4 * step;
            const float was[4] = {d[0], d[by], d[2 * by], d[3 * by]};
            d[0] = was[0] - was[2];
            d[by] = was[1] + was[2];
            d[2 * by] = was[2] - was[1];
            d[3 * by] = was[1] - was[3];
        }
}

static void trial_winograd_in(struct trial *t)
{
    const size_t n = 48 * (size_t)size(t, 1, 4, 64);
    float *v = reals(t, WINOGRAD_TERMS * n);
    if (dense_of(t).winograd_in)
        CALL(t, 2 * (double)(WINOGRAD_TERMS * n), dense_of(t).winograd_in(v, n, n));
    else
        CALL(t, 2 * (double)(WINOGRAD_TERMS * n), plain_winograd_in(v, n, n));
    leaves_bytes(t, v, WINOGRAD_TERMS * n * sizeof *v);
}

static inline void plain_winograd_out(const struct winograd_out_job *job)
{
    static const float a[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
    for (size_t i = 0; i < (size_t)job->rows * job->oh * job->ow; i++) {
        const size_t o = i / (job->oh * job->ow), p = i % (job->oh * job->ow);
        const size_t oy = p / job->ow, ox = p % job->ow;
        const float *m = job->m + o * job->ldm + oy / 2 * job->across + ox / 2;
        float sum = 0;
        for (size_t t = 0; t < WINOGRAD_TERMS; t++)
            sum += a[oy % 2][t / 4] * a[ox % 2][t % 4] * m[t * job->step];
        job->y[o * job->ldy + p] = sum > 0 ? sum : 0;
    }
}

static void trial_winograd_out(struct trial *t)
{
    struct winograd_out_job job = {.rows = size(t, 1, 8, 32),
                                   .oh = size(t, 1, 6, 12),
                                   .ow = size(t, 1, 16, 16),
                                   .ldm = 48,
                                   .act = {ACT_RELU, 0, 0}};
    job.across = (job.ow + 1) / 2;
    job.n = job.across * ((job.oh + 1) / 2);
    job.step = job.rows * job.ldm;
    job.ldy = (size_t)job.oh * job.ow;
    job.m = reals(t, WINOGRAD_TERMS * job.step);
    job.y = take(t, job.rows * job.ldy * sizeof(float));
    if (dense_of(t).winograd_out)
        CALL(t, (double)(WINOGRAD_TERMS * job.rows * job.n), dense_of(t).winograd_out(&job));
    else
        CALL(t, (double)(WINOGRAD_TERMS * job.rows * job.n), plain_winograd_out(&job));
    leaves_reals(t, job.y, job.rows * job.ldy, sum_bound(9));
}

/* Tiles of the contract's F(4x4, 3x3), one by one: line() takes six elements `by` apart. */
static inline void plain_winograd4_line(float *d, size_t by)
{
    const float p = 0.625f, q = 1.5f, pp = p * p, qq = q * q;
    const float was[6] = {d[0], d[by], d[2 * by], d[3 * by], d[4 * by], d[5 * by]};
    d[0] = pp * qq * was[0] - (pp + qq) * was[2] + was[4];
    d[5 * by] = pp * qq * was[1] - (pp + qq) * was[3] + was[5];
    for (size_t k = 0; k < 2; k++) {
        const float at = k ? q : p, other = k ? pp : qq;
        const float even = was[4] - other * was[2], odd = at * (was[3] - other * was[1]);
        d[(2 * k + 1) * by] = even + odd;
        d[(2 * k + 2) * by] = even - odd;
    }
}

static inline void plain_winograd4_in(const struct winograd4_in_job *job)
{
    for (size_t i = 0; i < (size_t)job->channels * job->n; i++) {
        const size_t c = i / job->n, tile = i % job->n;
        float d[WINOGRAD4_TERMS];
        for (size_t e = 0; e < WINOGRAD4_TERMS; e++) {
            const size_t y = tile / job->across * 4 + e / 6 - 1,
                         x = tile % job->across * 4 + e % 6 - 1;
            d[e] = y < job->h && x < job->w ? job->x[(c * job->h + y) * job->w + x] : 0;
        }
        for (size_t line = 0; line < 12; line++)
            plain_winograd4_line(d + (line < 6 ? 6 * line : line - 6), line < 6 ? 1 : 6);
        for (size_t e = 0; e < WINOGRAD4_TERMS; e++)
            job->v[e * job->step + c * job->ldv + tile] = d[e];
    }
}

static void trial_winograd4_in(struct trial *t)
{
    struct winograd4_in_job job = {.channels = size(t, 1, 8, 32),
                                   .h = size(t, 1, 12, 14),
                                   .w = size(t, 1, 16, 56),
                                   .pad_top = 1,
                                   .pad_left = 1,
                                   .ldv = 64};
    job.across = (job.w + 3) / 4;
    job.n = job.across * ((job.h + 3) / 4);
    job.step = job.channels * job.ldv;
    job.x = reals(t, (size_t)job.channels * job.h * job.w);
    job.v = take(t, WINOGRAD4_TERMS * job.step * sizeof(float));
    memset(job.v, 0, WINOGRAD4_TERMS * job.step * sizeof(float));
    if (dense_of(t).winograd4_in)
        CALL(t, (double)(WINOGRAD4_TERMS * job.channels * job.n), dense_of(t).winograd4_in(&job));
    else
        CALL(t, (double)(WINOGRAD4_TERMS * job.channels * job.n), plain_winograd4_in(&job));
    for (size_t i = 0; i < (size_t)WINOGRAD4_TERMS * job.channels;
         i++) /* behind the tiles: anything */
        memset(job.v + i * job.ldv + job.n, 0, (job.ldv - job.n) * sizeof(float));
    leaves_reals(t, job.v, WINOGRAD4_TERMS * job.step, sum_bound(9));
}

static inline void plain_winograd4_out(const struct winograd_out_job *job)
{
    const float p = 0.625f, q = 1.5f;
    const float a[4][6] = {{1, 1, 1, 1, 1, 0},
                           {0, p, -p, q, -q, 0},
                           {0, p * p, p * p, q * q, q * q, 0},
                           {0, p * p * p, -p * p * p, q * q * q, -q * q * q, 1}};
    for (size_t i = 0; i < (size_t)job->rows * job->oh * job->ow; i++) {
        const size_t o = i / (job->oh * job->ow), at = i % (job->oh * job->ow);
        const size_t oy = at / job->ow, ox = at % job->ow;
        const float *m = job->m + o * job->ldm + oy / 4 * job->across + ox / 4;
        float sum = job->bias[o];
        for (size_t t = 0; t < WINOGRAD4_TERMS; t++)
            sum += a[oy % 4][t / 6] * a[ox % 4][t % 6] * m[t * job->step];
        job->y[o * job->ldy + at] = sum > 0 ? sum : 0;
    }
}

static void trial_winograd4_out(struct trial *t)
{
    struct winograd_out_job job = {.rows = size(t, 1, 8, 16),
                                   .oh = size(t, 1, 12, 14),
                                   .ow = size(t, 1, 16, 56),
                                   .ldm = 64,
                                   .act = {ACT_RELU, 0, 0}};
    job.across = (job.ow + 3) / 4;
    job.n = job.across * ((job.oh + 3) / 4);
    job.step = job.rows * job.ldm;
    job.ldy = (size_t)job.oh * job.ow;
    job.m = reals(t, WINOGRAD4_TERMS * job.step);
    job.bias = reals(t, job.rows);
    job.y = take(t, job.rows * job.ldy * sizeof(float));
    if (dense_of(t).winograd4_out)
        CALL(t, (double)(WINOGRAD4_TERMS * job.rows * job.n), dense_of(t).winograd4_out(&job));
    else
        CALL(t, (double)(WINOGRAD4_TERMS * job.rows * job.n), plain_winograd4_out(&job));
    leaves_reals(t, job.y, job.rows * job.ldy, sum_bound(100));
}

static void trial_pack_rows_f32(struct trial *t)
{
    const uint32_t rows = size(t, 1, 40, 256), k = size(t, 1, 60, 512), mr = 8;
    size_t n = (size_t)(rows + mr - 1) / mr * mr * k;
    float *w = reals(t, (size_t)rows * k), *to = take(t, n * sizeof *to);
    CALL(t, (double)rows * k,
         dense_of(t).pack_rows_f32(
             &(struct pack_rows_job){w, to, k, 1, rows, k, mr, (size_t)mr * k}));
    leaves_bytes(t, to, n * sizeof *to);
}

/* ---- kernels of one order: bits, not bounds -------------------------------------------------- */

static inline struct dense_kernels ordered_of(const struct trial *t)
{
    struct dense_kernels d;
    pith_ordered_kernels_fill(&d, t->features);
    return d;
}

static inline float *maybe_reals(struct trial *t, size_t n)
{
    return pick(0, 1) ? reals(t, n) : NULL;
}

/* k in two jobs, the second of which resumes; bias and residual or none; columns that fill no
 * vector. */
static void trial_ordered_gemm_f32(struct trial *t)
{
    struct dense_kernels d = ordered_of(t);
    uint32_t m = size(t, 1, 40, 256), k = size(t, 2, 300, 512), n = size(t, 1, 48, 48);
    uint32_t k1 = t->timed ? k : pick(1, k);
    float *w = reals(t, (size_t)m * k), *b = reals(t, (size_t)k * n);
    float *c = take(t, (size_t)m * n * sizeof *c);
    struct gemm_f32_job job = {.a_step = (size_t)d.mr * k,
                               .ldb = n,
                               .c = c,
                               .ldc = n,
                               .bias_row = maybe_reals(t, m),
                               .bias_col = maybe_reals(t, n),
                               .residual = maybe_reals(t, (size_t)m * n),
                               .m = m,
                               .n = n,
                               .act = {ACT_RELU, 0, 0}};
    float *a = take(t, (m + d.mr - 1) / d.mr * job.a_step * sizeof *a);
    pith_pack_rows_f32(&(struct pack_rows_job){w, a, k, 1, m, k, d.mr, job.a_step});
    for (uint32_t from = 0, to = k1; from < k; from = to, to = k) {
        job.resume = from > 0, job.finish = to == k;
        job.a = a + (size_t)from * d.mr, job.b = b + (size_t)from * n, job.k = to - from;
        CALL(t, (double)m * n * job.k, d.gemm_f32(&job));
    }
    leaves_bytes(t, c, (size_t)m * n * sizeof *c);
}

static void trial_ordered_gemv_f32(struct trial *t)
{
    struct gemv_f32_job job = {
        .rows = size(t, 1, 40, 256), .k = size(t, 1, 300, 512), .act = {ACT_RELU, 0, 0}};
    job.ldw = job.k;
    job.w = reals(t, (size_t)job.rows * job.k);
    job.x = reals(t, job.k);
    job.bias = maybe_reals(t, job.rows);
    job.residual = maybe_reals(t, job.rows);
    job.y = take(t, job.rows * sizeof(float));
    CALL(t, (double)job.rows * job.k, ordered_of(t).gemv_f32(&job));
    leaves_bytes(t, job.y, job.rows * sizeof(float));
}

/* Bits alike, and right: taps that are left out are not what both forget. */
static void trial_ordered_depthwise_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, 1, 1);
    struct depthwise_f32_job job = {
        .g = &g, .planes = size(t, 1, 6, 16), .x_step = (size_t)g.h * g.w, .act = {ACT_RELU, 0, 0}};
    struct dense_kernels plain;
    if (!t->timed && g.h > 4 && g.w > 4 && pick(0, 1)) {
        g.dil_h = g.dil_w = 2;
        g.oh = (g.h + 2 * g.pad_top - 5) / g.stride_h + 1;
        g.ow = (g.w + 2 * g.pad_left - 5) / g.stride_w + 1;
    }
    job.y_step = (size_t)g.oh * g.ow;
    size_t n = (size_t)job.planes * g.oh * g.ow;
    job.x = reals(t, job.planes * job.x_step);
    job.w = reals(t, job.planes * 9);
    job.bias = maybe_reals(t, job.planes);
    job.residual = maybe_reals(t, n);
    float *y = job.y = take(t, n * sizeof(float)), *near = take(t, n * sizeof(float));
    CALL(t, (double)n * 9, ordered_of(t).depthwise_f32(&job));
    job.y = near;
    pith_dense_kernels_fill(&plain, 0);
    plain.depthwise_f32(&job);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)near[i] - (double)y[i]) <= sum_bound(9));
    leaves_bytes(t, y, n * sizeof(float));
}

/* ---- products from a compressed form -------------------------------------------------------- */

/* Costs by which `kind` is built wherever the weight has it. */
static inline struct sparse_kernels sparse_forcing(enum run_form_kind kind)
{
    struct sparse_kernels k;
    pith_sparse_kernels_fill(&k, 0);
    memset(k.costs.dense, 0, sizeof k.costs.dense);
    for (uint32_t i = 0; i < RUN_FORM_KINDS; i++)
        k.costs.form[i] = i != FORM_WINDOW || kind == FORM_WINDOW;
    return k;
}

static inline void trial_form(struct trial *t, enum run_form_kind kind, uint32_t centroids,
                              bool dense)
{
    struct pith_kernels table = {.sparse = sparse_forcing(kind)};
    struct sparse_kernels k;
    struct weight_want want = {.rows = size(t, 1, 40, 300),
                               .cols = size(t, 64, 400, 1024),
                               .density = 0.1,
                               .dense = dense,
                               .n_centroids = centroids,
                               .n_groups = 1,
                               .scale = 1};
    struct weight_case c = case_new(&want, &seed);
    struct run_form_need need;
    assert_int_equal(pith_run_form_need(&c.w, c.rows, c.cols, &table.sparse, &need), PITH_OK);
    struct run_form *form = take(t, need.bytes);
    struct op_env env = {.kernels = &table, .scratch = take(t, need.scratch_bytes)};
    assert_int_equal(pith_run_form_build(&env, &c.w, c.rows, c.cols, form), PITH_OK);
    assert_true(t->timed ? form->kind == (uint32_t)kind : true);
    float *x = reals(t, c.cols), *y = take(t, c.rows * sizeof *y);
    pith_sparse_kernels_fill(&k, t->features);
    CALL(t, c.w.nnz, pith_run_form_matvec(&k, form, x, y, 0, pith_run_form_units(form)));
    leaves_reals(t, y, c.rows, sum_bound(dense ? c.cols : c.cols / 4));
    case_free(&c);
}

/* Several rows of x at once. */
static inline void trial_form_rows(struct trial *t, enum run_form_kind kind, uint32_t centroids)
{
    uint32_t m = size(t, 2, 19, 8);
    struct weight_want want = {.rows = size(t, 1, 40, 300),
                               .cols = size(t, 64, 900, 1024),
                               .density = 0.1,
                               .dense = kind != FORM_WINDOW,
                               .n_centroids = centroids,
                               .n_groups = 1,
                               .scale = 1};
    struct pith_kernels table = {.sparse = sparse_forcing(kind)};
    struct sparse_kernels k;
    struct weight_case c = case_new(&want, &seed);
    struct run_form_need need;
    assert_int_equal(pith_run_form_need(&c.w, c.rows, c.cols, &table.sparse, &need), PITH_OK);
    struct run_form *form = take(t, need.bytes);
    struct op_env env = {.kernels = &table, .scratch = take(t, need.scratch_bytes)};
    assert_int_equal(pith_run_form_build(&env, &c.w, c.rows, c.cols, form), PITH_OK);
    float *x = reals(t, (size_t)m * c.cols), *y = take(t, (size_t)m * c.rows * sizeof *y);
    pith_sparse_kernels_fill(&k, t->features);
    CALL(t, (double)c.w.nnz * m,
         pith_run_form_rows(&k, &(struct run_form_rows){form, x, y, m}, 0,
                            pith_run_form_units(form)));
    leaves_reals(t, y, (size_t)m * c.rows, sum_bound(want.dense ? c.cols : c.cols / 4));
    case_free(&c);
}

static void trial_window_rows(struct trial *t)
{
    trial_form_rows(t, FORM_WINDOW, 32);
}

static void trial_dense4_rows(struct trial *t)
{
    trial_form_rows(t, FORM_DENSE4, 16);
}

static void trial_dense5_rows(struct trial *t)
{
    trial_form_rows(t, FORM_DENSE5, 32);
}

static void trial_quads(struct trial *t)
{
    uint32_t n = size(t, 1, QUAD_WIDTH_MAX, 32);
    struct weight_want want = {.rows = size(t, 1, 300, 512),
                               .cols = size(t, 64, 400, 1024),
                               .density = 0.1,
                               .n_centroids = n % 2 ? 0 : 16,
                               .n_groups = 1,
                               .scale = 1};
    struct sparse_kernels k;
    struct weight_case c = case_new(&want, &seed);
    struct quad_matrix m = {c.rows, c.cols, 1,
                            (n + QUAD_WIDTH_STEP - 1) / QUAD_WIDTH_STEP * QUAD_WIDTH_STEP};
    struct quad_need need;
    assert_int_equal(pith_quads_need(&c.w, &m, &need), PITH_OK);
    struct quad_form *form = take(t, need.bytes);
    struct op_env env = {.scratch = take(t, need.scratch_bytes)};
    assert_int_equal(pith_quads_build(&env, &c.w, &m, form), PITH_OK);
    struct quads_job job = {.form = form,
                            .x = reals(t, (size_t)c.cols * m.width),
                            .x_step = QUAD_WIDTH_STEP,
                            .y = take(t, (size_t)c.rows * n * sizeof(float)),
                            .ldy = n,
                            .bias = reals(t, c.rows),
                            .n = n,
                            .unit_end = form->n_units,
                            .act = {ACT_RELU, 0, 0}};
    pith_sparse_kernels_fill(&k, t->features);
    CALL(t, (double)c.w.nnz * n, k.quads(&job));
    leaves_reals(t, job.y, (size_t)c.rows * n, sum_bound(c.cols / 4));
    case_free(&c);
}

static void trial_csr_value(struct trial *t)
{
    trial_form(t, FORM_CSR_VALUE, 0, false);
}

static void trial_csr_codebook(struct trial *t)
{
    trial_form(t, FORM_CSR_CODEBOOK, 200, false);
}

static void trial_window(struct trial *t)
{
    trial_form(t, FORM_WINDOW, 32, false);
}

static void trial_dense4(struct trial *t)
{
    trial_form(t, FORM_DENSE4, 16, true);
}

static void trial_dense5(struct trial *t)
{
    trial_form(t, FORM_DENSE5, 32, true);
}

static void trial_dense8(struct trial *t)
{
    trial_form(t, FORM_DENSE8, 256, true);
}

#endif
