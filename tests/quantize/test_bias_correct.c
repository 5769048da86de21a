/* SPDX-License-Identifier: MIT */
/* test_bias_correct.c - which means of rounding errors are significant: those of more than twice
 * their standard error, by hand for two and three samples of a layer of one weight. */
#include <stdint.h>
#include "test_run.h"
#include "quantize/round/bias_correct.h"
#include "core/op_number.h"

/* Products of one number, `positions` a sample; w = 1.25 stands for q = 1 at scale 1, so a sample
 * loses a quarter of the mean of its x. Inputs are whole numbers at scale 1. Returns the shift of
 * the bias. */
static double shift_of_rows(const uint8_t *x, uint32_t n, uint32_t positions)
{
    static const float w = 1.25f;
    float scale = 1, factor = 0;
    double row_scale = 1, shift = 0;
    int16_t q = 1;
    int8_t stored = 0;
    int32_t bias_q = 0;
    struct pith_grid grid = {.type = PITH_U8, .bits = 8, .n = 1, .scale = &scale};
    struct pith_node product = {.op = PITH_OP_MATMUL_INTEGER};
    struct pith_value value = {.type = PITH_U8, .rank = 2, .dim = {positions, 1}};
    struct layer_inputs in = {.product = &product,
                              .x = &value,
                              .w = &value,
                              .y = &value,
                              .n_samples = n,
                              .bytes = positions,
                              .data = x};
    struct integer_layer l = {.shape = {.rows = 1, .cols = 1, .groups = 1},
                              .real.w = &w,
                              .real.w_factor = 1,
                              .real.bias_factor = 1,
                              .x = &grid,
                              .most = 127,
                              .lowest = -127,
                              .most_x = 255,
                              .q = &q,
                              .stored = &stored,
                              .scale = &row_scale,
                              .bias_q = &bias_q,
                              .bias_shift = &shift,
                              .factor = &factor};
    assert_int_equal(pith_bias_correct(&in, NULL, &l), PITH_OK);
    assert_int_equal(l.n_corrected, shift != 0);
    return shift;
}

static double shift_of(const uint8_t *x, uint32_t n)
{
    return shift_of_rows(x, n, 1);
}

/* Two samples of three rows each, whose means are 2 and 5. */
TEST(a_sample_loses_the_mean_of_its_rows)
{
    assert_true(shift_of_rows((const uint8_t[]){1, 2, 3, 5, 6, 4}, 2, 3) == 3.5 / 4);
}

/* Of a and b the mean is (a + b) / 2 and its standard error |a - b| / 2: twice that is exceeded
 * where a + b > 2 |a - b|. */
TEST(two_samples)
{
    assert_true(shift_of((const uint8_t[]){1, 3}, 2) == 0); /* equal to it: by chance */
    assert_true(shift_of((const uint8_t[]){2, 6}, 2) == 0);
    assert_true(shift_of((const uint8_t[]){2, 5}, 2) == 3.5 / 4);
    assert_true(shift_of((const uint8_t[]){5, 2}, 2) == 3.5 / 4);
    assert_true(shift_of((const uint8_t[]){1, 4}, 2) == 0);
}

/* Of 0, 4 and 8 the mean is 4 and its standard error 4 / sqrt 3 = 2.3. */
TEST(three_samples)
{
    assert_true(shift_of((const uint8_t[]){0, 4, 8}, 3) == 0);
    assert_true(shift_of((const uint8_t[]){2, 4, 6}, 3) == 1);
}

/* One sample has no standard error. */
TEST(one_sample)
{
    assert_true(shift_of((const uint8_t[]){200}, 1) == 0);
}

RUN_TESTS
