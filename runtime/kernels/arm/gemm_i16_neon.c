/* SPDX-License-Identifier: MIT */
/* gemm_i16_neon.c - gemm_i16 (kernel_integer.h), with sums of 32 bits and of 64. A step is two
 * neighbours of x and, of each output, two weights: products of both stand side by side in 32 bits,
 * which they fit. Pairs are added at the end, modulo 2^32, or each as it comes, to 64 bits. */
#include <string.h>
#include "kernels/arm/neon.h"
#include "kernels/kernel_integer.h"

#define LANES WORDS_NR
#define ROWS 4u
#define QUARTERS 4u /* of a panel: two outputs each */
#define STEP_BYTES 4u

/* Of one row of x; either is used. */
struct sums {
    int32x4_t two[QUARTERS];  /* outputs' even and odd neighbours */
    int64x2_t each[QUARTERS]; /* outputs */
};

/* is_long is a constant in each call. Products of i16 lie within 2^30, so that 32 bits hold each;
 * the first form adds them modulo 2^32, as its sums are. */
static inline __attribute__((always_inline)) void add_step(struct sums *s, int16x8_t x,
                                                           const int16_t *w, const bool is_long)
{
    const int16x8_t a = vld1q_s16(w), b = vld1q_s16(w + 8);
    if (is_long) {
        s->each[0] = vpadalq_s32(s->each[0], vmull_s16(vget_low_s16(a), vget_low_s16(x)));
        s->each[1] = vpadalq_s32(s->each[1], vmull_high_s16(a, x));
        s->each[2] = vpadalq_s32(s->each[2], vmull_s16(vget_low_s16(b), vget_low_s16(x)));
        s->each[3] = vpadalq_s32(s->each[3], vmull_high_s16(b, x));
        return;
    }
    s->two[0] = vmlal_s16(s->two[0], vget_low_s16(a), vget_low_s16(x));
    s->two[1] = vmlal_high_s16(s->two[1], a, x);
    s->two[2] = vmlal_s16(s->two[2], vget_low_s16(b), vget_low_s16(x));
    s->two[3] = vmlal_high_s16(s->two[3], b, x);
}

/* The offsets added, outputs from `first` on. */
static void store_long(const struct gemm_i8_job *job, const struct sums *s, uint32_t first,
                       uint8_t *y)
{
    uint64_t sum[LANES], offset[LANES];
    const uint32_t n = job->n - first < LANES ? job->n - first : LANES;
    memcpy(offset, (const uint8_t *)job->to.offset + first * sizeof *offset, sizeof offset);
    for (uint32_t q = 0; q < QUARTERS; q++)
        vst1q_u64(sum + 2 * q,
                  vaddq_u64(vreinterpretq_u64_s64(s->each[q]), vld1q_u64(offset + 2 * q)));
    memcpy(y + first * sizeof *sum, sum, n * sizeof *sum);
}

/* Even and odd neighbours come together here, once for all steps. */
static void store(const struct gemm_i8_job *job, const struct sums *s, uint32_t first, uint8_t *y)
{
    int32_t sum[LANES];
    const uint32_t n = job->n - first < LANES ? job->n - first : LANES;
    const int32_t *offset = job->to.offset + first;
    vst1q_s32(sum, vaddq_s32(vpaddq_s32(s->two[0], s->two[1]), vld1q_s32(offset)));
    vst1q_s32(sum + 4, vaddq_s32(vpaddq_s32(s->two[2], s->two[3]), vld1q_s32(offset + 4)));
    memcpy(y + first * sizeof *sum, sum, n * sizeof *sum);
}

/* Rows share each load of weights. */
static inline __attribute__((always_inline)) void tile(const struct gemm_i8_job *job, uint32_t i,
                                                       uint32_t first, const uint32_t rows,
                                                       const bool is_long)
{
    struct sums s[ROWS];
    const uint8_t *w = job->w + first / LANES * job->panel_bytes;
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (uint32_t q = 0; q < QUARTERS; q++) {
            s[r].two[q] = vdupq_n_s32(0);
            s[r].each[q] = vdupq_n_s64(0);
        }
    for (uint32_t g = 0; g < job->segments; g++) {
        size_t at = job->segment[g], end = at + job->steps * (size_t)STEP_BYTES;
        for (; at < end; at += STEP_BYTES, w += LANES * STEP_BYTES)
#pragma GCC unroll 4
            for (uint32_t r = 0; r < rows; r++) {
                const int32x4_t pair = vdupq_n_s32((int32_t)load_le32(job->x[i + r] + at));
                add_step(&s[r], vreinterpretq_s16_s32(pair), (const int16_t *)(const void *)w,
                         is_long);
            }
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
        (is_long ? store_long : store)(job, &s[r], first, job->y + (i + r) * job->y_step);
}

/* Rows behind the last whole four one by one. */
static inline __attribute__((always_inline)) void product(const struct gemm_i8_job *job,
                                                          const bool is_long)
{
    for (uint32_t first = 0; first < job->n; first += LANES) {
        uint32_t i = 0;
        for (; i + ROWS <= job->m; i += ROWS)
            tile(job, i, first, ROWS, is_long);
        for (; i < job->m; i++)
            tile(job, i, first, 1, is_long);
    }
}

void pith_gemm_i16_neon(const struct gemm_i8_job *job)
{
    product(job, false);
}

void pith_gemm_i16_long_neon(const struct gemm_i8_job *job)
{
    product(job, true);
}
