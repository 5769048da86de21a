/* SPDX-License-Identifier: MIT */
/* elementary_f32.c - sin, cos, power and the rarer activations built from exp.
 *
 * sin, cos: x is reduced to r in [-pi/4, pi/4] and a quadrant in double, for |x| >= 2^20 with the
 * bits of 2/pi that matter for x's exponent (Payne and Hanek), then Taylor's series in double; the
 * one rounding to float is all that is lost.
 * Rows have no jumps, so compilers make vector code of them. */
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/ref/math_f32.h"

#define QUIET_NAN f32_from_bits(0x7fc00000u)

/* ---- sin, cos ---------------------------------------------------------------------------- */

/* 2/pi = 0.A2F9836E..., 32 bits a word: as far as the largest float needs (104 bits of exponent
 * before the point and 96 behind). 256 bits: the exponent of the largest float is 104 beyond its
 * significand. */
static const uint32_t two_over_pi[] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                       0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

/* 32 bits of 2/pi from bit `first` on; bits before the point are 0. */
static uint64_t two_over_pi_bits(int32_t first)
{
    if (first < 0)
        return first <= -32 ? 0 : two_over_pi[0] >> -first;
    uint32_t word = (uint32_t)first / 32u, shift = (uint32_t)first % 32u;
    uint64_t pair = (uint64_t)two_over_pi[word] << 32 | two_over_pi[word + 1];
    return pair << shift >> 32;
}

/* x = m 2^e with e >= -3 (|x| >= 2^20). Bits of 2/pi whose product with x is a multiple of 4 are
 * left out: those before bit e - 2. The next 96 leave 96 - 24 - 2 = 70 good bits. m has 24 bits,
 * so 70 of 96 remain, and a double's 53 are what is used. */
static double reduce_large(float x, uint32_t *quadrant)
{
    uint32_t bits = f32_bits(x) & 0x7fffffffu;
    uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    int32_t first = (int32_t)(bits >> 23) - 150 - 2;
    /* The sum modulo 2^96 in units of 2^-94: its top two bits are the quadrant. */
    uint64_t low = m * two_over_pi_bits(first + 64);
    uint64_t middle = m * two_over_pi_bits(first + 32) + (low >> 32);
    uint64_t high = m * two_over_pi_bits(first) + (middle >> 32);
    uint64_t top = high << 32 | (middle & 0xffffffffu);
    top += UINT64_C(1) << 61; /* round to the nearest quadrant */
    *quadrant = (uint32_t)(top >> 62);
    int64_t rest = (int64_t)(top << 2 >> 2) - (int64_t)(UINT64_C(1) << 61);
    double r = (double)rest * (1.57079632679489661923 / 4611686018427387904.0);
    if (f32_bits(x) >> 31) {
        *quadrant = 0u - *quadrant;
        r = -r;
    }
    return r;
}

/* 6755399441055744 is 1.5 * 2^52: adding it rounds to an integer. */
static double reduce(float x, uint32_t *quadrant)
{
    if (magnitude_of(x) >= 1048576.0f)
        return reduce_large(x, quadrant);
    const double round = 6755399441055744.0; /* 1.5 * 2^52 */
    double n = ((double)x * 0.63661977236758134308 + round) - round;
    *quadrant = (uint32_t)(int32_t)n;
    /* The first part of pi/2 has 33 bits: its product with n <= 2^20 is exact. */
    return ((double)x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
}

/* Quadrants 1 and 3 take the cosine's series, 2 and 3 the sign. */
static float sine(float x, uint32_t quarter_turns)
{
    if (!(magnitude_of(x) < f32_from_bits(0x7f800000u)))
        return QUIET_NAN;
    uint32_t quadrant;
    double r = reduce(x, &quadrant), z = r * r, p;
    quadrant += quarter_turns;
    if (quadrant & 1u) {
        p = z * (1.0 / 479001600) - 1.0 / 3628800;
        p = p * z + 1.0 / 40320;
        p = p * z - 1.0 / 720;
        p = p * z + 1.0 / 24;
        p = p * z - 0.5;
        p = p * z + 1.0;
    } else {
        p = z * (-1.0 / 39916800) + 1.0 / 362880;
        p = p * z - 1.0 / 5040;
        p = p * z + 1.0 / 120;
        p = p * z - 1.0 / 6;
        p = p * z * r + r;
    }
    return (float)(quadrant & 2u ? -p : p);
}

float pith_sin_f32(float x)
{
    return x == 0.0f ? x : sine(x, 0);
}

float pith_cos_f32(float x)
{
    return sine(x, 1);
}

/* Cody and Waite: above tan(3 pi / 8) by -1 / x, above tan(pi / 8) by (x - 1) / (x + 1), what is
 * left by the series, whose terms beyond x^19 are below 2^-29 of the sum. */
float pith_atan_f32(float x)
{
    double a = (double)magnitude_of(x), base = 0;
    if (a > 2.414213562373095) {
        base = 1.5707963267948966;
        a = -1.0 / a;
    } else if (a > 0.4142135623730951) {
        base = 0.7853981633974483;
        a = (a - 1.0) / (a + 1.0);
    }
    double z = a * a, p = 1.0 / 19;
    for (int n = 17; n > 0; n -= 2)
        p = 1.0 / n - p * z;
    float y = (float)(base + p * a);
    return x < 0.0f ? -y : x == 0.0f ? x : y;
}

/* exp(y log x) in double, after the cases that C defines apart. */
/* ---- power ------------------------------------------------------------------------------- */

/* 0: not whole, 1: odd, 2: even. From 2^24 on all floats are even. */
static uint32_t parity_of(float y)
{
    float a = magnitude_of(y);
    if (a >= 16777216.0f)
        return 2;
    uint32_t whole = (uint32_t)a;
    return (float)whole != a ? 0 : whole & 1u ? 1 : 2;
}

float pith_power_f32(float x, float y)
{
    if (y == 2.0f)
        return x * x;
    if (y == 3.0f)
        return x * x * x;
    if (y != y)
        return x == 1.0f ? x : y;
    uint32_t parity = f32_bits(x) >> 31 && x == x ? parity_of(y) : 2;
    if (parity == 0 && x != 0.0f && magnitude_of(x) != f32_from_bits(0x7f800000u))
        return QUIET_NAN;
    float p = pith_pow_f32(magnitude_of(x), y);
    return parity == 1 ? -p : p;
}

/* ---- rows -------------------------------------------------------------------------------- */

void pith_sqrt_row_f32(const float *x, float *y, size_t n)
{
    EACH(sqrt_f32(x[i]));
}

void pith_softplus_row_f32(const float *x, float *y, size_t n)
{
    EACH(softplus_f32(x[i]));
}

void pith_elu_row_f32(float above, float below, float width, const float *x, float *y, size_t n)
{
    elu_rows(above, below, width, x, y, n);
}
