/* SPDX-License-Identifier: MIT */
/* half_bits.h - f16 and bf16 of f32, rounded to the nearest, ties to even, as devices round
 * (cvt.rn): NaN becomes 0x7fff, what is too large infinite. C and C++. */
#ifndef HALF_BITS_H
#define HALF_BITS_H

#include "core/f32_bits.h"

/* The lowest n bits are dropped; a carry goes on into the exponent, as it should. */
static inline uint32_t half_round_off(uint32_t v, uint32_t n)
{
    return (v + (1u << (n - 1u)) - 1u + (v >> n & 1u)) >> n;
}

static inline uint32_t bf16_of_f32(float f)
{
    const uint32_t bits = f32_bits(f);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : half_round_off(bits, 16u);
}

/* Below 2^-14 f16 counts in steps of 2^-24, as f32 does from 0.5 on: the sum with 0.5 is rounded to
 * such steps. */
static inline uint32_t f16_of_f32(float f)
{
    const uint32_t sign = f32_bits(f) >> 16 & 0x8000u, size = f32_bits(f) & 0x7fffffffu;
    if (size > 0x7f800000u)
        return 0x7fffu;
    if (size >= 0x47800000u) /* 65536 */
        return sign | 0x7c00u;
    if (size < 0x38800000u) /* 2^-14 */
        return sign | (f32_bits(f32_from_bits(size) + 0.5f) - 0x3f000000u);
    return sign | half_round_off(size - 0x38000000u, 13u);
}

#endif
