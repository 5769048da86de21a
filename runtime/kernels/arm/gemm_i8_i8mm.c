/* SPDX-License-Identifier: MIT */
/* gemm_i8_i8mm.c - gemm_i8 (kernel_integer.h) with SMMLA, which multiplies two rows of eight i8 by
 * two others: a register has the sums of two pixels and two outputs, whose weights lie side by side
 * in a panel. x becomes x - 128 in registers, as in gemm_i8_dotprod.c: of 16 bytes of a pixel the
 * first eight join those of the next pixel, then the others. */
#define ROWS 4u
#define VECS 2u
#include "kernels/arm/gemm_tiles.h"

#define STEP 8u
#define PAIRS (ROWS / 2)

/* Eight bytes of each of two pixels: the first of 16, or the last. */
static inline int8x16_t beside(int8x16_t a, int8x16_t b, const bool last)
{
    const int64x2_t p = vreinterpretq_s64_s8(a), q = vreinterpretq_s64_s8(b);
    return vreinterpretq_s8_s64(last ? vzip2q_s64(p, q) : vzip1q_s64(p, q));
}

static inline int32x4_t sums_beside(int32x4_t a, int32x4_t b, const bool last)
{
    const int64x2_t p = vreinterpretq_s64_s32(a), q = vreinterpretq_s64_s32(b);
    return vreinterpretq_s32_s64(last ? vzip2q_s64(p, q) : vzip1q_s64(p, q));
}

/* Two numbers, for two pixels. */
static inline int32x4_t twice(const int32_t *p)
{
    const int32x2_t two = vld1_s32(p);
    return vcombine_s32(two, two);
}

/* One step for all pixels and panels. */
static inline __attribute__((always_inline)) void
add_step(int32x4_t acc[PAIRS][VECS][4], const int8x16_t x[PAIRS], const uint8_t *w,
         size_t panel_bytes, const uint32_t pairs, const uint32_t vecs)
{
#pragma GCC unroll 2
    for (uint32_t v = 0; v < vecs; v++) {
        int8x16_t wv[4];
#pragma GCC unroll 4
        for (uint32_t o = 0; o < 4; o++)
            wv[o] = vld1q_s8((const int8_t *)w + v * panel_bytes + 16 * o);
#pragma GCC unroll 2
        for (uint32_t p = 0; p < pairs; p++)
#pragma GCC unroll 4
            for (uint32_t o = 0; o < 4; o++)
                acc[p][v][o] = vmmlaq_s32(acc[p][v][o], x[p], wv[o]);
        LOADS_IN_ORDER();
    }
}

static inline __attribute__((always_inline)) void
sums_of(const struct gemm_i8_job *job, const uint8_t *const x[ROWS], const uint8_t *w,
        const int32_t *offset, const struct tile_kind kind, int32x4x2_t sum[ROWS][VECS])
{
    const uint32_t rows = kind.rows, vecs = kind.vecs;
    const size_t panel_bytes = job->panel_bytes;
    const uint32_t n = (rows + 1) / 2, last = rows - 1; /* a pixel alone stands beside itself */
    int32x4_t acc[PAIRS][VECS][4];
    int8x16_t xv[2][PAIRS];
#pragma GCC unroll 2
    for (uint32_t p = 0; p < n; p++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vecs; v++)
#pragma GCC unroll 4
            for (uint32_t o = 0; o < 4; o++)
                acc[p][v][o] = twice(offset + v * LANES + 2 * o);
    for (uint32_t s = 0; s < job->segments; s++) {
        size_t at = job->segment[s];
        const size_t end = at + job->steps * (size_t)STEP;
        for (; end - at >= 2 * STEP; at += 2 * STEP, w += 2 * LANES * STEP) {
#pragma GCC unroll 2
            for (uint32_t p = 0; p < n; p++) {
                const int8x16_t a = less_128(vld1q_u8(x[2 * p] + at)),
                                b = less_128(vld1q_u8(x[2 * p < last ? 2 * p + 1 : last] + at));
                xv[0][p] = beside(a, b, false);
                xv[1][p] = beside(a, b, true);
            }
            add_step(acc, xv[0], w, panel_bytes, n, vecs);
            add_step(acc, xv[1], w + LANES * STEP, panel_bytes, n, vecs);
        }
        for (; at < end; at += STEP, w += LANES * STEP) {
#pragma GCC unroll 2
            for (uint32_t p = 0; p < n; p++)
                xv[0][p] = less_128(vcombine_u8(vld1_u8(x[2 * p] + at),
                                                vld1_u8(x[2 * p < last ? 2 * p + 1 : last] + at)));
            add_step(acc, xv[0], w, panel_bytes, n, vecs);
        }
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vecs; v++)
#pragma GCC unroll 2
            for (uint32_t h = 0; h < 2; h++) {
                const int32x4_t *a = acc[r / 2][v] + 2 * h;
                sum[r][v].val[h] = sums_beside(a[0], a[1], r % 2);
            }
}

void pith_gemm_i8_i8mm(const struct gemm_i8_job *job)
{
    uint32_t first = 0;
    for (; first + LANES < job->n; first += VECS * LANES)
        columns(job, first, VECS, false);
    if (first < job->n)
        columns(job, first, 1, false);
}
