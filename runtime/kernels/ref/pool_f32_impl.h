/* SPDX-License-Identifier: MIT */
/* pool_f32_impl.h - template of pool_f32 (kernel_dense.h).
 *
 * The rows of a window are reduced first, as they lie in memory, into a buffer whose ends stand for
 * what is outside of the image: -inf, or 0 of a sum. Of that the windows are reduced: with stride 1
 * from vectors that overlap, with stride 2 from vectors parted into even and odd elements, which
 * are two taps where the window is not dilated, with larger strides one by one. A NaN loses against
 * the maximum that is there already.
 *
 * A maximum is exact, so any order of reduction gives the same bits but for the sign of zeros. Sums
 * begin with 0, so that none is -0 and what is outside changes nothing. */
#include "kernels/kernel_dense.h"

static inline __attribute__((always_inline)) vec fold(vec x, vec v, const bool sum)
{
    return sum ? vec_add(v, x) : vec_max(x, v);
}

static inline __attribute__((always_inline)) vec first_fold(const bool sum)
{
    return sum ? vec_zero() : vec_set1(-__builtin_inff());
}

/* Rows [begin, end) of the window of one output row. rows may be 0, of a window in the padding:
 * the result is that of no element. */
struct window {
    const float *x; /* first of them */
    size_t row_step;
    uint32_t rows;
};

static struct window window_of(const struct conv_geom *g, const float *plane, uint32_t oy)
{
    struct window win = {.x = plane, .row_step = (size_t)g->dil_h * g->w};
    for (uint32_t ky = 0; ky < g->kh; ky++) {
        /* rows above the image wrap round to large numbers */
        uint32_t iy = oy * g->stride_h + ky * g->dil_h - g->pad_top;
        if (iy >= g->h)
            continue;
        if (win.rows++ == 0)
            win.x = plane + (size_t)iy * g->w;
    }
    return win;
}

#define PIECE_FLOATS (2 * POOL_COLUMNS) /* of the input's columns, at most */
#define BUFFER_FLOATS 2048u /* of several rows of a piece, each with 3 * LANES behind it */

/* Columns of a row of outputs, and of the input under their windows: those of the buffer from
 * `from` on are `inside` the image. */
struct piece {
    size_t ox, n, inside, pitch; /* pitch: of rows of the buffer */
    ptrdiff_t from, first;       /* first: the input's column that the buffer begins with */
    vmask rest, last;            /* of `inside`, and of n, behind whole vectors */
};

static struct piece piece_at(const struct conv_geom *g, size_t ox)
{
    const size_t most = (PIECE_FLOATS - (size_t)(g->kw - 1) * g->dil_w - 1) / g->stride_w + 1;
    struct piece p = {.ox = ox, .n = g->ow - ox < most ? g->ow - ox : most};
    const ptrdiff_t w = (ptrdiff_t)g->w;
    const ptrdiff_t count = (ptrdiff_t)((p.n - 1) * g->stride_w + (g->kw - 1) * g->dil_w + 1);
    p.pitch = ((size_t)count + 4 * LANES - 1) / LANES * LANES;
    p.first = (ptrdiff_t)(ox * g->stride_w) - (ptrdiff_t)g->pad_left;
    p.from = p.first < 0 ? -p.first : 0;
    p.from = p.from < count ? p.from : count;
    const ptrdiff_t end = w - p.first < count ? w - p.first : count;
    p.inside = end > p.from ? (size_t)(end - p.from) : 0;
    p.rest = vmask_range(0, (int)(p.inside % LANES));
    p.last = vmask_range(0, (int)(p.n % LANES));
    return p;
}

/* The rows of a window, column by column; more: `column` has those of the planes before. */
static inline __attribute__((always_inline)) void fold_rows(const struct piece *p,
                                                            const struct window *win,
                                                            const bool more, float *column,
                                                            const bool sum)
{
    const size_t whole = p->inside - p->inside % LANES;
    const float *x = win->x + p->first + p->from;
    float *to = column + p->from;
    for (size_t i = 0; i < whole; i += LANES) {
        vec v = more ? vec_load(to + i) : first_fold(sum);
        for (uint32_t r = 0; r < win->rows; r++)
            v = fold(vec_load(x + r * win->row_step + i), v, sum);
        vec_store(to + i, v);
    }
    if (p->inside > whole) {
        vec v = more ? vec_load(to + whole) : first_fold(sum);
        for (uint32_t r = 0; r < win->rows; r++)
            v = fold(vec_load_into(first_fold(sum), x + r * win->row_step + whole, p->rest), v,
                     sum);
        vec_store(to + whole, v); /* lanes without a column: what stands for outside */
    }
}

/* The windows of LANES outputs, whose first column is at x. stride: 1 or 2. */
static inline __attribute__((always_inline)) vec
fold_windows(const float *x, uint32_t taps, size_t dilation, const uint32_t stride, const bool sum)
{
    vec v = first_fold(sum);
    for (uint32_t k = 0; k < taps; k++, x += dilation) {
        vec lo = vec_load(x);
        if (stride == 1) {
            v = fold(lo, v, sum);
            continue;
        }
        vec hi = vec_load(x + LANES);
        v = fold(vec_even(lo, hi), v, sum);
        if (dilation == 1 && k + 1 < taps) {
            v = fold(vec_odd(lo, hi), v, sum);
            k++, x++;
        }
    }
    return v;
}

static float one_window(const struct conv_geom *g, const float *x, const bool sum)
{
    float v = sum ? 0.0f : -__builtin_inff();
    for (uint32_t k = 0; k < g->kw; k++, x += g->dil_w)
        v = sum ? v + *x : *x > v ? *x : v;
    return v;
}

/* A row of outputs with stride 1 or 2. y: room for `room` floats. A store of a part of a vector
 * takes longer than ten whole ones, so the last one goes over what follows, which is written later.
 */
static inline __attribute__((always_inline)) void row_of(const struct conv_geom *g,
                                                         const struct piece *p, const float *column,
                                                         float *y, size_t room,
                                                         const uint32_t stride, const bool sum)
{
    for (size_t o = 0; o < p->n; o += LANES) {
        const vec v = fold_windows(column + o * stride, g->kw, g->dil_w, stride, sum);
        if (o + LANES <= room)
            vec_store(y + o, v);
        else
            vec_store_some(y + o, p->last, v);
    }
}

/* Rows are reduced some way ahead of their windows, which else would wait for what was just stored.
 * Behind a row's columns lie those that lanes without an output read. */
static inline __attribute__((always_inline)) void pool_all(const struct pool_f32_job *job,
                                                           const bool sum)
{
    const struct conv_geom *g = job->g;
    const size_t rows = job->planes * g->oh;
    float buffer[BUFFER_FLOATS];
    for (size_t ox = 0; ox < g->ow;) {
        const struct piece p = piece_at(g, ox);
        const size_t ahead = BUFFER_FLOATS / p.pitch;
        for (size_t i = 0; i < BUFFER_FLOATS; i += LANES)
            vec_store(buffer + i, first_fold(sum));
        for (size_t row = 0, n; row < rows; row += n) {
            n = rows - row < ahead ? rows - row : ahead;
            for (size_t i = 0; i < n; i++) {
                const float *plane = job->x + (row + i) / g->oh * job->plane_step;
                struct window win = window_of(g, plane, (uint32_t)((row + i) % g->oh));
                fold_rows(&p, &win, false, buffer + i * p.pitch, sum);
                for (uint32_t d = 1; d < job->depth; d++) {
                    win.x += job->depth_step;
                    fold_rows(&p, &win, true, buffer + i * p.pitch, sum);
                }
            }
            for (size_t i = 0; i < n; i++) {
                const size_t at = (row + i) * g->ow, room = p.n < g->ow ? p.n : rows * g->ow - at;
                const float *column = buffer + i * p.pitch;
                float *y = job->y + at + ox;
                if (g->stride_w == 1)
                    row_of(g, &p, column, y, room, 1, sum);
                else if (g->stride_w == 2)
                    row_of(g, &p, column, y, room, 2, sum);
                for (size_t o = 0; g->stride_w > 2 && o < p.n; o++)
                    y[o] = one_window(g, column + o * g->stride_w, sum);
            }
        }
        ox += p.n;
    }
}

void ISA(pith_pool_f32)(const struct pool_f32_job *job)
{
    if (job->sum)
        pool_all(job, true);
    else
        pool_all(job, false);
}
