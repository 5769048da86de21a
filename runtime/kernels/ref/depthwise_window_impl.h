/* SPDX-License-Identifier: MIT */
/* depthwise_window_impl.h - windows of any size, stride and dilation of depthwise_f32.
 *
 * What lies under a band of output rows is copied, its padding as zeros and parted by the strides:
 * pixels that are a stride apart lie side by side. The pixels under a tap then follow each other as
 * the outputs do, at a distance that is the same for all: no lane is masked and no row tested, and
 * any vectors of outputs are summed side by side. Where rows are narrow, all rows are one, with
 * lanes between them that belong to no output.
 *
 * Windows of 5 and 7 rows, the most frequent ones behind those of 3 x 3, load a vector of input
 * once for all outputs above each other that it is part of: their sums are kept in registers. */
#ifndef DEPTHWISE_WINDOW_IMPL_H
#define DEPTHWISE_WINDOW_IMPL_H

#include "kernels/ref/depthwise_lanes.h"
#include "kernels/ref/simd_act.h"

#define SIDE_BY_SIDE 8 /* vectors, to hide the latency of a multiply-add */
#define MOST_ABREAST 2 /* vectors of a row that slide side by side */

struct bands {
    const struct conv_geom *g;
    uint32_t rows, columns;  /* outputs of a band, at most */
    size_t pitch;            /* floats from a row of a phase to the next */
    size_t phase;            /* floats from a phase to the next: stride_h x stride_w of them */
    uint32_t step_h, step_w; /* of the phases that taps read */
    uint32_t across;         /* vectors of a row; 0: all rows are one */
    uint32_t offset[DEPTHWISE_MAX_TAPS]; /* of what lies under a tap */
};

static inline uint32_t smaller_of(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

#ifdef ORDERED
#define slides(g) false /* their time is the calibration's alone */
#else
#define slides window_slides
#endif

/* depthwise_fits() leaves room for a row of a vector. Bands are of like numbers of rows. */
static void bands_set(struct bands *b, const struct conv_geom *g)
{
    const uint32_t reach_h = (g->kh - 1) * g->dil_h / g->stride_h;
    const uint32_t reach_w = (g->kw - 1) * g->dil_w / g->stride_w;
    const uint32_t behind = (slides(g) ? MOST_ABREAST : 1) * LANES; /* is read past the last row */
    const uint32_t room = DEPTHWISE_FLOATS / (g->stride_h * g->stride_w) - behind;
    const uint32_t sums = DEPTHWISE_SUMS - SIDE_BY_SIDE * LANES;
    b->g = g;
    b->step_h = conv_phase_step(g->stride_h, g->kh, g->dil_h);
    b->step_w = conv_phase_step(g->stride_w, g->kw, g->dil_w);
    b->columns = smaller_of(g->ow, smaller_of(room / (1 + reach_h), sums) - reach_w);
    if (b->columns < g->ow)
        b->columns = b->columns / LANES * LANES;
    b->pitch = b->columns + reach_w;
    b->rows = smaller_of(g->oh, smaller_of(room / b->pitch - reach_h, sums / b->pitch));
    b->rows = (g->oh - 1) / ((g->oh - 1) / b->rows + 1) + 1;
    b->phase = (b->rows + reach_h) * b->pitch + behind;
    b->across = (b->columns + LANES - 1) / LANES;
    if (b->across * b->rows > (b->rows * b->pitch + LANES - 1) / LANES)
        b->across = 0;
    for (uint32_t k = 0; k < g->kh * g->kw; k++) {
        const uint32_t y = k / g->kw * g->dil_h, x = k % g->kw * g->dil_w;
        b->offset[k] = (uint32_t)((y % g->stride_h * g->stride_w + x % g->stride_w) * b->phase +
                                  y / g->stride_h * b->pitch + x / g->stride_w);
    }
}

#define MASKS 16 /* of vectors of a row that are made once for all rows */

/* Rows of input from pixel `first` on. */
struct input_row {
    int first;
    vmask inside[MASKS];
};

static void input_row_set(struct input_row *r, const struct conv_geom *g, uint32_t ox)
{
    r->first = (int)(ox * g->stride_w) - (int)g->pad_left;
    for (int m = 0; m < MASKS; m++)
        r->inside[m] = vmask_range(-r->first - m * LANES, (int)g->w - r->first - m * LANES);
}

/* Vector m of a row of w pixels, of which those outside are zeros. */
static inline vec pixels(const struct input_row *r, const float *x, int m, int w)
{
    const int at = r->first + m * LANES;
    if (m < MASKS)
        return vec_load_some(x + at, r->inside[m]);
    return at >= 0 && at + LANES <= w ? vec_load(x + at)
                                      : vec_load_some(x + at, vmask_range(-at, w - at));
}

/* n pixels, `stride` apart, of a row of w from pixel `at` on, of which those outside are zeros. */
static void row_part(const float *x, int w, int at, int stride, int n, float *to)
{
    int begin = at < 0 ? (stride - 1 - at) / stride : 0;
    int end = at < w ? (w - 1 - at) / stride + 1 : 0;
    begin = begin < n ? begin : n;
    end = end < begin ? begin : end < n ? end : n;
    for (int j = 0; j < begin; j++)
        to[j] = 0.0f;
    for (int j = begin; j < end; j++)
        to[j] = x[at + j * stride];
    for (int j = end; j < n; j++)
        to[j] = 0.0f;
}

/* A row of input into its row of each phase. x NULL: above or below. What is written past the end
 * belongs to the next row or follows the last. */
static void row_copy(const struct bands *b, const struct input_row *r, const float *x, float *to)
{
    const int w = (int)b->g->w, stride = (int)b->g->stride_w;
    const int n = (int)((b->pitch + LANES - 1) / LANES);
    if (!x) {
        for (int i = 0; i < stride; i++)
            for (int m = 0; m < n; m++)
                vec_store(to + (size_t)i * b->phase + m * LANES, vec_zero());
    } else if (stride == 1) {
        const int few = n < MASKS ? n : MASKS;
        for (int m = 0; m < few; m++)
            vec_store(to + m * LANES, vec_load_some(x + r->first + m * LANES, r->inside[m]));
        for (int m = few; m < n; m++)
            vec_store(to + m * LANES, pixels(r, x, m, w));
    } else if (stride == 2) {
        for (int m = 0; m < n; m++) {
            const vec low = pixels(r, x, 2 * m, w), high = pixels(r, x, 2 * m + 1, w);
            vec_store(to + m * LANES, vec_even(low, high));
            vec_store(to + b->phase + m * LANES, vec_odd(low, high));
        }
    } else {
        for (int i = 0; i < stride; i += (int)b->step_w, to += b->step_w * b->phase)
            row_part(x, w, r->first + i, stride, (int)b->pitch, to);
    }
}

/* The input under output rows from oy on. */
static void band_copy(const struct bands *b, const struct input_row *row, const float *x,
                      uint32_t oy, uint32_t rows, float *to)
{
    const struct conv_geom *g = b->g;
    const uint32_t n = rows + (g->kh - 1) * g->dil_h / g->stride_h;
    for (uint32_t phase = 0; phase < g->stride_h; phase += b->step_h)
        for (uint32_t r = 0; r < n; r++) {
            /* rows above the image wrap round to large numbers */
            const uint32_t iy = (oy + r) * g->stride_h + phase - g->pad_top;
            if (iy >= g->h && slides(g)) /* are left out */
                continue;
            row_copy(b, row, iy < g->h ? x + (size_t)iy * g->w : NULL,
                     to + phase * b->phase * g->stride_w + r * b->pitch);
        }
}

struct filter {
    const float *w;
    float bias;
};

/* Sums of n vectors of outputs, at `at` in `in` and in `sums`. */
static inline __attribute__((always_inline)) void sum_vectors(const struct bands *b,
                                                              const float *in, struct filter f,
                                                              const size_t *at, float *sums,
                                                              const int n)
{
    const uint32_t taps = b->g->kh * b->g->kw;
    vec acc[SIDE_BY_SIDE];
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        acc[i] = vec_set1(f.bias);
    for (uint32_t k = 0; k < taps; k++) {
        const float *x = in + b->offset[k];
        const vec weight = vec_set1(f.w[k]);
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            acc[i] = vec_fma(weight, vec_load(x + at[i]), acc[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        vec_store(sums + at[i], acc[i]);
}

/* Vectors are written in ascending order: what is past the end of a row belongs to the next. Fewer
 * than eight or four take as long as that many, for the latency of 25 taps: the last is repeated.
 */
static void band_sum(const struct bands *b, const float *in, struct filter f, uint32_t rows,
                     float *sums)
{
    const size_t all = (rows - 1) * b->pitch + b->columns;
    uint32_t left = b->across ? b->across * rows : (uint32_t)((all + LANES - 1) / LANES);
    size_t at[SIDE_BY_SIDE], next = 0;
    for (uint32_t x = 0, n, room; left > 0; left -= n) {
        room = left > SIDE_BY_SIDE / 2 ? SIDE_BY_SIDE : SIDE_BY_SIDE / 2;
        n = left < room ? left : room;
        for (uint32_t i = 0; i < n; i++, next += LANES) {
            if (b->across && x++ == b->across) {
                next += b->pitch - (size_t)b->across * LANES;
                x = 1;
            }
            at[i] = next;
        }
        for (uint32_t i = n; i < room; i++)
            at[i] = at[n - 1];
        if (room == SIDE_BY_SIDE)
            sum_vectors(b, in, f, at, sums, SIDE_BY_SIDE);
        else
            sum_vectors(b, in, f, at, sums, SIDE_BY_SIDE / 2);
    }
}

/* Where the rows of a band go. left: floats of y up to the end of its plane, so far as rows that
 * are written later follow there, else 0. */
struct rows_out {
    float *y;
    const float *residual;
    size_t pitch, left;
    uint32_t columns;
    const struct clamp *clamp;
};

/* After the last tap: the residual, then the clamp. Of a vector the first `inside` lanes are
 * pixels; what it writes past the row is written again with the next rows. */
static inline __attribute__((always_inline)) void put(const struct rows_out *o, size_t at,
                                                      int inside, vec v)
{
    if (inside >= LANES || at + LANES <= o->left) {
        v = o->residual ? vec_add(v, vec_load(o->residual + at)) : v;
        vec_store(o->y + at, clamp_apply(o->clamp, v));
    } else {
        const vmask m = vmask_range(0, inside);
        v = o->residual ? vec_add(v, vec_load_some(o->residual + at, m)) : v;
        vec_store_some(o->y + at, m, clamp_apply(o->clamp, v));
    }
}

static void sums_finish(const struct rows_out *o, const float *sums, size_t pitch, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t x = 0; x < o->columns; x += LANES)
            put(o, r * o->pitch + x, (int)(o->columns - x), vec_load(sums + r * pitch + x));
}

#define MOST_ROWS 7 /* of a window that slides */

/* `abreast` vectors of each output row, from column x on. first: the row of the image that the
 * first row of the window is on. sum[j]: of the j-th last output whose first row has been read. */
static inline __attribute__((always_inline)) void slide(const struct bands *b, const float *in,
                                                        struct filter f, int64_t first,
                                                        uint32_t rows, const struct rows_out *o,
                                                        uint32_t x, const uint32_t kh,
                                                        const uint32_t stride, const int abreast)
{
    const struct conv_geom *g = b->g;
    const uint32_t depth = (kh + stride - 1) / stride;
    const int inside = (int)(o->columns - x);
    vec sum[MOST_ROWS][MOST_ABREAST];
#pragma GCC unroll 7
    for (uint32_t j = 0; j < depth; j++)
#pragma GCC unroll 2
        for (int i = 0; i < abreast; i++)
            sum[j][i] = vec_set1(f.bias);
    for (uint32_t t = 0; t < rows + depth - 1; t++) {
#pragma GCC unroll 2
        for (uint32_t phase = 0; phase < stride; phase++, first++) {
            if (first < 0 || first >= g->h)
                continue;
            const float *row = in + x + t * b->pitch + phase * g->stride_w * b->phase;
            const float *w = f.w + phase * g->kw;
            for (uint32_t k = 0; k < g->kw; k++, w++) {
                vec v[MOST_ABREAST];
#pragma GCC unroll 2
                for (int i = 0; i < abreast; i++)
                    v[i] = vec_load(row + b->offset[k] + i * LANES);
                const float *weight = w;
#pragma GCC unroll 7
                for (uint32_t j = 0; phase + j * stride < kh; j++, weight += stride * g->kw) {
                    const vec at = vec_set1(*weight);
#pragma GCC unroll 2
                    for (int i = 0; i < abreast; i++)
                        sum[j][i] = vec_fma(at, v[i], sum[j][i]);
                }
            }
        }
        if (t + 1 >= depth) {
            const size_t at = (t + 1 - depth) * o->pitch + x;
#pragma GCC unroll 2
            for (int i = 0; i < abreast; i++)
                if (i * LANES < inside)
                    put(o, at + (size_t)i * LANES, inside - i * LANES, sum[depth - 1][i]);
        }
#pragma GCC unroll 2
        for (int i = 0; i < abreast; i++) {
#pragma GCC unroll 7
            for (uint32_t j = depth - 1; j > 0; j--)
                sum[j][i] = sum[j - 1][i];
            sum[0][i] = vec_set1(f.bias);
        }
    }
}

/* With as many vectors abreast as registers hold; from right to left, for the rightmost may write
 * into the next row's first. */
static void band_slide(const struct bands *b, const float *in, struct filter f, int64_t first,
                       uint32_t rows, const struct rows_out *o)
{
    const bool five = b->g->kh == 5, one = b->g->stride_h == 1;
    const uint32_t lanes = (five ? MOST_ABREAST : 1) * LANES;
    for (uint32_t x = ((o->columns - 1) / lanes + 1) * lanes; x > 0;) {
        x -= lanes;
        if (five && one)
            slide(b, in, f, first, rows, o, x, 5, 1, MOST_ABREAST);
        else if (five)
            slide(b, in, f, first, rows, o, x, 5, 2, MOST_ABREAST);
        else
            slide(b, in, f, first, rows, o, x, 7, 1, 1);
    }
}

/* Planes of one input share its copy. */
static void windows_run(const struct depthwise_f32_job *job, const struct clamp *clamp)
{
    const struct conv_geom *g = job->g;
    float in[DEPTHWISE_FLOATS], sums[DEPTHWISE_SUMS];
    struct bands b;
    bands_set(&b, g);
    for (uint32_t ox = 0; ox < g->ow; ox += b.columns) {
        struct input_row row;
        input_row_set(&row, g, ox);
        for (uint32_t oy = 0; oy < g->oh; oy += b.rows)
            for (size_t i = 0; i < job->planes; i++) {
                const uint32_t rows = smaller_of(g->oh - oy, b.rows);
                const size_t at = i * job->y_step + (size_t)oy * g->ow + ox;
                const struct filter f = {job->w + i * g->kh * g->kw,
                                         job->bias ? job->bias[i] : 0.0f};
                const struct rows_out out = {
                    .y = job->y + at,
                    .residual = job->residual ? job->residual + at : NULL,
                    .pitch = g->ow,
                    .left = b.columns == g->ow ? (size_t)(g->oh - oy) * g->ow : 0,
                    .columns = smaller_of(g->ow - ox, b.columns),
                    .clamp = clamp};
                if (i == 0 || job->x_step)
                    band_copy(&b, &row, job->x + i * job->x_step, oy, rows, in);
                if (slides(g)) {
                    band_slide(&b, in, f, (int64_t)oy * g->stride_h - g->pad_top, rows, &out);
                } else {
                    band_sum(&b, in, f, rows, sums);
                    sums_finish(&out, sums, b.pitch, rows);
                }
            }
    }
}

#endif
