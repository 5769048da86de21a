/* SPDX-License-Identifier: MIT */
/* prim.h - what the files behind primitive.h share: the state of a slice, products inside of a
 * convolution, and where the taps of a window lie. */
#ifndef PRIM_H
#define PRIM_H

#include "channel_rows.h"
#include "kernels/kernel_dense.h"
#include "primitive.h"

/* Of a product that is cut into parts: k of a part, rows of a that are packed at once. */
enum { PRODUCT_DEPTH = 256, PRODUCT_ROWS = 128 };

struct prim {
    bool ordered;
    struct dense_kernels dense;
    const struct channel_rows *rows;
    float *shared; /* [n_shared], owned: of whichever call runs; of all convolutions the most */
    size_t n_shared;
    /* Parts of a product: rows of a in panels, columns of b, a tile of c. */
    float a[PRODUCT_ROWS * PRODUCT_DEPTH], b[PRODUCT_DEPTH * DENSE_MAX_NR];
    float c[PRODUCT_ROWS * DENSE_MAX_NR];
};

struct prim_product {
    struct prim_size size;
    float alpha;
    struct prim_matrix a, b;
    struct prim_result c;
};
/* As pith_prim_gemm. */
void pith_prim_multiply(struct prim *p, const struct prim_product *g);

/* The taps of a window, for the pixels of its result, which are counted as rows through all images.
 */
struct window {
    struct prim_conv_shape s;
    int64_t rows, taps;
    int64_t *inside, *edge; /* [taps]; inside owns both */
};
/* PITH_ERR_MEMORY. */
enum pith_status pith_window_new(const struct prim_conv_shape *s, struct window *w);
/* at [taps]: the pixels of x under the taps of the row, from pixel `first` on; -1: outside. */
const int64_t *pith_window_taps(const struct window *w, int64_t row, int64_t *first);

#endif
