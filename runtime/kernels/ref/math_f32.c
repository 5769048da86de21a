/* SPDX-License-Identifier: MIT */
/* math_f32.c - exp, log, tanh, sigmoid and pow by range reduction and short polynomials.
 *
 * exp: x = n ln2 + r with |r| <= ln2/2 (Cody and Waite's two-part ln2 keeps r exact to its last
 * bits), exp(r) by a polynomial, then two exact scalings by powers of two, so that the only
 * rounding into the denormals is the last one. No branch: loops over it vectorise.
 * log: x = m 2^n with m in [sqrt(1/2), sqrt(2)), polynomial in m - 1. The polynomials of exp, log
 * and tanh are those of Moshier's Cephes library (expf, logf, tanhf).
 * pow: exp(y log x) loses |y log x| bits in float; so it is done in double, where 11 spare bits and
 * a series for atanh suffice. So are the logarithms of asinh and atanh.
 *
 * Integer and float views of one number are exchanged by bits; all arithmetic on the integer side
 * is unsigned, so that NaN takes the same path as numbers and nothing is undefined. */
#include "kernels/ref/activation_f32.h"
#include "kernels/ref/double_f32.h"
#include "kernels/ref/math_f32.h"

float pith_exp_f32(float x)
{
    return exp_f32(x);
}

float pith_log_f32(float x)
{
    return log_f32(x);
}

float pith_tanh_f32(float x)
{
    return tanh_f32(x);
}

float pith_sigmoid_f32(float x)
{
    return sigmoid_f32(x);
}

/* Digit by digit on the 24-bit significand, extended to 25 result bits so that the last one and
 * the remainder round to nearest (a tie cannot occur: a root with 25 bits squares to 49 or 50,
 * more than a float holds). */
float pith_sqrt_f32(float x)
{
    if (!(x > 0.0f) || x == f32_from_bits(0x7f800000u))
        return x < 0.0f ? f32_from_bits(0x7fc00000u) : x;
    uint32_t scale = 0;
    if (x < 1.17549435e-38f) {
        x *= 16777216.0f;
        scale = 12;
    }
    uint32_t bits = f32_bits(x), exponent = bits >> 23;
    uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    m <<= exponent & 1u ? 25 : 26; /* biased exponents are odd for even powers of two */
    uint32_t root = 0;
    for (uint32_t bit = 1u << 24; bit; bit >>= 1)
        if ((uint64_t)(root | bit) * (root | bit) <= m)
            root |= bit;
    root = (root + 1u) >> 1; /* 24 bits, or 2^24 by a carry into the exponent */
    return f32_from_bits(((((exponent + 127u) >> 1) - 1u - scale) << 23) + root);
}

/* Below this the series of asinh and atanh lose no more than 2^-48; above it their logarithms. */
#define NEAR_0 0.015625

/* asinh and atanh are odd. */
static float signed_as(float x, double y)
{
    return x < 0.0f ? -(float)y : (float)y;
}

/* One copy of the code. */
static __attribute__((noinline)) double logarithm(double x)
{
    return log_f64(x);
}

/* log(a + sqrt(a^2 + 1)), from 2^14 on log 2a. One step of Newton's makes the float root one of
 * double. */
float pith_asinh_f32(float x)
{
    float magnitude = magnitude_of(x);
    if (x == 0.0f || !(magnitude < f32_from_bits(0x7f800000u)))
        return x;
    double a = (double)magnitude, z = a * a;
    if (a < NEAR_0)
        return signed_as(x, a + a * z * (-1.0 / 6 + z * (3.0 / 40 - z * (5.0 / 112))));
    if (a >= 16384.0)
        return signed_as(x, logarithm(2.0 * a));
    double root = (double)pith_sqrt_f32((float)(z + 1.0));
    return signed_as(x, logarithm(a + 0.5 * (root + (z + 1.0) / root)));
}

/* log((1 + a) / (1 - a)) / 2 */
float pith_atanh_f32(float x)
{
    float magnitude = magnitude_of(x);
    if (x == 0.0f || x != x)
        return x;
    if (magnitude >= 1.0f)
        return magnitude > 1.0f ? f32_from_bits(0x7fc00000u)
                                : f32_from_bits(0x7f800000u | (f32_bits(x) & 0x80000000u));
    double a = (double)magnitude, z = a * a;
    if (a < NEAR_0)
        return signed_as(x, a + a * z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7))));
    return signed_as(x, 0.5 * logarithm((1.0 + a) / (1.0 - a)));
}
