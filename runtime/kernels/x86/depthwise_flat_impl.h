/* SPDX-License-Identifier: MIT */
/* depthwise_flat_impl.h - 3 x 3 and 5 x 5 taps of depthwise_f32 over planes that fill few lanes of
 * a column, for AVX-512.
 *
 * Where the output is as large as the input, output pixel i reads pixel i + offset under a tap,
 * however rows follow each other: the plane is one row of H * W pixels, and of a vector only the
 * lanes are zeroed whose tap lies left, right, above or below of the image. A plane of 25 x 5
 * pixels is so 8 vectors of 16 lanes, where its rows are 25 of which 5 lanes are used.
 *
 * Loads decide, for nearly all of them cross a cache line: each row of taps is a stream that is
 * loaded once, and its left and right neighbours are shifted out of two vectors of it. An element's
 * sum begins with the bias and adds taps in ascending order, as in columns. */
#ifndef DEPTHWISE_FLAT_IMPL_H
#define DEPTHWISE_FLAT_IMPL_H

#include "kernels/ref/simd_act.h"

#define FLAT_VECTORS 128u
/* A pattern of 64 bits holds a vector's lanes wherever in a row it begins. */
#define FLAT_WIDTH (64u - LANES)
#define FLAT_TAPS 5 /* in a row, at most */

struct flat {
    const struct depthwise_f32_job *job;
    uint32_t pixels, vectors;
    ptrdiff_t width;
    /* Lanes of each vector under tap k of a row: those whose pixel is in the same row, and, of a
     * column of taps, those whose pixel is in the plane; none of a vector past the last. */
    vmask side[FLAT_TAPS][FLAT_VECTORS + 1], row[FLAT_TAPS][FLAT_VECTORS + 1];
};

static inline bool flat_fits(const struct conv_geom *g)
{
    return (g->kh == 3 || g->kh == 5) && g->kw == g->kh && g->stride_h == 1 && g->stride_w == 1 &&
           g->dil_h == 1 && g->dil_w == 1 && g->pad_top == g->kh / 2 && g->pad_left == g->kh / 2 &&
           g->oh == g->h && g->ow == g->w && g->w <= FLAT_WIDTH && g->h <= FLAT_VECTORS &&
           g->h * g->w <= FLAT_VECTORS * LANES;
}

/* The masks under tap k of a row and under tap k of a column. */
static inline void flat_masks(struct flat *f, uint32_t k, int distance)
{
    const int w = (int)f->width, down = distance * w;
    uint64_t inside = 0; /* pixels of a row, over and over */
    for (int at = 0; at < 64; at++)
        inside |= (uint64_t)(at % w + distance >= 0 && at % w + distance < w) << at;
    for (uint32_t v = 0; v <= f->vectors; v++) {
        const int from = (int)(v * LANES);
        f->side[k][v] = (vmask)(inside >> from % w);
        f->row[k][v] = vmask_range(-down - from, (int)f->pixels - down - from);
    }
}

static inline void flat_set(struct flat *f, const struct depthwise_f32_job *job)
{
    const uint32_t taps = job->g->kh;
    f->job = job;
    f->width = (ptrdiff_t)job->g->w;
    f->pixels = job->g->h * job->g->w;
    f->vectors = (f->pixels + LANES - 1) / LANES;
    for (uint32_t k = 0; k < taps; k++)
        flat_masks(f, k, (int)k - (int)(taps / 2));
}

/* Vector v of the row of pixels under row r of the taps. */
static inline __attribute__((always_inline)) vec stream_load(const struct flat *f, const float *x,
                                                             const int down, uint32_t r, uint32_t v)
{
    return vec_load_some(x + down * f->width + (ptrdiff_t)v * LANES, f->row[r][v]);
}

/* The pixels `by` to the right of those of b; a, b, c follow each other. */
static inline __attribute__((always_inline)) vec shifted(vec a, vec b, vec c, const int by, vmask m)
{
    switch (by) {
    case -2:
        return (vec)_mm512_maskz_alignr_epi32(m, (__m512i)b, (__m512i)a, 14);
    case -1:
        return (vec)_mm512_maskz_alignr_epi32(m, (__m512i)b, (__m512i)a, 15);
    case 1:
        return (vec)_mm512_maskz_alignr_epi32(m, (__m512i)c, (__m512i)b, 1);
    case 2:
        return (vec)_mm512_maskz_alignr_epi32(m, (__m512i)c, (__m512i)b, 2);
    default:
        return b;
    }
}

/* The residual, the clamp and a store of the lanes that are in the plane, as finish() of columns
 * does. */
static inline void flat_store(const struct flat *f, const struct clamp *clamp, vmask out, size_t at,
                              vec sum)
{
    const struct depthwise_f32_job *job = f->job;
    if (job->residual)
        sum = vec_add(sum, vec_load_some(job->residual + at, out));
    vec_store_some(job->y + at, out, clamp_apply(clamp, sum));
}

/* taps: 3 or 5. 9 weights stay in registers; of 25 each is broadcast from memory. */
static inline __attribute__((always_inline)) void
flat_plane(const struct flat *f, const struct clamp *clamp, size_t plane, const uint32_t taps)
{
    const struct depthwise_f32_job *job = f->job;
    const float *x = job->x + plane * job->x_step, *w = job->w + plane * taps * taps;
    const vec bias = vec_set1(job->bias ? job->bias[plane] : 0.0f);
    const int half = (int)taps / 2;
    vec kept[9], before[FLAT_TAPS], here[FLAT_TAPS];
#pragma GCC unroll 9
    for (uint32_t i = 0; i < 9; i++)
        kept[i] = vec_set1(w[i]);
#pragma GCC unroll 5
    for (uint32_t r = 0; r < taps; r++) {
        before[r] = vec_zero();
        here[r] = stream_load(f, x, (int)r - half, r, 0);
    }
    for (uint32_t v = 0; v < f->vectors; v++) {
        vec sum = bias;
        /* Out of the compiler's sight, or it keeps a pointer to each weight. */
        __asm__("" : "+r"(w));
#pragma GCC unroll 5
        for (uint32_t r = 0; r < taps; r++) {
            const vec next = stream_load(f, x, (int)r - half, r, v + 1);
#pragma GCC unroll 5
            for (uint32_t k = 0; k < taps; k++)
                sum = vec_fma(taps == 3 ? kept[3 * r + k] : vec_set1(w[taps * r + k]),
                              shifted(before[r], here[r], next, (int)k - half, f->side[k][v]), sum);
            before[r] = here[r];
            here[r] = next;
        }
        flat_store(f, clamp, f->row[half][v], plane * job->y_step + (size_t)v * LANES, sum);
    }
}

/* false: columns are for this job. */
static bool flat_run(const struct depthwise_f32_job *job, const struct clamp *clamp)
{
    struct flat f;
    if (!flat_fits(job->g))
        return false;
    flat_set(&f, job);
    for (size_t i = 0; i < job->planes; i++)
        if (job->g->kh == 3)
            flat_plane(&f, clamp, i, 3);
        else
            flat_plane(&f, clamp, i, 5);
    return true;
}

#endif
