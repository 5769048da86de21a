/* SPDX-License-Identifier: MIT */
/* Answers small enough to check by hand, above all where other implementations differ or are
 * undefined: integer division, casts out of range, NaN, -0, windows without input. */
#include <math.h>
#include "one_op.h"
#include "kernels/ref/activate.h"
#include "kernels/ref/integer_element.h"
#include "op_interface/op_attr.h"

static void open_f32(struct one_op *t, enum pith_op op, uint32_t rank, const uint32_t *dims,
                     const float *x)
{
    one_op_open(t, op, 1, 1);
    one_op_in(t, 0, PITH_F32, rank, dims, x);
}

TEST(test_integer_division)
{
    const int32_t a[6] = {7, -7, 7, -7, INT32_MIN, 5}, b[6] = {2, 2, -2, -2, -1, 0};
    const int32_t expected[6] = {3, -3, -3, 3, INT32_MIN, 0};
    struct one_op t;
    one_op_open(&t, PITH_OP_DIV, 2, 1);
    one_op_in(&t, 0, PITH_I32, DIMS(6), a);
    one_op_in(&t, 1, PITH_I32, DIMS(6), b);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    one_op_run(&t, false);
    assert_memory_equal(t.out[0].data, expected, sizeof expected);
    one_op_close(&t);
}

TEST(test_integers_wrap)
{
    const int64_t a[2] = {INT64_MAX, INT64_MIN}, b[2] = {2, -1};
    const int64_t sums[2] = {INT64_MIN + 1, INT64_MAX}, products[2] = {-2, INT64_MIN};
    const enum pith_op ops[2] = {PITH_OP_ADD, PITH_OP_MUL};
    for (int i = 0; i < 2; i++) {
        struct one_op t;
        one_op_open(&t, ops[i], 2, 1);
        one_op_in(&t, 0, PITH_I64, DIMS(2), a);
        one_op_in(&t, 1, PITH_I64, DIMS(2), b);
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, false);
        assert_memory_equal(t.out[0].data, i ? products : sums, sizeof sums);
        one_op_close(&t);
    }
}

TEST(test_activation_edges)
{
    for (int k = ACT_NONE; k <= ACT_SWISH; k++)
        assert_true(isnan(pith_activate((enum act_kind)k, 0.5f, 1.0f, NAN)));
    assert_true(signbit(pith_activate(ACT_RELU, 0, 0, -0.0f)));
    assert_true(pith_activate(ACT_RELU, 0, 0, -INFINITY) == 0.0f);
    assert_true(pith_activate(ACT_CLIP, 3, 1, 2) == 1.0f); /* min > max: max */
    assert_true(pith_activate(ACT_CLIP, -INFINITY, INFINITY, INFINITY) == INFINITY);
    assert_true(pith_activate(ACT_LEAKY, 0.5f, 0, -4) == -2.0f);
    assert_true(pith_activate(ACT_LEAKY, 0.5f, 0, 0.25f) == 0.25f);
    assert_true(pith_activate(ACT_HARD_SIGMOID, 0.5f, 0.25f, 1) == 0.75f);
    assert_true(pith_activate(ACT_HARD_SIGMOID, 0.5f, 0.25f, -1) == 0.0f);
    assert_true(pith_activate(ACT_HARD_SWISH, 0, 0, 3) == 3.0f);
    assert_true(pith_activate(ACT_HARD_SWISH, 0, 0, -3) == 0.0f);
    assert_true(pith_activate(ACT_NONE, 0, 0, -7) == -7.0f);
    float x[2] = {-1, 5}, y[2];
    pith_activate_row(ACT_NONE, 0, 0, x, y, 2);
    assert_memory_equal(x, y, sizeof x);
}

TEST(test_softmax_range)
{
    struct one_op t;
    const float huge[4] = {1e38f, 1e38f, -1e38f, -INFINITY}, half[4] = {0.5f, 0.5f, 0, 0};
    open_f32(&t, PITH_OP_SOFTMAX, DIMS(1, 4), huge);
    t.attr[ATTR_SOFTMAX_AXIS] = 1;
    one_op_expect(&t, DIMS(1, 4), half);
    const float far[2] = {0, -200}, log_far[2] = {0, -200};
    open_f32(&t, PITH_OP_LOG_SOFTMAX, DIMS(2), far);
    t.attr[ATTR_SOFTMAX_AXIS] = 0;
    one_op_expect(&t, DIMS(2), log_far);
}

TEST(test_pool_without_input)
{
    /* Dilation 2 from -1 visits -1 and 1: the only element, 0, is never read. */
    const float x[1] = {5}, lowest[1] = {-INFINITY}, zero[1] = {0};
    const enum pith_op ops[2] = {PITH_OP_MAX_POOL, PITH_OP_AVERAGE_POOL};
    for (int i = 0; i < 2; i++) {
        struct one_op t;
        open_f32(&t, ops[i], DIMS(1, 1, 1), x);
        one_op_list(&t, ATTR_POOL_KERNEL, LIST(2));
        one_op_list(&t, ATTR_POOL_DILATIONS, LIST(2));
        one_op_list(&t, ATTR_POOL_PADS, LIST(1, 1));
        one_op_expect(&t, DIMS(1, 1, 1), i ? zero : lowest);
    }
}

/* A window without an element, infinities, NaN, a power beyond what f32 holds. */
TEST(test_lp_pool)
{
    const float x[5] = {-3, 4, -INFINITY, NAN, 2}, pairs[4] = {5, INFINITY, NAN, NAN};
    struct one_op t;
    open_f32(&t, PITH_OP_LP_POOL, DIMS(1, 1, 5), x);
    one_op_list(&t, ATTR_POOL_KERNEL, LIST(2));
    one_op_expect(&t, DIMS(1, 1, 4), pairs);
    const float zero[1] = {0};
    open_f32(&t, PITH_OP_LP_POOL, DIMS(1, 1, 1), x);
    one_op_list(&t, ATTR_POOL_KERNEL, LIST(2));
    one_op_list(&t, ATTR_POOL_DILATIONS, LIST(2));
    one_op_list(&t, ATTR_POOL_PADS, LIST(1, 1));
    t.attr[ATTR_POOL_P] = 3;
    one_op_expect(&t, DIMS(1, 1, 1), zero);
    const float large[2] = {-4, 0.5f}, limits[2] = {INFINITY, 0};
    open_f32(&t, PITH_OP_LP_POOL, DIMS(1, 2, 1), large);
    t.attr[ATTR_POOL_P] = INT32_MAX;
    one_op_expect(&t, DIMS(1, 2, 1), limits);
}

/* Places that are none, or too far for an integer: beyond x, whatever stands there. */
TEST(test_grid_sample_far)
{
    const float x[3] = {1, 2, 4}, grid[5] = {NAN, INFINITY, -INFINITY, 3e38f, 0};
    const float zeros[5] = {0, 0, 0, 0, 2}, border[5] = {1, 4, 1, 4, 2};
    for (int32_t mode = 0; mode < 2; mode++)
        for (int32_t padding = 0; padding < 3; padding++) {
            struct one_op t;
            one_op_open(&t, PITH_OP_GRID_SAMPLE, 2, 1);
            one_op_in(&t, 0, PITH_F32, DIMS(1, 1, 3), x);
            one_op_in(&t, 1, PITH_F32, DIMS(1, 5, 1), grid);
            t.attr[ATTR_GRID_SAMPLE_MODE] = mode;
            t.attr[ATTR_GRID_SAMPLE_PADDING] = padding;
            assert_int_equal(one_op_shape(&t), PITH_OK);
            one_op_run(&t, false);
            const float *y = t.out[0].data;
            for (uint32_t i = 0; i < 5 && padding == 2; i++)
                assert_true(y[i] >= 1 && y[i] <= 4);
            if (padding < 2)
                assert_memory_equal(y, padding ? border : zeros, sizeof zeros);
            one_op_close(&t);
        }
}

TEST(test_pool_nan)
{
    const float x[4] = {NAN, 1, NAN, NAN}, expected[3] = {1, 1, -INFINITY};
    struct one_op t;
    open_f32(&t, PITH_OP_MAX_POOL, DIMS(1, 1, 4), x);
    one_op_list(&t, ATTR_POOL_KERNEL, LIST(2));
    one_op_expect(&t, DIMS(1, 1, 3), expected);
}

TEST(test_batch_norm)
{
    const float x[4] = {1, 2, 3, 4}, scale[2] = {2, 1}, bias[2] = {1, 0}, mean[2] = {1, 4},
                var[2] = {3, 0}, expected[4] = {1, 2, -1, 0};
    struct one_op t;
    one_op_open(&t, PITH_OP_BATCH_NORM, 5, 1);
    const float *in[5] = {x, scale, bias, mean, var};
    one_op_in(&t, 0, PITH_F32, DIMS(1, 2, 2), x);
    for (uint32_t i = 1; i < 5; i++)
        one_op_in(&t, i, PITH_F32, DIMS(2), in[i]);
    t.attr[ATTR_BN_EPSILON] = 0x3f800000; /* 1 */
    one_op_expect(&t, DIMS(1, 2, 2), expected);
}

/* More channels than have their factors at once, and images of one element: s = 1, t = c. */
TEST(test_batch_norm_of_tokens)
{
    enum { TOKENS = 3, WIDTH = 70 };
    float x[TOKENS * WIDTH], expected[TOKENS * WIDTH], ones[WIDTH], zeros[WIDTH] = {0}, bias[WIDTH];
    for (uint32_t c = 0; c < WIDTH; c++) {
        ones[c] = 1;
        bias[c] = (float)c;
        for (uint32_t i = 0; i < TOKENS; i++) {
            x[i * WIDTH + c] = (float)(100 * i);
            expected[i * WIDTH + c] = (float)(100 * i + c);
        }
    }
    struct one_op t;
    one_op_open(&t, PITH_OP_BATCH_NORM, 5, 1);
    const float *in[5] = {x, ones, bias, zeros, ones};
    one_op_in(&t, 0, PITH_F32, DIMS(TOKENS, WIDTH), x);
    for (uint32_t i = 1; i < 5; i++)
        one_op_in(&t, i, PITH_F32, DIMS(WIDTH), in[i]);
    t.attr[ATTR_BN_EPSILON] = 0;
    one_op_expect(&t, DIMS(TOKENS, WIDTH), expected);
}

/* size 2: the channel itself and the next one. */
TEST(test_lrn_even_size)
{
    const float x[3] = {2, 1, 3}, expected[3] = {2 / 6.0f, 1 / 11.0f, 3 / 10.0f};
    struct one_op t;
    open_f32(&t, PITH_OP_LRN, DIMS(1, 3), x);
    t.attr[ATTR_LRN_SIZE] = 2;
    t.attr[ATTR_LRN_ALPHA] = 0x40000000; /* 2: alpha / size = 1 */
    t.attr[ATTR_LRN_BETA] = 0x3f800000;  /* 1 */
    assert_int_equal(one_op_shape(&t), PITH_OK);
    one_op_run(&t, false);
    for (int i = 0; i < 3; i++)
        assert_float_equal(((float *)t.out[0].data)[i], expected[i], 1e-7f);
    one_op_close(&t);
}

TEST(test_split_many)
{
    struct one_op t;
    const float x[3] = {1, 2, 3};
    one_op_open(&t, PITH_OP_SPLIT, 1, 3);
    one_op_in(&t, 0, PITH_F32, DIMS(3), x);
    t.attr[ATTR_AXIS] = 0;
    assert_int_equal(one_op_shape(&t), PITH_OK);
    one_op_run(&t, false);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(t.out[i].shape.dim[0], 1);
        assert_true(((float *)t.out[i].data)[0] == x[i]);
    }
    one_op_close(&t);
}

#define RAMP_RANK 4u

/* What stands at place i of an axis-aligned ramp of these sizes, all indices times `step`. */
static float ramp_at(const uint32_t *dims, size_t i, const float *step)
{
    float sum = 0;
    for (uint32_t axis = RAMP_RANK; axis-- > 0; i /= dims[axis])
        sum += (float)(i % dims[axis]) * step[axis];
    return sum;
}

/* Linear sampling gives a ramp again, here without rounding, along whatever axes. */
TEST(test_resize_of_a_ramp)
{
    const uint32_t dims[RAMP_RANK] = {3, 4, 5, 80};
    float x[3 * 4 * 5 * 80], step[RAMP_RANK] = {64, 16, 4, 1};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = ramp_at(dims, i, step);
    for (uint32_t axes = 0; axes < 1u << RAMP_RANK; axes++) {
        uint32_t out[RAMP_RANK];
        float part[RAMP_RANK];
        struct one_op t;
        open_f32(&t, PITH_OP_RESIZE, RAMP_RANK, dims, x);
        for (uint32_t i = 0; i < RAMP_RANK; i++) {
            out[i] = axes >> i & 1 ? 2 * dims[i] - 1 : dims[i];
            part[i] = axes >> i & 1 ? step[i] / 2 : step[i];
        }
        one_op_list(&t, ATTR_RESIZE_DIMS, RAMP_RANK, (const int32_t *)out);
        t.attr[ATTR_RESIZE_MODE] = 1;
        t.attr[ATTR_RESIZE_COORD] = 2; /* corners lie on corners */
        const size_t n = (size_t)out[0] * out[1] * out[2] * out[3];
        float *y = malloc(n * sizeof *y);
        for (size_t i = 0; i < n; i++)
            y[i] = ramp_at(out, i, part);
        one_op_expect(&t, RAMP_RANK, out, y);
        free(y);
    }
}

/* Elements of each size, written two and three times. */
TEST(test_resize_repeats)
{
    const enum pith_type types[] = {PITH_U8, PITH_F32, PITH_I64};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int32_t times = 2; times <= 3; times++) {
            const size_t bytes = pith_type_bytes(types[k]);
            _Alignas(8) uint8_t x[6 * 8];
            for (size_t i = 0; i < sizeof x; i++)
                x[i] = (uint8_t)(i + 1);
            struct one_op t;
            one_op_open(&t, PITH_OP_RESIZE, 1, 1);
            one_op_in(&t, 0, types[k], DIMS(2, 3), x);
            one_op_list(&t, ATTR_RESIZE_DIMS, LIST(2 * times, 3 * times));
            t.attr[ATTR_RESIZE_COORD] = 1;
            t.attr[ATTR_RESIZE_NEAREST] = 2;
            assert_int_equal(one_op_shape(&t), PITH_OK);
            one_op_run(&t, false);
            const uint8_t *y = t.out[0].data;
            for (int32_t r = 0; r < 2 * times; r++)
                for (int32_t c = 0; c < 3 * times; c++)
                    assert_memory_equal(y + (size_t)(r * 3 * times + c) * bytes,
                                        x + (size_t)(r / times * 3 + c / times) * bytes, bytes);
            one_op_close(&t);
        }
}

TEST(test_pad_mirrors_uncropped)
{
    /* begin crops 2, end mirrors the whole tensor: 2 3 4 | 3 2 1 */
    const float x[5] = {0, 1, 2, 3, 4}, expected[6] = {2, 3, 4, 3, 2, 1};
    struct one_op t;
    open_f32(&t, PITH_OP_PAD, DIMS(5), x);
    t.attr[ATTR_PAD_MODE] = 1;
    one_op_list(&t, ATTR_PAD_BEGIN, LIST(-2));
    one_op_list(&t, ATTR_PAD_END, LIST(3));
    one_op_expect(&t, DIMS(6), expected);
    /* Cropped away wholly: nothing but border. */
    const float edge[2] = {4, 4}, nines[2] = {9, 9};
    for (int mode = 0; mode < 2; mode++) {
        open_f32(&t, PITH_OP_PAD, DIMS(5), x);
        t.attr[ATTR_PAD_MODE] = mode * 2;
        t.attr[ATTR_PAD_VALUE] = 0x41100000; /* 9 */
        one_op_list(&t, ATTR_PAD_BEGIN, LIST(-6));
        one_op_list(&t, ATTR_PAD_END, LIST(3));
        one_op_expect(&t, DIMS(2), mode ? edge : nines);
        open_f32(&t, PITH_OP_PAD, DIMS(1, 2), x);
        t.attr[ATTR_PAD_MODE] = mode * 2;
        t.attr[ATTR_PAD_VALUE] = 0x41100000;
        one_op_list(&t, ATTR_PAD_BEGIN, LIST(-INT32_MAX, 0));
        one_op_list(&t, ATTR_PAD_END, LIST(INT32_MAX, 0));
        one_op_expect(&t, DIMS(1, 2), mode ? x : nines);
    }
}

static void cast(enum pith_type from, enum pith_type to, uint32_t n, const void *x,
                 const void *expected)
{
    struct one_op t;
    one_op_open(&t, PITH_OP_CAST, 1, 1);
    one_op_in(&t, 0, from, 1, &n, x);
    t.attr[ATTR_CAST_TO] = (int32_t)to;
    assert_int_equal(one_op_shape(&t), PITH_OK);
    assert_int_equal(t.out[0].type, to);
    one_op_run(&t, false);
    assert_memory_equal(t.out[0].data, expected, n * pith_type_bytes(to));
    one_op_close(&t);
}

TEST(test_cast_to_integer)
{
    const float x[8] = {NAN, INFINITY, -INFINITY, 300.9f, -1.9f, -0.5f, 4294967296.0f + 512, 1e19f};
    const uint8_t u8[8] = {0, 0, 0, 44, 255, 0, 0, 0};
    const int32_t i32[8] = {0, 0, 0, 300, -1, 0, 512, 0};
    const int64_t i64[8] = {0, 0, 0, 300, -1, 0, 4294967296 + 512, 0};
    const uint8_t truth[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    cast(PITH_F32, PITH_U8, 8, x, u8);
    cast(PITH_F32, PITH_I32, 8, x, i32);
    cast(PITH_F32, PITH_I64, 8, x, i64);
    cast(PITH_F32, PITH_BOOL, 8, x, truth);
    const double d[3] = {-9223372036854775808.0, 9223372036854774784.0, -0.0};
    const int64_t d64[3] = {0, 9223372036854774784, 0};
    const uint8_t d_truth[3] = {1, 1, 0};
    cast(PITH_F64, PITH_I64, 3, d, d64);
    cast(PITH_F64, PITH_BOOL, 3, d, d_truth);
    const int64_t wide[3] = {-1, 65536 + 7, INT64_MIN};
    const uint16_t u16[3] = {65535, 7, 0};
    const uint8_t w_truth[3] = {1, 1, 1};
    cast(PITH_I64, PITH_U16, 3, wide, u16);
    cast(PITH_I64, PITH_BOOL, 3, wide, w_truth);
}

TEST(test_cast_to_small_floats)
{
    /* largest f16; the tie above it, which overflows; below that tie; smallest denormal; half of
     * it (a tie, to even); a little more; NaN; -0 */
    const float x[8] = {65504, 65520, 65519, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, NAN, -0.0f};
    const uint16_t f16[8] = {0x7bff, 0x7c00, 0x7bff, 1, 0, 1, 0x7e00, 0x8000};
    cast(PITH_F32, PITH_F16, 8, x, f16);
    const float y[5] = {1.0f, 0x1.01p0f, 0x1.03p0f, 3.4e38f, -0x1p-140f};
    const uint16_t bf16[5] = {0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x8000};
    cast(PITH_F32, PITH_BF16, 5, y, bf16);
    const uint16_t back[4] = {0x3f80, 0xff80, 0x0001, 0x7f7f};
    const float wide[4] = {1.0f, -INFINITY, 0x1p-133f, 0x1.fep127f};
    cast(PITH_BF16, PITH_F32, 4, back, wide);
    const uint16_t halves[4] = {0x3c00, 0x0001, 0xfc00, 0x7bff};
    const float from_halves[4] = {1.0f, 0x1p-24f, -INFINITY, 65504};
    cast(PITH_F16, PITH_F32, 4, halves, from_halves);
}

/* Once rounded: through float, these would come out one unit off. */
TEST(test_cast_rounds_once)
{
    const double d[2] = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-24 + 0x1p-50};
    const uint16_t f16[2] = {0x3c01, 0x3c00};
    const float f32[2] = {1 + 0x1p-11f, 1 + 0x1p-23f};
    cast(PITH_F64, PITH_F16, 2, d, f16);
    cast(PITH_F64, PITH_F32, 2, d, f32);
    const int64_t v[2] = {(INT64_C(1) << 60) + (INT64_C(1) << 36) + 1,
                          -((INT64_C(1) << 60) + (INT64_C(1) << 36) + 1)};
    const float once[2] = {0x1p60f + 0x1p37f, -0x1p60f - 0x1p37f};
    cast(PITH_I64, PITH_F32, 2, v, once);
}

TEST(test_views_alias)
{
    float x[4] = {1, 2, 3, 4};
    struct one_op t;
    open_f32(&t, PITH_OP_FLATTEN, DIMS(2, 2), x);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    t.out[0].data = x; /* as the planner places it */
    t.info->run(&t.args, &(struct op_env){0});
    assert_true(x[0] == 1 && x[3] == 4);
}

static void power_integers(enum pith_type y_type, const void *y, const int32_t *expected)
{
    static const int32_t x[8] = {3, -2, 0, 2, -1, 1, 7, -3};
    struct one_op t;
    one_op_open(&t, PITH_OP_POWER, 2, 1);
    one_op_in(&t, 0, PITH_I32, 1, (const uint32_t[]){8}, x);
    one_op_in(&t, 1, y_type, 1, (const uint32_t[]){8}, y);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    assert_int_equal(t.out[0].type, PITH_I32);
    one_op_run(&t, false);
    assert_memory_equal(t.out[0].data, expected, 8 * sizeof *expected);
    one_op_close(&t);
}

/* Exact, wrapping, truncated; 2^-1 is 0, (-1)^-3 is -1, 0^-1 is 0. */
TEST(test_power_of_integers)
{
    power_integers(PITH_I32, (const int32_t[8]){4, 3, 0, 33, -3, -9, -1, 2},
                   (const int32_t[8]){81, -8, 1, 0, -1, 1, 0, 9});
    power_integers(PITH_I64, (const int64_t[8]){20, 31, -1, 31, -4, INT64_MIN, 1, 1},
                   (const int32_t[8]){-808182895, INT32_MIN, 0, INT32_MIN, 1, 1, 7, -3});
    power_integers(PITH_F32, (const float[8]){0.5f, 3, 2, 1.5f, 2, NAN, -0.5f, 0.5f},
                   (const int32_t[8]){1, -8, 0, 2, 1, 1, 0, 0});
}

/* Opset 28's list of cases, and remainders with the divisor's sign; the bits distinguish -0 from 0.
 */
TEST(test_mod_of_floats)
{
    enum { N = 14 };
    static const float x[N] = {5.5f,  -5.5f,    5.5f, -5.5f, 6, -6, 0.0f,
                               -0.0f, INFINITY, 2,    3,     3, -3, NAN};
    static const float y[N] = {2, 2, -2, -2, 3, 3, -4, 4, 3, 0, INFINITY, -INFINITY, INFINITY, 1};
    static const float floors[N] = {1.5f, 0.5f, -0.5f, -1.5f, 0,         0,        -0.0f,
                                    0,    NAN,  NAN,   3,     -INFINITY, INFINITY, NAN};
    static const float truncated[N] = {1.5f,  -1.5f, 1.5f, -1.5f, 0, -0.0f, 0,
                                       -0.0f, NAN,   NAN,  3,     3, -3,    NAN};
    for (int fmod = 0; fmod < 2; fmod++) {
        const float *expected = fmod ? truncated : floors;
        struct one_op t;
        one_op_open(&t, PITH_OP_MOD, 2, 1);
        one_op_in(&t, 0, PITH_F32, DIMS(N), x);
        one_op_in(&t, 1, PITH_F32, DIMS(N), y);
        t.attr[ATTR_MOD_FMOD] = fmod;
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, false);
        const float *got = t.out[0].data;
        for (int i = 0; i < N; i++)
            if (isnan(expected[i]) ? !isnan(got[i]) : memcmp(&got[i], &expected[i], 4) != 0)
                fail_msg("fmod %d: %g mod %g gave %g, not %g", fmod, (double)x[i], (double)y[i],
                         (double)got[i], (double)expected[i]);
        one_op_close(&t);
    }
}

/* Indices outside their axes. */
TEST(test_index_clamped)
{
    static const float x[4] = {1, 2, 3, 4}, u[3] = {5, 6, 7};
    static const int64_t wild[3] = {INT64_MIN, INT64_MAX, -5};
    static const int32_t wild32[3] = {INT32_MIN, INT32_MAX, 4};
    struct one_op t;
    for (int32_t kind = 0; kind < 3; kind++) {
        one_op_open(&t, PITH_OP_GATHER, 2, 1);
        t.attr[ATTR_GATHER_KIND] = kind;
        one_op_in(&t, 0, PITH_F32, DIMS(4), x);
        one_op_in(&t, 1, PITH_I64, kind == 2 ? 2 : 1, (const uint32_t[]){3, 1}, wild);
        one_op_expect(&t, DIMS(3), (const float[]){1, 4, 1});
    }
    one_op_open(&t, PITH_OP_GATHER, 2, 1);
    one_op_in(&t, 0, PITH_F32, DIMS(4), x);
    one_op_in(&t, 1, PITH_I32, DIMS(3), wild32);
    one_op_expect(&t, DIMS(3), (const float[]){1, 4, 4});
    for (int32_t kind = 0; kind < 2; kind++) {
        one_op_open(&t, PITH_OP_SCATTER, 3, 1);
        t.attr[ATTR_SCATTER_KIND] = kind;
        one_op_in(&t, 0, PITH_F32, DIMS(4), x);
        one_op_in(&t, 1, PITH_I64, kind ? 2 : 1, (const uint32_t[]){3, 1}, wild);
        one_op_in(&t, 2, PITH_F32, DIMS(3), u);
        one_op_expect(&t, DIMS(4), (const float[]){7, 2, 3, 6}); /* the last update counts */
    }
}

RUN_TESTS
