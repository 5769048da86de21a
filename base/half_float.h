/* SPDX-License-Identifier: MIT */
/* half_float.h - IEEE 754 binary16 in integers, the same on every machine. */
#ifndef PITH_HALF_FLOAT_H
#define PITH_HALF_FLOAT_H

#include "core/bytes.h"

#define HALF_INFINITY 0x7c00u /* bits; the largest finite value, 65504, is one less */

/* To nearest, ties to even; too large values become infinite, NaN stays NaN. */
static inline uint16_t half_from_f32(float f)
{
    uint32_t bits = f32_bits(f), sign = bits >> 16 & 0x8000u, mag = bits & 0x7fffffffu;
    if (mag > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (mag >= 0x47800000u) /* 2^16 and above */
        return (uint16_t)(sign | HALF_INFINITY);
    /* below 2^-14 the result is a multiple of 2^-24, else the mantissa loses 13 bits */
    uint32_t exponent = mag >> 23, drop = exponent >= 113 ? 13 : 126 - exponent;
    if (drop > 24) /* below 2^-25 */
        return (uint16_t)sign;
    uint32_t m = exponent >= 113 ? mag - (112u << 23) : (mag & 0x7fffffu) | 0x800000u;
    uint32_t half = m >> drop, rest = m & ((1u << drop) - 1), tie = 1u << (drop - 1);
    half += rest > tie || (rest == tie && (half & 1u));
    return (uint16_t)(sign | half);
}

static inline float half_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu, m = h & 0x3ffu;
    if (exponent == 0) {
        float v = (float)m * 0x1p-24f; /* exact */
        return sign ? -v : v;
    }
    if (exponent == 31)
        return f32_from_bits(sign | 0x7f800000u | m << 13);
    return f32_from_bits(sign | (exponent + 112u) << 23 | m << 13);
}

#endif
