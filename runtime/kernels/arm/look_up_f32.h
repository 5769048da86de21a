/* SPDX-License-Identifier: MIT */
/* look_up_f32.h - centroids by their indices. NEON looks up bytes, sixteen at once, so a codebook
 * of up to 32 floats stays in registers as four planes: byte b of every centroid. Interleaving what
 * the planes give puts bytes together as floats. A larger codebook is read from memory. */
#ifndef LOOK_UP_F32_H
#define LOOK_UP_F32_H

#include "kernels/arm/neon.h"
#include "kernels/kernel_sparse.h"

#define LOOK_UPS 16u

struct planes16 {
    uint8x16x4_t byte;
};

struct planes32 {
    struct planes16 low, high;
};

/* A load that takes every fourth byte makes the planes. */
static inline __attribute__((always_inline)) struct planes16 planes16_of(const float *codebook)
{
    return (struct planes16){vld4q_u8((const uint8_t *)codebook)};
}

static inline __attribute__((always_inline)) struct planes32 planes32_of(const float *codebook)
{
    return (struct planes32){planes16_of(codebook), planes16_of(codebook + 16)};
}

/* The bytes of sixteen centroids, plane by plane. */
static inline __attribute__((always_inline)) uint8x16x4_t look_up16(const struct planes16 *p,
                                                                    uint8x16_t index)
{
    return (uint8x16x4_t){{vqtbl1q_u8(p->byte.val[0], index), vqtbl1q_u8(p->byte.val[1], index),
                           vqtbl1q_u8(p->byte.val[2], index), vqtbl1q_u8(p->byte.val[3], index)}};
}

/* Indices of the other half are out of reach: TBL gives 0 for them, and TBX what is there already.
 * (A look-up in two registers wants neighbours; gcc loads those anew for each.) */
static inline __attribute__((always_inline)) uint8x16x4_t look_up32(const struct planes32 *p,
                                                                    uint8x16_t index)
{
    const uint8x16x4_t low = look_up16(&p->low, index);
    const uint8x16_t above = vsubq_u8(index, vdupq_n_u8(LOOK_UPS));
    return (uint8x16x4_t){{vqtbx1q_u8(low.val[0], p->high.byte.val[0], above),
                           vqtbx1q_u8(low.val[1], p->high.byte.val[1], above),
                           vqtbx1q_u8(low.val[2], p->high.byte.val[2], above),
                           vqtbx1q_u8(low.val[3], p->high.byte.val[3], above)}};
}

/* sum[q] += the centroids 4 q .. 4 q + 3 times x[4 q ..]. Zips of bytes, then of halves. */
static inline __attribute__((always_inline)) void add_products(float32x4_t sum[4], uint8x16x4_t w,
                                                               const float32x4_t x[4])
{
    uint16x8_t low[2] = {vreinterpretq_u16_u8(vzip1q_u8(w.val[0], w.val[1])),
                         vreinterpretq_u16_u8(vzip2q_u8(w.val[0], w.val[1]))};
    uint16x8_t high[2] = {vreinterpretq_u16_u8(vzip1q_u8(w.val[2], w.val[3])),
                          vreinterpretq_u16_u8(vzip2q_u8(w.val[2], w.val[3]))};
    sum[0] = vfmaq_f32(sum[0], vreinterpretq_f32_u16(vzip1q_u16(low[0], high[0])), x[0]);
    sum[1] = vfmaq_f32(sum[1], vreinterpretq_f32_u16(vzip2q_u16(low[0], high[0])), x[1]);
    sum[2] = vfmaq_f32(sum[2], vreinterpretq_f32_u16(vzip1q_u16(low[1], high[1])), x[2]);
    sum[3] = vfmaq_f32(sum[3], vreinterpretq_f32_u16(vzip2q_u16(low[1], high[1])), x[3]);
}

/* p[at] for four numbers of a word, `bits` each. Four loads of a lane: NEON has no gather. */
static inline __attribute__((always_inline)) float32x4_t collect(const float *p, uint64_t at,
                                                                 const uint32_t bits)
{
    const uint64_t mask = (1u << bits) - 1;
    float32x4_t v = vld1q_dup_f32(p + (at & mask));
    v = vld1q_lane_f32(p + (at >> bits & mask), v, 1);
    v = vld1q_lane_f32(p + (at >> 2 * bits & mask), v, 2);
    return vld1q_lane_f32(p + (at >> 3 * bits & mask), v, 3);
}

/* Pairs of sums, halves, the last pair: a fixed tree. */
static inline float sum_of(const float32x4_t s[4])
{
    float32x4_t all = vaddq_f32(vaddq_f32(s[0], s[1]), vaddq_f32(s[2], s[3]));
    float32x2_t pair = vadd_f32(vget_low_f32(all), vget_high_f32(all));
    return vget_lane_f32(pair, 0) + vget_lane_f32(pair, 1);
}

#endif
