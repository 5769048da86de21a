/* SPDX-License-Identifier: MIT */
/* panel_product.h - products with a matrix that all slices of a batch share, as that of a fully
 * connected layer: y = x w^T, dx = dy w, dw = dy^T x. A library's product of a slice's few rows
 * spends its time on rearranging w, again for each slice, and on gradients of w that only wait to
 * be added up. Here w is taken as it lies, and its gradient is added up over slices in the
 * registers.
 *
 * The kernels are one template (panel_product_impl.h) compiled for each instruction set:
 * train_kernels.h. */
#ifndef PANEL_PRODUCT_H
#define PANEL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c [rows, columns] (+)= alpha * a [rows, depth] * b (+ start [columns]); start: NULL, or not
 * together with add. b: [depth, columns], or its transpose. */
struct panel_product {
    const float *a, *b, *start;
    float *c;
    int64_t a_row, b_row, c_row; /* floats from row to row */
    int64_t rows, columns, depth;
    float alpha;
    bool add;
};

enum { OUTER_MOST_PARTS = 8 };

/* c [row_end - row_begin of all rows, columns] = the sum over parts of a^T b, along the tree of
 * ranks.h: ((0 + 1) + (2 + 3)) + ... Each a is [depth, rows], each b [depth, columns]. parts: 1, 2,
 * 4, 8. */
struct outer_product {
    const float *a[OUTER_MOST_PARTS], *b[OUTER_MOST_PARTS];
    uint32_t parts;
    float *c;
    int64_t a_row, b_row, c_row;
    int64_t row_begin, row_end, columns, depth;
};

struct panel_kernels {
    void (*multiply)(const struct panel_product *p);            /* b [depth, columns] */
    void (*multiply_transposed)(const struct panel_product *p); /* b [columns, depth] */
    void (*outer)(const struct outer_product *p);
};

#endif
