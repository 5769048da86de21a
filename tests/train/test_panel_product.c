/* SPDX-License-Identifier: MIT */
/* Products with a shared matrix against sums in double, at every instruction set that this CPU has:
 * ends of panels and tiles, rows that lie apart, all numbers of parts. The sum over parts is that
 * along the tree, to the bit. Bound: 1e-6 of the sum of the terms' absolute values. */
#include "train/kernels/panel_product.h"
#include "train/kernels_of_features.h"
#include "pith_runtime.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test_run.h"

static uint32_t state_of_random = 20260522;

static float *numbers(int64_t n)
{
    float *p = malloc((size_t)(n + 1) * sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < n; i++) {
        state_of_random = state_of_random * 1664525u + 1013904223u;
        p[i] = (float)(state_of_random >> 8) * 0x1p-23f - 1.0f;
    }
    return p;
}

static const struct panel_kernels *level(size_t i)
{
    static const uint32_t masks[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    return train_kernels_of(pith_cpu_features() & masks[i]).panel;
}

/* w: [depth, columns], or its transpose. */
static void multiply(const struct panel_kernels *k, int64_t rows, int64_t depth, int64_t columns,
                     bool transposed, bool add, bool starts)
{
    const int64_t a_row = depth + 3, c_row = columns + 2;
    int64_t k_step = transposed ? 1 : columns, j_step = transposed ? depth : 1;
    const float alpha = add ? 0.5f : 1.0f;
    float *a = numbers(rows * a_row), *w = numbers(depth * columns), *start = numbers(columns);
    float *c = numbers(rows * c_row), *before = malloc((size_t)(rows * c_row) * sizeof *c);
    assert_non_null(before);
    memcpy(before, c, (size_t)(rows * c_row) * sizeof *c);
    const struct panel_product p = {.a = a,
                                    .b = w,
                                    .start = starts ? start : NULL,
                                    .c = c,
                                    .a_row = a_row,
                                    .b_row = transposed ? depth : columns,
                                    .c_row = c_row,
                                    .rows = rows,
                                    .columns = columns,
                                    .depth = depth,
                                    .alpha = alpha,
                                    .add = add};
    if (transposed)
        k->multiply_transposed(&p);
    else
        k->multiply(&p);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < c_row; j++) {
            if (j >= columns) {
                assert_true(c[i * c_row + j] == before[i * c_row + j]);
                continue;
            }
            double sum = add ? (double)before[i * c_row + j] : starts ? (double)start[j] : 0;
            double size = fabs(sum);
            for (int64_t d = 0; d < depth; d++) {
                double term =
                    (double)alpha * (double)a[i * a_row + d] * (double)w[d * k_step + j * j_step];
                sum += term;
                size += fabs(term);
            }
            assert_true(fabs((double)c[i * c_row + j] - sum) <= 1e-6 * size);
        }
    void *all[] = {a, w, start, c, before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

TEST(rows_times_a_matrix)
{
    static const int64_t columns[] = {1, 7, 8, 10, 16, 31, 32, 33, 50}, depths[] = {1, 5, 64, 131};
    for (size_t i = 0; i < 3; i++)
        for (int64_t rows = 1; rows <= 17; rows += rows < 9 ? 1 : 4)
            for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
                for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
                    multiply(level(i), rows, depths[d], columns[c], rows % 2, false, c % 2);
                    multiply(level(i), rows, depths[d], columns[c], c % 2, true, false);
                    multiply(level(i), rows, depths[d], columns[c], c % 2, false, d % 2);
                }
}

/* The tree over numbers that one part each has made alone. */
static float tree_of(const float *v, uint32_t n)
{
    float sum[OUTER_MOST_PARTS];
    memcpy(sum, v, n * sizeof *v);
    for (uint32_t wide = 1; wide < n; wide *= 2)
        for (uint32_t i = 0; i < n; i += 2 * wide)
            sum[i] += sum[i + wide];
    return sum[0];
}

static void outer(const struct panel_kernels *k, uint32_t parts, int64_t rows, int64_t columns,
                  int64_t depth)
{
    const int64_t a_row = rows + 1, b_row = columns + 2, c_row = columns + 1;
    float *alone[OUTER_MOST_PARTS], *c = numbers(rows * c_row);
    struct outer_product p = {.parts = parts,
                              .c = c,
                              .a_row = a_row,
                              .b_row = b_row,
                              .c_row = c_row,
                              .row_end = rows,
                              .columns = columns,
                              .depth = depth};
    for (uint32_t s = 0; s < parts; s++) {
        p.a[s] = numbers(depth * a_row);
        p.b[s] = numbers(depth * b_row);
    }
    for (int64_t split = 0; split < rows; split += 8) {
        p.row_begin = split;
        p.row_end = split + 8 < rows ? split + 8 : rows;
        k->outer(&p);
    }
    p.row_begin = 0;
    p.row_end = rows;
    for (uint32_t s = 0; s < parts; s++) {
        struct outer_product one = p;
        one.parts = 1;
        one.a[0] = p.a[s];
        one.b[0] = p.b[s];
        one.c = alone[s] = numbers(rows * c_row);
        k->outer(&one);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float v[OUTER_MOST_PARTS];
            double sum = 0, size = 0;
            for (uint32_t s = 0; s < parts; s++) {
                v[s] = alone[s][i * c_row + j];
                for (int64_t d = 0; d < depth; d++) {
                    double term = (double)p.a[s][d * a_row + i] * (double)p.b[s][d * b_row + j];
                    sum += term;
                    size += fabs(term);
                }
            }
            assert_true(c[i * c_row + j] == tree_of(v, parts));
            assert_true(fabs((double)c[i * c_row + j] - sum) <= 1e-6 * size);
        }
    for (uint32_t s = 0; s < parts; s++) {
        free((void *)(uintptr_t)p.a[s]);
        free((void *)(uintptr_t)p.b[s]);
        free(alone[s]);
    }
    free(c);
}

TEST(sums_of_outer_products)
{
    static const int64_t columns[] = {1, 9, 16, 32, 40}, rows[] = {1, 8, 10, 19};
    for (size_t i = 0; i < 3; i++)
        for (uint32_t parts = 1; parts <= 8; parts *= 2)
            for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
                for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                    outer(level(i), parts, rows[r], columns[c], 1);
                    outer(level(i), parts, rows[r], columns[c], 16);
                }
}

RUN_TESTS
