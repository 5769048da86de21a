/* SPDX-License-Identifier: MIT */
/* simd_i32_neon.h - what the integer kernels of AArch64 share: how sums become values. */
#ifndef SIMD_I32_NEON_H
#define SIMD_I32_NEON_H

#include <arm_neon.h>
#include <string.h>
#include "kernels/kernel_integer.h"

/* Sums of 8 outputs. */
static inline int32x4x2_t load_sums(const int32_t *p)
{
    return (int32x4x2_t){{vld1q_s32(p), vld1q_s32(p + 4)}};
}

/* In range of the type, as integers around its zero point; NaN is the lowest. The maximum by
 * maxnm gives the number where the other operand is NaN. */
static inline int16x4_t i32_scaled(int32x4_t sum, const float *factor, int32_t zero)
{
    float32x4_t v = vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(factor));
    v = vmaxnmq_f32(v, vdupq_n_f32((float)-zero));
    v = vminnmq_f32(v, vdupq_n_f32((float)(255 - zero)));
    return vmovn_s32(vaddq_s32(vcvtnq_s32_f32(v), vdupq_n_s32(zero)));
}

/* The values of outputs `at` .. at + 7 of `to`. Zero point in 32 bits, where it cannot saturate;
 * the narrowing keeps the low byte, for the value is in range. */
static inline uint8x8_t values_of(int32x4x2_t sum, const struct requantize *to, size_t at)
{
    int32_t zero = unsigned_zero(to);
    int16x8_t words = vcombine_s16(i32_scaled(sum.val[0], to->factor + at, zero),
                                   i32_scaled(sum.val[1], to->factor + at + 4, zero));
    return veor_u8(vmovn_u16(vreinterpretq_u16_s16(words)), vdup_n_u8(sign_flip(to)));
}

/* n <= 8 of them No byte behind the row is written. */
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
