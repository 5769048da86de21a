/* SPDX-License-Identifier: MIT */
/* activation_f32.h - tanh, sigmoid, erf and gelu of math_f32.h and elementary_f32.h as inline
 * code without jumps, so that loops over them become vector code. Polynomials are fitted to the
 * least largest error; pairs of their terms do not wait for each other. */
#ifndef ACTIVATION_F32_H
#define ACTIVATION_F32_H

#include "kernels/ref/exp_log_f32.h"

/* By bits: no jump, and -0 becomes 0. */
static inline float magnitude_of(float x)
{
    return f32_from_bits(f32_bits(x) & 0x7fffffffu);
}

static inline float with_sign_of(float magnitude, float x)
{
    return f32_from_bits(f32_bits(magnitude) | (f32_bits(x) & 0x80000000u));
}

/* m / (2 - m) of m = 1 - exp(-2 |x|), which 2^n (1 + p) gives without cancelling near 0. From
 * |x| = 10 on the result is 1. */
static inline float tanh_f32(float x)
{
    float a = magnitude_of(x), shifted, p = exp_parts(choose(a > 20.0f, -40.0f, -a - a), &shifted);
    float e = power_of_shifted(shifted), m = (1.0f - e) - p * e;
    return with_sign_of(m / (2.0f - m), x);
}

/* 1 / (1 + exp(-x)). Where exp counts as infinite, below -88.4, the result is 0 and not up to
 * 2^-127; from 18 on it is 1. */
static inline float sigmoid_f32(float x)
{
    const float b = choose(x > 86.0f, 86.0f, x);
    return 1.0f / (1.0f + exp_near_f32(-choose(b < -89.0f, -89.0f, b)));
}

/* 2^q, to 2^-23.4 of it; q in [-127, 127]. shift: EXP_SHIFT, or EXP_SHIFT - 1 for half of it and
 * q >= -126: the lowest power is 0. */
static inline float exp2_near_f32(float q, float shift)
{
    float shifted = q + shift, f = q - (shifted - shift), z = f * f;
    float p = 1.326955506e-3f * f + 9.671293199e-3f;
    p = p * z + (5.550710857e-2f * f + 2.402224690e-1f);
    p = p * z + (6.931470037e-1f * f + 1.0f);
    return p * power_of_shifted(shifted);
}

/* Below 1 an odd polynomial (to 2^-29.4 of erf), above 1 - 2^q (to 2^-25.9): q is smooth where erf
 * itself saturates. */
static inline float erf_f32(float x)
{
    float a = magnitude_of(x), z = x * x, z2 = z * z;
    float p = (-7.997853099e-4f * z + 5.187162198e-3f) + 7.806903886e-5f * z2;
    p = p * z2 + (-2.685334720e-2f * z + 1.128357872e-1f);
    p = p * z2 + (-3.761262596e-1f * z + 1.283791661e-1f);
    float near_zero = p * x + x;
    float t = choose(a > 4.0f, 4.0f, a), t2 = t * t; /* erf(4) rounds to 1 */
    float q = -1.669513877e-3f * t + 2.139781602e-2f;
    q = q * t2 + (-1.281109005e-1f * t - 9.438688755e-1f);
    q = q * t2 + (-1.612386703f * t - 3.778644139e-3f);
    float far = with_sign_of(1.0f - exp2_near_f32(q, EXP_SHIFT), x);
    return choose(a < 1.0f, near_zero, far);
}

/* Coefficients of -log2(1 - erf(t / sqrt 2)) / t and of -log2(1 - tanh u(t)) / t, u that of
 * gelu_tanh_f32; then the t where the half of 2^q is 0. Fitted to the error of gelu, 2^-26.7 and
 * 2^-23.5. */
#define GELU_ERF                                                                                   \
    {                                                                                              \
        -1.151111007e+00f, -4.591623843e-01f, -5.262704939e-02f, 7.244769484e-03f,                 \
            -2.716611780e-04f, -1.316195121e-04f, 2.808370846e-05f, -1.904039323e-06f, 10.39f      \
    }
#define GELU_TANH                                                                                  \
    {                                                                                              \
        -1.151030540e+00f, -4.599239230e-01f, -4.899727553e-02f, 3.309219843e-03f,                 \
            4.160584416e-03f, -2.614068100e-03f, 4.812172847e-04f, -3.023424506e-05f, 8.37f        \
    }

/* x - t 2^q / 2 above 0, -t 2^q / 2 below, t = |x|: nothing cancels, and an error of 2^q counts
 * for little where t or 2^q is small. */
static inline float gelu_by(const float c[9], float x)
{
    float a = magnitude_of(x), t = choose(a > c[8], c[8], a), z = t * t;
    float q = c[7] * t + c[6];
    q = q * z + (c[5] * t + c[4]);
    q = q * z + (c[3] * t + c[2]);
    q = q * z + (c[1] * t + c[0]);
    return choose(x < 0.0f, 0.0f, x) - exp2_near_f32(q * t, EXP_SHIFT - 1.0f) * t;
}

/* x / 2 (1 + erf(x / sqrt 2)) */
static inline float gelu_f32(float x)
{
    const float c[9] = GELU_ERF;
    return gelu_by(c, x);
}

/* x / 2 (1 + tanh u), u = sqrt(2 / pi) (x + 0.044715 x^3) */
static inline float gelu_tanh_f32(float x)
{
    const float c[9] = GELU_TANH;
    return gelu_by(c, x);
}

#endif
