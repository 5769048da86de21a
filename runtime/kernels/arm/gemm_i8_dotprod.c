/* SPDX-License-Identifier: MIT */
/* gemm_i8_dotprod.c - gemm_i8 (kernel_integer.h) with SDOT, which adds four products of i8 to 32
 * bits. It has no form for u8 by i8, so x becomes x - 128 in registers. A load of 16 bytes of x
 * serves four steps, each by a lane of it. */
#define ROWS 4u
#define VECS 2u
#include "kernels/arm/gemm_tiles.h"

#define STEP 4u

/* The lane is a number of the instruction. */
static inline int32x4_t dot_lane(int32x4_t sum, int8x16_t w, int8x16_t x, const uint32_t lane)
{
    switch (lane) {
    case 0:
        return vdotq_laneq_s32(sum, w, x, 0);
    case 1:
        return vdotq_laneq_s32(sum, w, x, 1);
    case 2:
        return vdotq_laneq_s32(sum, w, x, 2);
    default:
        return vdotq_laneq_s32(sum, w, x, 3);
    }
}

/* One step, lane `lane` of x, for all pixels and panels. */
static inline __attribute__((always_inline)) void
add_step(int32x4x2_t sum[ROWS][VECS], const int8x16_t x[ROWS], const uint8_t *w, size_t panel_bytes,
         const struct tile_kind kind, const uint32_t lane)
{
    const uint32_t rows = kind.rows, vecs = kind.vecs;
    int8x16_t wv[VECS][2];
#pragma GCC unroll 2
    for (uint32_t v = 0; v < vecs; v++) {
        wv[v][0] = vld1q_s8((const int8_t *)w + v * panel_bytes);
        wv[v][1] = vld1q_s8((const int8_t *)w + v * panel_bytes + 16);
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vecs; v++) {
            sum[r][v].val[0] = dot_lane(sum[r][v].val[0], wv[v][0], x[r], lane);
            sum[r][v].val[1] = dot_lane(sum[r][v].val[1], wv[v][1], x[r], lane);
        }
}

static inline __attribute__((always_inline)) void
sums_of(const struct gemm_i8_job *job, const uint8_t *const x[ROWS], const uint8_t *w,
        const int32_t *offset, const struct tile_kind kind, int32x4x2_t sum[ROWS][VECS])
{
    const uint32_t rows = kind.rows, vecs = kind.vecs;
    const size_t panel_bytes = job->panel_bytes;
    int8x16_t xv[ROWS];
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vecs; v++)
            sum[r][v] = load_sums(offset + v * LANES);
    for (uint32_t s = 0; s < job->segments; s++) {
        size_t at = job->segment[s];
        const size_t end = at + job->steps * (size_t)STEP;
        for (; end - at >= 4 * STEP; at += 4 * STEP, w += 4 * LANES * STEP) {
#pragma GCC unroll 4
            for (uint32_t r = 0; r < rows; r++)
                xv[r] = less_128(vld1q_u8(x[r] + at));
#pragma GCC unroll 4
            for (uint32_t k = 0; k < 4; k++) {
                add_step(sum, xv, w + k * LANES * STEP, panel_bytes, kind, k);
                LOADS_IN_ORDER();
            }
        }
        for (; at < end; at += STEP, w += LANES * STEP) {
#pragma GCC unroll 4
            for (uint32_t r = 0; r < rows; r++)
                xv[r] = less_128(vreinterpretq_u8_u32(vdupq_n_u32(load_le32(x[r] + at))));
            add_step(sum, xv, w, panel_bytes, kind, 0);
        }
    }
}

void pith_gemm_i8_dotprod(const struct gemm_i8_job *job)
{
    uint32_t first = 0;
    for (; first + LANES < job->n; first += VECS * LANES)
        columns(job, first, VECS, false);
    if (first < job->n)
        columns(job, first, 1, false);
}
