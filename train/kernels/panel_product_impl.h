/* SPDX-License-Identifier: MIT */
/* panel_product_impl.h - the loops behind panel_product.h, included once for each instruction set,
 * with the vector operations (vec, LANES, ...), MR (rows of sums in registers, 8 at most), DOT_ROWS
 * and DOT_COLUMNS (of vectors of sums, where rows meet rows; 8 at most) and TABLE (the table's
 * name) defined. */
#include "train_kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { NV = 2, WIDTH = NV * LANES }; /* vectors of a panel, some columns of b */

/* A row of a panel's width, whose lanes beyond the last column are neither read nor written. */
struct lanes {
    vmask mask[NV];
    bool full;
};

static struct lanes lanes_of(int64_t columns)
{
    struct lanes l = {.full = columns >= WIDTH};
    for (int v = 0; v < NV; v++)
        l.mask[v] = vmask_range(0, (int)(columns < WIDTH ? columns : WIDTH) - v * LANES);
    return l;
}

INLINE vec load_lanes(const float *p, const struct lanes *l, int v)
{
    return l->full ? vec_load(p + v * LANES) : vec_load_some(p + v * LANES, l->mask[v]);
}

INLINE void store_lanes(float *p, const struct lanes *l, int v, vec x)
{
    if (l->full)
        vec_store(p + v * LANES, x);
    else
        vec_store_some(p + v * LANES, l->mask[v], x);
}

/* ---- rows times columns ---------------------------------------------------------------------- */

/* mr rows from row i on times the panel of columns from column j on. */
INLINE void rows_of_panel(const int mr, const struct panel_product *p, int64_t i0, int64_t j,
                          const struct lanes *l)
{
    const float *a = p->a + i0 * p->a_row, *panel = p->b + j,
                *start = p->start ? p->start + j : NULL;
    float *c = p->c + i0 * p->c_row + j;
    vec sum[MR][NV];
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            sum[i][v] = vec_zero();
    for (int64_t k = 0; k < p->depth; k++, panel += p->b_row) {
        vec row[NV];
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            row[v] = load_lanes(panel, l, v);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            const vec one = vec_set1(a[i * p->a_row + k]);
#pragma GCC unroll 8
            for (int v = 0; v < NV; v++)
                sum[i][v] = vec_fma(one, row[v], sum[i][v]);
        }
    }
    const vec alpha = vec_set1(p->alpha);
#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) {
        const vec first = start ? load_lanes(start, l, v) : vec_zero();
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            float *to = c + i * p->c_row;
            store_lanes(to, l, v, vec_fma(alpha, sum[i][v], p->add ? load_lanes(to, l, v) : first));
        }
    }
}

static void multiply(const struct panel_product *p)
{
    for (int64_t j = 0; j < p->columns; j += WIDTH) {
        const struct lanes l = lanes_of(p->columns - j);
        int64_t i = 0;
        for (; i + MR <= p->rows; i += MR)
            rows_of_panel(MR, p, i, j, &l);
        for (; i < p->rows; i++)
            rows_of_panel(1, p, i, j, &l);
    }
}

/* ---- rows times rows ------------------------------------------------------------------------- */

/* mr rows of a from row i0 on and nr of b from row j0 on: a sum's lanes are added up in the end. */
INLINE void dots(const int mr, const int nr, const struct panel_product *p, int64_t i0, int64_t j0)
{
    const float *a = p->a + i0 * p->a_row, *b = p->b + j0 * p->b_row;
    const float *start = p->start ? p->start + j0 : NULL;
    float *c = p->c + i0 * p->c_row + j0;
    vec sum[DOT_ROWS][DOT_COLUMNS];
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nr; j++)
            sum[i][j] = vec_zero();
    for (int64_t k = 0; k < p->depth; k += LANES) {
        const bool full = k + LANES <= p->depth;
        const vmask mask = vmask_range(0, full ? LANES : (int)(p->depth - k));
        vec row[DOT_COLUMNS];
#pragma GCC unroll 8
        for (int j = 0; j < nr; j++)
            row[j] =
                full ? vec_load(b + j * p->b_row + k) : vec_load_some(b + j * p->b_row + k, mask);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            const vec x =
                full ? vec_load(a + i * p->a_row + k) : vec_load_some(a + i * p->a_row + k, mask);
#pragma GCC unroll 8
            for (int j = 0; j < nr; j++)
                sum[i][j] = vec_fma(x, row[j], sum[i][j]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nr; j++) {
            float *to = c + i * p->c_row + j, first = p->add ? *to : start ? start[j] : 0.0f;
            *to = first + p->alpha * vec_sum(sum[i][j]);
        }
}

INLINE void dots_of_rows(const int nr, const struct panel_product *p, int64_t j)
{
    int64_t i = 0;
    for (; i + DOT_ROWS <= p->rows; i += DOT_ROWS)
        dots(DOT_ROWS, nr, p, i, j);
    for (; i < p->rows; i++)
        dots(1, nr, p, i, j);
}

static void multiply_transposed(const struct panel_product *p)
{
    int64_t j = 0;
    for (; j + DOT_COLUMNS <= p->columns; j += DOT_COLUMNS)
        dots_of_rows(DOT_COLUMNS, p, j);
    for (; j < p->columns; j++)
        dots_of_rows(1, p, j);
}

/* ---- sums of outer products ------------------------------------------------------------------ */

/* One part of a tile: mr rows from row i on by a panel's width from column j on. */
INLINE void outer_part(const int mr, const struct outer_product *p, const float *a, const float *b,
                       const struct lanes *l, vec sum[MR][NV])
{
    const int64_t a_row = p->a_row, b_row = p->b_row, depth = p->depth;
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            sum[i][v] = vec_zero();
    for (int64_t k = 0; k < depth; k++, a += a_row, b += b_row) {
        vec row[NV];
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            row[v] = load_lanes(b, l, v);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            const vec one = vec_set1(a[i]);
#pragma GCC unroll 8
            for (int v = 0; v < NV; v++)
                sum[i][v] = vec_fma(one, row[v], sum[i][v]);
        }
    }
}

/* held[h] is the sum of 2^h parts: a part that ends so many of them takes up what waits there, from
 * the smallest on. */
INLINE void outer_tile(const int mr, const struct outer_product *p, int64_t row, int64_t column,
                       const struct lanes *l)
{
    vec held[4][MR][NV];
    int last = 0;
    for (uint32_t part = 0; part < p->parts; part++) {
        vec sum[MR][NV];
        int h = 0;
        outer_part(mr, p, p->a[part] + row, p->b[part] + column, l, sum);
        for (; part >> h & 1; h++)
#pragma GCC unroll 8
            for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
                for (int v = 0; v < NV; v++)
                    sum[i][v] = vec_add(held[h][i][v], sum[i][v]);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
            for (int v = 0; v < NV; v++)
                held[h][i][v] = sum[i][v];
        last = h;
    }
    float *c = p->c + row * p->c_row + column;
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++, c += p->c_row)
#pragma GCC unroll 8
        for (int v = 0; v < NV; v++)
            store_lanes(c, l, v, held[last][i][v]);
}

static void outer(const struct outer_product *p)
{
    for (int64_t j = 0; j < p->columns; j += WIDTH) {
        const struct lanes l = lanes_of(p->columns - j);
        int64_t i = p->row_begin;
        for (; i + MR <= p->row_end; i += MR)
            outer_tile(MR, p, i, j, &l);
        for (; i < p->row_end; i++)
            outer_tile(1, p, i, j, &l);
    }
}

const struct panel_kernels TABLE = {multiply, multiply_transposed, outer};
