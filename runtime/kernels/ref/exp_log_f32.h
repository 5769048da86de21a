/* SPDX-License-Identifier: MIT */
/* exp_log_f32.h - exp and log of math_f32.c as inline code without jumps, so that loops over
 * what is built from them become vector code. */
#ifndef EXP_LOG_F32_H
#define EXP_LOG_F32_H

#include <stdbool.h>
#include "core/f32_bits.h"

/* What such constants do relies on round to even, the default mode; docs/arithmetic.md requires
 * it. */
#define ROUND_F32 12582912.0f /* 1.5 * 2^23: adding it rounds to an integer, ties to even */
#define LN2_HI 0.693359375f   /* 9 bits: n * LN2_HI is exact for |n| <= 2^15 */
#define LN2_LO -2.12194440e-4f

/* 2^n for n in -126..127 By bits: exact, and no table. */
static inline float power_of_two(uint32_t n)
{
    return f32_from_bits((n + 127u) << 23);
}

/* which ? a : b by masks: compilers turn the ternary into jumps, and then a loop over it does not
 * become vector code. In a build for size jumps are welcome. */
static inline float choose(bool which, float a, float b)
{
#ifdef __OPTIMIZE_SIZE__
    return which ? a : b;
#else
    uint32_t mask = 0u - (uint32_t)which;
    return f32_from_bits((f32_bits(a) & mask) | (f32_bits(b) & ~mask));
#endif
}

/* exp(x) = 2^n (1 + p): p, and *shifted = n + ROUND_F32. |x| small enough that n fits. r is exact
 * to its last bits because n * LN2_HI is; the polynomial is Cephes'. */
static inline float exp_parts(float x, float *shifted)
{
    *shifted = x * 1.44269504f + ROUND_F32;
    float n = *shifted - ROUND_F32;
    float r = x - n * LN2_HI;
    r = r - n * LN2_LO;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r;
}

/* The whole number that was shifted, modulo 2^32. */
static inline uint32_t unshifted(float shifted)
{
    return f32_bits(shifted) - f32_bits(ROUND_F32);
}

/* Of x <= 89, or NaN. */
static inline float exp_falling_f32(float x)
{
#ifdef __OPTIMIZE_SIZE__ /* here and not at each caller */
    x = choose(x > 89.0f, 89.0f, x);
#endif
    float shifted, p = exp_parts(choose(x < -105.0f, -105.0f, x), &shifted) + 1.0f;
    /* -151 <= n <= 128, so both halves are exponents of normal floats. Two factors, because 2^n
     * of a denormal result is none that one factor could be. */
    uint32_t k = unshifted(shifted), half = ((k + 512u) >> 1) - 256u;
    return p * power_of_two(half) * power_of_two(k - half);
}

/* Beyond these the result is infinity or 0 anyway; within, n fits the two scalings. */
static inline float exp_bounded_f32(float x)
{
#ifdef __OPTIMIZE_SIZE__
    return x; /* exp_falling_f32 bounds it */
#else
    return choose(x > 89.0f, 89.0f, x);
#endif
}

static inline float exp_f32(float x)
{
    return exp_falling_f32(exp_bounded_f32(x));
}

/* The same of x in [-87, 88], or NaN, where n fits one factor. */
static inline float exp_near_f32(float x)
{
#ifdef __OPTIMIZE_SIZE__
    return exp_f32(x);
#else
    float shifted, p = exp_parts(x, &shifted) + 1.0f;
    return p * power_of_two(unshifted(shifted));
#endif
}

/* The same of x in [-86, 89], or NaN: twice the sum, and half of the factor, which would not be
 * finite for what lies between the largest float and its half. */
static inline float exp_wide_f32(float x)
{
#ifdef __OPTIMIZE_SIZE__
    return exp_f32(x);
#else
    float shifted, p = exp_parts(x, &shifted) + 1.0f;
    return (p + p) * power_of_two(unshifted(shifted) - 1u);
#endif
}

/* Denormals are scaled up by 2^23 first; what is not positive and finite is put right at the end.
 */
static inline float log_f32(float x)
{
    const float inf = f32_from_bits(0x7f800000u);
    bool tiny = x < 1.17549435e-38f;
    float scaled = choose(tiny, x * 8388608.0f, x);
    /* The bits of sqrt(1/2) become the start of the binade, so that m lies in [0.707, 1.414). m
     * in [sqrt(1/2), sqrt 2) keeps f small on both sides of 1, so nothing cancels there. */
    uint32_t bits = f32_bits(scaled) - 0x3f3504f3u;
    uint32_t n = (uint32_t)((int32_t)bits >> 23) - ((0u - (uint32_t)tiny) & 23u);
    float f = f32_from_bits((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float e = (float)(int32_t)n;
    float z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    p = p * f * z;
    p = p + e * LN2_LO;
    p = p - 0.5f * z;
    float y = (f + p) + e * LN2_HI;
    y = choose(x == 0.0f, -inf, y);
    y = choose(x == inf, inf, y);
    return choose((x < 0.0f) | (x != x), f32_from_bits(0x7fc00000u), y);
}

#endif
