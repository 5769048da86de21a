/* SPDX-License-Identifier: MIT */
/* trials_dense.h - trials of kernel_dense.h and kernel_sparse.h, which are timed alone, and of
 * kernel_ordered.h. */
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
    uint32_t m = 256, k = 512, n = d.nr ? d.nr : 24, mr = d.mr ? d.mr : 5;
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
    const size_t n = 112;
    const float *x = reals(t, 2 * n - 1);
    float *to = take(t, n * sizeof *to);
    CALL(t, (double)n, dense_of(t).even_f32(to, x, n));
}

static void trial_im2col_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, 32, 1);
    uint32_t pixels = g.oh * g.ow, n = pixels < 48 ? pixels : 48, k = g.c * 9;
    struct im2col_f32_job job = {.g = &g,
                                 .x = reals(t, (size_t)g.c * g.h * g.w),
                                 .plane = (size_t)g.h * g.w,
                                 .ldb = 48,
                                 .p0 = pick(0, pixels - n),
                                 .n = n,
                                 .k1 = k};
    job.b = take(t, (size_t)k * 48 * sizeof(float));
    CALL(t, (double)k * n, dense_of(t).im2col_f32(&job));
}

static void trial_conv_rows_f32(struct trial *t)
{
    struct dense_kernels d = dense_of(t);
    const uint32_t mr = d.mr ? d.mr : 5;
    struct conv_rows_f32_job job = {
        .taps = 9, .channels = 32, .m = 32, .rows = 4, .ow = 112, .act = {ACT_RELU, 0, 0}};
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
}

static void trial_conv_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, 16, 16);
    struct conv_f32_job job = {.g = &g, .o1 = g.o, .act = {ACT_RELU, 0, 0}};
    size_t n = (size_t)g.o * g.oh * g.ow;
    job.x = reals(t, (size_t)g.c * g.h * g.w);
    job.w = reals(t, (size_t)g.o * g.c * 9);
    job.bias = reals(t, g.o);
    job.y = take(t, n * sizeof(float));
    CALL(t, (double)n * g.c * 9, dense_of(t).conv_f32(&job));
}

static void trial_depthwise_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, 1, 1);
    struct depthwise_f32_job job = {
        .g = &g, .planes = 16, .x_step = (size_t)g.h * g.w, .act = {ACT_RELU, 0, 0}};
    job.y_step = (size_t)g.oh * g.ow;
    size_t n = (size_t)job.planes * g.oh * g.ow;
    job.x = reals(t, job.planes * job.x_step);
    job.w = reals(t, job.planes * 9);
    job.bias = reals(t, job.planes);
    job.y = take(t, n * sizeof(float));
    CALL(t, (double)n * 9, dense_of(t).depthwise_f32(&job));
}

static void trial_gemv_f32(struct trial *t)
{
    struct gemv_f32_job job = {.rows = 256, .k = 512, .act = {ACT_RELU, 0, 0}};
    job.ldw = job.k;
    job.w = reals(t, (size_t)job.rows * job.k);
    job.x = reals(t, job.k);
    job.bias = reals(t, job.rows);
    job.y = take(t, job.rows * sizeof(float));
    CALL(t, (double)job.rows * job.k, dense_of(t).gemv_f32(&job));
}

static void trial_pool_f32(struct trial *t)
{
    struct conv_geom g = geom_of(t, 1, 1);
    struct dense_kernels d = dense_of(t);
    struct pool_f32_job job = {.g = &g, .planes = 16, .plane_step = (size_t)g.h * g.w, .depth = 1};
    size_t n = job.planes * g.oh * g.ow;
    job.x = reals(t, job.planes * g.h * g.w);
    job.y = take(t, n * sizeof(float));
    if (d.pool_f32)
        CALL(t, (double)n * 9, d.pool_f32(&job));
}

static void trial_winograd_in(struct trial *t)
{
    const size_t n = 48 * (size_t)64;
    float *v = reals(t, WINOGRAD_TERMS * n);
    if (dense_of(t).winograd_in)
        CALL(t, 2 * (double)(WINOGRAD_TERMS * n), dense_of(t).winograd_in(v, n, n));
}

static void trial_winograd_out(struct trial *t)
{
    struct winograd_out_job job = {
        .rows = 32, .oh = 12, .ow = 16, .ldm = 48, .act = {ACT_RELU, 0, 0}};
    job.across = (job.ow + 1) / 2;
    job.n = job.across * ((job.oh + 1) / 2);
    job.step = job.rows * job.ldm;
    job.ldy = (size_t)job.oh * job.ow;
    job.m = reals(t, WINOGRAD_TERMS * job.step);
    job.y = take(t, job.rows * job.ldy * sizeof(float));
    if (dense_of(t).winograd_out)
        CALL(t, (double)(WINOGRAD_TERMS * job.rows * job.n), dense_of(t).winograd_out(&job));
}

static void trial_winograd4_in(struct trial *t)
{
    struct winograd4_in_job job = {
        .channels = 32, .h = 14, .w = 56, .pad_top = 1, .pad_left = 1, .ldv = 64};
    job.across = (job.w + 3) / 4;
    job.n = job.across * ((job.h + 3) / 4);
    job.step = job.channels * job.ldv;
    job.x = reals(t, (size_t)job.channels * job.h * job.w);
    job.v = take(t, WINOGRAD4_TERMS * job.step * sizeof(float));
    if (dense_of(t).winograd4_in)
        CALL(t, (double)(WINOGRAD4_TERMS * job.channels * job.n), dense_of(t).winograd4_in(&job));
}

static void trial_winograd4_out(struct trial *t)
{
    struct winograd_out_job job = {
        .rows = 16, .oh = 14, .ow = 56, .ldm = 64, .act = {ACT_RELU, 0, 0}};
    job.across = (job.ow + 3) / 4;
    job.n = job.across * ((job.oh + 3) / 4);
    job.step = job.rows * job.ldm;
    job.ldy = (size_t)job.oh * job.ow;
    job.m = reals(t, WINOGRAD4_TERMS * job.step);
    job.bias = reals(t, job.rows);
    job.y = take(t, job.rows * job.ldy * sizeof(float));
    if (dense_of(t).winograd4_out)
        CALL(t, (double)(WINOGRAD4_TERMS * job.rows * job.n), dense_of(t).winograd4_out(&job));
}

static void trial_pack_rows_f32(struct trial *t)
{
    const uint32_t rows = 256, k = 512, mr = 8;
    size_t n = (size_t)(rows + mr - 1) / mr * mr * k;
    float *w = reals(t, (size_t)rows * k), *to = take(t, n * sizeof *to);
    CALL(t, (double)rows * k,
         dense_of(t).pack_rows_f32(
             &(struct pack_rows_job){w, to, k, 1, rows, k, mr, (size_t)mr * k}));
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

static inline struct run_form *form_of(struct trial *t, enum run_form_kind kind, uint32_t centroids,
                                       struct weight_case *c)
{
    struct pith_kernels table = {.sparse = sparse_forcing(kind)};
    struct weight_want want = {.rows = 300,
                               .cols = 1024,
                               .density = 0.1,
                               .dense = kind >= FORM_DENSE4 && kind <= FORM_DENSE8,
                               .n_centroids = centroids,
                               .n_groups = 1,
                               .scale = 1};
    struct run_form_need need;
    *c = case_new(&want, &seed);
    assert_int_equal(pith_run_form_need(&c->w, c->rows, c->cols, &table.sparse, &need), PITH_OK);
    struct run_form *form = take(t, need.bytes);
    struct op_env env = {.kernels = &table, .scratch = take(t, need.scratch_bytes)};
    assert_int_equal(pith_run_form_build(&env, &c->w, c->rows, c->cols, form), PITH_OK);
    assert_int_equal(form->kind, kind);
    return form;
}

static inline void trial_form(struct trial *t, enum run_form_kind kind, uint32_t centroids)
{
    struct sparse_kernels k;
    struct weight_case c;
    struct run_form *form = form_of(t, kind, centroids, &c);
    float *x = reals(t, c.cols), *y = take(t, c.rows * sizeof *y);
    pith_sparse_kernels_fill(&k, t->features);
    CALL(t, c.w.nnz, pith_run_form_matvec(&k, form, x, y, 0, pith_run_form_units(form)));
    case_free(&c);
}

/* Several rows of x at once. */
static inline void trial_form_rows(struct trial *t, enum run_form_kind kind, uint32_t centroids)
{
    enum { ROWS = 8 };
    struct sparse_kernels k;
    struct weight_case c;
    struct run_form *form = form_of(t, kind, centroids, &c);
    float *x = reals(t, ROWS * (size_t)c.cols), *y = take(t, ROWS * (size_t)c.rows * sizeof *y);
    pith_sparse_kernels_fill(&k, t->features);
    CALL(t, (double)c.w.nnz * ROWS,
         pith_run_form_rows(&k, &(struct run_form_rows){form, x, y, ROWS}, 0,
                            pith_run_form_units(form)));
    case_free(&c);
}

#define TRIAL_FORM(name, run, kind, centroids)                                                     \
    static void trial_##name(struct trial *t)                                                      \
    {                                                                                              \
        run(t, kind, centroids);                                                                   \
    }
TRIAL_FORM(csr_value, trial_form, FORM_CSR_VALUE, 0)
TRIAL_FORM(csr_codebook, trial_form, FORM_CSR_CODEBOOK, 200)
TRIAL_FORM(window, trial_form, FORM_WINDOW, 32)
TRIAL_FORM(dense4, trial_form, FORM_DENSE4, 16)
TRIAL_FORM(dense5, trial_form, FORM_DENSE5, 32)
TRIAL_FORM(dense8, trial_form, FORM_DENSE8, 256)
TRIAL_FORM(window_rows, trial_form_rows, FORM_WINDOW, 32)
TRIAL_FORM(dense4_rows, trial_form_rows, FORM_DENSE4, 16)

static void trial_dense5_rows(struct trial *t)
{
    trial_form_rows(t, FORM_DENSE5, 32);
}

static void trial_quads(struct trial *t)
{
    uint32_t n = 32;
    struct weight_want want = {.rows = 512,
                               .cols = 1024,
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
    case_free(&c);
}

#endif
