/* SPDX-License-Identifier: MIT */
/* row_panel_impl.h - lanes are right sides, so the width of vectors changes no bit. Sums have the
 * order of cholesky.c: four of a product, one of a solution. */
#include <string.h>

#include "row_panel_list.h"

typedef double vec __attribute__((vector_size(VECTOR_BYTES)));

#define VECTORS (PITH_ROW_PANEL * sizeof(double) / VECTOR_BYTES)

/* Vector by vector: one copy of the whole panel is made through memory by halves of a vector, which
 * no store passes on to the load behind it (AVX2: three times as slow). */
static inline void load(vec *v, const double *p)
{
    for (size_t k = 0; k < VECTORS; k++)
        memcpy(v + k, p + k * (VECTOR_BYTES / sizeof *p), sizeof *v);
}

static inline void store(double *p, const vec *v)
{
    for (size_t k = 0; k < VECTORS; k++)
        memcpy(p + k * (VECTOR_BYTES / sizeof *p), v + k, sizeof *v);
}

/* sum += f x */
static inline void add(vec *sum, double f, const double *x)
{
    vec v[VECTORS];
    load(v, x);
    for (size_t k = 0; k < VECTORS; k++)
        sum[k] += f * v[k];
}

/* Four places of a at a time, one sum each. Those of one half of the lanes after the other, so that
 * registers hold them. */
static void dot(const double *restrict a, const double *restrict x, size_t n, double *restrict y)
{
    vec sum[4][VECTORS] = {{{0}}};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            add(sum[k], a[i + k], x + (i + k) * PITH_ROW_PANEL);
    for (; i < n; i++)
        add(sum[0], a[i], x + i * PITH_ROW_PANEL);
    for (size_t k = 0; k < VECTORS; k++)
        sum[0][k] = (sum[0][k] + sum[1][k]) + (sum[2][k] + sum[3][k]);
    store(y, sum[0]);
}

static void multiply(const double *a, size_t n, const size_t *order, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++)
        dot(a + order[i] * n, x, n, y + i * PITH_ROW_PANEL);
}

/* From the first, row by row of U. */
static inline void forward(const double *restrict u, size_t n, double *restrict x)
{
    for (size_t j = 0; j < n; j++) {
        vec at[VECTORS];
        load(at, x + j * PITH_ROW_PANEL);
        for (size_t v = 0; v < VECTORS; v++)
            at[v] /= u[j * n + j];
        store(x + j * PITH_ROW_PANEL, at);
        for (size_t k = j + 1; k < n; k++) {
            vec to[VECTORS];
            load(to, x + k * PITH_ROW_PANEL);
            for (size_t v = 0; v < VECTORS; v++)
                to[v] -= at[v] * u[j * n + k];
            store(x + k * PITH_ROW_PANEL, to);
        }
    }
}

static void solve(const double *u, size_t n, double *x)
{
    forward(u, n, x);
    for (size_t j = n; j-- > 0;) {
        vec sum[VECTORS] = {{0}}, at[VECTORS];
        for (size_t k = j + 1; k < n; k++)
            add(sum, u[j * n + k], x + k * PITH_ROW_PANEL);
        load(at, x + j * PITH_ROW_PANEL);
        for (size_t v = 0; v < VECTORS; v++)
            at[v] = (at[v] - sum[v]) / u[j * n + j];
        store(x + j * PITH_ROW_PANEL, at);
    }
}

/* As many as registers have sums for. */
#define ROWS_AT_ONCE (VECTOR_BYTES > 16 ? 4 : 2)

/* Of `rows` rows of u from `first` on, and the panel of the columns of e from `at` on. */
static inline void add_rows(const struct panel_sum *of, size_t first, size_t rows, uint32_t at,
                            double *restrict sum)
{
    const size_t stride = of->stride, n = of->n;
    const uint32_t k = of->k;
    const double *u = of->u + first * stride, *e = of->e + at;
    vec s[ROWS_AT_ONCE][VECTORS];
    for (size_t row = 0; row < rows; row++)
        load(s[row], sum + row * k);
    for (size_t i = 0; i < n; i++)
        for (size_t row = 0; row < rows; row++)
            add(s[row], u[row * stride + i], e + i * k);
    for (size_t row = 0; row < rows; row++)
        store(sum + row * k, s[row]);
}

static void add_columns(const struct panel_sum *of)
{
    for (uint32_t at = 0; at < of->k; at += PITH_ROW_PANEL) {
        size_t row = 0;
        for (; row + ROWS_AT_ONCE <= of->rows; row += ROWS_AT_ONCE)
            add_rows(of, row, ROWS_AT_ONCE, at, of->sum + row * of->k + at);
        for (; row < of->rows; row++)
            add_rows(of, row, 1, at, of->sum + row * of->k + at);
    }
}

const struct row_panel_kernels ROW_PANEL = {multiply, solve, dot, add_columns, VECTOR_BYTES};
