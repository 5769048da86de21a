/* SPDX-License-Identifier: MIT */
/* activation_f32.h - tanh, sigmoid, erf and gelu of math_f32.h and elementary_f32.h as inline
 * code without jumps, so that loops over them become vector code.
 *
 * erf: an odd polynomial below 1, 1 - exp(-q(|x|)) above; both fitted to least largest error (0.02
 * ulp before rounding). */
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

/* m / (m + 2) of m = exp(2 |x|) - 1, which 2^n (1 + p) gives without cancelling near 0. From
 * |x| = 10 on the result is 1. */
static inline float tanh_f32(float x)
{
    float a = magnitude_of(x), shifted, p = exp_parts(choose(a > 20.0f, 40.0f, a + a), &shifted);
    const float e = power_of_two(unshifted(shifted));
    p = p * e + (e - 1.0f);
    return with_sign_of(p / (p + 2.0f), x);
}

/* 1 / (1 + exp(-x)). Where exp is infinite, below -88.72, the result is 0 and not a denormal less
 * than 2^-128; from 18 on it is 1. */
static inline float sigmoid_f32(float x)
{
    const float t = choose(-x < -86.0f, -86.0f, -x);
    return 1.0f / (1.0f + exp_wide_f32(choose(t > 89.0f, 89.0f, t)));
}

/* q is a polynomial for -log(1 - erf), which is smooth where erf itself saturates. */
static inline float erf_f32(float x)
{
    float a = magnitude_of(x), z = x * x;
    float p = 7.854008922e-05f;
    p = p * z - 8.010241949e-04f;
    p = p * z + 5.188333780e-03f;
    p = p * z - 2.685381563e-02f;
    p = p * z + 1.128358526e-01f;
    p = p * z - 3.761262584e-01f;
    float near_zero = (p * z + 1.283791670e-01f) * x + x;
    float t = choose(a > 4.0f, 4.0f, a); /* erf(4) rounds to 1 */
    float q = 1.876056448e-04f;          /* -q: from 0 down to -16 */
    q = q * t - 2.960122208e-03f;
    q = q * t + 2.188967337e-02f;
    q = q * t - 1.032182653e-01f;
    q = q * t - 6.380121468e-01f;
    q = q * t - 1.127171691e+00f;
    q = q * t - 3.205644171e-04f;
    float far = with_sign_of(1.0f - exp_near_f32(q), x);
    return choose(a < 1.0f, near_zero, far);
}

#define GELU_END 5.65685425f /* from here on erf(x / sqrt 2) rounds to 1 */

/* x / 2 (1 + erf(x / sqrt 2)). Beside the 1 an error of erf counts for itself and not as a share of
 * erf, so the form of large arguments does for all: q is a polynomial for -log(1 - erf(t / sqrt
 * 2)), fitted to the least largest error of erf, 2^-26. */
static inline float gelu_f32(float x)
{
    float a = magnitude_of(x), t = choose(a > GELU_END, GELU_END, a);
    float q = -1.965112233e-06f; /* -q */
    q = q * t + 2.729554399e-05f;
    q = q * t - 1.290542714e-04f;
    q = q * t - 9.490925004e-05f;
    q = q * t + 4.895981401e-03f;
    q = q * t - 3.638757393e-02f;
    q = q * t - 3.182988763e-01f;
    q = q * t - 7.978852987e-01f;
    return 0.5f * x * (1.0f + with_sign_of(1.0f - exp_near_f32(q * t), x));
}

/* 1/2 (1 + tanh u) is sigmoid(2u); x is bounded where x^3 would overflow and, below, where
 * infinity times 0 would arise. */
static inline float gelu_tanh_f32(float x)
{
    float b = choose(x < -20.0f, -20.0f, choose(x > 20.0f, 20.0f, x));
    float u = 1.59576912f * (b + 0.044715f * (b * b * b));
    return choose(x < -20.0f, b, x) * sigmoid_f32(u);
}

#endif
