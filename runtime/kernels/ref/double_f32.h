/* SPDX-License-Identifier: MIT */
/* double_f32.h - powers, sines and cosines of floats, computed in double: inline code without
 * jumps, so that loops over it become vectors and give the bits of one number (elementary_f32.h).
 */
#ifndef DOUBLE_F32_H
#define DOUBLE_F32_H

#include <stdbool.h>
#include "core/f64_bits.h"
#include "kernels/ref/activation_f32.h"
#include "kernels/ref/exp_log_f32.h"

/* A function that is called in a loop keeps it from becoming vectors. */
#ifdef __OPTIMIZE_SIZE__
#define IN_LOOPS static inline
#else
#define IN_LOOPS static inline __attribute__((always_inline))
#endif

#define QUIET_NAN f32_from_bits(0x7fc00000u)
#define INFINITE f32_from_bits(0x7f800000u)

IN_LOOPS double choose_f64(bool which, double x, double y)
{
    const uint64_t mask = 0u - (uint64_t)which;
    return f64_from_bits((f64_bits(x) & mask) | (f64_bits(y) & ~mask));
}

/* 1.5 * 2^52: a double below 2^51 that is added to it is rounded to an integer, which are its
 * lowest bits. */
#define TO_INTEGER 6755399441055744.0

/* ---- power ------------------------------------------------------------------------------- */

/* Natural logarithm of a positive finite double that came from floats (so never denormal), with
 * an error of a few 2^-52 relative: 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716, by its
 * series; the first term left out is s^22/23 < 2^-60 of the result. The exponent, moved to a
 * positive number, becomes a double as the lowest bits of 2^52. */
IN_LOOPS double log_f64(double x)
{
    const uint64_t bits = f64_bits(x) - 0x3fe6a09e00000000u; /* sqrt(1/2) */
    const uint64_t exponent = (bits + (UINT64_C(1024) << 52)) >> 52;
    const double n = f64_from_bits(0x4330000000000000u | exponent) - (4503599627370496.0 + 1024.0);
    const double m = f64_from_bits((bits & 0xfffffffffffffu) + 0x3fe6a09e00000000u);
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
IN_LOOPS double exp_f64(double x)
{
    const double shifted = x * 1.44269504088896340736 + TO_INTEGER, n = shifted - TO_INTEGER;
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
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
    return p * f64_from_bits((f64_bits(shifted) + 1023u) << 52);
}

/* x^y for x >= 0, else NaN (math_f32.h). Beyond the bounds of the exponential the result is
 * infinity or 0 in f32. */
IN_LOOPS float pow_f32(float x, float y)
{
    const bool edge = (x == 0.0f) | (x == INFINITE), plain = (x > 0.0f) & (x < INFINITE);
    double t = (double)y * log_f64((double)choose(plain, x, 1.0f));
    t = choose_f64(t > 90.0, 90.0, t);
    t = choose_f64(t < -106.0, -106.0, t);
    float p = (float)exp_f64(t);
    p = choose(edge, choose((x == 0.0f) == (y > 0.0f), 0.0f, INFINITE), p);
    p = choose((y != y) | !(plain | edge), QUIET_NAN, p);
    return choose((y == 0.0f) | (x == 1.0f), 1.0f, p);
}

/* C's powf (elementary_f32.h): |x|^y, of odd y with x's sign; squares and cubes as products. From
 * 2^24 on all floats are even. */
IN_LOOPS float power_f32(float x, float y)
{
    const float size = magnitude_of(y), below = choose(size < 16777216.0f, size, 0.0f);
    const int32_t whole = (int32_t)below;
    const bool is_whole = (float)whole == below;
    const bool negative = (f32_bits(x) >> 31 != 0) & (x == x);
    const float a = magnitude_of(x), p = pow_f32(a, y);
    const float turned = f32_from_bits(f32_bits(p) ^ (uint32_t)whole << 31);
    const float unreal = choose((a == 0.0f) | (a == INFINITE), p, QUIET_NAN);
    const float of_negative = choose(is_whole, turned, unreal);
    const float power = choose(y != y, choose(x == 1.0f, x, y), choose(negative, of_negative, p));
    return choose(y == 2.0f, x * x, choose(y == 3.0f, x * x * x, power));
}

/* ---- sin, cos ---------------------------------------------------------------------------- */

#define LARGE_ANGLE 1048576.0f /* 2^20: from here on, angles need more bits of pi */

/* x - n pi/2 for |x| < LARGE_ANGLE; *quadrant: n, of which the last two bits count. The first part
 * of pi/2 has 33 bits: its product with n <= 2^20 is exact. */
IN_LOOPS double reduce_angle(float x, uint64_t *quadrant)
{
    const double shifted = (double)x * 0.63661977236758134308 + TO_INTEGER;
    const double n = shifted - TO_INTEGER;
    *quadrant = f64_bits(shifted);
    return ((double)x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
}

/* Quadrants 1 and 3 take the cosine's series, 2 and 3 the sign. |r| <= pi/4 */
IN_LOOPS float sine_of(double r, uint64_t quadrant)
{
    const double z = r * r;
    double c = z * (1.0 / 479001600) - 1.0 / 3628800, s = z * (-1.0 / 39916800) + 1.0 / 362880;
    c = c * z + 1.0 / 40320;
    s = s * z - 1.0 / 5040;
    c = c * z - 1.0 / 720;
    s = s * z + 1.0 / 120;
    c = c * z + 1.0 / 24;
    s = s * z - 1.0 / 6;
    c = c * z - 0.5;
    s = s * z * r + r;
    c = c * z + 1.0;
    const uint64_t mask = 0u - (quadrant & 1u);
    const uint64_t bits = (f64_bits(c) & mask) | (f64_bits(s) & ~mask);
    return (float)f64_from_bits(bits ^ (quadrant & 2u) << 62);
}

/* sin(x + quarter_turns pi/2) for |x| < LARGE_ANGLE; -0 stays. */
IN_LOOPS float sine_f32(float x, uint64_t quarter_turns)
{
    uint64_t quadrant;
    const double r = reduce_angle(x, &quadrant);
    const float y = sine_of(r, quadrant + quarter_turns);
    return choose((x == 0.0f) & (quarter_turns == 0), x, y);
}

#endif
