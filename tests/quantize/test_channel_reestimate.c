/* SPDX-License-Identifier: MIT */
/* test_channel_reestimate.c - channels get the mean and the variance back that rounding took from
 * them. */
#include <stdint.h>
#include <math.h>
#include "test_run.h"
#include "quantize/layer/integer_layer.h"
#include "quantize/round/channel_reestimate.h"
#include "network_run.h"
#include "pith_quantize.h"

static void assert_near(double x, double want, double within)
{
    if (!(fabs(x - want) <= within))
        fail_msg("%g instead of %g", x, want);
}

enum { COLS = 9, ROWS = 3, SAMPLES = 64 };

struct fixture {
    struct integer_network net;
    struct integer_layer l;
    struct layer_inputs in;
    struct pith_node product;
    struct pith_value x, w, y;
    struct pith_grid grid;
    float sx, weight[ROWS * COLS], factor[ROWS], goal[SAMPLES * ROWS];
    uint8_t data[SAMPLES * COLS];
    int16_t q[ROWS * COLS];
    int8_t stored[ROWS * COLS];
    int32_t bias_q[ROWS];
    double scale[ROWS], shift[ROWS];
};

/* Gemm of integers 9 -> 3; what it ought to give is gain times its sums, and shift, of row 2
 * chance. */
static struct fixture *fixture(double gain, double shift)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct sample_random r = sample_random_of(3);
    f->sx = 0.5f;
    f->grid = (struct pith_grid){.type = PITH_U8,
                                 .bits = 8,
                                 .method = PITH_RANGE_MAX,
                                 .n = 1,
                                 .zero_point = 100,
                                 .scale = &f->sx};
    f->l = (struct integer_layer){.shape = {ROWS, COLS, 1},
                                  .real.w = f->weight,
                                  .real.w_factor = 1,
                                  .x = &f->grid,
                                  .most = 127,
                                  .lowest = -127,
                                  .most_x = 155,
                                  .q = f->q,
                                  .stored = f->stored,
                                  .scale = f->scale,
                                  .may_scale = true,
                                  .bias_q = f->bias_q,
                                  .bias_shift = f->shift,
                                  .factor = f->factor,
                                  .transposed = true};
    for (int i = 0; i < ROWS * COLS; i++) {
        f->q[i] = (int16_t)(i * 37 % 101 - 50);
        f->weight[i] = (float)f->q[i] * 0.01f;
    }
    for (int o = 0; o < ROWS; o++)
        f->scale[o] = 0.01;
    for (int n = 0; n < SAMPLES; n++)
        for (int k = 0; k < COLS; k++)
            f->data[n * COLS + k] =
                (uint8_t)(100 + lrintf(20 * fminf(fmaxf(sample_gauss(&r), -3), 3)));
    for (int n = 0; n < SAMPLES; n++)
        for (int o = 0; o < ROWS; o++) {
            double sum = 0;
            for (int k = 0; k < COLS; k++)
                sum += 0.01 * f->q[o * COLS + k] * 0.5 * (f->data[n * COLS + k] - 100);
            f->goal[n * ROWS + o] =
                (float)(o < 2 ? gain * sum + shift : 1000 * (double)sample_gauss(&r));
        }
    f->x = (struct pith_value){.type = PITH_U8, .rank = 2, .dim = {1, COLS}};
    f->w = (struct pith_value){.type = PITH_I8, .rank = 2, .dim = {COLS, ROWS}};
    f->y = (struct pith_value){.type = PITH_I32, .rank = 2, .dim = {1, ROWS}};
    f->product.op = PITH_OP_MATMUL_INTEGER;
    f->in = (struct layer_inputs){.product = &f->product,
                                  .x = &f->x,
                                  .w = &f->w,
                                  .y = &f->y,
                                  .n_samples = SAMPLES,
                                  .bytes = COLS,
                                  .data = f->data,
                                  .goal = f->goal,
                                  .n_goals = ROWS};
    return f;
}

TEST(mean_and_variance_come_back)
{
    struct fixture *f = fixture(1.25, -0.75);
    assert_int_equal(pith_reestimate_channels(&f->in, &f->l), PITH_OK);
    for (int o = 0; o < 2; o++) {
        assert_near(f->scale[o], 0.0125, 1e-6);
        assert_near(f->shift[o], -0.75, 1e-4);
        assert_near((double)f->factor[o], 0.0125 * 0.5, 1e-6);
        assert_int_equal(f->bias_q[o], lrint(-0.75 / (0.0125 * 0.5)));
    }
    free(f);
}

/* What the two halves of the samples do not agree about. */
TEST(chance_changes_no_scale)
{
    struct fixture *f = fixture(1, 0);
    assert_int_equal(pith_reestimate_channels(&f->in, &f->l), PITH_OK);
    assert_near(f->scale[0], 0.01, 1e-9);
    assert_near(f->scale[2], 0.01, 0); /* a gain that cannot be is none */
    free(f);
}

TEST(fixed_point_keeps_its_scales)
{
    struct fixture *f = fixture(1.25, -0.75);
    f->l.radix = true;
    for (int o = 0; o < ROWS; o++)
        f->scale[o] = 0x1p-7;
    assert_int_equal(pith_reestimate_channels(&f->in, &f->l), PITH_OK);
    assert_near(f->scale[0], 0x1p-7, 0);
    assert_true(f->shift[0] < -0.3);
    free(f);
}

TEST(needs_data)
{
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    const struct pith_quantize_opts o = {.size_bytes = sizeof o, .reestimate = true};
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "re-estimation need data"));
    pith_model_free(m);
}

RUN_TESTS
