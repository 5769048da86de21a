/* SPDX-License-Identifier: MIT */
/* elementwise_f32_impl.h - template of struct elementwise_rows (kernel_row.h). Parameter:
 * ROW(name), the name with the level's suffix. */
#include "kernels/kernel_row.h"
#include "kernels/ref/double_f32.h"
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/x86/row_lanes.h"

/* What is left of a row, not inlined into each function. */
static __attribute__((noinline)) const float *rest_of(float last[LANES], const float *x, size_t n)
{
    load_rest(last, x, n, 1.0f);
    return last;
}

static __attribute__((noinline)) void put_float(float *y, const float v[LANES], size_t n)
{
    store_rest(y, v, n);
}

#define put_uint8_t(y, v, n) memcpy(y, v, n)

/* A fixed operand becomes a row of LANES equal elements that is read again: one loop serves every
 * broadcast. y may be an operand: an element depends on those at its place alone. */
#define BINARY_ROW(name, T, block)                                                                 \
    static void name##_row(const void *pa, size_t a_step, const void *pb, size_t b_step, void *py, \
                           size_t n)                                                               \
    {                                                                                              \
        float fixed[2][LANES];                                                                     \
        T *y = py;                                                                                 \
        for (size_t i = 0; i < LANES; i++) {                                                       \
            fixed[0][i] = *(const float *)pa;                                                      \
            fixed[1][i] = *(const float *)pb;                                                      \
        }                                                                                          \
        const float *a = a_step ? pa : fixed[0], *b = b_step ? pb : fixed[1];                      \
        for (; n >= LANES; n -= LANES, a += LANES * a_step, b += LANES * b_step, y += LANES) {     \
            block;                                                                                 \
        }                                                                                          \
        if (n > 0) {                                                                               \
            T last[LANES], *end = y;                                                               \
            a = rest_of(fixed[0], a, n), b = rest_of(fixed[1], b, n), y = last;                    \
            block;                                                                                 \
            put_##T(end, last, n);                                                                 \
        }                                                                                          \
    }

#define BINARY(name, T, value)                                                                     \
    BINARY_ROW(name, T, INDEPENDENT for (size_t i = 0; i < LANES; i++) y[i] = (T)(value))

BINARY(add, float, a[i] + b[i])
BINARY(sub, float, a[i] - b[i])
BINARY(mul, float, a[i] * b[i])
BINARY(div, float, a[i] / b[i])
BINARY(prelu, float, prelu_f32(a[i], b[i]))
BINARY(min, float, smaller_f32(a[i], b[i]))
BINARY(max, float, larger_f32(a[i], b[i]))
BINARY(equal, uint8_t, a[i] == b[i])
BINARY(not_equal, uint8_t, a[i] != b[i])
BINARY(less, uint8_t, a[i] < b[i])
BINARY(less_equal, uint8_t, a[i] <= b[i])

static __attribute__((noinline)) void power_block(const float *a, const float *b, float *y)
{
    INDEPENDENT for (size_t i = 0; i < LANES; i++) y[i] = power_f32(a[i], b[i]);
}

BINARY_ROW(power, float, power_block(a, b, y))

/* Loops of known length are vector code and nothing else. */
#define BLOCK 64u
struct function {
    int32_t kind;
    float a, b; /* its parameters */
};
typedef void block_fn(struct function f, const float *x, float *y);

/* What is left of a row runs as one block more, on a copy. */
static void in_blocks(block_fn *block, struct function f, const float *x, float *y, size_t n)
{
    for (; n >= BLOCK; n -= BLOCK, x += BLOCK, y += BLOCK)
        block(f, x, y);
    if (n > 0) {
        float last[BLOCK] = {0};
        memcpy(last, x, n * sizeof *last);
        block(f, last, last);
        memcpy(y, last, n * sizeof *last);
    }
}

static void act_block(struct function f, const float *x, float *y)
{
    const size_t n = BLOCK;
    if (f.kind == ACT_LEAKY)
        EACH(prelu_f32(x[i], f.a));
    else if (f.kind == ACT_HARD_SIGMOID)
        EACH(hard_sigmoid_f32(f.a, f.b, x[i]));
    else
        EACH(hard_swish_f32(x[i]));
}

static void act_row(enum act_kind act, float a, float b, const float *x, float *y, size_t n)
{
    in_blocks(act_block, (struct function){(int32_t)act, a, b}, x, y, n);
}

/* sin and cos of BLOCK numbers. */
static void sine_block(uint64_t quarter_turns, const float *x, float *y)
{
    uint32_t large = 0;
    for (size_t i = 0; i < BLOCK; i++)
        large |= !(magnitude_of(x[i]) < LARGE_ANGLE);
    if (large) {
        for (size_t i = 0; i < BLOCK; i++)
            y[i] = quarter_turns ? pith_cos_f32(x[i]) : pith_sin_f32(x[i]);
        return;
    }
    float v[BLOCK];
#pragma GCC unroll 1
    for (size_t i = 0; i < BLOCK; i++)
        v[i] = sine_f32(x[i], quarter_turns);
    memcpy(y, v, sizeof v);
}

static void unary_block(struct function f, const float *x, float *y)
{
    if (f.kind == UNARY_SIN || f.kind == UNARY_COS)
        sine_block(f.kind == UNARY_COS, x, y);
    else
        unary_rows(f.kind, f.a, f.b, x, y, BLOCK);
}

static void unary_row(int32_t kind, float alpha, float gamma, const float *x, float *y, size_t n)
{
    in_blocks(unary_block, (struct function){kind, alpha, gamma}, x, y, n);
}

const struct elementwise_rows ROW(pith_elementwise_f32) = {
    {add_row, sub_row, mul_row, div_row, prelu_row, min_row, max_row, equal_row, not_equal_row,
     less_row, less_equal_row, power_row},
    act_row,
    unary_row,
};
