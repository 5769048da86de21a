/* SPDX-License-Identifier: MIT */
/* pool_f32_impl.h - template of pool_f32 (kernel_dense.h).
 *
 * For each tap kx the window's rows are reduced first, as they lie in memory; with stride 2 the
 * result is then parted into the elements under kx and, where the window is not dilated, under
 * kx + 1. With larger strides the rows are reduced into a buffer, and of that the windows, one by
 * one. Lanes outside the image are -inf, or 0 of a sum. A NaN loses against the maximum that is
 * there already.
 *
 * Windows three wide with stride 2, which networks are full of, read each vector once a row: their
 * third element is the first one of the window that follows.
 *
 * A maximum is exact, so any order of reduction gives the same bits but for the sign of zeros. Sums
 * begin with 0, so that none is -0 and lanes outside change nothing. */
#include "kernels/ref/simd_column.h"

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
    struct window win = {.row_step = (size_t)g->dil_h * g->w};
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

/* Vector at x + offset, of all rows. */
static inline __attribute__((always_inline)) vec
rows_fold(const struct window *win, ptrdiff_t offset, vmask m, const uint32_t rows, const bool sum)
{
    vec v = first_fold(sum);
#pragma GCC unroll 3
    for (uint32_t r = 0; r < rows; r++)
        v = fold(vec_load_into(first_fold(sum), win->x + r * win->row_step + offset, m), v, sum);
    return v;
}

/* With stride 2 an undilated window's taps kx and kx + 1 are the even and odd elements of the
 * same loads. */
static inline __attribute__((always_inline)) vec window_fold(const struct conv_geom *g,
                                                             const struct column *col,
                                                             const struct window *win,
                                                             const bool sum)
{
    vec v = first_fold(sum);
    for (uint32_t kx = 0; kx < g->kw; kx++) {
        vec lo = rows_fold(win, col->offset[kx], col->mask[kx], win->rows, sum);
        if (g->stride_w == 1) {
            v = fold(lo, v, sum);
            continue;
        }
        vec hi = rows_fold(win, col->offset[kx] + LANES, col->mask_hi[kx], win->rows, sum);
        v = fold(vec_even(lo, hi), v, sum);
        if (g->dil_w == 1 && kx + 1 < g->kw) {
            v = fold(vec_odd(lo, hi), v, sum);
            kx++;
        }
    }
    return v;
}

static inline void store_column(const struct column *col, float *y, vec v)
{
    if (col->whole)
        vec_store(y + col->ox, v);
    else
        vec_store_some(y + col->ox, col->out, v);
}

/* One output row of windows three wide with stride 2. Behind col[n - 1] stands one more column, of
 * which the first element of each row is read. */
static inline __attribute__((always_inline)) void row_by_three(const struct column *col, uint32_t n,
                                                               const struct window *win, float *y,
                                                               const bool sum)
{
    const uint32_t rows = win->rows;
    vec lo = rows_fold(win, col[0].offset[0], col[0].mask[0], rows, sum);
    for (uint32_t c = 0; c < n; c++) {
        vec hi = rows_fold(win, col[c].offset[0] + LANES, col[c].mask_hi[0], rows, sum);
        vec next = rows_fold(win, col[c + 1].offset[0], col[c + 1].mask[0], rows, sum);
        vec even = vec_even(lo, hi);
        vec v = fold(vec_odd(lo, hi), even, sum);
        store_column(&col[c], y, fold(vec_next(even, next), v, sum));
        lo = next;
    }
}

static inline __attribute__((always_inline)) void row_run(const struct conv_geom *g,
                                                          const struct column *col, uint32_t n,
                                                          const struct window *win, float *y,
                                                          const bool sum)
{
    if (g->stride_w == 2 && g->kw == 3 && g->dil_w == 1) {
        row_by_three(col, n, win, y, sum);
        return;
    }
    for (uint32_t c = 0; c < n; c++)
        store_column(&col[c], y, window_fold(g, &col[c], win, sum));
}

/* Columns [ox, ox + n) of a row; col[0].ox is 0 where y is a buffer. */
static void row_of(const struct pool_f32_job *job, const struct conv_geom *g,
                   const struct column *col, uint32_t n, const struct window *win, float *y)
{
    if (job->sum)
        row_run(g, col, n, win, y, true);
    else
        row_run(g, col, n, win, y, false);
}

#define PIECE_FLOATS 512u /* of the input's columns */

/* n columns at x + offset, all of them inside, of all rows. */
static void rows_into(const struct window *win, ptrdiff_t offset, size_t n, float *to,
                      const bool sum)
{
    const size_t whole = n - n % LANES;
    const vmask rest = vmask_range(0, (int)(n - whole));
    for (size_t i = 0; i < whole; i += LANES) {
        vec v = first_fold(sum);
        for (uint32_t r = 0; r < win->rows; r++)
            v = fold(vec_load(win->x + r * win->row_step + offset + i), v, sum);
        vec_store(to + i, v);
    }
    if (n > whole)
        vec_store_some(to + whole, rest,
                       rows_fold(win, offset + (ptrdiff_t)whole, rest, win->rows, sum));
}

/* One output row of undilated windows, whatever the stride. */
static inline __attribute__((always_inline)) void
row_by_windows(const struct conv_geom *g, const struct window *win, float *y, const bool sum)
{
    const size_t most = (PIECE_FLOATS - g->kw) / g->stride_w + 1;
    const float start = sum ? 0.0f : -__builtin_inff();
    float column[PIECE_FLOATS];
    for (size_t ox = 0, n; ox < g->ow; ox += n) {
        n = g->ow - ox < most ? g->ow - ox : most;
        const ptrdiff_t first = (ptrdiff_t)(ox * g->stride_w) - (ptrdiff_t)g->pad_left;
        const ptrdiff_t count = (ptrdiff_t)((n - 1) * g->stride_w + g->kw), w = (ptrdiff_t)g->w;
        ptrdiff_t from = first < 0 ? -first : 0, to = w - first < count ? w - first : count;
        from = from < count ? from : count;
        to = to > from ? to : from;
        for (ptrdiff_t i = from > 0 ? 0 : to; i < count; i = i + 1 == from ? to : i + 1)
            column[i] = start;
        rows_into(win, first + from, (size_t)(to - from), column + from, sum);
        for (size_t o = 0; o < n; o++) {
            const float *x = column + o * g->stride_w;
            float v = start;
            for (uint32_t k = 0; k < g->kw; k++)
                v = sum ? v + x[k] : x[k] > v ? x[k] : v;
            y[ox + o] = v;
        }
    }
}

static void windows_of(const struct pool_f32_job *job)
{
    const struct conv_geom *g = job->g;
    float *y = job->y;
    for (size_t i = 0; i < job->planes; i++)
        for (uint32_t oy = 0; oy < g->oh; oy++, y += g->ow) {
            const struct window win = window_of(g, job->x + i * g->h * g->w, oy);
            if (job->sum)
                row_by_windows(g, &win, y, true);
            else
                row_by_windows(g, &win, y, false);
        }
}

/* Columns of masks outside, as in depthwise_f32_impl.h; one more behind the last. */
void ISA(pith_pool_f32)(const struct pool_f32_job *job)
{
    const struct conv_geom *g = job->g;
    struct column cols[COLUMNS + 1];
    if (g->stride_w > 2) {
        windows_of(job);
        return;
    }
    for (size_t ox = 0; ox < g->ow; ox += (size_t)COLUMNS * LANES) {
        uint32_t n = 0;
        for (; n < COLUMNS && ox + (size_t)n * LANES < g->ow; n++)
            column_set(&cols[n], g, ox + (size_t)n * LANES);
        column_set(&cols[n], g, ox + (size_t)n * LANES);
        for (size_t i = 0; i < job->planes; i++)
            for (uint32_t oy = 0; oy < g->oh; oy++) {
                const struct window win = window_of(g, job->x + i * g->h * g->w, oy);
                row_of(job, g, cols, n, &win, job->y + (i * g->oh + oy) * g->ow);
            }
    }
}
