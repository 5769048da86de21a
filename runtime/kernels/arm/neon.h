/* SPDX-License-Identifier: MIT */
/* neon.h - the instructions of AArch64 by which kernels are written, on three machines: there,
 * where a few others give what 32-bit NEON lacks, and as SIMD128 of WebAssembly.
 *
 * 32-bit NEON takes denormal floats for 0 and has no order of roundings but its own, so only
 * kernels that are held to a bound, or whose results are integers, compute floats with it. */
#ifndef NEON_H
#define NEON_H

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__arm__)
#include <arm_neon.h>

/* VFMA has no lane of a register as a factor, and older processors have not got it. */
#define vfmaq_f32 vmlaq_f32
#define vcltzq_f32(v) vcltq_f32(v, vdupq_n_f32(0))
#define vuzp1q_f32(a, b) (vuzpq_f32(a, b).val[0])
#define vuzp2q_f32(a, b) (vuzpq_f32(a, b).val[1])
#define vtrn1q_f32(a, b) (vtrnq_f32(a, b).val[0])
#define vtrn2q_f32(a, b) (vtrnq_f32(a, b).val[1])
#define vzip1q_u8(a, b) (vzipq_u8(a, b).val[0])
#define vzip2q_u8(a, b) (vzipq_u8(a, b).val[1])
#define vzip1q_u16(a, b) (vzipq_u16(a, b).val[0])
#define vzip2q_u16(a, b) (vzipq_u16(a, b).val[1])
#define vmull_high_s8(a, b) vmull_s8(vget_high_s8(a), vget_high_s8(b))
#define vmull_high_s16(a, b) vmull_s16(vget_high_s16(a), vget_high_s16(b))
#define vmlal_high_s8(sum, a, b) vmlal_s8(sum, vget_high_s8(a), vget_high_s8(b))
#define vmlal_high_s16(sum, a, b) vmlal_s16(sum, vget_high_s16(a), vget_high_s16(b))
#define vaddw_high_s16(sum, a) vaddw_s16(sum, vget_high_s16(a))
#define vqmovun_high_s16(low, a) vcombine_u8(low, vqmovun_s16(a))
#define vaddvq_u32(v) ((v)[0] + (v)[1] + (v)[2] + (v)[3])
/* b is a number */
#define vmaxnmq_f32(a, b) vbslq_f32(vcgeq_f32(a, b), a, b)

static inline int8_t vminvq_s8(int8x16_t v)
{
    int8x8_t low = vpmin_s8(vget_low_s8(v), vget_high_s8(v));
    low = vpmin_s8(low, low);
    low = vpmin_s8(low, low);
    return vget_lane_s8(vpmin_s8(low, low), 0);
}

static inline int32x4_t vpaddq_s32(int32x4_t a, int32x4_t b)
{
    return vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)),
                        vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
}

/* 2^16 stands for what is larger, -2^16 for what is less. Adding 1.5 * 2^23 rounds to even. */
static inline int32x4_t vcvtnq_s32_f32(float32x4_t v)
{
    const float32x4_t shift = vdupq_n_f32(12582912.0f);
    const float32x4_t most = vdupq_n_f32(65536.0f), some = vmaxq_f32(vminq_f32(v, most), -most);
    const float32x4_t sum = vaddq_f32(some, shift);
    return vsubq_s32(vreinterpretq_s32_f32(sum), vreinterpretq_s32_f32(shift));
}

static inline uint8x16_t vqtbl1q_u8(uint8x16_t table, uint8x16_t at)
{
    const uint8x8x2_t t = {{vget_low_u8(table), vget_high_u8(table)}};
    return vcombine_u8(vtbl2_u8(t, vget_low_u8(at)), vtbl2_u8(t, vget_high_u8(at)));
}

static inline uint8x16_t vqtbx1q_u8(uint8x16_t else_, uint8x16_t table, uint8x16_t at)
{
    const uint8x8x2_t t = {{vget_low_u8(table), vget_high_u8(table)}};
    return vcombine_u8(vtbx2_u8(vget_low_u8(else_), t, vget_low_u8(at)),
                       vtbx2_u8(vget_high_u8(else_), t, vget_high_u8(at)));
}

#elif defined(__wasm_simd128__)
#include <stdint.h>
#include <wasm_simd128.h>

/* A vector of 64 bits is the first half of one of 128. */
#define VECTORS(element, whole, half)                                                              \
    typedef element whole __attribute__((vector_size(16)));                                        \
    typedef whole half;
VECTORS(float, float32x4_t, float32x2_t)
VECTORS(int8_t, int8x16_t, int8x8_t)
VECTORS(uint8_t, uint8x16_t, uint8x8_t)
VECTORS(int16_t, int16x8_t, int16x4_t)
VECTORS(uint16_t, uint16x8_t, uint16x4_t)
VECTORS(int32_t, int32x4_t, int32x2_t)
VECTORS(uint32_t, uint32x4_t, uint32x2_t)
VECTORS(int64_t, int64x2_t, int64x1_t)
VECTORS(uint64_t, uint64x2_t, uint64x1_t)
typedef struct {
    float32x4_t val[2];
} float32x4x2_t;
typedef struct {
    int32x4_t val[2];
} int32x4x2_t;
typedef struct {
    uint8x16_t val[4];
} uint8x16x4_t;

#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define HIGH(type, v) ((type)wasm_i64x2_shuffle(v, v, 1, 1))
#define JOIN(type, low, high) ((type)wasm_i64x2_shuffle(low, high, 0, 2))

#define vld1q_f32(p) ((float32x4_t)wasm_v128_load(p))
#define vld1q_s8(p) ((int8x16_t)wasm_v128_load(p))
#define vld1q_u8(p) ((uint8x16_t)wasm_v128_load(p))
#define vld1q_s16(p) ((int16x8_t)wasm_v128_load(p))
#define vld1q_s32(p) ((int32x4_t)wasm_v128_load(p))
#define vld1q_u32(p) ((uint32x4_t)wasm_v128_load(p))
#define vld1q_u64(p) ((uint64x2_t)wasm_v128_load(p))
#define vld1_u8(p) ((uint8x8_t)wasm_v128_load64_zero(p))
#define vld1q_dup_f32(p) ((float32x4_t)wasm_v128_load32_splat(p))
#define vld1q_dup_u32(p) ((uint32x4_t)wasm_v128_load32_splat(p))
#define vld1q_lane_f32(p, v, i) ((float32x4_t)wasm_v128_load32_lane(p, v, i))
#define vld1q_lane_u32(p, v, i) ((uint32x4_t)wasm_v128_load32_lane(p, v, i))
#define vst1q_f32(p, v) wasm_v128_store(p, v)
#define vst1q_u8(p, v) wasm_v128_store(p, v)
#define vst1q_s32(p, v) wasm_v128_store(p, v)
#define vst1q_u32(p, v) wasm_v128_store(p, v)
#define vst1q_u64(p, v) wasm_v128_store(p, v)
#define vst1_u8(p, v) wasm_v128_store64_lane(p, v, 0)
#define vst1q_lane_f32(p, v, i) wasm_v128_store32_lane(p, v, i)

#define vdupq_n_f32(c) ((float32x4_t)wasm_f32x4_splat(c))
#define vdupq_n_s8(c) ((int8x16_t)wasm_i8x16_splat(c))
#define vdupq_n_u8(c) ((uint8x16_t)wasm_i8x16_splat((int8_t)(c)))
#define vdup_n_u8(c) ((uint8x8_t)wasm_i8x16_splat((int8_t)(c)))
#define vdupq_n_s16(c) ((int16x8_t)wasm_i16x8_splat(c))
#define vdupq_n_s32(c) ((int32x4_t)wasm_i32x4_splat(c))
#define vdupq_n_u32(c) ((uint32x4_t)wasm_i32x4_splat((int32_t)(c)))
#define vdupq_n_s64(c) ((int64x2_t)wasm_i64x2_splat(c))
#define vgetq_lane_u32(v, i) ((v)[i])
#define vget_lane_f32(v, i) ((v)[i])
#define vget_low_f32(v) (v)
#define vget_low_s8(v) (v)
#define vget_low_u8(v) (v)
#define vget_low_s16(v) (v)
#define vget_high_f32(v) HIGH(float32x2_t, v)
#define vcombine_f32(a, b) JOIN(float32x4_t, a, b)
#define vcombine_u8(a, b) JOIN(uint8x16_t, a, b)
#define vcombine_s16(a, b) JOIN(int16x8_t, a, b)
#define vcombine_u16(a, b) JOIN(uint16x8_t, a, b)
#define vreinterpretq_f32_u16(v) ((float32x4_t)(v))
#define vreinterpretq_s8_u8(v) ((int8x16_t)(v))
#define vreinterpretq_s16_s32(v) ((int16x8_t)(v))
#define vreinterpretq_u8_s32(v) ((uint8x16_t)(v))
#define vreinterpretq_u16_u8(v) ((uint16x8_t)(v))
#define vreinterpretq_u32_u8(v) ((uint32x4_t)(v))
#define vreinterpretq_u64_s64(v) ((uint64x2_t)(v))

#define vaddq_f32(a, b) ((a) + (b))
#define vadd_f32(a, b) ((a) + (b))
#define vmulq_f32(a, b) ((a) * (b))
#define vfmaq_f32(sum, a, b) ((sum) + (a) * (b))
#define vcgtq_f32(a, b) ((uint32x4_t)((a) > (b)))
#define vcltzq_f32(v) ((uint32x4_t)((v) < vdupq_n_f32(0)))
#define vbslq_f32(mask, a, b) ((float32x4_t)wasm_v128_bitselect(a, b, mask))
#define vbslq_u32(mask, a, b) ((uint32x4_t)wasm_v128_bitselect(a, b, mask))
/* b is a number */
#define vmaxnmq_f32(a, b) vbslq_f32((a) >= (b), a, b)
#define vcvtq_f32_s32(v) ((float32x4_t)wasm_f32x4_convert_i32x4(v))
#define vcvtnq_s32_f32(v) ((int32x4_t)wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(v)))

#define vaddq_s32(a, b) ((a) + (b))
#define vsubq_s32(a, b) ((a) - (b))
#define vaddq_u64(a, b) ((a) + (b))
#define vsubq_u8(a, b) ((a) - (b))
#define vmlaq_u32(sum, a, b) ((sum) + (a) * (b))
#define vandq_u8(a, b) ((a) & (b))
#define vandq_u32(a, b) ((a) & (b))
#define vorrq_u32(a, b) ((a) | (b))
#define veorq_u8(a, b) ((a) ^ (b))
#define veor_u8(a, b) ((a) ^ (b))
#define vshlq_n_u8(v, n) ((uint8x16_t)wasm_i8x16_shl(v, n))
#define vshlq_n_u32(v, n) ((uint32x4_t)wasm_i32x4_shl(v, n))
#define vshrq_n_u8(v, n) ((uint8x16_t)wasm_u8x16_shr(v, n))
#define vshrq_n_u32(v, n) ((uint32x4_t)wasm_u32x4_shr(v, n))
#define vsriq_n_u8(a, b, n) (((a) & ~vdupq_n_u8(0xff >> (n))) | vshrq_n_u8(b, n))
#define vcltq_u32(a, b) ((uint32x4_t)((a) < (b)))
#define vminq_s8(a, b) ((int8x16_t)wasm_i8x16_min(a, b))
#define vqaddq_s16(a, b) ((int16x8_t)wasm_i16x8_add_sat(a, b))
#define vaddvq_u32(v) ((v)[0] + (v)[1] + (v)[2] + (v)[3])
#define vpaddq_s32(a, b) (PICK(a, b, 0, 2, 4, 6) + PICK(a, b, 1, 3, 5, 7))
#define vpadalq_s16(sum, v) ((sum) + (int32x4_t)wasm_i32x4_extadd_pairwise_i16x8(v))
#define vpadalq_s32(sum, v)                                                                        \
    ((sum) + (int64x2_t)wasm_i64x2_shr(v, 32) +                                                    \
     (int64x2_t)wasm_i64x2_shr(wasm_i64x2_shl(v, 32), 32))
#define vmull_s8(a, b) ((int16x8_t)wasm_i16x8_extmul_low_i8x16(a, b))
#define vmull_high_s8(a, b) ((int16x8_t)wasm_i16x8_extmul_high_i8x16(a, b))
#define vmull_s16(a, b) ((int32x4_t)wasm_i32x4_extmul_low_i16x8(a, b))
#define vmull_high_s16(a, b) ((int32x4_t)wasm_i32x4_extmul_high_i16x8(a, b))
#define vmlal_s8(sum, a, b) ((sum) + vmull_s8(a, b))
#define vmlal_high_s8(sum, a, b) ((sum) + vmull_high_s8(a, b))
#define vmlal_s16(sum, a, b) ((sum) + vmull_s16(a, b))
#define vmlal_high_s16(sum, a, b) ((sum) + vmull_high_s16(a, b))
#define vaddw_s16(sum, v) ((sum) + (int32x4_t)wasm_i32x4_extend_low_i16x8(v))
#define vaddw_high_s16(sum, v) ((sum) + (int32x4_t)wasm_i32x4_extend_high_i16x8(v))
#define vmovn_u16(v)                                                                               \
    ((uint8x8_t)PICK((uint8x16_t)(v), (uint8x16_t)(v), 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8,   \
                     10, 12, 14))
#define vmovn_u32(v) ((uint16x4_t)PICK((uint16x8_t)(v), (uint16x8_t)(v), 0, 2, 4, 6, 0, 2, 4, 6))
#define vqmovn_s32(v) ((int16x4_t)wasm_i16x8_narrow_i32x4(v, v))
#define vqmovun_s16(v) ((uint8x8_t)wasm_u8x16_narrow_i16x8(v, v))
#define vqmovun_high_s16(low, v) vcombine_u8(low, vqmovun_s16(v))

#define vextq_f32(a, b, n) PICK(a, b, n, (n) + 1, (n) + 2, (n) + 3)
#define vuzp1q_f32(a, b) PICK(a, b, 0, 2, 4, 6)
#define vuzp2q_f32(a, b) PICK(a, b, 1, 3, 5, 7)
#define vtrn1q_f32(a, b) PICK(a, b, 0, 4, 2, 6)
#define vtrn2q_f32(a, b) PICK(a, b, 1, 5, 3, 7)
#define vzip1q_u8(a, b) PICK(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define vzip2q_u8(a, b) PICK(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define vzip1q_u16(a, b) PICK(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define vzip2q_u16(a, b) PICK(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define vqtbl1q_u8(table, at) ((uint8x16_t)wasm_i8x16_swizzle(table, at))
#define vqtbx1q_u8(else_, table, at)                                                               \
    ((uint8x16_t)wasm_v128_bitselect(vqtbl1q_u8(table, at), else_, (at) < vdupq_n_u8(16)))

static inline int8_t vminvq_s8(int8x16_t v)
{
    int8_t low = v[0];
    for (int i = 1; i < 16; i++)
        low = v[i] < low ? v[i] : low;
    return low;
}

/* Evens and odds of pairs of vectors, and again. */
static inline uint8x16x4_t vld4q_u8(const uint8_t *p)
{
    uint8x16_t v[4], half[4];
#define EVEN(a, b) PICK(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b) PICK(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
    for (int i = 0; i < 4; i++)
        v[i] = vld1q_u8(p + 16 * i);
    for (int i = 0; i < 2; i++)
        half[i] = EVEN(v[2 * i], v[2 * i + 1]), half[2 + i] = ODD(v[2 * i], v[2 * i + 1]);
    return (uint8x16x4_t){{EVEN(half[0], half[1]), EVEN(half[2], half[3]), ODD(half[0], half[1]),
                           ODD(half[2], half[3])}};
}

static inline void vst2q_f32(float *p, float32x4x2_t v)
{
    vst1q_f32(p, PICK(v.val[0], v.val[1], 0, 4, 1, 5));
    vst1q_f32(p + 4, PICK(v.val[0], v.val[1], 2, 6, 3, 7));
}
#endif

#endif
