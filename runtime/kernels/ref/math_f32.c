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
#include "kernels/ref/math_f32.h"
#include "core/f64_bits.h"

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

/* Natural logarithm of a positive finite double that came from floats (so never denormal), with
 * an error of a few 2^-52 relative: 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716, by its
 * series; the first term left out is s^22/23 < 2^-60 of the result. */
static double log_f64(double x)
{
    uint64_t bits = f64_bits(x);
    bits -= 0x3fe6a09e00000000u; /* sqrt(1/2) */
    double n = (double)((int64_t)bits >> 52);
    double m = f64_from_bits((bits & 0xfffffffffffffu) + 0x3fe6a09e00000000u);
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = (p * z + 1.0 / 3) * z;
    return 2.0 * (s + s * p) + n * 0.69314718055994530942;
}

/* exp for |x| <= 110: Taylor's series of r, |r| <= 0.347; r^13/13! < 2^-52. */
static double exp_f64(double x)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52 */
    double n = (x * 1.44269504088896340736 + round) - round;
    double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = r * (1.0 / 12) + 1.0;
    p = p * (r * (1.0 / 11)) + 1.0;
    p = p * (r * (1.0 / 10)) + 1.0;
    p = p * (r * (1.0 / 9)) + 1.0;
    p = p * (r * (1.0 / 8)) + 1.0;
    p = p * (r * (1.0 / 7)) + 1.0;
    p = p * (r * (1.0 / 6)) + 1.0;
    p = p * (r * (1.0 / 5)) + 1.0;
    p = p * (r * (1.0 / 4)) + 1.0;
    p = p * (r * (1.0 / 3)) + 1.0;
    p = p * (r * (1.0 / 2)) + 1.0;
    p = p * r + 1.0;
    return p * f64_from_bits((uint64_t)((int64_t)n + 1023) << 52);
}

/* Cases first: 0, 1, infinity, NaN; what is left is positive and finite. */
float pith_pow_f32(float x, float y)
{
    if (y == 0.0f || x == 1.0f)
        return 1.0f;
    if (!(x >= 0.0f) || y != y)
        return f32_from_bits(0x7fc00000u);
    float inf = f32_from_bits(0x7f800000u);
    if (x == 0.0f || x == inf)
        return (x == 0.0f) == (y > 0.0f) ? 0.0f : inf;
    double t = (double)y * log_f64((double)x);
    /* Beyond these the result is infinity or 0 in f32, and n of exp_f64 stays in range. */
    if (t > 89.0)
        return inf;
    if (t < -105.0)
        return 0.0f;
    return (float)exp_f64(t);
}

/* Below this the series of asinh and atanh lose no more than 2^-48; above it their logarithms. */
#define NEAR_0 0.015625

/* asinh and atanh are odd. */
static float signed_as(float x, double y)
{
    return x < 0.0f ? -(float)y : (float)y;
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
        return signed_as(x, log_f64(2.0 * a));
    double root = (double)pith_sqrt_f32((float)(z + 1.0));
    return signed_as(x, log_f64(a + 0.5 * (root + (z + 1.0) / root)));
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
    return signed_as(x, 0.5 * log_f64((1.0 + a) / (1.0 - a)));
}
