/* SPDX-License-Identifier: MIT */
/* trials_train.h - trials of the kernels of training, calibration and Gram matrices. Results of
 * training's are within a bound of the base's, most to the bit; the others' are the same. */
#ifndef TRIALS_TRAIN_H
#define TRIALS_TRAIN_H

#include "kernel_trial.h"
#include "calibrate/calibrate_kernels.h"
#include "calibrate/value_observer.h"
#include "numeric/gram_tile.h"
#include "numeric/row_panel_list.h"
#include "train/kernels/panel_product.h"
#include "train/kernels/primitive.h"
#include "train/kernels_of_features.h"
#include "train/kernels/winograd.h"

/* Each sum of one convolution has at most some thousand terms of at most 1. */
#define CONV_BOUND 1e-3

struct conv_operands {
    struct prim_conv_shape s;
    size_t n_x, n_w, n_y;
    float *x, *w, *dy, *bias, *y, *dx, *dw, *db;
};

static inline struct conv_operands operands_of(struct trial *t, int64_t c, int64_t o, int64_t hw,
                                               int64_t kernel)
{
    struct conv_operands e = {.s = {.axes = 2,
                                    .n = t->timed ? 16 : 2,
                                    .c = c,
                                    .o = o,
                                    .group = 1,
                                    .in = {hw, hw + 1},
                                    .kernel = {kernel, kernel},
                                    .stride = {1, 1},
                                    .dilation = {1, 1},
                                    .pad_begin = {1, 1},
                                    .pad_end = {1, 1}}};
    for (int i = 0; i < 2; i++)
        e.s.out[i] = e.s.in[i] + 2 - kernel + 1;
    e.n_x = (size_t)(e.s.n * hw * (hw + 1) * c);
    e.n_w = (size_t)(o * c * kernel * kernel);
    e.n_y = (size_t)(e.s.n * e.s.out[0] * e.s.out[1] * o);
    e.x = reals(t, e.n_x), e.w = reals(t, e.n_w), e.dy = reals(t, e.n_y);
    e.bias = reals(t, (size_t)o), e.y = take(t, e.n_y * sizeof(float));
    e.dx = take(t, e.n_x * sizeof(float)), e.dw = take(t, e.n_w * sizeof(float));
    e.db = take(t, (size_t)o * sizeof(float));
    return e;
}

static inline void leaves_conv(struct trial *t, struct conv_operands *e)
{
    leaves_reals(t, e->y, e->n_y, CONV_BOUND);
    leaves_reals(t, e->dw, e->n_w, CONV_BOUND);
    leaves_reals(t, e->db, (size_t)e->s.o, CONV_BOUND);
    leaves_reals(t, e->dx, e->n_x, CONV_BOUND);
}

/* Forward and both gradients. */
static inline double conv_work(const struct conv_operands *e)
{
    return 3.0 * (double)e->n_y * (double)(e->s.c * e->s.kernel[0] * e->s.kernel[1]);
}

static void trial_winograd(struct trial *t)
{
    uint32_t c = size(t, 1, 20, 64), o = size(t, 1, 20, 64), hw = size(t, 8, 13, 16);
    struct conv_operands e = operands_of(t, c, o, hw, pick(0, 1) && !t->timed ? 5 : 3);
    struct winograd *v;
    assert_int_equal(pith_winograd_new(&e.s, true, train_kernels_of(t->features).winograd, &v),
                     PITH_OK);
    void *scratch = take(t, (size_t)pith_winograd_scratch_bytes(v));
    for (uint32_t part = 0; part < 8; part++)
        pith_winograd_renew(v, e.w, part);
    CALL(t, conv_work(&e), pith_winograd_forward(v, scratch, e.x, e.bias, e.y);
         pith_winograd_backward(
             v, scratch,
             &(struct conv_gradients){.x = e.x, .dy = e.dy, .dx = e.dx, .dw = e.dw, .db = e.db}));
    leaves_conv(t, &e);
    pith_winograd_free(v);
}

static void trial_panel(struct trial *t)
{
    const struct panel_kernels *k = train_kernels_of(t->features).panel;
    int64_t rows = size(t, 1, 17, 16), columns = size(t, 1, 50, 300), depth = size(t, 1, 131, 300);
    const size_t n_c = (size_t)(rows * columns), n_w = (size_t)(depth * columns);
    float *c = take(t, n_c * sizeof *c), *d = take(t, n_c * sizeof *d);
    float *dw = take(t, n_w * sizeof *dw);
    struct panel_product p = {.a = reals(t, (size_t)(rows * depth)),
                              .b = reals(t, n_w),
                              .start = reals(t, (size_t)columns),
                              .c = c,
                              .a_row = depth,
                              .b_row = columns,
                              .c_row = columns,
                              .rows = rows,
                              .columns = columns,
                              .depth = depth,
                              .alpha = 1};
    CALL(t, (double)n_c * (double)depth, k->multiply(&p));
    p.c = d, p.b_row = depth;
    CALL(t, (double)n_c * (double)depth, k->multiply_transposed(&p));
    struct outer_product o = {.a = {p.a},
                              .b = {c},
                              .parts = 1,
                              .c = dw,
                              .a_row = depth,
                              .b_row = columns,
                              .c_row = columns,
                              .row_end = depth,
                              .columns = columns,
                              .depth = rows};
    for (size_t i = 0; i < n_c; i++)
        c[i] /= (float)depth; /* again of at most 1 */
    leaves_reals(t, c, n_c, CONV_BOUND);
    leaves_reals(t, d, n_c, CONV_BOUND);
    CALL(t, (double)n_w * (double)rows, k->outer(&o));
    leaves_reals(t, dw, n_w, CONV_BOUND);
}

static void trial_rows(struct trial *t)
{
    const struct channel_rows *k = train_kernels_of(t->features).rows;
    size_t rows = size(t, 1, 60, 784), c = size(t, 1, 40, 64), n = rows * c;
    float *x = reals(t, n), *dy = reals(t, n), *a = reals(t, c), *b = reals(t, c), *d = reals(t, c);
    float *y = take(t, n * sizeof *y), *z = take(t, n * sizeof *z);
    float *first = reals(t, n), *second = take(t, n * sizeof *second);
    double *sum = take(t, c * sizeof *sum), *square = take(t, c * sizeof *square);
    float *expected = take(t, c * sizeof *expected);
    const struct channel_sums sums = {dy, x, d, a, b, sum, square, rows, c};
    const struct channel_affine affine = {x, a, b, dy, y, rows, c};
    const struct channel_mix mix = {dy, x, a, b, d, a, b, z, true, rows, c};
    const struct adam_step adam = {0.9f, 0.999f, 0.1f, 0.001f, 1, 0.5f, 1e-4f, 1e-3f};
    const float *parts[2] = {x, dy};
    CALL(t, n, k->moments(x, d, rows, c, sum, square));
    CALL(t, n, k->products(&sums));
    for (size_t i = 0; i < c; i++)
        expected[i] = (float)(sum[i] + square[i]);
    leaves_reals(t, expected, c, CONV_BOUND);
    CALL(t, n, k->affine(&affine));
    leaves_reals(t, y, n, 1e-6);
    CALL(t, n, k->affine_relu(&affine));
    leaves_reals(t, y, n, 1e-6);
    CALL(t, n, k->mix(&mix));
    leaves_reals(t, z, n, 1e-6);
    CALL(t, n, k->rectify(y, dy, n, true, z));
    leaves_bytes(t, z, n * sizeof *z);
    CALL(t, n, k->rectify_in_place(x, z, n));
    leaves_bytes(t, z, n * sizeof *z);
    CALL(t, n, k->adam(&adam, dy, first, second, z, n));
    leaves_bytes(t, first, n * sizeof *first);
    leaves_bytes(t, z, n * sizeof *z);
    CALL(t, n, k->tree(y, parts, 2, n));
    CALL(t, n, k->add(y, x, n));
    CALL(t, n, k->add_product(y, x, dy, n));
    leaves_bytes(t, y, n * sizeof *y);
}

static void trial_fake(struct trial *t)
{
    const struct fake_rows *k = train_kernels_of(t->features).fake;
    const struct fake_step g = {0.07f, -8, 7};
    size_t n = size(t, 1, 300, 4096);
    float *x = reals(t, n), *dy = reals(t, n), *y = take(t, n * sizeof *y);
    float *dx = take(t, n * sizeof *dx), expected[2];
    struct fake_gradient d = {.x = x, .dy = dy, .y = y, .n = n, .dx = dx, .set = true};
    CALL(t, n, k->round(&g, x, n, y));
    CALL(t, n, k->back(&g, &d));
    expected[0] = (float)d.by_step, expected[1] = (float)d.outside;
    leaves_bytes(t, y, n * sizeof *y);
    leaves_bytes(t, dx, n * sizeof *dx);
    leaves_reals(t, expected, 2, CONV_BOUND);
}

/* ---- calibration, Gram matrices -------------------------------------------------------------- */

static inline struct calibrate_kernels calibrate_of(const struct trial *t)
{
    struct calibrate_kernels k;
    pith_calibrate_kernels_fill(&k, t->features);
    return k;
}

static void trial_run_sums(struct trial *t)
{
    uint32_t n = size(t, 1, 3000, 50000);
    float *x = reals(t, n);
    struct run_sums r;
    for (uint32_t i = 0; i < n; i += 3)
        x[i] = 0;
    memset(&r, 0, sizeof r);
    CALL(t, n, calibrate_of(t).run_sums(x, n, &r));
    leaves_bytes(t, &r, sizeof r);
}

static void trial_histogram_count(struct trial *t)
{
    uint32_t n = size(t, 1, 3000, 50000);
    float *x = reals(t, n);
    struct histogram_scratch *scratch = take(t, sizeof *scratch);
    uint32_t *bin = take(t, PITH_HISTOGRAM_BINS * sizeof *bin);
    for (uint32_t i = 0; i < n; i += 3)
        x[i] = 0;
    const float per_width = PITH_HISTOGRAM_BINS / 2 - 1;
    CALL(t, n,
         calibrate_of(t).histogram_count(x, n, per_width, -(int32_t)PITH_HISTOGRAM_BINS / 2,
                                         scratch));
    for (uint32_t i = 0; i < 4 * PITH_HISTOGRAM_BINS; i++)
        bin[i / 4] += scratch->part[i % 4][i / 4];
    leaves_bytes(t, bin, PITH_HISTOGRAM_BINS * sizeof *bin);
}

static void trial_tile(struct trial *t)
{
    uint32_t count = size(t, 1, PITH_GRAM_PART, PITH_GRAM_PART);
    float *a = reals(t, (size_t)count * GRAM_TILE_ROWS);
    float *b = reals(t, (size_t)count * GRAM_TILE_COLS), sum[GRAM_TILE_ROWS * GRAM_TILE_COLS];
    struct gram_kernels k;
    pith_gram_kernels_fill(&k, t->features);
    CALL(t, (double)count * GRAM_TILE_ROWS * GRAM_TILE_COLS,
         k.tile(a, GRAM_TILE_ROWS, b, GRAM_TILE_COLS, count, sum));
    leaves_bytes(t, sum, sizeof sum);
}

/* A product and the solution of what it gives; the triangle's diagonal is far from 0. */
static void trial_row_panel(struct trial *t)
{
    uint32_t n = size(t, 1, 40, 512);
    double *a = take(t, sizeof *a * n * n), *x = take(t, sizeof *x * n * PITH_ROW_PANEL);
    double *y = take(t, sizeof *y * n * PITH_ROW_PANEL);
    size_t *order = take(t, sizeof *order * n);
    for (size_t i = 0; i < (size_t)n * n; i++)
        a[i] = (double)random_f32(&seed) / n + (i % (n + 1) ? 0 : 2);
    for (size_t i = 0; i < (size_t)n * PITH_ROW_PANEL; i++)
        x[i] = (double)random_f32(&seed);
    for (size_t i = 0; i < n; i++)
        order[i] = n - 1 - i;
    struct row_panel_table k;
    pith_row_panel_kernels_fill(&k, t->features);
    CALL(t, 2.0 * n * n * PITH_ROW_PANEL, k.panel->multiply(a, n, order, x, y);
         k.panel->solve(a, n, y));
    leaves_bytes(t, y, sizeof *y * n * PITH_ROW_PANEL);
}

#endif
