/* SPDX-License-Identifier: MIT */
/* test_activation_grid.c - grids of activations by hand: of nothing but zeros, zero points that are
 * rounded, two that become one, and one that becomes one for each channel. */
#include <stdint.h>
#include "test_run.h"
#include <float.h>
#include <math.h>
#include "quantize/layer/activation_grid.h"

static struct pith_model *m;

FIXTURE(setup)
{
    return pith_model_new(NULL, &m) == PITH_OK ? 0 : 1;
}

FIXTURE(teardown)
{
    pith_model_free(m);
    return 0;
}

static const struct pith_grid *observed(float min, float max)
{
    const struct pith_grid *g = NULL;
    const struct pith_value v = {.type = PITH_F32, .n_observed = 1, .min = min, .max = max};
    assert_int_equal(pith_activation_grid(m, &v, &g), PITH_OK);
    assert_non_null(g);
    return g;
}

TEST(zeros_have_steps_of_one)
{
    const struct pith_grid *g = observed(0, 0);
    assert_true(g->scale[0] == 1);
    assert_int_equal(g->zero_point, 0);
}

/* 1 is 115.9 steps of 2.2 / 255. */
TEST(the_zero_point_is_the_nearest)
{
    const struct pith_grid *g = observed(-1, 1.2f);
    assert_int_equal(g->zero_point, 116);
    assert_true(g->scale[0] > 2.19f / 255 && g->scale[0] < 2.21f / 255);
}

TEST(the_wider_of_two_is_both)
{
    const struct pith_grid *narrow = observed(0, 1), *wide = observed(0, 3),
                           *below = observed(-3, 0), *both;
    assert_int_equal(pith_grid_union(m, narrow, wide, &both), PITH_OK);
    assert_ptr_equal(both, wide);
    assert_int_equal(pith_grid_union(m, wide, narrow, &both), PITH_OK);
    assert_ptr_equal(both, wide);
    assert_int_equal(pith_grid_union(m, narrow, narrow, &both), PITH_OK);
    assert_ptr_equal(both, narrow);
    assert_int_equal(pith_grid_union(m, below, narrow, &both), PITH_OK);
    assert_int_equal(both->zero_point, 191); /* 3 of 4: 191.25 */
}

/* Channels up to 10, 40, 0 and 200: half as much again, but no more than all have. As powers of two
 * where those are requested alone. */
TEST(scales_of_channels)
{
    static struct pith_channel_stats channel[] = {
        {.max = 10}, {.max = 40}, {.max = 0}, {.max = 200}};
    const struct pith_value_stats stats = {.n_channels = 4, .channel = channel};
    const struct pith_grid *g = observed(0, 255), *by;
    assert_true(g->scale[0] == 1);
    assert_int_equal(pith_grid_by_channel(m, g, &stats, false, &by), PITH_OK);
    assert_true(by->n == 4 && by->axis == 1);
    assert_true(by->scale[0] == (float)(15.0 / 255) && by->scale[1] == (float)(60.0 / 255));
    assert_true(by->scale[2] == 1 && by->scale[3] == 1);
    assert_int_equal(pith_grid_by_channel(m, g, &stats, true, &by), PITH_OK);
    assert_true(by->scale[0] == 0.0625f && by->scale[1] == 0.25f && by->scale[2] == 1 &&
                by->scale[3] == 1);
}

/* A dead channel's own scale would be none, and what quotients of it are, infinite. */
TEST(scales_of_dead_channels)
{
    struct pith_channel_stats observed[] = {{.max = 1e-45f}, {.max = 1e-38f}, {.max = 1e-15f}};
    const struct pith_value_stats stats = {.n_channels = 3, .channel = observed};
    for (int i = 0; i < 2; i++) {
        float whole[] = {i ? FLT_MIN : 1};
        const struct pith_grid one = {.type = PITH_U8, .bits = 8, .n = 1, .scale = whole};
        const struct pith_grid *by;
        assert_int_equal(pith_grid_by_channel(m, &one, &stats, false, &by), PITH_OK);
        for (uint32_t c = 0; c < 3; c++)
            assert_true(by->scale[c] >= FLT_MIN &&
                        (double)by->scale[c] >= (double)whole[0] * 0x1p-60);
        assert_true(i || fabs((double)by->scale[2] * 255 / 1.5e-15 - 1) < 1e-6);
    }
}

RUN_TESTS_WITH(setup, teardown)
