/* SPDX-License-Identifier: MIT */
/* depthwise_f32_impl.h - template of depthwise_f32.
 *
 * The output is cut into columns of LANES pixels (simd_column.h). Input rows above and below the
 * image are skipped or zero.
 *
 * 3 x 3 kernels of stride 1 and 2, the ones networks are full of, load each input row once and keep
 * the sums of the outputs that the row belongs to in registers. All others run on a copy
 * (depthwise_window_impl.h). Of small planes the lanes are not pixels but planes
 * (depthwise_lanes_impl.h).
 *
 * A depthwise convolution multiplies each loaded float KH * KW times at most, so loads decide
 * and not multiply-adds: hence rows in registers. An element's sum begins with the bias and adds
 * taps in ascending order in either way of running; taps outside of the image add 0 * w or
 * nothing. */
#include "kernels/ref/depthwise_window_impl.h"
#ifndef ORDERED /* whose sums have another end: ordered_f32_impl.h */
#include "kernels/ref/depthwise_lanes_impl.h"
#endif
#include "kernels/ref/simd_act.h"
#include "kernels/ref/simd_column.h"

#ifndef DEPTHWISE_FLAT_IMPL_H
/* Only vectors of 16 lanes waste so many of them on narrow planes. */
static inline bool flat_run(const struct depthwise_f32_job *job, const struct clamp *clamp)
{
    (void)job, (void)clamp;
    return false;
}
#endif

/* One plane of the job. Weights are read once a plane and column. */
struct plane {
    const struct conv_geom *g;
    const float *x, *w, *residual;
    float *y;
    float bias;
};

/* After the last tap: the residual, then the clamp. */
static inline __attribute__((always_inline)) void
finish(const struct plane *p, const struct column *col, const struct clamp *clamp, size_t oy, vec v)
{
    size_t at = oy * p->g->ow + col->ox;
    if (p->residual)
        v = vec_add(v, vec_load_some(p->residual + at, col->out));
    v = clamp_apply(clamp, v);
    if (col->whole) /* masked stores of AVX2 are slow */
        vec_store(p->y + at, v);
    else
        vec_store_some(p->y + at, col->out, v);
}

/* Masked loads take an operation of the ports that multiply; most columns need none. */
static inline __attribute__((always_inline)) vec load_in(const float *p, vmask m, const bool inside)
{
    return inside ? vec_load(p) : vec_load_some(p, m);
}

/* The three vectors that row iy gives to a 3 x 3 kernel. v[kx]: pixels under tap kx of this row
 * for LANES outputs. */
struct row3 {
    vec v[3];
};

/* Rows outside of the image are zeros: adding 0 * w is cheaper than a branch in the walk. */
static inline __attribute__((always_inline)) struct row3
row3_load(const struct plane *p, const struct column *col, uint32_t iy, const enum reach reach,
          const bool inside)
{
    struct row3 r = {{vec_zero(), vec_zero(), vec_zero()}};
    if (iy >= p->g->h)
        return r;
    /* With stride 1 the three vectors overlap but for one element; unaligned loads of one line
     * cost little. */
    const float *x = p->x + (size_t)iy * p->g->w + col->offset[0];
    if (reach == REACH_ONE) {
        r.v[0] = load_in(x, col->mask[0], inside);
        r.v[1] = load_in(x + 1, col->mask[1], inside);
        r.v[2] = load_in(x + 2, col->mask[2], inside);
    } else if (inside) {
        /* Even and odd elements from tap 1 on, where rows that are padded by 1 are aligned. */
        vec lo = vec_load(x + 1), hi = vec_load(x + 1 + LANES);
        r.v[1] = vec_even(lo, hi);
        r.v[2] = vec_odd(lo, hi);
        r.v[0] = vec_behind(col->edge ? 0.0f : *x, r.v[2]);
    } else {
        vec lo = vec_load_some(x, col->mask[0]), hi = vec_load_some(x + LANES, col->mask_hi[0]);
        /* Both halves of the same two loads: elements under tap 0 and tap 1. */
        r.v[0] = vec_even(lo, hi);
        r.v[1] = vec_odd(lo, hi);
        r.v[2] = vec_even(vec_load_some(x + 2, col->mask[2]),
                          vec_load_some(x + 2 + LANES, col->mask_hi[2]));
    }
    return r;
}

/* sum + w . r In the order of taps. */
static inline __attribute__((always_inline)) vec row3_dot(const vec *w, const struct row3 *r,
                                                          vec sum)
{
    return vec_fma(w[2], r->v[2], vec_fma(w[1], r->v[1], vec_fma(w[0], r->v[0], sum)));
}

/* A sliding window of sums: `next` belongs to the output whose first row has been read, `sum` to
 * the one before. Each input row is loaded once and used for up to three outputs. */
static inline __attribute__((always_inline)) void
column3_run(const struct plane *p, const struct column *col, const struct clamp *clamp,
            const enum reach reach, const bool inside)
{
    const struct conv_geom *g = p->g;
    const vec bias = vec_set1(p->bias);
    vec w[9];
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
        w[i] = vec_set1(p->w[i]);
    uint32_t iy = 0u - g->pad_top;
    struct row3 r = row3_load(p, col, iy++, reach, inside);
    vec next = row3_dot(w, &r, bias); /* of the output row whose first input row is known */
    /* With stride 2 two rows are new for each output, and one is shared by neighbours. */
    if (reach == REACH_TWO) {
        for (uint32_t oy = 0; oy < g->oh; oy++) {
            r = row3_load(p, col, iy++, reach, inside);
            vec sum = row3_dot(w + 3, &r, next);
            r = row3_load(p, col, iy++, reach, inside);
            next = row3_dot(w, &r, bias);
            finish(p, col, clamp, oy, row3_dot(w + 6, &r, sum));
        }
        return;
    }
    r = row3_load(p, col, iy++, reach, inside);
    vec sum = row3_dot(w + 3, &r, next); /* of the output row before */
    next = row3_dot(w, &r, bias);
    for (uint32_t oy = 0; oy < g->oh; oy++) {
        r = row3_load(p, col, iy++, reach, inside);
        finish(p, col, clamp, oy, row3_dot(w + 6, &r, sum));
        sum = row3_dot(w + 3, &r, next);
        next = row3_dot(w, &r, bias);
    }
}

static inline __attribute__((always_inline)) void
column_run(const struct plane *p, const struct column *col, const struct clamp *clamp)
{
    if (p->g->stride_w == 1 && col->inside)
        column3_run(p, col, clamp, REACH_ONE, true);
    else if (p->g->stride_w == 1)
        column3_run(p, col, clamp, REACH_ONE, false);
    else if (col->inside)
        column3_run(p, col, clamp, REACH_TWO, true);
    else
        column3_run(p, col, clamp, REACH_TWO, false);
}

/* Columns from ox on, as many as `cols` holds, of all planes. Masks are made once for all
 * planes: they depend on ox alone. */
static void columns_run(const struct depthwise_f32_job *job, const struct clamp *clamp, size_t ox)
{
    const struct conv_geom *g = job->g;
    size_t taps = (size_t)g->kh * g->kw;
    struct column cols[COLUMNS];
    uint32_t n = 0;
    /* The last column ends where the row does, and computes again what the one before has. */
    for (; n < COLUMNS && ox < g->ow; n++, ox += LANES)
        column_set(&cols[n], g, ox + LANES <= g->ow || g->ow < LANES ? ox : g->ow - LANES);
    for (size_t i = 0; i < job->planes; i++) {
        struct plane p = {.g = g,
                          .x = job->x + i * job->x_step,
                          .w = job->w + i * taps,
                          .y = job->y + i * job->y_step,
                          .bias = job->bias ? job->bias[i] : 0.0f,
                          .residual = job->residual ? job->residual + i * job->y_step : NULL};
        for (uint32_t c = 0; c < n; c++)
            column_run(&p, &cols[c], clamp);
    }
}

#ifndef ORDERED
void ISA(pith_depthwise_f32)(const struct depthwise_f32_job *job)
{
    const struct conv_geom *g = job->g;
    const struct clamp clamp = clamp_of(&job->act);
    const bool done = flat_run(job, &clamp) || lanes_run(job, &clamp);
    if (!done && !columns_fit(g))
        windows_run(job, &clamp);
    else if (!done)
        for (size_t ox = 0; ox < g->ow; ox += (size_t)COLUMNS * LANES)
            columns_run(job, &clamp, ox);
    if (clamp.second_pass)
        ISA(pith_act_rows_f32)
    (&job->act, job->y, job->y_step, job->planes, (size_t)g->oh * g->ow);
}
#endif
