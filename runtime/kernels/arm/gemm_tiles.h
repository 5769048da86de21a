/* SPDX-License-Identifier: MIT */
/* gemm_tiles.h - template of gemm_i8 (kernel_integer.h) on AArch64: tiles of ROWS pixels by up to
 * VECS panels of 8 outputs stay in registers. Parameters: ISA(name), ROWS, VECS, and sums_of, which
 * is written behind it. */
#include "kernels/arm/simd_i32_neon.h"

#define LANES 8u

/* Constants where it is called: pixels and panels of a tile; pairs: has_lowest of none of these. */
struct tile_kind {
    uint32_t rows, vecs;
    bool pairs;
};

/* The sums of a tile's pixels at x, by panels from w on; offset: of their outputs. */
static inline __attribute__((always_inline)) void
sums_of(const struct gemm_i8_job *job, const uint8_t *const x[ROWS], const uint8_t *w,
        const int32_t *offset, const struct tile_kind kind, int32x4x2_t sum[ROWS][VECS]);

/* n outputs from `first` on: as values, or without factors as they are. */
static void store_row(const struct gemm_i8_job *job, uint8_t *y, const int32x4x2_t *sum,
                      uint32_t first, uint32_t n)
{
    for (uint32_t v = 0; n > 0; v++, first += LANES) {
        const uint32_t some = n < LANES ? n : LANES;
        if (job->to.factor)
            store_some(y + first, values_of(sum[v], &job->to, first, false), some);
        else
            memcpy(y + first * sizeof(int32_t), &sum[v], some * sizeof(int32_t));
        n -= some;
    }
}

/* job: a copy of `all`, of which no call takes the address, so that its members stay in registers
 * finite: factors, which there are. */
static inline __attribute__((always_inline)) void tile(const struct gemm_i8_job *all,
                                                       const struct gemm_i8_job *job, uint32_t i,
                                                       uint32_t first, const bool finite,
                                                       const struct tile_kind kind)
{
    const uint32_t rows = kind.rows, vecs = kind.vecs;
    int32x4x2_t sum[ROWS][VECS];
    uint8_t *y = job->y + i * job->y_step;
    const uint32_t left = job->n - first;
    const uint8_t *x[ROWS];
#pragma GCC unroll 8
    for (uint32_t r = 0; r < rows; r++)
        x[r] = job->x[i + r];
    sums_of(job, x, job->w + first / LANES * job->panel_bytes, job->to.offset + first, kind, sum);
    if (job->less)
#pragma GCC unroll 8
        for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (uint32_t v = 0; v < vecs; v++)
#pragma GCC unroll 2
                for (uint32_t h = 0; h < 2; h++)
                    sum[r][v].val[h] =
                        vsubq_s32(sum[r][v].val[h], vdupq_n_s32((int32_t)job->less[i + r]));
    if (rows < ROWS || left < vecs * LANES || !finite) {
        int32x4x2_t kept[ROWS][VECS];
#pragma GCC unroll 8
        for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (uint32_t v = 0; v < vecs; v++)
                kept[r][v] = sum[r][v];
        for (uint32_t r = 0; r < rows; r++)
            store_row(all, y + r * all->y_step, kept[r], first,
                      left < vecs * LANES ? left : vecs * LANES);
        return;
    }
    /* y may be anything to a compiler: what values are made of is read before it is written */
    const struct requantize to = job->to;
    const size_t y_step = job->y_step;
    uint8x16_t values[ROWS];
#pragma GCC unroll 8
    for (uint32_t r = 0; r < rows; r++)
        values[r] = vecs > 1 ? values16_of(sum[r][0], sum[r][VECS - 1], &to, first, true)
                             : vcombine_u8(values_of(sum[r][0], &to, first, true), vdup_n_u8(0));
    y += first;
#pragma GCC unroll 8
    for (uint32_t r = 0; r < rows; r++, y += y_step)
        if (vecs > 1)
            vst1q_u8(y, values[r]);
        else
            vst1_u8(y, vget_low_u8(values[r]));
}

/* All pixels by `vecs` panels from output `first` on. Where one is left over it runs alone, more as
 * a whole tile that ends at the last pixel, which writes again what the tile before it wrote. */
static inline __attribute__((always_inline)) void
columns(const struct gemm_i8_job *all, uint32_t first, const uint32_t vecs, const bool pairs)
{
    const struct gemm_i8_job job = *all;
    const bool finite = job.to.factor && are_finite(job.to.factor + first, vecs * LANES);
    uint32_t i = 0;
    while (job.m >= ROWS && job.m - i > 1) {
        const uint32_t at = i + ROWS <= job.m ? i : job.m - ROWS;
        tile(all, &job, at, first, finite, (struct tile_kind){ROWS, vecs, pairs});
        i = at + ROWS;
    }
    for (; i < job.m; i++)
        tile(all, &job, i, first, finite, (struct tile_kind){1, vecs, false});
}
