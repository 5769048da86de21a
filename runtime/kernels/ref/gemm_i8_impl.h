/* SPDX-License-Identifier: MIT */
/* gemm_i8_impl.h - template of gemm_i8 (kernel_integer.h). Tiles of ROWS pixels by up to VECS
 * panels stay in registers; each step loads a vector of weights a panel and repeats 4 bytes of x a
 * pixel.
 *
 * Parameters: FETCHES_AHEAD, ISA(name); ivec, LANES (= nr), VECS, ROWS, VALUES_INLINE; ivec_load,
 * ivec_repeat (4 bytes), ivec_less (a - b), ivec_dot (adds a step's products), store_values (n
 * values of the sums in vectors). With SUMS_ALONE, whose products are short, there are no values,
 * and whole tiles of sums are stored without a detour.
 *
 * Pixels that are left over: one runs alone, up to half a tile as one of half as many, more as a
 * whole tile. It ends at the last pixel, so it writes again what the tile before it wrote, or, of
 * fewer pixels than it has, computes the last one several times. */
#include <string.h>
#include "kernels/kernel_integer.h"

/* Whether panels are fetched to the second-level cache while those in front of them are multiplied.
 * Streams of 64 KB and more that come from farther are as slow as products of 24 rows with them;
 * instructions that fetch cost short panels, which stay near, up to 5 %. */
#ifndef FETCHES_AHEAD
#define FETCHES_AHEAD 0
#endif
#define FEWEST_STEPS 64u

#ifndef SUMS_ALONE
#define SUMS_ALONE 0
#define INLINE_VECS VALUES_INLINE
#else
#define INLINE_VECS 1u
#endif

/* Rows of `vecs` vectors of sums, VECS apart. Whole tiles of VALUES_INLINE vectors at least store
 * their values without that detour: more code, for 1 % (many products a sum) to 14 % (few) less
 * time with 256-bit vectors, up to half with 512. */
static __attribute__((noinline)) void store_rows(const struct gemm_i8_job *job, uint8_t *y,
                                                 const ivec *sum, uint32_t rows, uint32_t vecs,
                                                 uint32_t first)
{
    uint32_t left = job->n - first, n = left < vecs * LANES ? left : vecs * LANES;
    for (; rows > 0; rows--, y += job->y_step, sum += VECS) {
        if (!SUMS_ALONE && job->to.factor)
            store_values(y + first, sum, vecs, n, &job->to, first);
        else
            memcpy(y + first * sizeof(int32_t), sum, n * sizeof(int32_t));
    }
}

/* ROWS * VECS sums, VECS weights and one repeated x: all registers of the instruction set. x
 * [rows]: pixels from i on, of which `kept` are stored. ahead: a panel that is fetched meanwhile,
 * or NULL. */
static inline __attribute__((always_inline)) void
tile(const struct gemm_i8_job *job, const uint8_t *const *x, uint32_t i, uint32_t kept,
     uint32_t first, const uint8_t *ahead, const uint32_t rows, const uint32_t vecs)
{
    ivec acc[ROWS][VECS];
    const uint8_t *w = job->w + first / LANES * job->panel_bytes;
#pragma GCC unroll 8
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < vecs; v++)
            acc[r][v] = ivec_load(job->to.offset + first + v * LANES);
#if !SUMS_ALONE
    if (job->less)
#pragma GCC unroll 8
        for (uint32_t r = 0; r < rows; r++) {
            const uint32_t *less = job->less + i + (r < kept ? r : kept - 1);
            ivec lv = ivec_repeat((const uint8_t *)less);
#pragma GCC unroll 4
            for (uint32_t v = 0; v < vecs; v++)
                acc[r][v] = ivec_less(acc[r][v], lv);
        }
#endif
    for (uint32_t s = 0; s < job->segments; s++) {
        size_t at = job->segment[s], end = at + job->steps * (size_t)4;
        for (; at < end; at += 4, w += (size_t)LANES * 4) {
            ivec wv[VECS];
            if (ahead) {
                __builtin_prefetch(ahead, 0, 2);
                ahead += (size_t)LANES * 4;
            }
#pragma GCC unroll 4
            for (uint32_t v = 0; v < vecs; v++)
                wv[v] = ivec_load(w + v * job->panel_bytes);
/* x is repeated once a row and step, and meets every panel. */
#pragma GCC unroll 8
            for (uint32_t r = 0; r < rows; r++) {
                ivec xv = ivec_repeat(x[r] + at);
#pragma GCC unroll 4
                for (uint32_t v = 0; v < vecs; v++)
                    acc[r][v] = ivec_dot(acc[r][v], xv, wv[v]);
            }
        }
    }
    uint8_t *y = job->y + i * job->y_step;
    const bool sums = SUMS_ALONE || !job->to.factor;
    if (vecs < INLINE_VECS || kept < rows || job->n - first < vecs * LANES ||
        sums != (bool)SUMS_ALONE) {
        ivec sum[ROWS][VECS];
#pragma GCC unroll 8
        for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (uint32_t v = 0; v < vecs; v++)
                sum[r][v] = acc[r][v];
        store_rows(job, y, sum[0], kept, vecs, first);
        return;
    }
#pragma GCC unroll 8
    for (uint32_t r = 0; r < rows; r++) {
#if SUMS_ALONE
#pragma GCC unroll 4
        for (uint32_t v = 0; v < vecs; v++)
            memcpy(y + r * job->y_step + (first + v * LANES) * sizeof(int32_t), &acc[r][v],
                   sizeof acc[r][v]);
#else
        store_values(y + r * job->y_step + first, acc[r], vecs, vecs * LANES, &job->to, first);
#endif
    }
}

/* The panel that tile `number` of a column of VECS fetches: one of the next column's, each once;
 * NULL: none. */
static inline const uint8_t *panel_ahead(const struct gemm_i8_job *job, uint32_t first,
                                         uint32_t number)
{
    const uint32_t panel = first / LANES + VECS + number;
    if (!FETCHES_AHEAD || (uint64_t)job->segments * job->steps < FEWEST_STEPS || number >= VECS ||
        panel >= (job->n + LANES - 1) / LANES)
        return NULL;
    return job->w + panel * job->panel_bytes;
}

/* A tile that overlaps the one before, or repeats a pixel, costs less than instances for each
 * remainder. x: the job's; of fewer pixels than a tile, ROWS with the last one repeated. */
static inline __attribute__((always_inline)) void
columns(const struct gemm_i8_job *job, const uint8_t *const *x, uint32_t first, const uint32_t vecs)
{
    const uint32_t half = vecs == VECS ? ROWS / 2 : 1;
    const uint32_t rows = job->m < ROWS ? job->m : ROWS;
    uint32_t i = 0, number = 0;
    while (i < job->m && job->m - i > half) {
        uint32_t at = i + rows <= job->m ? i : job->m - rows;
        tile(job, x + at, at, rows, first, vecs == VECS ? panel_ahead(job, first, number++) : NULL,
             ROWS, vecs);
        i = at + rows;
    }
    if (job->m - i == 1)
        tile(job, x + i, i, 1, first, NULL, 1, vecs);
    else if (i < job->m) {
        const uint32_t kept = job->m < half ? job->m : half, at = job->m - kept;
        tile(job, x + at, at, kept, first, NULL, half, vecs);
    }
}

/* Panels by VECS, then by two, then one. */
void ISA(pith_gemm_i8)(const struct gemm_i8_job *job)
{
    const uint8_t *const *x = job->x, *repeated[ROWS];
    uint32_t first = 0;
    if (job->m < ROWS) {
        for (uint32_t r = 0; r < ROWS; r++)
            repeated[r] = job->x[r < job->m ? r : job->m - 1];
        x = repeated;
    }
    for (; first + (VECS - 1) * LANES < job->n; first += VECS * LANES)
        columns(job, x, first, VECS);
#if VECS > 2 && !SUMS_ALONE
    for (; first + LANES < job->n; first += 2 * LANES)
        columns(job, x, first, 2);
#endif
    for (; first < job->n; first += LANES)
        columns(job, x, first, 1);
}
