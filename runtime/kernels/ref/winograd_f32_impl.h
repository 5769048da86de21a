/* SPDX-License-Identifier: MIT */
/* winograd_f32_impl.h - template of winograd_in and winograd_out: Lavin and Gray, Fast Algorithms
 * for Convolutional Neural Networks, F(2x2, 3x3). Lanes are tiles, so both transforms are sums of
 * whole vectors:
 *
 *     d (4x4)  ->  B^T d B,  B^T = 1  0 -1  0      m (4x4)  ->  A^T m A,  A^T = 1  1  1  0
 *                                  0  1  1  0                                   0  1 -1 -1
 *                                  0 -1  1  0
 *                                  0  1  0 -1 */
#include "simd_act.h"

#define SIDE 4 /* of a tile of input, and of sums */

/* Four elements, along a row or a column. */
static inline __attribute__((always_inline)) void line_in(vec *d, const int step)
{
    const vec d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    d[0] = d0 - d2;
    d[step] = d1 + d2;
    d[2 * step] = d2 - d1;
    d[3 * step] = d1 - d3;
}

void ISA(pith_winograd_in)(float *v, size_t step, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        vec d[WINOGRAD_TERMS];
#pragma GCC unroll 16
        for (size_t t = 0; t < WINOGRAD_TERMS; t++)
            d[t] = vec_load(v + t * step + i);
#pragma GCC unroll 4
        for (int at = 0; at < SIDE; at++)
            line_in(d + at * SIDE, 1);
#pragma GCC unroll 4
        for (int at = 0; at < SIDE; at++)
            line_in(d + at, SIDE);
#pragma GCC unroll 16
        for (size_t t = 0; t < WINOGRAD_TERMS; t++)
            vec_store(v + t * step + i, d[t]);
    }
}

/* Pixels of n tiles side by side, before anything is added. */
struct pixel_rows {
    float row[2][2 * DENSE_MAX_NR + LANES];
};

static void pixels_of(const struct winograd_out_job *job, const float *m, struct pixel_rows *p)
{
    for (uint32_t j = 0; j < job->n; j += LANES) {
        vec sum[2][SIDE];
#pragma GCC unroll 4
        for (size_t x = 0; x < SIDE; x++) {
            const vec m0 = vec_load(m + x * job->step + j);
            const vec m1 = vec_load(m + (SIDE + x) * job->step + j);
            const vec m2 = vec_load(m + (2 * SIDE + x) * job->step + j);
            const vec m3 = vec_load(m + (3 * SIDE + x) * job->step + j);
            sum[0][x] = m0 + m1 + m2;
            sum[1][x] = m1 - m2 - m3;
        }
#pragma GCC unroll 2
        for (int y = 0; y < 2; y++)
            vec_store_zipped(p->row[y] + 2 * j, sum[y][0] + sum[y][1] + sum[y][2],
                             sum[y][1] - sum[y][2] - sum[y][3]);
    }
}

/* n pixels of one output row */
static void row_finish(const struct winograd_out_job *job, const struct clamp *clamp,
                       const float *from, size_t at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += LANES) {
        const vmask lanes = vmask_range(0, n - i < LANES ? (int)(n - i) : LANES);
        vec v = vec_load(from + i);
        if (job->residual)
            v = vec_add(v, vec_load_some(job->residual + at + i, lanes));
        vec_store_some(job->y + at + i, lanes, clamp_apply(clamp, v));
    }
    if (clamp->second_pass)
        ISA(pith_act_row_f32)(&job->act, job->y + at, n);
}

/* Tiles of one row of them are neighbours in two output rows; the last row and column of an odd
 * image are half tiles. */
void ISA(pith_winograd_out)(const struct winograd_out_job *job)
{
    const struct clamp clamp = clamp_of(&job->act);
    struct pixel_rows p;
    for (uint32_t i = 0; i < job->rows; i++) {
        pixels_of(job, job->m + i * job->ldm, &p);
        uint32_t ty = job->t0 / job->across, tx = job->t0 % job->across;
        for (uint32_t j = 0, tiles; j < job->n; j += tiles, tx = 0, ty++) {
            tiles = job->across - tx < job->n - j ? job->across - tx : job->n - j;
            const uint32_t left = job->ow - 2 * tx, n = 2 * tiles < left ? 2 * tiles : left;
            for (uint32_t h = 0; h < 2 && 2 * ty + h < job->oh; h++)
                row_finish(job, &clamp, p.row[h] + 2 * j,
                           i * job->ldy + (size_t)(2 * ty + h) * job->ow + 2 * tx, n);
        }
    }
}
