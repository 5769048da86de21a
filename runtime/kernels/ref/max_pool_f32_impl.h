/* SPDX-License-Identifier: MIT */
/* max_pool_f32_impl.h - template of max_pool_f32.
 *
 * For each tap kx the window's rows are reduced first, as they lie in memory; with stride 2 the
 * result is then parted into the elements under kx and, where the window is not dilated, under
 * kx + 1. Lanes outside the image are -inf. A NaN loses against what is there already.
 *
 * The maximum is exact, so any order of reduction gives the same bits but for the sign of zeros. */
#include "simd_column.h"

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
static inline vec rows_max(const struct window *win, ptrdiff_t offset, vmask m)
{
    const vec none = vec_set1(-__builtin_inff());
    vec v = none;
    for (uint32_t r = 0; r < win->rows; r++)
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
        vec lo = rows_max(win, col->offset[kx], col->mask[kx]);
        if (g->stride_w == 1) {
            v = vec_max(lo, v);
            continue;
        }
        vec hi = rows_max(win, col->offset[kx] + LANES, col->mask_hi[kx]);
        v = vec_max(vec_even(lo, hi), v);
        if (g->dil_w == 1 && kx + 1 < g->kw) {
            v = vec_max(vec_odd(lo, hi), v);
            kx++;
        }
    }
    return v;
}

/* Columns of masks outside, as in depthwise_f32_impl.h. */
void ISA(pith_max_pool_f32)(const struct max_pool_f32_job *job)
{
    const struct conv_geom *g = job->g;
    struct column cols[COLUMNS];
    for (size_t ox = 0; ox < g->ow;) {
        uint32_t n = 0;
        for (; n < COLUMNS && ox < g->ow; n++, ox += LANES)
            column_set(&cols[n], g, ox);
        for (size_t i = 0; i < job->planes; i++)
            for (uint32_t oy = 0; oy < g->oh; oy++) {
                struct window win = window_of(g, job->x + i * g->h * g->w, oy);
                float *y = job->y + (i * g->oh + oy) * g->ow;
                for (uint32_t c = 0; c < n; c++) {
                    vec v = window_max(g, &cols[c], &win);
                    if (cols[c].whole)
                        vec_store(y + cols[c].ox, v);
                    else
                        vec_store_some(y + cols[c].ox, cols[c].out, v);
                }
            }
    }
}
