/* SPDX-License-Identifier: MIT */
/* device_product.h - products that other operators are made of. */
#ifndef DEVICE_PRODUCT_H
#define DEVICE_PRODUCT_H

#include "device_lower.h"

#define GRID_LIMIT 65535u /* what CUDA takes along y and z */

#define FEW_ROWS 8u /* of a: a warp an output reads all of b for each */

/* Launches the product by the kernel that suits its shape. m, n, k, steps and pointers of g are
 * set. pith_device_tiles says whether the device can do it; where it cannot, nothing is launched
 * for more than a few rows. */
void pith_device_product(struct lowering *l, const struct gemm_args *g);
/* Grid of tiles for the product; false: it has too many. grid[3]: blocks along columns, rows and
 * batches. */
bool pith_device_tiles(const struct gemm_args *g, uint32_t grid[3]);
/* How blocks of tiles share sums of so many terms, of which they load slice_terms at once, with
 * room for what is shared; grid[2] has the parts, too, then. */
struct sum_split pith_device_shares(struct lowering *l, uint32_t grid[3], uint32_t terms,
                                    uint32_t slice_terms, uint32_t outputs);
/* Launches what adds up the sums that were shared, where they were. */
void pith_device_gemm_parts(struct lowering *l, const struct gemm_args *g);
void pith_device_conv_parts(struct lowering *l, const struct conv_args *c);
/* Batches of a and b, whose m, n and k are set. joins: those of a become rows where b is one
 * matrix. */
void pith_device_batches(struct gemm_args *g, const struct shape *a, const struct shape *b,
                         bool joins);
/* Entry of spatial axis i of n, i from the end: 0 the last; absent axes are 1. */
int32_t pith_device_spatial(const int32_t *attr, uint32_t slot, uint32_t n, uint32_t from_end);
/* Geometry of a convolution over one or two axes, everything else 0; false: over more. */
bool pith_device_conv_shape(struct conv_args *c, const struct op_args *args);
/* Whether each pixel of y is of the same of x alone. */
bool pith_device_is_pointwise(const struct conv_args *c);
/* Grid of tiles for it; false: it is better done output by output. grid[3]: blocks along pixels,
 * outputs of a group, and images times groups. */
bool pith_device_conv_tiles(const struct conv_args *c, uint32_t images, uint32_t grid[3]);
/* The product with b a weight [n, k], its rows from `first` on, or [k, n] (first 0): from the form
 * of its codebooks and indices that suits. half: by tensor cores, where that is quicker, and of
 * more than FEW_ROWS rows of a by nothing else. false, and nothing is launched: it has none. */
bool pith_device_compressed(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                            uint32_t first, bool half);
/* The same of few rows by a weight that is stored as f16 or bf16 (device_half.c). */
bool pith_device_half(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                      uint32_t first);
/* By tensor cores where the lowering allows it, and few rows of a by warps, of any weight [n, k],
 * or (b_row not 1) [k, n]. args: the step's, with a, the weight and c. false: not allowed, or no
 * weight for that. */
bool pith_device_mma(struct lowering *l, const struct gemm_args *g, const struct op_args *args);
bool pith_device_conv_mma(struct lowering *l, const struct conv_args *c, uint32_t images,
                          const struct weight *w);
/* Of bytes, as they are described but for the weight, which is the step's; joined steps are in c
 * and g. false, and nothing is launched: the weight is none to be packed, or the shape is none for
 * tiles (device_integer_packed.c). */
bool pith_device_conv_packed(struct lowering *l, const struct conv_i8_args *c,
                             const struct op_args *args);
bool pith_device_gemm_packed(struct lowering *l, const struct gemm_i8_args *g,
                             const struct op_args *args);
/* Few rows of bytes by codes, which lie as pack_codes.c has them. */
void pith_device_few_rows(struct lowering *l, const struct gemm_i8_args *g, const struct codes *w);
/* The product by cuBLASLt, whose shape and tail it has (blas.h); false: it cannot be had. factors:
 * type of a and b (device_blas.c). */
bool pith_device_blas(struct lowering *l, const struct gemm_args *g, uint32_t factors);
bool pith_device_has_blas(struct lowering *l);
/* Actions from `first` on do the product, and those from `second` on, if any, precede cuBLASLt's
 * way to do it, which is kept instead where it takes less time. g is as cuBLASLt is to have it.
 * has_tail: c is of y's type. */
void pith_device_or_blas(struct lowering *l, uint32_t first, uint32_t second,
                         const struct gemm_args *g, uint32_t factors, bool has_tail);
/* The same of a convolution, with nothing in front. w: rows [outputs, row] of a type. */
struct conv_weight {
    const void *at;
    uint32_t row, type, images;
};
void pith_device_conv_or_blas(struct lowering *l, uint32_t first, const struct conv_args *c,
                              const struct conv_weight *w);
/* The same of bytes: y [images, outputs, x.rows] of c's weight, and of x, as rows of c->w.row
 * terms; images 0: y [x.rows, outputs]. c: as for conv_splits_i8. */
void pith_device_bytes_or_blas(struct lowering *l, uint32_t first,
                               const struct conv_packed_i8_args *c, struct rows_i8_args x,
                               uint32_t images);
/* Whether the step is a product of up to CODES_MMA_ROWS rows by a weight with codebooks. */
bool pith_device_is_compressed(const struct step *s);
/* Input i, or, where it is the weight of the step, its floats. */
const float *pith_device_weight_or_data(struct lowering *l, const struct op_args *args, uint32_t i);

#endif
