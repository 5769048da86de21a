/* SPDX-License-Identifier: MIT */
/* elementary_f32.c - sin, cos, power and the rarer activations built from exp.
 *
 * sin, cos: x is reduced to r in [-pi/4, pi/4] and a quadrant in double, for |x| >= 2^20 with the
 * bits of 2/pi that matter for x's exponent (Payne and Hanek), then Taylor's series in double; the
 * one rounding to float is all that is lost.
 * Rows have no jumps, so compilers make vector code of them. */
#include "kernels/ref/double_f32.h"
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/ref/math_f32.h"

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

static float sine(float x, uint32_t quarter_turns)
{
    if (magnitude_of(x) < LARGE_ANGLE)
        return sine_f32(x, quarter_turns);
    if (!(magnitude_of(x) < INFINITE))
        return QUIET_NAN;
    uint32_t quadrant;
    const double r = reduce_large(x, &quadrant);
    return sine_of(r, quadrant + quarter_turns);
}

float pith_sin_f32(float x)
{
    return sine(x, 0);
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

float pith_power_f32(float x, float y)
{
    if (y == 2.0f)
        return x * x;
    return power_f32(x, y);
}

float pith_pow_f32(float x, float y)
{
    if (x < 0.0f && y != 0.0f)
        return QUIET_NAN;
    return pith_power_f32(x == 0.0f ? 0.0f : x, y);
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
