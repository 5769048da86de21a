/* SPDX-License-Identifier: MIT */
/* device_map.cuh - functions of one element, as operators and behind others. Each is a row of a table
 * that names the CPU's own scalar function, so both have the same bits. */
#ifndef DEVICE_MAP_H
#define DEVICE_MAP_H

#include "device.h"
#include "kernels/ref/rounding_f32.h"
#include "kernels/act_kind.h"

/* What a thread loads at once. */
struct ALIGNED(16) words {
    uint32_t word[4];
};

/* Where element i of a walk over axes lies in two operands. */
struct offsets {
    uint32_t a, b;
};

DEVICE struct offsets offsets_of(uint32_t i, uint32_t rank, const uint32_t *dim,
                                 const uint32_t *a_step, const uint32_t *b_step)
{
    struct offsets at = {0, 0};
    for (uint32_t k = rank; k-- > 0;) {
        const uint32_t place = i % dim[k];
        i /= dim[k];
        at.a += place * a_step[k];
        at.b += place * b_step[k];
    }
    return at;
}

/* Of codes (pack_codes.c) for a lane: of 8 rows. */
struct code_lot {
    struct words half[2];
};

DEVICE struct code_lot load_lot(const uint32_t *word)
{
    const struct code_lot l = {{*(const struct words *)(const void *)word,
                                *(const struct words *)(const void *)(word + 128)}};
    return l;
}

/* Lane l has the sum over lanes of row l / 4. */
#define GROUP_SUM(type, shuffle)                                                                   \
    UNROLLED                                                                                       \
    for (uint32_t half = 16u, n = 4u; n > 0u; half /= 2u, n /= 2u) {                               \
        const bool upper = (THREAD & half) != 0u;                                                  \
        UNROLLED                                                                                   \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const type own = upper ? sum[i + n] : sum[i], other = upper ? sum[i] : sum[i + n];     \
            sum[i] = own + shuffle(other, half);                                                   \
        }                                                                                          \
    }                                                                                              \
    sum[0] += shuffle(sum[0], 2u);                                                                 \
    return sum[0] + shuffle(sum[0], 1u);

DEVICE float group_sum(float sum[CODES_ROWS])
{
    GROUP_SUM(float, shuffle_xor_f32)
}

DEVICE int32_t group_sum_i32(int32_t sum[CODES_ROWS])
{
    GROUP_SUM(int32_t, shuffle_xor_i32)
}

/* Kinds of enum unary_kind, numbered apart: that enum's header is not for devices. */
enum { U_SQRT = MAP_UNARY, U_EXP, U_LOG, U_NEG, U_ABS, U_SIGN, U_FLOOR, U_CEIL, U_ROUND };
enum { U_RECIPROCAL = MAP_UNARY + 9, U_ERF = MAP_UNARY + 10 };
enum { U_GELU = MAP_UNARY + 16, U_GELU_TANH = MAP_UNARY + 17, U_SOFTSIGN = MAP_UNARY + 20 };
enum { U_THRESHOLDED = MAP_UNARY + 21 };

/* f32 of 16 bits. Times 2^112 an exponent of f16 is one of f32, and what was subnormal no more is. */
DEVICE float half_value(uint32_t bits, uint32_t is_bf16)
{
    if (is_bf16)
        return f32_from_bits(bits << 16);
    const uint32_t size = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
    const uint32_t value = size >= 0x0f800000u ? size | 0x7f800000u /* infinite or NaN */
                                               : f32_bits(f32_from_bits(size) * 0x1p112f);
    return f32_from_bits(value | sign);
}

/* Element i of values of a type (enum value_type), and a place of one. */
DEVICE float value_at(const void *x, size_t i, uint32_t type)
{
    return type == VALUE_F32 ? ((const float *)x)[i]
                             : half_value(((const uint16_t *)x)[i], type == VALUE_BF16);
}

DEVICE uint32_t pair_of(float low, float high, uint32_t is_bf16)
{
    return is_bf16 ? pair_bf16(low, high) : pair_f16(low, high);
}

DEVICE void put_value(void *y, size_t i, uint32_t type, float v)
{
    if (type == VALUE_F32)
        ((float *)y)[i] = v;
    else
        ((uint16_t *)y)[i] = (uint16_t)pair_of(v, 0.0f, type == VALUE_BF16);
}

DEVICE const void *values_from(const void *x, size_t i, uint32_t type)
{
    return (const char *)x + (type == VALUE_F32 ? 4u : 2u) * i;
}

/* A kernel's body for f32 and for 16 bits, whose type is tested at each element of no other. */
#define BODY_OF_TYPE(call, ...)                                                                    \
    if (arg->x_type == VALUE_F32)                                                                  \
        call(__VA_ARGS__, VALUE_F32);                                                              \
    else                                                                                           \
        call(__VA_ARGS__, arg->x_type);

static inline float clip_f32(float low, float high, float x)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

static inline float hard_sigmoid_f32(float alpha, float beta, float x)
{
    return clip_f32(0.0f, 1.0f, alpha * x + beta);
}

DEVICE float square_root(float x)
{
    return choose(x < 0.0f, f32_from_bits(0x7fc00000u), sqrt_device_f32(x));
}

#define SHORT_ACTS(MAP)                                                                            \
    MAP(ACT_NONE, x)                                                                               \
    MAP(ACT_RELU, x < 0.0f ? 0.0f : x)                                                             \
    MAP(ACT_CLIP, clip_f32(a, b, x))                                                               \
    MAP(ACT_LEAKY, x < 0.0f ? a * x : x)                                                           \
    MAP(ACT_HARD_SIGMOID, hard_sigmoid_f32(a, b, x))                                               \
    MAP(ACT_HARD_SWISH, x *hard_sigmoid_f32(1.0f / 6.0f, 0.5f, x))

#define LONG_ACTS(MAP)                                                                             \
    MAP(ACT_SIGMOID, sigmoid_f32(x))                                                               \
    MAP(ACT_TANH, tanh_f32(x))                                                                     \
    MAP(ACT_GELU, gelu_f32(x))                                                                     \
    MAP(ACT_GELU_TANH, gelu_tanh_f32(x))                                                           \
    MAP(ACT_SWISH, x *sigmoid_f32(x))

#define UNARIES(MAP)                                                                               \
    MAP(U_SQRT, square_root(x))                                                                    \
    MAP(U_EXP, exp_f32(x))                                                                         \
    MAP(U_LOG, log_f32(x))                                                                         \
    MAP(U_NEG, -x)                                                                                 \
    MAP(U_ABS, magnitude_of(x))                                                                    \
    MAP(U_SIGN, sign_f32(x))                                                                       \
    MAP(U_FLOOR, floor_f32(x))                                                                     \
    MAP(U_CEIL, ceil_f32(x))                                                                       \
    MAP(U_ROUND, round_f32(x))                                                                     \
    MAP(U_RECIPROCAL, 1.0f / x)                                                                    \
    MAP(U_ERF, erf_f32(x))                                                                         \
    MAP(U_GELU, gelu_f32(x))                                                                       \
    MAP(U_GELU_TANH, gelu_tanh_f32(x))                                                             \
    MAP(U_SOFTSIGN, x / (1.0f + magnitude_of(x)))                                                  \
    MAP(U_THRESHOLDED, choose(x <= a, 0.0f, x))

#define MAP_CASE(kind, value)                                                                      \
    case kind:                                                                                     \
        return value;

/* An activation or an operator; what is none of its table is x. */
DEVICE float mapped(uint32_t kind, float a, float b, float x)
{
    switch (kind) {
        SHORT_ACTS(MAP_CASE)
        LONG_ACTS(MAP_CASE)
        UNARIES(MAP_CASE)
    default:
        return x;
    }
}

DEVICE float activated(uint32_t kind, float a, float b, float x)
{
    switch (kind) {
        SHORT_ACTS(MAP_CASE)
        LONG_ACTS(MAP_CASE)
    default:
        return x;
    }
}

/* A kernel whose threads have many outputs in registers has the short ones for each of them, and what
 * is long once, behind: from memory, where the thread left them (is_long). */
DEVICE float activated_short(uint32_t kind, float a, float b, float x)
{
    switch (kind) {
        SHORT_ACTS(MAP_CASE)
    default:
        return x;
    }
}

/* Short ones of all n sums that a thread holds: one switch, so that a launch fetches the code of one
 * kind, and not that of all of them n times. n: a constant where this is called. */
#define ALL_SUMS(kind, value)                                                                      \
    case kind:                                                                                     \
        UNROLLED                                                                                   \
        for (uint32_t e = 0; e < n; e++) {                                                         \
            const float x = sum[e];                                                                \
            sum[e] = value;                                                                        \
        }                                                                                          \
        break;

DEVICE void activate_short(uint32_t kind, float a, float b, uint32_t n, float *sum)
{
    switch (kind) {
        SHORT_ACTS(ALL_SUMS)
    default:
        break;
    }
}

/* A long one, of what the thread left there. */
DEVICE void activate_at(void *y, size_t at, uint32_t type, uint32_t kind, float a, float b)
{
    put_value(y, at, type, activated(kind, a, b, value_at(y, at, type)));
}

#define LONG_CASE(kind, value) case kind:

DEVICE bool is_long(uint32_t kind)
{
    switch (kind) {
        LONG_ACTS(LONG_CASE)
        return true;
    default:
        return false;
    }
}

#endif
