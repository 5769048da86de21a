/* SPDX-License-Identifier: MIT */
/* depthwise_lanes_impl.h - windows of depthwise_f32 over planes of few pixels: a vector holds the
 * same pixel of LANES planes.
 *
 * The input of LANES planes is turned into a copy of such pixels, with its padding as zeros, and so
 * are their weights; the outputs are turned back. No lane is idle however narrow a plane is, all
 * loads are aligned, and strides, dilations and ends of rows only change where a pixel is read. */
#ifndef DEPTHWISE_LANES_IMPL_H
#define DEPTHWISE_LANES_IMPL_H

#include "kernels/ref/depthwise_lanes.h"
#include "kernels/ref/simd_act.h"
#include "kernels/ref/transpose_quads.h"

/* n numbers each of LANES planes: number i of plane c is from[i * step + c * plane], and so is
 * `to`; of the two distances one is 1. The last four together with some before. */
static __attribute__((noinline)) void turn(const float *from, size_t step, size_t plane, float *to,
                                           size_t to_step, size_t to_plane, size_t n)
{
    for (size_t c = 0; c < LANES; c += 4, from += 4 * plane, to += 4 * to_plane)
        for (size_t i = 0; i < n; i += 4) {
            const size_t at = i + 4 <= n ? i : n - 4;
            if (n >= 4)
                transpose_quad(from + at * step, (int64_t)(step * plane), to + at * to_step,
                               (int64_t)(to_step * to_plane));
            for (size_t k = 0; n < 4 && k < 4 * n; k++)
                to[k / 4 * to_step + k % 4 * to_plane] = from[k / 4 * step + k % 4 * plane];
        }
}

static void lanes_sum(const struct depthwise_lanes *l, const float *in, const float *w, vec bias,
                      float *out)
{
    for (uint32_t p = 0; p < l->pixels; p += LANES_ABREAST) {
        const float *x[LANES_ABREAST];
        vec acc[LANES_ABREAST];
#pragma GCC unroll 8
        for (uint32_t i = 0; i < LANES_ABREAST; i++) {
            x[i] = in + l->under[p + i];
            acc[i] = bias;
        }
        for (uint32_t k = 0; k < l->taps; k++) {
            const vec weight = vec_load(w + (size_t)k * LANES);
            const uint32_t offset = l->offset[k];
#pragma GCC unroll 8
            for (uint32_t i = 0; i < LANES_ABREAST; i++)
                acc[i] = vec_fma(weight, vec_load(x[i] + offset), acc[i]);
        }
#pragma GCC unroll 8
        for (uint32_t i = 0; i < LANES_ABREAST; i++)
            vec_store(out + (size_t)(p + i) * LANES, acc[i]);
    }
}

/* false: rows are for this job. The last planes are computed together with some before. */
static bool lanes_run(const struct depthwise_f32_job *job, const struct clamp *clamp)
{
    const struct conv_geom *g = job->g;
    struct depthwise_lanes l;
    float in[DEPTHWISE_FLOATS], out[DEPTHWISE_SUMS];
    if (!pith_depthwise_lanes(&l, job, LANES))
        return false;
    float *w = in + (size_t)l.rows * l.columns * LANES, *residual = out + DEPTHWISE_SUMS / 2;
    for (float *zero = in; zero < w; zero += LANES)
        vec_store(zero, vec_zero());
    const uint32_t h = smaller_of(g->h, l.rows - g->pad_top);
    const uint32_t width = smaller_of(g->w, l.columns - g->pad_left);
    for (size_t i = 0; i < job->planes; i += LANES) {
        i = i + LANES <= job->planes ? i : job->planes - LANES;
        const size_t at = i * job->y_step, n = (size_t)l.pixels * LANES;
        for (uint32_t r = 0; r < h; r++)
            turn(job->x + i * job->x_step + (size_t)r * g->w, 1, job->x_step,
                 in + ((size_t)(r + g->pad_top) * l.columns + g->pad_left) * LANES, LANES, 1,
                 width);
        turn(job->w + i * l.taps, 1, l.taps, w, LANES, 1, l.taps);
        if (job->residual)
            turn(job->residual + at, 1, job->y_step, residual, LANES, 1, l.pixels);
        lanes_sum(&l, in, w, job->bias ? vec_load(job->bias + i) : vec_zero(), out);
        for (size_t p = 0; p < n; p += LANES) {
            const vec v = vec_load(out + p);
            vec_store(out + p,
                      clamp_apply(clamp, job->residual ? vec_add(v, vec_load(residual + p)) : v));
        }
        turn(out, LANES, 1, job->y + at, 1, job->y_step, l.pixels);
    }
    return true;
}

#endif
