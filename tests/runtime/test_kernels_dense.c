/* SPDX-License-Identifier: MIT */
/* Every dense kernel at every level against sums in double, on buffers that end at unmapped pages.
 *
 * Bound. A sum of T products in f32, in any order, each product rounded or fused, differs from the
 * exact sum by at most (T + 1) u sum |a b| (1 + small), u = 2^-24; bias and residual are two more
 * terms. With T >= 1, 2 (T + 2) u sum |a b| covers it. The activations used here have slopes of at
 * most 1.5 (hard swish) and are themselves computed to a few u of values below 4. */
#include <string.h>
#include <math.h>
#include "test_run.h"
#include "kernels/ref/activate.h"
#include "kernels/ref/integer_element.h"
#include "guard_page.h"
#include "kernels/kernels.h"
#include "pith_runtime.h"

static uint64_t seed = 0x5eed;

static const uint32_t levels[] = {
#ifndef CASES /* under emulation, which is slow, vectors alone */
    0,
#endif
    PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512, PITH_CPU_NEON};
#define N_LEVELS (sizeof levels / sizeof *levels)

static bool level_there(uint32_t level)
{
    return (pith_cpu_features() & level) == level;
}

struct expected {
    double sum, size;
    uint32_t terms;
};

static void expect_near(struct expected e, const struct dense_act *act, float got, const char *what)
{
    float want = pith_activate(act->kind, act->a, act->b, (float)e.sum);
    double bound = 1.5 * 2 * (e.terms + 2) * ldexp(1, -24) * e.size + ldexp(1, -20);
    if (fabs((double)got - want) <= bound)
        return;
    fail_msg("%s: expected %.9g, got %.9g, bound %.3g (seed 0x5eed)", what, want, got, bound);
}

static struct dense_act some_act(void)
{
    static const struct dense_act acts[] = {{ACT_NONE, 0, 0},
                                            {ACT_RELU, 0, 0},
                                            {ACT_CLIP, -0.5f, 0.75f},
                                            {ACT_LEAKY, 0.1f, 0},
                                            {ACT_SIGMOID, 0, 0},
                                            {ACT_TANH, 0, 0},
                                            {ACT_HARD_SIGMOID, 0.2f, 0.5f},
                                            {ACT_HARD_SWISH, 0, 0},
                                            {ACT_GELU, 0, 0},
                                            {ACT_SWISH, 0, 0}};
    return acts[random_u64(&seed) % (sizeof acts / sizeof *acts)];
}

static uint32_t pick(uint32_t from, uint32_t to)
{
    return from + (uint32_t)(random_u64(&seed) % (to - from + 1));
}

static float *floats(struct guarded *g)
{
    return g->data;
}

static void call_gemm(const struct dense_kernels *k, const struct gemm_f32_job *job, uint32_t mr)
{
    if (k->gemm_f32)
        k->gemm_f32(job);
    else
        pith_gemm_f32(job, mr);
}

/* How a lies: in panels, row by row, or turned. */
enum form { PACKED, WIDE, ROWS, COLUMNS };

/* Floats from one row of a to the next (part 0), or from one k to the next (1), as wide as need be
 * or some more. Panels follow one another. */
static void lay(struct gemm_f32_job *job, enum form form, uint32_t mr, uint32_t m, uint32_t k)
{
    if (form == ROWS)
        job->a_row = k + pick(0, 3), job->a_col = 1;
    else
        job->a_row = 1, job->a_col = m + pick(0, 3);
    job->a_step = mr * job->a_row;
}

/* One product, m x n x k, done in `parts` pieces of k. WIDE: a wide job. */
static void check_gemm_of(const struct dense_kernels *d, uint32_t m, uint32_t n, uint32_t k,
                          uint32_t parts, enum form form)
{
    const bool wide = form == WIDE, lies = form == ROWS || form == COLUMNS;
    uint32_t mr = d->mr ? d->mr : 5, panels = (m + mr - 1) / mr;
    const uint32_t width = wide ? d->nr_wide : n;
    size_t ldb = width + pick(0, 3), ldc = n + pick(0, 3);
    struct guarded w = guard_random((size_t)m * k, 1, &seed);
    struct guarded b = guard_random((k - 1) * ldb + width, 1, &seed);
    struct guarded c = guard_random((m - 1) * ldc + n, 1, &seed);
    struct guarded res = guard_random((m - 1) * ldc + n, 1, &seed);
    struct guarded row = guard_random(m, 1, &seed), col = guard_random(n, 1, &seed);
    uint32_t with = pick(0, 7);
    struct gemm_f32_job job = {.a_step = (size_t)mr * k,
                               .b = b.data,
                               .ldb = ldb,
                               .c = c.data,
                               .ldc = ldc,
                               .m = m,
                               .n = n,
                               .k = k,
                               .wide = wide,
                               .bias_row = with & 1 ? row.data : NULL,
                               .bias_col = with & 2 ? col.data : NULL,
                               .residual = with & 4 ? res.data : NULL,
                               .act = some_act()};
    if (lies)
        lay(&job, form, mr, m, k);
    size_t a_row = lies ? job.a_row : 1, a_col = lies ? job.a_col : mr;
    struct guarded a = guard_new(lies ? ((m - 1) * a_row + (k - 1) * a_col + 1) * sizeof(float)
                                      : (size_t)panels * mr * k * sizeof(float),
                                 1);
    float *gap = malloc(((m - 1) * ldc + n) * sizeof *gap);
    memcpy(gap, c.data, ((m - 1) * ldc + n) * sizeof *gap);
    if (!lies)
        pith_pack_rows_f32(&(struct pack_rows_job){w.data, a.data, k, 1, m, k, mr, job.a_step});
    for (size_t i = 0; i < (size_t)m * k && lies; i++)
        floats(&a)[i / k * a_row + i % k * a_col] = floats(&w)[i];
    for (uint32_t part = 0; part < parts; part++) {
        uint32_t k0 = k * part / parts, k1 = k * (part + 1) / parts;
        job.a = floats(&a) + k0 * a_col;
        job.b = floats(&b) + k0 * ldb;
        job.k = k1 - k0;
        job.resume = part > 0;
        job.finish = part == parts - 1;
        call_gemm(d, &job, mr);
    }
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < ldc && i * ldc + j < (m - 1) * ldc + n; j++) {
            if (j >= n) {
                assert_true(floats(&c)[i * ldc + j] == gap[i * ldc + j]);
                continue;
            }
            struct expected e = {0, 0, k};
            for (uint32_t x = 0; x < k; x++) {
                double p = (double)floats(&w)[i * k + x] * floats(&b)[x * ldb + j];
                e.sum += p;
                e.size += fabs(p);
            }
            double extra[3] = {with & 1 ? floats(&row)[i] : 0, with & 2 ? floats(&col)[j] : 0,
                               with & 4 ? floats(&res)[i * ldc + j] : 0};
            for (int x = 0; x < 3; x++)
                e.sum += extra[x], e.size += fabs(extra[x]);
            expect_near(e, &job.act, floats(&c)[i * ldc + j], "gemm_f32");
        }
    free(gap);
    guard_free(&w), guard_free(&a), guard_free(&b), guard_free(&c), guard_free(&res);
    guard_free(&row), guard_free(&col);
}

static void check_gemm(const struct dense_kernels *d, uint32_t m, uint32_t n, uint32_t k,
                       uint32_t parts)
{
    check_gemm_of(d, m, n, k, parts, PACKED);
    if (d->strided || !d->gemm_f32)
        check_gemm_of(d, m, d->nr && n > d->nr ? d->nr : n, k, parts, ROWS + pick(0, 1));
}

static void each_level(void (*check)(const struct dense_kernels *d))
{
    for (uint32_t i = 0; i < N_LEVELS; i++) {
        struct dense_kernels d;
        if (!level_there(levels[i]))
            continue;
        pith_dense_kernels_fill(&d, levels[i]);
        seed = 0x5eed;
        check(&d);
    }
}

static void gemm_level(const struct dense_kernels *d)
{
    uint32_t nr = d->nr ? d->nr_max : 24;
    for (uint32_t n = 1; n <= nr; n++)
        for (uint32_t m = 1; m <= 19; m += n % 3 + 1)
            check_gemm(d, m, n, pick(1, 40), 1);
    for (uint32_t i = 0; i < 60; i++)
        check_gemm(d, pick(1, 40), pick(1, nr), pick(3, 300), pick(1, 3));
    for (uint32_t n = 1; n <= d->nr_wide; n++)
        for (uint32_t m = d->mr; m <= d->mr_wide; m++)
            check_gemm_of(d, m, n, pick(1, 40), 1, WIDE);
}

TEST(test_gemm)
{
    each_level(gemm_level);
}

static struct conv_geom some_geom(uint32_t c, uint32_t o)
{
    struct conv_geom g = {.c = c,
                          .o = o,
                          .kh = pick(1, 5),
                          .kw = pick(1, 5),
                          .stride_h = pick(1, 3),
                          .stride_w = pick(1, 3),
                          .dil_h = pick(1, 2),
                          .dil_w = pick(1, 2)};
    if (pick(0, 1))
        g.kh = g.kw = 3, g.dil_h = g.dil_w = 1, g.stride_h = g.stride_w = pick(1, 2);
    g.pad_top = pick(0, g.kh * g.dil_h);
    g.pad_left = pick(0, g.kw * g.dil_w);
    uint32_t reach_h = (g.kh - 1) * g.dil_h + 1, reach_w = (g.kw - 1) * g.dil_w + 1;
    g.h = pick(reach_h, reach_h + 12);
    g.w = pick(reach_w, reach_w + 60);
    /* the padding at the end, too, is up to a whole kernel */
    g.oh = (g.h + g.pad_top + pick(0, reach_h) - reach_h) / g.stride_h + 1;
    g.ow = (g.w + g.pad_left + pick(0, reach_w) - reach_w) / g.stride_w + 1;
    return g;
}

static void im2col_level(const struct dense_kernels *d)
{
    const uint32_t nr = 48; /* every level's tiles fit */
    for (uint32_t i = 0; i < 300; i++) {
        struct conv_geom g = some_geom(pick(1, 5), 1);
        uint32_t k = g.c * g.kh * g.kw, pixels = g.oh * g.ow;
        const size_t in = (size_t)g.h * g.w, plane = in * pick(1, 3);
        struct guarded x = guard_random((g.c - 1) * plane + in, i % 2, &seed);
        uint32_t n = pick(1, pixels < nr ? pixels : nr);
        struct im2col_f32_job job = {.g = &g,
                                     .x = x.data,
                                     .plane = plane,
                                     .ldb = nr,
                                     .n = n,
                                     .p0 = pick(0, pixels - n),
                                     .k0 = pick(0, k - 1)};
        job.k1 = pick(job.k0 + 1, k);
        size_t bytes = (size_t)(job.k1 - job.k0) * nr * sizeof(float);
        struct guarded want = guard_new(bytes, 1), got = guard_new(bytes, 1);
        job.b = want.data;
        pith_im2col_f32(&job);
        job.b = got.data;
        d->im2col_f32(&job);
        for (uint32_t r = 0; r < job.k1 - job.k0; r++)
            assert_memory_equal(floats(&want) + r * nr, floats(&got) + r * nr, n * sizeof(float));
        guard_free(&x), guard_free(&want), guard_free(&got);
    }
}

TEST(test_im2col)
{
    each_level(im2col_level);
}

static void even_level(const struct dense_kernels *d)
{
    for (uint32_t n = 0; n < 200; n++) {
        const size_t taken = n ? 2 * (size_t)n - 1 : 0;
        struct guarded x = guard_random(taken, n % 2, &seed);
        struct guarded want = guard_new(n * sizeof(float), n % 2),
                       got = guard_new(n * sizeof(float), n % 2);
        pith_even_f32(want.data, x.data, n);
        d->even_f32(got.data, x.data, n);
        assert_memory_equal(want.data, got.data, n * sizeof(float));
        for (uint32_t i = 0; i < n; i++)
            assert_true(floats(&got)[i] == floats(&x)[2 * i]);
        guard_free(&x), guard_free(&want), guard_free(&got);
    }
}

TEST(test_even)
{
    each_level(even_level);
}

/* Any buffer will do as the padded rows: sums over it are checked, and that reads end with the
 * floats that the contract allows. */
static void check_rows(const struct dense_kernels *d, bool at_end)
{
    const uint32_t kh = pick(1, 3), kw = pick(1, 4), dil = pick(1, 2), k_c = pick(1, 5);
    struct conv_rows_f32_job job = {.taps = kh * kw,
                                    .channels = k_c,
                                    .m = pick(1, 19),
                                    .rows = pick(1, 5),
                                    .ow = pick(1, 70),
                                    .act = some_act()};
    size_t tap[12], width = job.ow + (kw - 1) * dil, gap = pick(0, 3), k = job.taps * k_c;
    uint32_t with = pick(0, 3), panels = (job.m + d->mr - 1) / d->mr;
    job.b_row = pick(1, 2) * width;
    job.plane = (job.rows - 1) * job.b_row + ((kh - 1) * dil + 1) * width;
    job.ldy = job.rows * job.ow + gap;
    for (uint32_t t = 0; t < job.taps; t++)
        tap[t] = t / kw * dil * width + t % kw * dil;
    size_t n_y = (job.m - 1) * job.ldy + (size_t)job.rows * job.ow;
    struct guarded w = guard_random(job.m * k, 1, &seed), bias = guard_random(job.m, 1, &seed);
    struct guarded a = guard_new((size_t)panels * d->mr * k * sizeof(float), 1);
    struct guarded b = guard_random(k_c * job.plane + DENSE_PANEL_ALIGN - 1, at_end, &seed);
    struct guarded y = guard_random(n_y, 1, &seed), res = guard_random(n_y, 1, &seed);
    float *before = malloc(n_y * sizeof *before);
    memcpy(before, y.data, n_y * sizeof *before);
    job.a_step = k * d->mr;
    pith_pack_rows_f32(&(struct pack_rows_job){w.data, a.data, k, 1, job.m, k, d->mr, job.a_step});
    job.a = a.data, job.b = b.data, job.tap = tap, job.y = y.data;
    job.bias = with & 1 ? bias.data : NULL;
    job.residual = with & 2 ? res.data : NULL;
    d->conv_rows_f32(&job);
    for (size_t at = 0; at < n_y; at++) {
        size_t o = at / job.ldy, p = at % job.ldy;
        if (p >= (size_t)job.rows * job.ow) {
            assert_true(floats(&y)[at] == before[at]);
            continue;
        }
        double extra[2] = {job.bias ? job.bias[o] : 0, job.residual ? job.residual[at] : 0};
        struct expected e = {extra[0] + extra[1], fabs(extra[0]) + fabs(extra[1]), (uint32_t)k};
        const float *x = job.b + p / job.ow * job.b_row + p % job.ow;
        for (size_t i = 0; i < k; i++) {
            double q = (double)floats(&w)[o * k + i] * x[i % k_c * job.plane + tap[i / k_c]];
            e.sum += q;
            e.size += fabs(q);
        }
        expect_near(e, &job.act, floats(&y)[at], "conv_rows_f32");
    }
    free(before);
    guard_free(&w), guard_free(&bias), guard_free(&a), guard_free(&b), guard_free(&y);
    guard_free(&res);
}

static void rows_level(const struct dense_kernels *d)
{
    for (uint32_t i = 0; d->conv_rows_f32 && i < 300; i++)
        check_rows(d, i % 2);
}

TEST(test_rows)
{
    each_level(rows_level);
}

/* The window of output (oy, ox), all taps of which are tried one by one. */
static void add_window(struct expected *e, const struct conv_geom *g, const float *x,
                       const float *w, int oy, int ox)
{
    for (int ky = 0; ky < (int)g->kh; ky++)
        for (int kx = 0; kx < (int)g->kw; kx++) {
            int iy = oy * (int)g->stride_h + ky * (int)g->dil_h - (int)g->pad_top;
            int ix = ox * (int)g->stride_w + kx * (int)g->dil_w - (int)g->pad_left;
            if (iy < 0 || ix < 0 || iy >= (int)g->h || ix >= (int)g->w)
                continue;
            double p = (double)x[iy * (int)g->w + ix] * w[ky * (int)g->kw + kx];
            e->sum += p;
            e->size += fabs(p);
        }
}

#define BETWEEN 0x5au /* bytes between planes, which nothing writes */

static void check_depthwise(const struct dense_kernels *d, struct conv_geom g, uint32_t i)
{
    uint32_t planes = pick(1, i % 3 ? 3 : 40), with = pick(0, 15); /* of vectors, too */
    size_t pixels = (size_t)g.oh * g.ow, taps = (size_t)g.kh * g.kw, plane = (size_t)g.h * g.w;
    struct guarded x = guard_random(plane * planes, i % 2, &seed);
    struct guarded w = guard_random(taps * planes, 1, &seed);
    size_t step = pixels + (with & 8 ? pick(1, 40) : 0), floats_y = (planes - 1) * step + pixels;
    struct guarded y = guard_new(floats_y * sizeof(float), i / 2 % 2);
    struct guarded res = guard_random(floats_y, 1, &seed);
    struct guarded bias = guard_random(planes, 1, &seed);
    struct depthwise_f32_job job = {.g = &g,
                                    .x = x.data,
                                    .x_step = with & 1 ? plane : 0,
                                    .w = w.data,
                                    .y = y.data,
                                    .y_step = step,
                                    .planes = planes,
                                    .residual = with & 2 ? res.data : NULL,
                                    .bias = with & 4 ? bias.data : NULL,
                                    .act = some_act()};
    memset(y.data, BETWEEN, floats_y * sizeof(float));
    d->depthwise_f32(&job);
    for (size_t p = 0; p < floats_y; p++) {
        size_t own = p / step, at = p % step;
        if (at >= pixels) {
            assert_int_equal(f32_bits(floats(&y)[p]), BETWEEN * 0x01010101u);
            continue;
        }
        double extra[2] = {job.bias ? job.bias[own] : 0, job.residual ? job.residual[p] : 0};
        struct expected e = {extra[0] + extra[1], fabs(extra[0]) + fabs(extra[1]), (uint32_t)taps};
        add_window(&e, &g, job.x + own * job.x_step, job.w + own * taps, (int)(at / g.ow),
                   (int)(at % g.ow));
        expect_near(e, &job.act, floats(&y)[p], "depthwise_f32");
    }
    guard_free(&x), guard_free(&w), guard_free(&y), guard_free(&res), guard_free(&bias);
}

static void depthwise_level(const struct dense_kernels *d)
{
    for (uint32_t i = 0; i < 600; i++)
        check_depthwise(d, some_geom(1, 1), i);
    /* as large as the input, in whole and broken vectors, rows of one pixel and of one vector and
     * a half of them */
    for (uint32_t i = 0; i < 600; i++) {
        uint32_t w = 1 + i % 50, h = pick(1, i % 8 ? 12 : 130), taps = 3 + i / 50 % 3 * 2;
        struct conv_geom g = {.c = 1, .h = h, .w = w, .o = 1, .oh = h, .ow = w};
        g.kh = g.kw = taps;
        g.stride_h = g.stride_w = g.dil_h = g.dil_w = 1;
        g.pad_top = g.pad_left = taps / 2;
        check_depthwise(d, g, i);
    }
    /* 5 x 5, 7 x 7 and stride 2, images smaller than the kernel too */
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t k = i % 2 ? 5 : 7, w = 1 + i % 70, h = pick(1, 20), pad = pick(k / 2, k / 2 + 2);
        struct conv_geom g = {.c = 1, .h = h, .w = w, .o = 1, .kh = k, .kw = k};
        g.stride_h = g.stride_w = 2;
        g.dil_h = g.dil_w = 1;
        g.pad_top = pick(0, pad), g.pad_left = pick(0, pad);
        g.oh = (h + 2 * pad - k) / 2 + 1, g.ow = (w + 2 * pad - k) / 2 + 1;
        check_depthwise(d, g, i);
    }
    /* long, strided and dilated windows, rows of several bands, padding longer than a row */
    for (uint32_t i = 0, n = 0; n < 300; i++) {
        struct conv_geom g = {.c = 1, .o = 1, .w = pick(1, i % 10 ? 120 : 6000)};
        g.h = i % 2 ? 1 : pick(1, 60);
        g.kh = g.h > 1 ? pick(1, 9) : 1, g.kw = pick(1, i % 3 ? 9 : 60);
        g.stride_h = pick(1, 4), g.stride_w = pick(1, 5);
        if (i % 8 == 0) /* as large as they fit */
            g.w = pick(400, 3000), g.stride_h = g.kh > 1 ? pick(1, 17) : 1,
            g.stride_w = pick(9, 90);
        g.dil_h = pick(1, i % 5 ? 3 : 20), g.dil_w = pick(1, i % 5 ? 3 : 20);
        const uint32_t reach_h = (g.kh - 1) * g.dil_h + 1, reach_w = (g.kw - 1) * g.dil_w + 1;
        g.pad_top = pick(0, reach_h - 1), g.pad_left = pick(0, reach_w - 1);
        const uint32_t high = g.h + g.pad_top + pick(0, reach_h - 1);
        const uint32_t wide = g.w + g.pad_left + pick(0, reach_w - 1);
        if (high < reach_h || wide < reach_w || !depthwise_fits(&g))
            continue;
        g.oh = (high - reach_h) / g.stride_h + 1, g.ow = (wide - reach_w) / g.stride_w + 1;
        check_depthwise(d, g, n++);
    }
    /* small planes, of which steps may leave the last pixels out: all windows are in the padding */
    for (uint32_t i = 0; i < 600; i++) {
        struct conv_geom g = {.c = 1, .o = 1, .h = pick(1, 6), .w = pick(1, 6), .kh = 3, .kw = 3};
        g.stride_h = pick(1, 9), g.stride_w = pick(1, 9), g.dil_h = g.dil_w = 1;
        g.pad_top = pick(2, 40), g.pad_left = pick(2, 40);
        g.oh = (g.h + g.pad_top - g.kh) / g.stride_h + 1;
        g.ow = (g.w + g.pad_left - g.kw) / g.stride_w + 1;
        check_depthwise(d, g, i);
    }
}

TEST(test_depthwise)
{
    each_level(depthwise_level);
}

static void check_gemv(const struct dense_kernels *d, uint32_t rows, uint32_t k)
{
    size_t ldw = k + pick(0, 2);
    struct guarded w = guard_random((rows - 1) * ldw + k, 1, &seed);
    struct guarded x = guard_random(k, 1, &seed), y = guard_random(rows, 1, &seed);
    struct guarded bias = guard_random(rows, 1, &seed), res = guard_random(rows, 1, &seed);
    struct gemv_f32_job job = {.w = w.data,
                               .ldw = ldw,
                               .x = x.data,
                               .y = y.data,
                               .bias = k % 2 ? bias.data : NULL,
                               .residual = k % 3 ? NULL : res.data,
                               .rows = rows,
                               .k = k,
                               .act = some_act()};
    d->gemv_f32(&job);
    for (uint32_t r = 0; r < rows; r++) {
        struct expected e = {0, 0, k};
        double extra[2] = {job.bias ? job.bias[r] : 0, job.residual ? job.residual[r] : 0};
        for (uint32_t i = 0; i < k; i++) {
            double p = (double)job.w[r * ldw + i] * job.x[i];
            e.sum += p;
            e.size += fabs(p);
        }
        e.sum += extra[0] + extra[1];
        e.size += fabs(extra[0]) + fabs(extra[1]);
        expect_near(e, &job.act, job.y[r], "gemv_f32");
        /* alone, the row has the same bits */
        float alone = 0;
        struct gemv_f32_job one = job;
        one.w += r * ldw;
        one.y = &alone;
        one.bias = job.bias ? job.bias + r : NULL;
        one.residual = job.residual ? job.residual + r : NULL;
        one.rows = 1;
        d->gemv_f32(&one);
        assert_memory_equal(&alone, job.y + r, sizeof alone);
    }
    guard_free(&w), guard_free(&x), guard_free(&y), guard_free(&bias), guard_free(&res);
}

static void gemv_level(const struct dense_kernels *d)
{
    for (uint32_t k = 1; k <= 70; k++)
        check_gemv(d, pick(1, 11), k);
    for (uint32_t i = 0; i < 20; i++)
        check_gemv(d, pick(1, 40), pick(71, 900));
    for (uint32_t i = 0; i < 4; i++) /* rows that are read one by one, and four at a time */
        check_gemv(d, pick(1, 9), i % 2 ? 4096 : pick(4097, 4200));
}

TEST(test_gemv)
{
    each_level(gemv_level);
}

static void max_level(const struct dense_kernels *d)
{
    for (uint32_t i = 0; d->pool_f32 && i < 600; i++) {
        struct conv_geom g = some_geom(1, 1);
        g.stride_w = pick(0, 1) ? pick(1, 2) : pick(3, 40);
        if (pick(0, 3) == 0)
            g.w = pick(500, 1500), g.kw = pick(1, 33), g.dil_w = pick(1, 7); /* several pieces */
        g.ow = (g.w + g.pad_left + pick(0, 3) - (g.kw - 1) * g.dil_w - 1) / g.stride_w + 1;
        const uint32_t planes = pick(1, 3), depth = pick(1, 3), between = pick(1, 3);
        const size_t in = (size_t)g.h * g.w, step = in * pick(1, 4), deep = in * between;
        struct guarded x =
            guard_random((planes - 1) * step + (depth - 1) * deep + in, i % 2, &seed);
        struct guarded y = guard_new((size_t)planes * g.oh * g.ow * sizeof(float), 1);
        const bool sum = i % 2;
        if (!sum)
            floats(&x)[pick(0, g.h * g.w - 1)] = NAN;
        struct pool_f32_job job = {.g = &g,
                                   .x = x.data,
                                   .y = y.data,
                                   .planes = planes,
                                   .plane_step = step,
                                   .depth_step = deep,
                                   .depth = depth,
                                   .sum = sum};
        d->pool_f32(&job);
        for (uint32_t p = 0; p < planes * g.oh * g.ow; p++) {
            const float *plane = job.x + p / (g.oh * g.ow) * step;
            int oy = (int)(p / g.ow % g.oh), ox = (int)(p % g.ow);
            float want = sum ? 0 : -INFINITY, column = 0;
            const int column_taps = (int)(g.kh * depth);
            for (int k = 0; k < column_taps * (int)g.kw; k++) { /* column by column */
                const int ky = k % column_taps % (int)g.kh, kz = k % column_taps / (int)g.kh;
                int iy = oy * (int)g.stride_h + ky * (int)g.dil_h - (int)g.pad_top;
                int ix = ox * (int)g.stride_w + k / column_taps * (int)g.dil_w - (int)g.pad_left;
                const bool inside = iy >= 0 && ix >= 0 && iy < (int)g.h && ix < (int)g.w;
                const float v = inside ? plane[kz * (int)deep + iy * (int)g.w + ix] : 0.0f;
                column = k % column_taps ? column + v : 0.0f + v;
                if (sum && k % column_taps == column_taps - 1)
                    want += column;
                if (!sum && inside && v > want)
                    want = v;
            }
            assert_true(job.y[p] == want);
        }
        guard_free(&x), guard_free(&y);
    }
}

TEST(test_max)
{
    each_level(max_level);
}

/* Four elements to four, by the definition (winograd_f32_impl.h). */
static void line_in(float *d, size_t step)
{
    const float was[4] = {d[0], d[step], d[2 * step], d[3 * step]};
    d[0] = was[0] - was[2];
    d[step] = was[1] + was[2];
    d[2 * step] = was[2] - was[1];
    d[3 * step] = was[1] - was[3];
}

/* Sums of two elements, twice: the same bits at every level. */
static void check_winograd_in(const struct dense_kernels *d)
{
    const size_t n = DENSE_PANEL_ALIGN * pick(1, 9), step = n + pick(0, 20);
    const size_t floats_there = (WINOGRAD_TERMS - 1) * step + n;
    struct guarded v = guard_random(floats_there, 1, &seed);
    float *want = malloc(floats_there * sizeof *want);
    memcpy(want, v.data, floats_there * sizeof *want);
    for (size_t i = 0; i < n; i++) {
        for (size_t y = 0; y < 4; y++)
            line_in(want + i + 4 * y * step, step);
        for (size_t x = 0; x < 4; x++)
            line_in(want + i + x * step, 4 * step);
    }
    d->winograd_in(v.data, step, n);
    assert_memory_equal(v.data, want, floats_there * sizeof *want);
    free(want);
    guard_free(&v);
}

/* B^T of F(4x4, 3x3) on the points 0, +-5/8, +-3/2 and infinity */
#define SP (0.625 * 0.625)
#define SQ (1.5 * 1.5)
static const double to_six[6][6] = {
    {SP * SQ, 0, -SP - SQ, 0, 1, 0},    {0, -0.625 * SQ, -SQ, 0.625, 1, 0},
    {0, 0.625 * SQ, -SQ, -0.625, 1, 0}, {0, -1.5 * SP, -SP, 1.5, 1, 0},
    {0, 1.5 * SP, -SP, -1.5, 1, 0},     {0, SP *SQ, 0, -SP - SQ, 0, 1}};

/* Element e of the input under a tile, 0 in the padding. */
static double under_tile(const struct winograd4_in_job *job, uint32_t c, uint32_t tile, uint32_t e)
{
    const int64_t y = 4 * (int64_t)(tile / job->across) + e / 6 - job->pad_top;
    const int64_t x = 4 * (int64_t)(tile % job->across) + e % 6 - job->pad_left;
    if (y < 0 || x < 0 || y >= job->h || x >= job->w)
        return 0;
    return job->x[((size_t)c * job->h + (size_t)y) * job->w + (size_t)x];
}

static void check_tile(const struct winograd4_in_job *job, uint32_t c, uint32_t j)
{
    for (uint32_t t = 0; t < WINOGRAD4_TERMS; t++) {
        double want = 0, size = 0;
        for (uint32_t e = 0; e < WINOGRAD4_TERMS; e++) {
            const double v =
                to_six[t / 6][e / 6] * to_six[t % 6][e % 6] * under_tile(job, c, job->t0 + j, e);
            want += v, size += fabs(v);
        }
        const double got = job->v[t * job->step + c * job->ldv + j];
        assert_true(fabs(got - want) <= 5 * ldexp(size, -24));
    }
}

/* What lies behind the last row of tiles is not touched. */
static void check_winograd4_in(const struct dense_kernels *d)
{
    struct winograd4_in_job job = {.channels = pick(1, 5),
                                   .h = pick(1, 30),
                                   .w = pick(1, 90),
                                   .pad_top = pick(0, 2),
                                   .pad_left = pick(0, 2)};
    job.across = (job.w + 2 * job.pad_left + 1) / 4 + 1;
    const uint32_t tiles = job.across * ((job.h + 2 * job.pad_top + 1) / 4 + 1);
    job.n = pick(1, tiles < DENSE_MAX_NR ? tiles : DENSE_MAX_NR);
    job.t0 = pick(0, tiles - job.n);
    job.ldv = (job.n + DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
    job.step = job.ldv * job.channels + pick(0, 20);
    struct guarded x = guard_random((size_t)job.channels * job.h * job.w, 1, &seed);
    const size_t panel = (WINOGRAD4_TERMS - 1) * job.step + job.channels * job.ldv;
    struct guarded v = guard_random(panel, 1, &seed);
    job.x = x.data, job.v = v.data;
    d->winograd4_in(&job);
    for (uint32_t c = 0; c < job.channels; c++)
        for (uint32_t j = 0; j < job.n; j++)
            check_tile(&job, c, j);
    guard_free(&x), guard_free(&v);
}

/* A^T's rows */
static const double to_pixel[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
static const double to_pixel4[4][6] = {{1, 1, 1, 1, 1, 0},
                                       {0, 0.625, -0.625, 1.5, -1.5, 0},
                                       {0, SP, SP, SQ, SQ, 0},
                                       {0, SP * 0.625, SP * -0.625, SQ * 1.5, SQ * -1.5, 1}};

static double weight_of(uint32_t out, size_t t, uint32_t oy, uint32_t ox)
{
    return out == 2 ? to_pixel[oy % 2][t / 4] * to_pixel[ox % 2][t % 4]
                    : to_pixel4[oy % 4][t / 6] * to_pixel4[ox % 4][t % 6];
}

static struct winograd_out_job out_job(uint32_t out)
{
    struct winograd_out_job job = {
        .rows = pick(1, 9), .oh = pick(1, 13), .ow = pick(1, 40), .act = some_act()};
    job.across = (job.ow + out - 1) / out;
    const uint32_t tiles = job.across * ((job.oh + out - 1) / out);
    job.n = pick(1, tiles < DENSE_MAX_NR ? tiles : DENSE_MAX_NR);
    job.t0 = pick(0, tiles - job.n);
    job.ldm = (job.n + DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
    job.step = job.ldm * (job.rows + pick(0, 2));
    job.ldy = (size_t)job.oh * job.ow + pick(0, 3);
    return job;
}

/* Tiles of out x out pixels. */
static void check_winograd_out(winograd_out_fn *kernel, uint32_t out)
{
    struct winograd_out_job job = out_job(out);
    const size_t terms = (out + 2) * (out + 2);
    const size_t n_y = (job.rows - 1) * job.ldy + (size_t)job.oh * job.ow;
    struct guarded m = guard_random((terms - 1) * job.step + job.rows * job.ldm, 1, &seed);
    struct guarded y = guard_random(n_y, 1, &seed), res = guard_random(n_y, 1, &seed);
    struct guarded bias = guard_random(job.rows, 1, &seed);
    float *before = malloc(n_y * sizeof *before);
    memcpy(before, y.data, n_y * sizeof *before);
    job.m = m.data, job.y = y.data, job.residual = pick(0, 1) ? res.data : NULL;
    job.bias = pick(0, 1) ? bias.data : NULL;
    kernel(&job);
    for (size_t at = 0; at < n_y; at++) {
        const size_t o = at / job.ldy, p = at % job.ldy;
        const uint32_t oy = (uint32_t)(p / job.ow), ox = (uint32_t)(p % job.ow);
        const uint32_t tile = oy / out * job.across + ox / out;
        if (p >= (size_t)job.oh * job.ow || tile < job.t0 || tile >= job.t0 + job.n) {
            assert_true(job.y[at] == before[at]);
            continue;
        }
        const double extra = job.residual ? job.residual[at] : 0, add = job.bias ? job.bias[o] : 0;
        struct expected e = {extra + add, fabs(extra) + fabs(add), 9};
        for (size_t t = 0; t < terms; t++) {
            const double v =
                weight_of(out, t, oy, ox) * job.m[t * job.step + o * job.ldm + tile - job.t0];
            e.sum += v;
            e.size += fabs(v);
        }
        expect_near(e, &job.act, job.y[at], "winograd_out");
    }
    free(before);
    guard_free(&m), guard_free(&y), guard_free(&res), guard_free(&bias);
}

static void winograd_level(const struct dense_kernels *d)
{
    for (uint32_t i = 0; d->winograd_in && i < 300; i++) {
        check_winograd_in(d);
        check_winograd_out(d->winograd_out, 2);
        check_winograd4_in(d);
        check_winograd_out(d->winograd4_out, 4);
    }
}

TEST(test_winograd)
{
    each_level(winograd_level);
}

TEST(test_specials_pass)
{
    /* NaN goes through relu and clip at every level, -0 stays */
    for (uint32_t i = 0; i < N_LEVELS; i++) {
        struct dense_kernels d;
        if (!level_there(levels[i]))
            continue;
        pith_dense_kernels_fill(&d, levels[i]);
        const float w[1] = {1}, x[3] = {NAN, -1, INFINITY};
        struct conv_geom g = {.c = 1,
                              .h = 1,
                              .w = 3,
                              .o = 1,
                              .oh = 1,
                              .ow = 3,
                              .kh = 1,
                              .kw = 1,
                              .stride_h = 1,
                              .stride_w = 1,
                              .dil_h = 1,
                              .dil_w = 1};
        float y[3];
        struct depthwise_f32_job job = {
            .g = &g, .x = x, .w = w, .y = y, .planes = 1, .act = {ACT_CLIP, 0.0f, 6.0f}};
        d.depthwise_f32(&job);
        assert_true(isnan(y[0]) && y[1] == 0 && y[2] == 6);
    }
}

RUN_TESTS
