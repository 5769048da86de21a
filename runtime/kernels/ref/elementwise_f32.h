/* SPDX-License-Identifier: MIT */
/* elementwise_f32.h - functions of one or two numbers as inline code without jumps: operators run
 * loops over them, and so do the kernels of each instruction set (elementwise_f32_impl.h), which
 * therefore give the same bits. */
#ifndef ELEMENTWISE_F32_H
#define ELEMENTWISE_F32_H

#include <stddef.h>
#include "kernels/ref/math_f32.h"
#include "kernels/ref/rounding_f32.h"
#include "op_interface/op_attr.h"

/* y and x may be one row; otherwise they do not overlap. */
#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif
#define EACH(value) INDEPENDENT for (size_t i = 0; i < n; i++) y[i] = (value)

/* Zero takes the upper branch, so the sign of -0 stays; a NaN compares false and passes through. */
static inline float prelu_f32(float x, float slope)
{
    return choose(x < 0.0f, slope * x, x);
}

/* NaN of either operand; for equal numbers b, which differs from a in the sign of zero alone. */
static inline float smaller_f32(float a, float b)
{
    return choose(a < b, a, choose(a != a, a, b));
}

static inline float larger_f32(float a, float b)
{
    return choose(a > b, a, choose(a != a, a, b));
}

/* Two comparisons and not min and max, so that a NaN, for which both fail, passes through. */
static inline float clip_f32(float lo, float hi, float x)
{
    x = choose(x < lo, lo, x);
    return choose(x > hi, hi, x);
}

static inline float hard_sigmoid_f32(float alpha, float beta, float x)
{
    return clip_f32(0.0f, 1.0f, alpha * x + beta);
}

/* 1/6 rounded to f32, as ONNX's HardSwish has it. */
static inline float hard_swish_f32(float x)
{
    return x * hard_sigmoid_f32(1.0f / 6.0f, 0.5f, x);
}

/* Where a machine has a square root it is correctly rounded too, so the bits are the same. The
 * branch is decided by the compiler, not at run time. */
static inline float sqrt_f32(float x)
{
#if defined(__SSE2__) || defined(__aarch64__)
    return choose(x < 0.0f, f32_from_bits(0x7fc00000u), __builtin_sqrtf(x));
#else
    return pith_sqrt_f32(x);
#endif
}

/* log(1 + t) = 2 atanh(s), s = t / (2 + t) <= 1/3, by a polynomial for (atanh(s) / s - 1) / s^2,
 * fitted to the least largest error, 2^-27.7 of atanh. */
static inline float softplus_f32(float x)
{
    float t = exp_f32(f32_from_bits(f32_bits(x) | 0x80000000u));
    float s = t / (2.0f + t), z = s * s;
    float p = 1.401471496e-1f * z + 1.399910599e-1f;
    p = p * (z * z) + (2.001087517e-1f * z + 3.333320618e-1f);
    return choose(x < 0.0f, 0.0f, x) + 2.0f * (s + s * (p * z));
}

/* tanh(log(1 + e)) = w / (w + 2), w = e (e + 2), e = exp(x). Above 20 it is 1; below -105, where
 * exp is 0, x is bounded so that minus infinity gives 0. */
static inline float mish_f32(float x)
{
    float e = exp_f32(choose(x > 20.0f, 20.0f, x)), w = e * (e + 2.0f);
    return choose(x < -105.0f, -105.0f, x) * (w / (w + 2.0f));
}

/* exp(x) - 1 for x <= 0: as exp_f32, but the 1 of exp(r) = 1 + p joins 2^n - 1, which is exact
 * for -24 <= n, so that small x lose nothing. p * scale is added last, where it is small against
 * scale - 1. */
static inline float exp_minus_1(float x)
{
    x = choose(x < -17.0f, -17.0f, x); /* exp(-17) < 2^-24: the result is -1 */
    float shifted, p = exp_parts(x, &shifted), scale = power_of_shifted(shifted);
    return p * scale + (scale - 1.0f);
}

/* elementary_f32.h */
static inline void elu_rows(float above, float below, float width, const float *x, float *y,
                            size_t n)
{
    EACH(choose(x[i] > 0.0f, above * x[i],
                below * exp_minus_1(choose(x[i] > 0.0f, 0.0f, x[i]) / width)));
}

/* The functions of op_unary.c that are neither a row kernel nor made of single numbers. */
static inline void unary_rows(int32_t kind, float alpha, float gamma, const float *x, float *y,
                              size_t n)
{
    if (kind == UNARY_SQRT)
        EACH(sqrt_f32(x[i]));
    else if (kind == UNARY_LOG)
        EACH(log_f32(x[i]));
    else if (kind == UNARY_NEG)
        EACH(-x[i]);
    else if (kind == UNARY_ABS)
        EACH(magnitude_of(x[i]));
    else if (kind == UNARY_SIGN)
        EACH(sign_f32(x[i]));
    else if (kind == UNARY_FLOOR)
        EACH(floor_f32(x[i]));
    else if (kind == UNARY_CEIL)
        EACH(ceil_f32(x[i]));
    else if (kind == UNARY_ROUND)
        EACH(round_f32(x[i]));
    else if (kind == UNARY_RECIPROCAL)
        EACH(1.0f / x[i]);
    else if (kind == UNARY_ELU || kind == UNARY_SELU || kind == UNARY_CELU) {
        /* one function: scale * (x or alpha * (exp(x / gamma) - 1)) */
        const float above = kind == UNARY_SELU ? gamma : 1.0f;
        elu_rows(above, above * alpha, kind == UNARY_CELU ? alpha : 1.0f, x, y, n);
    } else if (kind == UNARY_MISH)
        EACH(mish_f32(x[i]));
    else if (kind == UNARY_SOFTPLUS)
        EACH(softplus_f32(x[i]));
    else if (kind == UNARY_SOFTSIGN)
        EACH(x[i] / (1.0f + magnitude_of(x[i])));
    else if (kind == UNARY_THRESHOLDED_RELU)
        EACH(choose(x[i] <= alpha, 0.0f, x[i]));
}

#endif
