/* SPDX-License-Identifier: MIT */
/* gemm_i8_neon.c - gemm_i8 (kernel_integer.h) with the base instructions of AArch64: a step is 16
 * neighbours of x by 16 of each output's weights. Products of i8 by i8 fill 16 bits; where no
 * weight is -128 two of them are added there, then neighbours to 32 bits. A register has four sums
 * of one output, which come together at the end. Two pixels share weights where 16 registers of
 * sums leave others. */
#define ROWS (UINTPTR_MAX > 0xffffffffu ? 2u : 1u)
#define VECS 1u
#include "kernels/arm/gemm_tiles.h"

#define STEP 16u

#ifdef __wasm__
/* Words, of whose products two are added to 32 bits at once. */
static inline int32x4_t add_step(int32x4_t sum, int8x16_t x, int8x16_t w, const bool pairs)
{
    (void)pairs;
    sum += (int32x4_t)wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(x),
                                           wasm_i16x8_extend_low_i8x16(w));
    return sum + (int32x4_t)wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(x),
                                                 wasm_i16x8_extend_high_i8x16(w));
}
#else
static inline int32x4_t add_step(int32x4_t sum, int8x16_t x, int8x16_t w, const bool pairs)
{
#ifdef __wasm__ /* words, of whose products pairs are added to 32 bits at once */
    const v128_t low =
        wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(x), wasm_i16x8_extend_low_i8x16(w));
    return sum + (int32x4_t)low +
           (int32x4_t)wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(x),
                                           wasm_i16x8_extend_high_i8x16(w));
#endif
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(w));
    if (pairs)
        return vpadalq_s16(sum, vmlal_high_s8(low, x, w));
    return vpadalq_s16(vpadalq_s16(sum, low), vmull_high_s8(x, w));
}
#endif

static inline __attribute__((always_inline)) void
sums_of(const struct gemm_i8_job *job, const uint8_t *const x[ROWS], const uint8_t *w,
        const int32_t *offset, const struct tile_kind kind, int32x4x2_t sum[ROWS][VECS])
{
    const uint32_t rows = kind.rows;
    const bool pairs = kind.pairs;
    int32x4_t acc[ROWS][LANES];
#pragma GCC unroll 2
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (uint32_t o = 0; o < LANES; o++)
            acc[r][o] = vdupq_n_s32(0);
    for (uint32_t s = 0; s < job->segments; s++) {
        size_t at = job->segment[s], end = at + job->steps * (size_t)STEP;
        for (; at < end; at += STEP, w += LANES * STEP) {
            int8x16_t xv[ROWS];
#pragma GCC unroll 2
            for (uint32_t r = 0; r < rows; r++)
                xv[r] = less_128(vld1q_u8(x[r] + at));
#pragma GCC unroll 8
            for (uint32_t o = 0; o < LANES; o++) {
                const int8x16_t wv = vld1q_s8((const int8_t *)w + o * STEP);
#pragma GCC unroll 2
                for (uint32_t r = 0; r < rows; r++)
                    acc[r][o] = add_step(acc[r][o], xv[r], wv, pairs);
                if (o % 2)
                    LOADS_IN_ORDER();
            }
        }
    }
#pragma GCC unroll 2
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t h = 0; h < 2; h++) {
            const int32x4_t *a = acc[r] + 4 * h;
            const int32x4_t all = vpaddq_s32(vpaddq_s32(a[0], a[1]), vpaddq_s32(a[2], a[3]));
            sum[r][0].val[h] = vaddq_s32(all, vld1q_s32(offset + 4 * h));
        }
}

/* Few pixels do not pay for a look at the weights. */
void pith_gemm_i8_neon(const struct gemm_i8_job *job)
{
    for (uint32_t first = 0; first < job->n; first += LANES) {
        const uint8_t *w = job->w + first / LANES * job->panel_bytes;
        if (job->m < 2 || has_lowest(w, job->panel_bytes))
            columns(job, first, VECS, false);
        else
            columns(job, first, VECS, true);
    }
}
