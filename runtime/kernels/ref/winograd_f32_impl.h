/* SPDX-License-Identifier: MIT */
/* winograd_f32_impl.h - template of Winograd's transforms (Lavin and Gray, Fast Algorithms for
 * Convolutional Neural Networks). Lanes are tiles, so they are sums of whole vectors.
 *
 * F(2x2, 3x3), winograd_in and winograd_out:
 *
 *     d (4x4)  ->  B^T d B,  B^T = 1  0 -1  0      m (4x4)  ->  A^T m A,  A^T = 1  1  1  0
 *                                  0  1  1  0                                   0  1 -1 -1
 *                                  0 -1  1  0
 *                                  0  1  0 -1
 *
 * F(4x4, 3x3), winograd4_in and winograd4_out, on the points 0, +-p, +-q and infinity. p and q are
 * dyadic, so that they and their products are exact; 5/8 and 3/2 leave a quarter of the error of 1
 * and 2. With C(x) = (x^2 - p^2)(x^2 - q^2):
 *
 *     B^T  0: C(x)   +-p: x (x +- p)(x^2 - q^2)   +-q: x (x +- q)(x^2 - p^2)   infinity: x C(x)
 *     A^T  [1 1 1 1 1 0; 0 p -p q -q 0; 0 p^2 p^2 q^2 q^2 0; 0 p^3 -p^3 q^3 -q^3 1] */
#include "kernels/ref/simd_act.h"

#define MOST_OUT 4 /* pixels of a tile's side */

/* ---- what both end in ------------------------------------------------------------------------ */

/* Pixels of n tiles side by side, before anything is added. */
struct pixel_rows {
    float row[MOST_OUT][MOST_OUT * (DENSE_MAX_NR + LANES)];
};

/* n pixels of one output row */
static void row_finish(const struct winograd_out_job *job, const struct clamp *clamp, float bias,
                       const float *from, size_t at, uint32_t n)
{
    const vec b = vec_set1(bias);
    for (uint32_t i = 0; i < n; i += LANES) {
        const vmask lanes = vmask_range(0, n - i < LANES ? (int)(n - i) : LANES);
        vec v = vec_add(vec_load(from + i), b);
        if (job->residual)
            v = vec_add(v, vec_load_some(job->residual + at + i, lanes));
        vec_store_some(job->y + at + i, lanes, clamp_apply(clamp, v));
    }
    if (clamp->second_pass)
        ISA(pith_act_row_f32)(&job->act, job->y + at, n);
}

/* Tiles of one row of them are neighbours in `out` output rows; the last row and column of an image
 * may be parts of tiles. */
static void rows_finish(const struct winograd_out_job *job, const struct clamp *clamp, uint32_t i,
                        uint32_t out, const struct pixel_rows *p)
{
    const float bias = job->bias ? job->bias[i] : 0.0f;
    uint32_t ty = job->t0 / job->across, tx = job->t0 % job->across;
    for (uint32_t j = 0, tiles; j < job->n; j += tiles, tx = 0, ty++) {
        tiles = job->across - tx < job->n - j ? job->across - tx : job->n - j;
        const uint32_t left = job->ow - out * tx, n = out * tiles < left ? out * tiles : left;
        for (uint32_t h = 0; h < out && out * ty + h < job->oh; h++)
            row_finish(job, clamp, bias, p->row[h] + out * j,
                       i * job->ldy + (size_t)(out * ty + h) * job->ow + out * tx, n);
    }
}

/* ---- F(2x2, 3x3) ----------------------------------------------------------------------------- */

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

void ISA(pith_winograd_out)(const struct winograd_out_job *job)
{
    const struct clamp clamp = clamp_of(&job->act);
    struct pixel_rows p;
    for (uint32_t i = 0; i < job->rows; i++) {
        pixels_of(job, job->m + i * job->ldm, &p);
        rows_finish(job, &clamp, i, 2, &p);
    }
}

/* ---- F(4x4, 3x3): input ---------------------------------------------------------------------- */

#define SIDE4 6
#define OUT4 4
#define P 0.625f
#define Q 1.5f
#define UNROLL _Pragma("GCC unroll 6")
#define TILE_ROW                                                                                   \
    (2 * LANES) /* floats of an element of a vector of tiles: a piece writes beyond                \
                 */

static inline __attribute__((always_inline)) vec times(float a, vec x, vec y)
{
    return vec_fma(vec_set1(a), x, y);
}

/* Six elements to six, along a row or a column. */
static inline __attribute__((always_inline)) void line4_in(const vec *d, vec *to)
{
    to[0] = times(P * P * Q * Q, d[0], times(-P * P - Q * Q, d[2], d[4]));
    to[5] = times(P * P * Q * Q, d[1], times(-P * P - Q * Q, d[3], d[5]));
    const vec even_p = times(-Q * Q, d[2], d[4]), odd_p = times(-Q * Q, d[1], d[3]);
    to[1] = times(P, odd_p, even_p);
    to[2] = times(-P, odd_p, even_p);
    const vec even_q = times(-P * P, d[2], d[4]), odd_q = times(-P * P, d[1], d[3]);
    to[3] = times(Q, odd_q, even_q);
    to[4] = times(-Q, odd_q, even_q);
}

/* Six sums to four pixels. */
static inline __attribute__((always_inline)) void line4_out(const vec *m, vec *to)
{
    const vec sum_p = m[1] + m[2], sum_q = m[3] + m[4];
    const vec diff_p = m[1] - m[2], diff_q = m[3] - m[4];
    to[0] = m[0] + sum_p + sum_q;
    to[1] = times(P, diff_p, vec_mul(vec_set1(Q), diff_q));
    to[2] = times(P * P, sum_p, vec_mul(vec_set1(Q * Q), sum_q));
    to[3] = times(P * P * P, diff_p, times(Q * Q * Q, diff_q, m[5]));
}

/* Tiles of one vector in one row of tiles: their first lane, and the elements of an input row under
 * them, from x[iy * w + ix] on, in five vectors. */
struct piece {
    int32_t lane, iy;
    ptrdiff_t ix;
    vmask inside[5];
};

/* The pieces of the vector of tiles from t on, `lanes` of them; returns how many. */
static int pieces_of(const struct winograd4_in_job *job, uint32_t t, int lanes, struct piece *p)
{
    int n = 0;
    for (int lane = 0, len; lane < lanes; lane += len, t += (uint32_t)len, n++) {
        const int tx = (int)(t % job->across), left = (int)job->across - tx;
        len = left < lanes - lane ? left : lanes - lane;
        const int ix = OUT4 * tx - (int)job->pad_left, w = (int)job->w;
        const int from = ix < 0 ? -ix : 0, all = OUT4 * len + 2;
        const int to = w - ix < all ? w - ix : all;
        p[n] = (struct piece){
            .lane = lane, .iy = OUT4 * (int)(t / job->across) - (int)job->pad_top, .ix = ix};
        for (int k = 0; k < 5; k++)
            p[n].inside[k] = vmask_range(from - k * LANES, to - k * LANES);
    }
    return n;
}

/* Every fourth element of a row of input, from each of the first six on: tiles side by side. */
static inline __attribute__((always_inline)) void row_of_tiles(const float *x, const vmask *inside,
                                                               float *to)
{
    vec v[5];
    UNROLL
    for (int k = 0; k < 5; k++)
        v[k] = vec_load_some(x + k * LANES, inside[k]);
    const vec even = vec_even(v[0], v[1]), even2 = vec_even(v[2], v[3]);
    const vec odd = vec_odd(v[0], v[1]), odd2 = vec_odd(v[2], v[3]);
    const vec first = vec_even(even, even2), second = vec_even(odd, odd2);
    vec_store(to, first);
    vec_store(to + TILE_ROW, second);
    vec_store(to + 2 * TILE_ROW, vec_odd(even, even2));
    vec_store(to + 3 * TILE_ROW, vec_odd(odd, odd2));
    vec_store(to + 4 * TILE_ROW, vec_next(first, v[4]));
    vec_store(to + 5 * TILE_ROW, vec_next(second, vec_odd(v[4], v[4])));
}

/* Elements of one channel's tiles, in order [SIDE4][SIDE4]. */
static void collect(const struct winograd4_in_job *job, const float *x, const struct piece *p,
                    int n, float *tiles)
{
    for (int i = 0; i < n; i++, p++)
        for (int y = 0; y < SIDE4; y++) {
            float *to = tiles + y * SIDE4 * TILE_ROW + p->lane;
            const int32_t iy = p->iy + y;
            if (iy >= 0 && iy < (int32_t)job->h) {
                row_of_tiles(x + (ptrdiff_t)iy * job->w + p->ix, p->inside, to);
                continue;
            }
            UNROLL
            for (int k = 0; k < SIDE4; k++)
                vec_store(to + k * TILE_ROW, vec_zero());
        }
}

static void transform(float *tiles, float *to, size_t step)
{
    vec d[SIDE4], u[SIDE4];
    for (int y = 0; y < SIDE4; y++) {
        float *row = tiles + y * SIDE4 * TILE_ROW;
        UNROLL
        for (int k = 0; k < SIDE4; k++)
            d[k] = vec_load(row + k * TILE_ROW);
        line4_in(d, u);
        UNROLL
        for (int k = 0; k < SIDE4; k++)
            vec_store(row + k * TILE_ROW, u[k]);
    }
    for (size_t x = 0; x < SIDE4; x++) {
        UNROLL
        for (size_t k = 0; k < SIDE4; k++)
            d[k] = vec_load(tiles + (k * SIDE4 + x) * TILE_ROW);
        line4_in(d, u);
        UNROLL
        for (size_t k = 0; k < SIDE4; k++)
            vec_store(to + (k * SIDE4 + x) * step, u[k]);
    }
}

void ISA(pith_winograd4_in)(const struct winograd4_in_job *job)
{
    struct piece pieces[LANES];
    float tiles[SIDE4 * SIDE4 * TILE_ROW];
    for (uint32_t j = 0; j < job->n; j += LANES) {
        const int lanes = job->n - j < LANES ? (int)(job->n - j) : LANES;
        const int n = pieces_of(job, job->t0 + j, lanes, pieces);
        for (size_t c = 0; c < job->channels; c++) {
            collect(job, job->x + c * job->h * job->w, pieces, n, tiles);
            transform(tiles, job->v + c * job->ldv + j, job->step);
        }
    }
}

/* ---- F(4x4, 3x3): output --------------------------------------------------------------------- */

/* a0 b0 c0 d0 a1 ... */
static inline void store_four(float *to, const vec *pixel)
{
    float even[2 * LANES], odd[2 * LANES];
    vec_store_zipped(even, pixel[0], pixel[2]);
    vec_store_zipped(odd, pixel[1], pixel[3]);
    vec_store_zipped(to, vec_load(even), vec_load(odd));
    vec_store_zipped(to + 2 * LANES, vec_load(even + LANES), vec_load(odd + LANES));
}

static void pixels4_of(const struct winograd_out_job *job, const float *m, struct pixel_rows *p)
{
    vec sum[OUT4][SIDE4], column[SIDE4], pixel[OUT4];
    for (uint32_t j = 0; j < job->n; j += LANES) {
        for (size_t x = 0; x < SIDE4; x++) {
            UNROLL
            for (size_t y = 0; y < SIDE4; y++)
                column[y] = vec_load(m + (y * SIDE4 + x) * job->step + j);
            line4_out(column, pixel);
            UNROLL
            for (int y = 0; y < OUT4; y++)
                sum[y][x] = pixel[y];
        }
        for (int y = 0; y < OUT4; y++) {
            line4_out(sum[y], pixel);
            store_four(p->row[y] + OUT4 * j, pixel);
        }
    }
}

void ISA(pith_winograd4_out)(const struct winograd_out_job *job)
{
    const struct clamp clamp = clamp_of(&job->act);
    struct pixel_rows p;
    for (uint32_t i = 0; i < job->rows; i++) {
        pixels4_of(job, job->m + i * job->ldm, &p);
        rows_finish(job, &clamp, i, OUT4, &p);
    }
}
