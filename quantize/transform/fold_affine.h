/* SPDX-License-Identifier: MIT */
/* fold_affine.h - Add, Sub, Mul and Div by constants of a layer's output channels, into the
 * layer. */
#ifndef PITH_FOLD_AFFINE_H
#define PITH_FOLD_AFFINE_H

#include "pith_model.h"

/* Layers: Conv, Gemm and MatMul (of two axes; it becomes a Gemm) with constant weights of rows,
 * whose result nothing else reads; weights with a codebook are left alone. The network computes the
 * same up to the rounding of the products. PITH_ERR_MEMORY. */
enum pith_status pith_fold_affine(struct pith_model *m, struct pith_error *err);

#endif
