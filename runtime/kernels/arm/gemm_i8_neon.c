/* SPDX-License-Identifier: MIT */
/* gemm_i8_neon.c - gemm_i8 and depthwise_i8 (kernel_integer.h) with the base instructions of
 * AArch64: x and w as i16, whose products are added to 32 bits; nothing saturates. Tiles of ROWS
 * pixels by VECS panels of 8 outputs stay in registers. */
#include "kernels/arm/simd_i32_neon.h"

/* Eight outputs a panel; four pixels by two panels are 16 registers of sums of 32. */
#define LANES 8u
#define VECS 2u
#define ROWS 4u

/* n outputs of a panel, from output `at` of `to` on. Sums are stored as they are without
 * requantization. */
static void store(uint8_t *y, int32x4x2_t s, uint32_t n, const struct requantize *to, uint32_t at)
{
    int32_t sum[LANES];
    if (to->factor) {
        store_some(y, values_of(s, to, at), n);
        return;
    }
    vst1q_s32(sum, s.val[0]);
    vst1q_s32(sum + 4, s.val[1]);
    memcpy(y, sum, n * sizeof *sum);
}

/* vmlal: 16 by 16 bits added to 32; |x w| <= 2^15, so no sum of K <= 2^16 wraps. */
static inline int32x4x2_t add_products(int32x4x2_t s, int16x8_t w, int16x8_t x)
{
    return (int32x4x2_t){
        {vmlal_s16(s.val[0], vget_low_s16(w), vget_low_s16(x)), vmlal_high_s16(s.val[1], w, x)}};
}

/* x is repeated by a load, which costs no more than one without. */
static inline __attribute__((always_inline)) void tile(const struct gemm_i8_job *job, uint32_t i,
                                                       uint32_t first, const uint32_t rows,
                                                       const uint32_t vecs)
{
    int32x4x2_t acc[ROWS][VECS];
    const uint8_t *w = job->w + first / LANES * job->panel_bytes;
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vecs; v++)
            acc[r][v] = load_sums(job->to.offset + first + v * LANES);
    for (uint32_t s = 0; s < job->segments; s++) {
        size_t at = job->segment[s], end = at + job->steps * sizeof(int16_t);
        for (; at < end; at += sizeof(int16_t), w += LANES * sizeof(int16_t)) {
            int16x8_t wv[VECS];
#pragma GCC unroll 2
            for (uint32_t v = 0; v < vecs; v++)
                wv[v] = vld1q_s16((const int16_t *)(const void *)(w + v * job->panel_bytes));
#pragma GCC unroll 4
            for (uint32_t r = 0; r < rows; r++) {
                int16x8_t x = vld1q_dup_s16((const int16_t *)(const void *)(job->x[i + r] + at));
#pragma GCC unroll 2
                for (uint32_t v = 0; v < vecs; v++)
                    acc[r][v] = add_products(acc[r][v], wv[v], x);
            }
        }
    }
    size_t bytes = job->to.factor ? 1 : sizeof(int32_t);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vecs; v++) {
            uint32_t at = first + v * LANES, left = job->n - at;
            store(job->y + (i + r) * job->y_step + at * bytes, acc[r][v],
                  left < LANES ? left : LANES, &job->to, at);
        }
}

/* Rows that are left over run alone. */
static inline __attribute__((always_inline)) void columns(const struct gemm_i8_job *job,
                                                          uint32_t first, const uint32_t vecs)
{
    uint32_t i = 0;
    for (; i + ROWS <= job->m; i += ROWS)
        tile(job, i, first, ROWS, vecs);
    for (; i < job->m; i++)
        tile(job, i, first, 1, vecs);
}

void pith_gemm_i8_neon(const struct gemm_i8_job *job)
{
    uint32_t first = 0;
    for (; first + LANES < job->n; first += VECS * LANES)
        columns(job, first, VECS);
    if (first < job->n)
        columns(job, first, 1);
}

/* One pixel at a time: depthwise layers of these machines wait for memory. */
void pith_depthwise_i8_neon(const struct depthwise_i8_job *job)
{
    uint32_t n = job->channels < LANES ? job->channels : LANES;
    for (uint32_t b = 0; b < depthwise_blocks(LANES, job->channels); b++) {
        uint32_t c = depthwise_begin(LANES, job->channels, b), at = b * LANES;
        const int16_t *block = (const int16_t *)(const void *)job->w + (size_t)at * job->groups;
        for (uint32_t i = 0; i < job->m; i++) {
            int32x4x2_t s = load_sums(job->to.offset + at);
            for (uint32_t t = 0; t < job->groups; t++) {
                const uint8_t *x = job->x + i * job->x_step + job->tap[t] + c;
                uint8_t some[LANES] = {0};
                if (n < LANES)
                    memcpy(some, x, n);
                uint16x8_t wide = vmovl_u8(vld1_u8(n < LANES ? some : x));
                s = add_products(s, vld1q_s16(block + (size_t)t * LANES),
                                 vreinterpretq_s16_u16(wide));
            }
            store(job->y + i * job->y_step + c, s, n, &job->to, at);
        }
    }
}
