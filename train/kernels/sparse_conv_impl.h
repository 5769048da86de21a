/* SPDX-License-Identifier: MIT */
/* sparse_conv_impl.h - the loops behind sparse_conv_kernels.h, included once for each instruction
 * set, with the vector operations (vec, LANES, ...), BLOCK and GRADIENT_BLOCK (columns at once:
 * sums in registers, and dy in registers beside four sums; multiples of 8) and TABLE (the table's
 * name) defined. */
#include "train_kernels.h"

#include <stdbool.h>

#define INLINE static inline __attribute__((always_inline))
enum { SUMS = 4 };

/* ---- sums over weights ----------------------------------------------------------------------- */

INLINE void sum_columns(const int count, const struct sparse_row *row, const int64_t step,
                        uint32_t map, const float *weight, vec start, int64_t at, float *to)
{
    const float *from = row->from + at * step;
    vec sum[BLOCK];
#pragma GCC unroll 32
    for (int j = 0; j < count; j++)
        sum[j] = start;
    for (uint32_t i = row->first[map]; i < row->first[map + 1]; i++) {
        const float *x = from + (int64_t)row->offset[i] * LANES;
        const vec w = vec_set1(weight[i]);
#pragma GCC unroll 32
        for (int j = 0; j < count; j++)
            sum[j] = vec_fma(w, vec_load(x + j * step), sum[j]);
    }
#pragma GCC unroll 32
    for (int j = 0; j < count; j++)
        vec_store(to + (at + j) * LANES, sum[j]);
}

INLINE void sum_map(const struct sparse_row *row, const int64_t step, uint32_t map,
                    const float *weight, vec start, float *to)
{
    const int64_t n = row->columns;
    int64_t at = 0;
    for (; at + BLOCK <= n; at += BLOCK)
        sum_columns(BLOCK, row, step, map, weight, start, at, to);
    for (; BLOCK > 8 && at + 8 <= n; at += 8)
        sum_columns(8, row, step, map, weight, start, at, to);
    for (; at + 4 <= n; at += 4)
        sum_columns(4, row, step, map, weight, start, at, to);
    for (; at < n; at++)
        sum_columns(1, row, step, map, weight, start, at, to);
}

static void sum(const struct sparse_row *row, const float *weight, const float *bias, float *to)
{
    for (uint32_t map = 0; map < row->maps; map++, to += row->columns * LANES) {
        const vec start = vec_set1(bias ? bias[map] : 0.0f);
        if (row->step == LANES)
            sum_map(row, LANES, map, weight, start, to);
        else
            sum_map(row, row->step, map, weight, start, to);
    }
}

/* ---- the weights' gradient ------------------------------------------------------------------- */

INLINE void gradient_columns(const int count, const struct sparse_row *row, const int64_t step,
                             uint32_t map, const float *dy, int64_t dy_step, int64_t at, float *dw,
                             float *db)
{
    const float *from = row->from + at * step;
    const vec zero = vec_set1(0.0f);
    vec d[GRADIENT_BLOCK], bias = vec_load(db);
#pragma GCC unroll 32
    for (int j = 0; j < count; j++) {
        d[j] = vec_load(dy + (at + j) * dy_step);
        bias = vec_add(bias, d[j]);
    }
    vec_store(db, bias);
    for (uint32_t i = row->first[map]; i < row->first[map + 1]; i++) {
        const float *x = from + (int64_t)row->offset[i] * LANES;
        vec s[SUMS] = {vec_load(dw + i * LANES), zero, zero, zero};
#pragma GCC unroll 32
        for (int j = 0; j < count; j++)
            s[j % SUMS] = vec_fma(d[j], vec_load(x + j * step), s[j % SUMS]);
        if (count > 2)
            s[0] = vec_add(vec_add(s[0], s[1]), vec_add(s[2], s[3]));
        vec_store(dw + i * LANES, s[0]);
    }
}

INLINE void gradient_map(const struct sparse_row *row, const int64_t step, uint32_t map,
                         const float *dy, int64_t dy_step, float *dw, float *db)
{
    const int64_t n = row->columns;
    int64_t at = 0;
    for (; at + GRADIENT_BLOCK <= n; at += GRADIENT_BLOCK)
        gradient_columns(GRADIENT_BLOCK, row, step, map, dy, dy_step, at, dw, db);
    for (; GRADIENT_BLOCK > 8 && at + 8 <= n; at += 8)
        gradient_columns(8, row, step, map, dy, dy_step, at, dw, db);
    for (; at + 4 <= n; at += 4)
        gradient_columns(4, row, step, map, dy, dy_step, at, dw, db);
    for (; at < n; at++)
        gradient_columns(1, row, step, map, dy, dy_step, at, dw, db);
}

static void gradient(const struct sparse_row *row, const float *dy, int64_t map_step,
                     int64_t column_step, float *dw, float *db)
{
    for (uint32_t map = 0; map < row->maps; map++, dy += map_step, db += LANES)
        if (row->step == LANES)
            gradient_map(row, LANES, map, dy, column_step, dw, db);
        else
            gradient_map(row, row->step, map, dy, column_step, dw, db);
}

static void total(const float *vectors, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = vec_sum(vec_load(vectors + i * LANES));
}

/* ---- pictures to lanes, and back ------------------------------------------------------------- */

/* Rows become columns: each pass halves the distance between what belongs together. */
INLINE void transpose(vec *r)
{
    vec t[LANES];
#pragma GCC unroll 4
    for (int wide = 1; wide < LANES; wide *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            t[i] = vec_even(r[2 * i], r[2 * i + 1]);
            t[i + LANES / 2] = vec_odd(r[2 * i], r[2 * i + 1]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = t[i];
    }
}

/* Where the next numbers of a row of pixels are among the vectors. */
struct walk {
    int64_t channel, at, place[LANES];
};

INLINE void next_places(const struct sparse_pixels *p, struct walk *w)
{
    const int64_t back = p->pixel_step - p->channels * p->channel_step;
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        w->place[i] = w->at;
        const bool last = ++w->channel == p->channels;
        w->channel = last ? 0 : w->channel;
        w->at += p->channel_step + (last ? back : 0);
    }
}

/* The last numbers of a row, or less than a group of pictures. */
static void some_to_lanes(const struct sparse_pixels *p, const float *pictures, int count,
                          const struct walk *w, float *vectors)
{
    const vmask mask = vmask_range(0, count);
    vec r[LANES];
    for (int i = 0; i < LANES; i++)
        r[i] = i < p->n ? vec_load_some(pictures + i * p->picture_step, mask) : vec_set1(0.0f);
    transpose(r);
    for (int i = 0; i < LANES && i < count; i++)
        vec_store(vectors + w->place[i], r[i]);
}

static void to_lanes(const struct sparse_pixels *p, const float *pictures, float *vectors)
{
    const int64_t n = p->channels * p->pixels;
    struct walk w = {0};
    for (int64_t at = 0; at < n; at += LANES) {
        next_places(p, &w);
        if (n - at < LANES || p->n < LANES) {
            some_to_lanes(p, pictures + at, (int)(n - at < LANES ? n - at : LANES), &w, vectors);
            continue;
        }
        vec r[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = vec_load(pictures + i * p->picture_step + at);
        transpose(r);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            vec_store(vectors + w.place[i], r[i]);
    }
}

static void some_from_lanes(const struct sparse_pixels *p, const float *vectors, int count,
                            const struct walk *w, float *pictures)
{
    const vmask mask = vmask_range(0, count);
    vec r[LANES];
    for (int i = 0; i < LANES; i++)
        r[i] = i < count ? vec_load(vectors + w->place[i]) : vec_set1(0.0f);
    transpose(r);
    for (int i = 0; i < LANES && i < p->n; i++)
        vec_store_some(pictures + i * p->picture_step, mask, r[i]);
}

static void from_lanes(const struct sparse_pixels *p, const float *vectors, float *pictures)
{
    const int64_t n = p->channels * p->pixels;
    struct walk w = {0};
    for (int64_t at = 0; at < n; at += LANES) {
        next_places(p, &w);
        if (n - at < LANES || p->n < LANES) {
            some_from_lanes(p, vectors, (int)(n - at < LANES ? n - at : LANES), &w, pictures + at);
            continue;
        }
        vec r[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = vec_load(vectors + w.place[i]);
        transpose(r);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            vec_store(pictures + i * p->picture_step + at, r[i]);
    }
}

const struct sparse_conv_kernels TABLE = {LANES, sum, gradient, total, to_lanes, from_lanes};
