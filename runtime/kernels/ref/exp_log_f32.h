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

/* n + EXP_SHIFT, shifted left, is 2^n for n in -126..127, 0 for n = -127 and infinity for 128. */
#define EXP_SHIFT (ROUND_F32 + 127.0f)

/* By bits: exact, and no table. */
static inline float power_of_shifted(float shifted)
{
    return f32_from_bits(f32_bits(shifted) << 23);
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

/* exp(x) = 2^n (1 + p): p, and *shifted = n + EXP_SHIFT. |x| small enough that n fits. r is exact
 * to its last bits because n * LN2_HI is; the polynomial is fitted to the least largest share of
 * exp(r) - 1, 2^-26. Its pairs do not wait for each other. */
static inline float exp_parts(float x, float *shifted)
{
    *shifted = x * 1.44269504f + EXP_SHIFT;
    float n = *shifted - EXP_SHIFT;
    float r = x - n * LN2_HI;
    r = r - n * LN2_LO;
    float z = r * r;
    float p = (8.366847411e-3f * r + 4.166769981e-2f) + 1.384524861e-3f * z;
    p = p * z + (1.666654050e-1f * r + 4.999999702e-1f);
    return p * z + r;
}

/* The largest float is below exp(89), half of the least above exp(-105). Two factors, because 2^n
 * of a denormal result is none that one factor could be. */
static inline float exp_f32(float x)
{
    x = choose(x > 89.0f, 89.0f, x);
    float shifted, p = exp_parts(choose(x < -105.0f, -105.0f, x), &shifted) + 1.0f;
    const uint32_t k = f32_bits(shifted) + 127u, half = k >> 1;
    return p * f32_from_bits(half << 23) * f32_from_bits((k - half) << 23);
}

/* The same of x in [-88, 89], or NaN, by one factor: 0 below -87.7, infinity above 88.4. */
static inline float exp_near_f32(float x)
{
    float shifted, p = exp_parts(x, &shifted) + 1.0f;
    return p * power_of_shifted(shifted);
}

/* That of Softmax: of x <= 0, or NaN. */
static inline float exp_fall_f32(float x)
{
    return exp_near_f32(choose(x < -88.0f, -88.0f, x));
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
