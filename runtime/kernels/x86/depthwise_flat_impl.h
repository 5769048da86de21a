/* SPDX-License-Identifier: MIT */
/* depthwise_flat_impl.h - 3 x 3 taps of depthwise_f32 over planes that fill few lanes of a column,
 * for AVX-512.
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

#include "simd_act.h"

#define FLAT_VECTORS 128u
/* A pattern of 64 bits holds a vector's lanes wherever in a row it begins. */
#define FLAT_WIDTH (64u - LANES)

struct flat {
    const struct depthwise_f32_job *job;
    uint32_t pixels, vectors;
    ptrdiff_t width;
    /* Lanes of each vector: those with a neighbour on that side, and those whose pixel one row
     * above, in this row, one below is in the plane. */
    vmask left[FLAT_VECTORS], right[FLAT_VECTORS], row[3][FLAT_VECTORS];
};

static inline bool flat_fits(const struct conv_geom *g)
{
    return g->kh == 3 && g->kw == 3 && g->stride_h == 1 && g->stride_w == 1 && g->dil_h == 1 &&
           g->dil_w == 1 && g->pad_top == 1 && g->pad_left == 1 && g->oh == g->h && g->ow == g->w &&
           g->w <= FLAT_WIDTH && g->h <= FLAT_VECTORS && g->h * g->w <= FLAT_VECTORS * LANES;
}

static inline void flat_set(struct flat *f, const struct depthwise_f32_job *job)
{
    const uint32_t w = job->g->w;
    uint64_t first = 0, last = 0; /* pixels of a row, over and over */
    for (uint32_t at = 0; at < 64; at += w)
        first |= UINT64_C(1) << at;
    for (uint32_t at = w - 1; at < 64; at += w)
        last |= UINT64_C(1) << at;
    f->job = job;
    f->width = (ptrdiff_t)w;
    f->pixels = job->g->h * w;
    f->vectors = (f->pixels + LANES - 1) / LANES;
    for (uint32_t v = 0; v < f->vectors; v++) {
        const int from = (int)(v * LANES), in_row = (int)(v * LANES % w);
        f->left[v] = (vmask) ~(first >> in_row);
        f->right[v] = (vmask) ~(last >> in_row);
        for (int r = 0; r < 3; r++) {
            int down = (r - 1) * (int)w;
            f->row[r][v] = vmask_range(-down - from, (int)f->pixels - down - from);
        }
    }
}

/* One row of taps: three vectors of its stream, side by side. */
struct stream3 {
    vec before, here, after;
};

/* The next vector v + 1 comes in; behind the last there is none. */
static inline __attribute__((always_inline)) void
stream_step(const struct flat *f, struct stream3 *s, const float *x, uint32_t r, uint32_t v)
{
    const float *p = x + ((ptrdiff_t)r - 1) * f->width + (ptrdiff_t)(v + 1) * LANES;
    s->before = s->here;
    s->here = s->after;
    s->after = v + 1 < f->vectors ? vec_load_some(p, f->row[r][v + 1]) : vec_zero();
}

/* The pixels left of those of b, whose predecessors end in a. */
static inline vec flat_left(vec a, vec b, vmask m)
{
    return (vec)_mm512_maskz_alignr_epi32(m, (__m512i)b, (__m512i)a, 15);
}

/* The pixels right of those of a, which b follows. */
static inline vec flat_right(vec a, vec b, vmask m)
{
    return (vec)_mm512_maskz_alignr_epi32(m, (__m512i)b, (__m512i)a, 1);
}

static inline __attribute__((always_inline)) vec stream_dot(const struct stream3 *s, const vec *w,
                                                            vmask left, vmask right, vec sum)
{
    sum = vec_fma(w[0], flat_left(s->before, s->here, left), sum);
    sum = vec_fma(w[1], s->here, sum);
    return vec_fma(w[2], flat_right(s->here, s->after, right), sum);
}

static inline void flat_store(const struct flat *f, const struct clamp *clamp, size_t at,
                              uint32_t v, vec sum)
{
    const struct depthwise_f32_job *job = f->job;
    const vmask out = f->row[1][v];
    if (job->residual)
        sum = vec_add(sum, vec_load_some(job->residual + at, out));
    vec_store_some(job->y + at, out, clamp_apply(clamp, sum));
}

static inline void flat_plane(const struct flat *f, const struct clamp *clamp, size_t plane)
{
    const struct depthwise_f32_job *job = f->job;
    const float *x = job->x + plane * job->x_step;
    const vec bias = vec_set1(job->bias ? job->bias[plane] : 0.0f);
    struct stream3 s[3];
    vec w[9];
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
        w[i] = vec_set1(job->w[plane * 9 + (size_t)i]);
#pragma GCC unroll 3
    for (uint32_t r = 0; r < 3; r++) {
        s[r].here = vec_zero();
        s[r].after = vec_load_some(x + ((ptrdiff_t)r - 1) * f->width, f->row[r][0]);
    }
    for (uint32_t v = 0; v < f->vectors; v++) {
        const vmask left = f->left[v], right = f->right[v];
        vec sum = bias;
#pragma GCC unroll 3
        for (uint32_t r = 0; r < 3; r++) {
            stream_step(f, &s[r], x, r, v);
            sum = stream_dot(&s[r], w + 3 * r, left, right, sum);
        }
        flat_store(f, clamp, plane * f->pixels + (size_t)v * LANES, v, sum);
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
        flat_plane(&f, clamp, i);
    return true;
}

#endif
