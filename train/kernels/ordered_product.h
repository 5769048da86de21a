/* SPDX-License-Identifier: MIT */
/* ordered_product.h - products of matrices whose bits are the same on every CPU: the ordered
 * kernel of the runtime, fed with packed parts of both sides. */
#ifndef ORDERED_PRODUCT_H
#define ORDERED_PRODUCT_H

#include "pith_kernel_ordered.h"
#include "prim_backend.h"

enum { ORDERED_DEPTH = 256, ORDERED_ROWS = 16 * ORDERED_MR }; /* of a part */

/* A backend's room for parts: rows of a in panels, columns of b, a tile of c. */
struct ordered_room {
    float a[ORDERED_ROWS * ORDERED_DEPTH];
    float b[ORDERED_DEPTH * ORDERED_NR];
    float c[ORDERED_ROWS * ORDERED_NR];
};

/* As pith_prim_gemm. */
void pith_ordered_product(gemm_f32_fn *kernel, struct ordered_room *room,
                          const struct prim_product *g);

#endif
