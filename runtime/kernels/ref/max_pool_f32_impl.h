/* SPDX-License-Identifier: MIT */
/* max_pool_f32_impl.h - template of max_pool_f32.
 *
 * For each tap kx the window's rows are reduced first, as they lie in memory; with stride 2 the
 * result is then parted into the elements under kx and, where the window is not dilated, under
 * kx + 1. Lanes outside the image are -inf. A NaN loses against what is there already.
 *
 * Windows three wide with stride 2, which networks are full of, read each vector once a row: their
 * third element is the first one of the window that follows.
 *
 * The maximum is exact, so any order of reduction gives the same bits but for the sign of zeros. */
#include "kernels/ref/simd_column.h"

/* Rows [begin, end) of the window of one output row. rows may be 0, of a window in the padding:
 * the result is -inf. */
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

/* Vector at x + offset, the largest of all rows. none fills lanes outside of the image, so that
 * padding never wins. */
static inline __attribute__((always_inline)) vec
rows_max(const struct window *win, ptrdiff_t offset, vmask m, const uint32_t rows)
{
    const vec none = vec_set1(-__builtin_inff());
    vec v = none;
#pragma GCC unroll 3
    for (uint32_t r = 0; r < rows; r++)
        v = vec_max(vec_load_into(none, win->x + r * win->row_step + offset, m), v);
    return v;
}

/* With stride 2 an undilated window's taps kx and kx + 1 are the even and odd elements of the
 * same loads. */
static inline vec window_max(const struct conv_geom *g, const struct column *col,
                             const struct window *win)
{
    vec v = vec_set1(-__builtin_inff());
    for (uint32_t kx = 0; kx < g->kw; kx++) {
        vec lo = rows_max(win, col->offset[kx], col->mask[kx], win->rows);
        if (g->stride_w == 1) {
            v = vec_max(lo, v);
            continue;
        }
        vec hi = rows_max(win, col->offset[kx] + LANES, col->mask_hi[kx], win->rows);
        v = vec_max(vec_even(lo, hi), v);
        if (g->dil_w == 1 && kx + 1 < g->kw) {
            v = vec_max(vec_odd(lo, hi), v);
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
static void row_by_three(const struct column *col, uint32_t n, const struct window *win, float *y)
{
    const uint32_t rows = win->rows;
    vec lo = rows_max(win, col[0].offset[0], col[0].mask[0], rows);
    for (uint32_t c = 0; c < n; c++) {
        vec hi = rows_max(win, col[c].offset[0] + LANES, col[c].mask_hi[0], rows);
        vec next = rows_max(win, col[c + 1].offset[0], col[c + 1].mask[0], rows);
        vec even = vec_even(lo, hi);
        vec v = vec_max(vec_odd(lo, hi), even);
        store_column(&col[c], y, vec_max(vec_next(even, next), v));
        lo = next;
    }
}

static void row_run(const struct conv_geom *g, const struct column *col, uint32_t n,
                    const struct window *win, float *y)
{
    if (g->stride_w == 2 && g->kw == 3 && g->dil_w == 1) {
        row_by_three(col, n, win, y);
        return;
    }
    for (uint32_t c = 0; c < n; c++)
        store_column(&col[c], y, window_max(g, &col[c], win));
}

/* Columns of masks outside, as in depthwise_f32_impl.h; one more behind the last. */
void ISA(pith_max_pool_f32)(const struct max_pool_f32_job *job)
{
    const struct conv_geom *g = job->g;
    struct column cols[COLUMNS + 1];
    for (size_t ox = 0; ox < g->ow; ox += (size_t)COLUMNS * LANES) {
        uint32_t n = 0;
        for (; n < COLUMNS && ox + (size_t)n * LANES < g->ow; n++)
            column_set(&cols[n], g, ox + (size_t)n * LANES);
        column_set(&cols[n], g, ox + (size_t)n * LANES);
        for (size_t i = 0; i < job->planes; i++)
            for (uint32_t oy = 0; oy < g->oh; oy++) {
                struct window win = window_of(g, job->x + i * g->h * g->w, oy);
                row_run(g, cols, n, &win, job->y + (i * g->oh + oy) * g->ow);
            }
    }
}
