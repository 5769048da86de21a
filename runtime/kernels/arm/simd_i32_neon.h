/* SPDX-License-Identifier: MIT */
/* simd_i32_neon.h - what the integer kernels of AArch64 share: how bytes of x are read, and how
 * sums become values. */
#ifndef SIMD_I32_NEON_H
#define SIMD_I32_NEON_H

#include <string.h>
#include "kernels/arm/neon.h"
#include "kernels/kernel_integer.h"

/* Compilers that move loads ahead of this would keep sums in memory. */
#define LOADS_IN_ORDER() __asm__ volatile("" ::: "memory")

/* x - 128: the sign bit turned. Products are of i8 by i8. */
static inline int8x16_t less_128(uint8x16_t x)
{
    return vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(0x80)));
}

/* Whether a weight is -128. Two products by others fit 16 bits together: 2 * 128 * 127. */
static inline bool has_lowest(const uint8_t *w, size_t bytes)
{
    int8x16_t low = vdupq_n_s8(0);
#pragma GCC unroll 4
    for (size_t i = 0; i < bytes; i += 16)
        low = vminq_s8(low, vld1q_s8((const int8_t *)w + i));
    return vminvq_s8(low) == INT8_MIN;
}

/* Sums of 8 outputs. */
static inline int32x4x2_t load_sums(const int32_t *p)
{
    return (int32x4x2_t){{vld1q_s32(p), vld1q_s32(p + 4)}};
}

/* Whether n factors, a multiple of 4, are: then no value is NaN. */
static inline bool are_finite(const float *factor, uint32_t n)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, factor + i, sizeof bits);
        bits &= 0x7fffffff;
        largest = bits > largest ? bits : largest;
    }
    return largest < 0x7f800000;
}

/* What is outside of 16 bits saturates. NaN, which only factors that are not finite make, becomes
 * the lowest number of the type: the maximum by maxnm gives the number where the other operand is
 * NaN. */
static inline int16x4_t i16_scaled(int32x4_t sum, const float *factor, float low, const bool finite)
{
    float32x4_t v = vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(factor));
    return vqmovn_s32(vcvtnq_s32_f32(finite ? v : vmaxnmq_f32(v, vdupq_n_f32(low))));
}

/* The same of outputs `at` .. at + 7 of `to`, with the zero point, which is 0 or more: that each
 * step saturates is the same as clamping once (docs/arithmetic.md). */
static inline int16x8_t words_of(int32x4x2_t sum, const struct requantize *to, size_t at,
                                 const bool finite)
{
    const int32_t zero = unsigned_zero(to);
    const int16x8_t words =
        vcombine_s16(i16_scaled(sum.val[0], to->factor + at, (float)-zero, finite),
                     i16_scaled(sum.val[1], to->factor + at + 4, (float)-zero, finite));
    return vqaddq_s16(words, vdupq_n_s16((int16_t)zero));
}

/* The values of 8 outputs, and of 16. */
static inline uint8x8_t values_of(int32x4x2_t sum, const struct requantize *to, size_t at,
                                  const bool finite)
{
    return veor_u8(vqmovun_s16(words_of(sum, to, at, finite)), vdup_n_u8(sign_flip(to)));
}

static inline uint8x16_t values16_of(int32x4x2_t low, int32x4x2_t high, const struct requantize *to,
                                     size_t at, const bool finite)
{
    const uint8x8_t first = vqmovun_s16(words_of(low, to, at, finite));
    const uint8x16_t all = vqmovun_high_s16(first, words_of(high, to, at + 8, finite));
    return veorq_u8(all, vdupq_n_u8(sign_flip(to)));
}

/* n <= 8 of them. No byte behind the row is written. */
static inline void store_some(uint8_t *y, uint8x8_t bytes, uint32_t n)
{
    uint8_t value[8];
    if (n == 8) {
        vst1_u8(y, bytes);
        return;
    }
    vst1_u8(value, bytes);
    memcpy(y, value, n);
}

#endif
