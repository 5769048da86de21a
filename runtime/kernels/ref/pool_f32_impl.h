/* SPDX-License-Identifier: MIT */
/* pool_f32_impl.h - template of pool_f32 (kernel_dense.h).
 *
 * For each tap kx the window's rows are reduced first, as they lie in memory; with stride 2 the
 * result is then parted into the elements under kx and, where the window is not dilated, under
 * kx + 1. With larger strides windows at all columns are reduced, of which some are taken. Lanes
 * outside the image are -inf, or 0 of a sum. A NaN loses against the maximum that is there already.
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

/* Columns of masks outside, as in depthwise_f32_impl.h; one more behind the last. `step`: of the
 * columns that are taken. */
void ISA(pith_pool_f32)(const struct pool_f32_job *job)
{
    struct conv_geom g = *job->g;
    const size_t ow = g.ow, step = g.stride_w > 2 ? g.stride_w : 1;
    struct column cols[COLUMNS + 1];
    float all[COLUMNS * LANES];
    if (step > 1) {
        g.stride_w = 1;
        g.ow = (uint32_t)((ow - 1) * step + 1);
    }
    for (size_t ox = 0; ox < g.ow; ox += (size_t)COLUMNS * LANES) {
        uint32_t n = 0;
        for (; n < COLUMNS && ox + (size_t)n * LANES < g.ow; n++)
            column_set(&cols[n], &g, ox + (size_t)n * LANES);
        column_set(&cols[n], &g, ox + (size_t)n * LANES);
        const size_t end = ox + (size_t)n * LANES < g.ow ? ox + (size_t)n * LANES : g.ow;
        const size_t first = (ox + step - 1) / step; /* column that is taken */
        for (uint32_t c = 0; step > 1 && c < n; c++)
            cols[c].ox -= ox;
        for (size_t i = 0; i < job->planes; i++)
            for (uint32_t oy = 0; oy < g.oh; oy++) {
                const struct window win = window_of(&g, job->x + i * g.h * g.w, oy);
                float *y = job->y + (i * g.oh + oy) * ow;
                row_of(job, &g, cols, n, &win, step > 1 ? all : y);
                for (size_t o = first, at = o * step; step > 1 && at < end; o++, at += step)
                    y[o] = all[at - ox];
            }
    }
}
