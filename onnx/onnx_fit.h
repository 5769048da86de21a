/* SPDX-License-Identifier: MIT */
/* onnx_fit.h - the formula of an attribute that follows open sizes, from its values at some of
 * them.
 */
#ifndef ONNX_FIT_H
#define ONNX_FIT_H

#include "host/size_expression.h"

#define ONNX_FIT_JOINT 5u
#define ONNX_FIT_PASSES (1u + 2u * SIZE_NAMES + ONNX_FIT_JOINT)

/* Pass 0 is the base. In 1 + 2 i and 2 + 2 i size i alone is another; in the last ONNX_FIT_JOINT
 * all are. */
struct onnx_fit {
    uint32_t n_sizes, n_passes;
    uint32_t size[ONNX_FIT_PASSES][SIZE_NAMES];
    bool skipped[SIZE_NAMES]; /* always the same as an earlier one */
    int32_t number[ONNX_FIT_PASSES];
};

/* A sum of the sizes and of the product of two, times whole or broken numbers, rounded down; true
 * where it gives the number of each pass. */
bool pith_onnx_fit(const struct onnx_fit *f, struct size_expression *e);

/* e gives the number of each pass. */
bool pith_onnx_fits(const struct onnx_fit *f, const struct size_expression *e);

#endif
