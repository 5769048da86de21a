/* SPDX-License-Identifier: MIT */
/* onnx_fit.h - the formula of an attribute that follows open sizes, from its values at some of
 * them.
 */
#ifndef ONNX_FIT_H
#define ONNX_FIT_H

#include "host/size_expression.h"

#define ONNX_FIT_JOINT 5u
#define ONNX_FIT_MORE 10u
#define ONNX_FIT_PASSES (1u + 2u * SIZE_NAMES + ONNX_FIT_JOINT + ONNX_FIT_MORE)

/* Pass 0 is the base. In 1 + 2 i and 2 + 2 i size i alone is another; in the ONNX_FIT_JOINT behind
 * these all are; up to ONNX_FIT_MORE may follow, with which quotients differ. */
struct onnx_fit {
    uint32_t n_sizes, n_passes;
    uint32_t size[ONNX_FIT_PASSES][SIZE_NAMES];
    bool skipped[SIZE_NAMES]; /* always the same as an earlier one */
    int32_t number[ONNX_FIT_PASSES];
    /* of what was fitted last: other formulas fit, too, and the number with size `next_size` as
     * next_value, the others as in pass 0, rules out half of them */
    bool undecided;
    uint32_t next_size, next_value;
};

/* A sum of the sizes and of the product of two, times whole or broken numbers, rounded down; true
 * where it gives the number of each pass. */
bool pith_onnx_fit(struct onnx_fit *f, struct size_expression *e);

/* e gives the number of each pass. */
bool pith_onnx_fits(const struct onnx_fit *f, const struct size_expression *e);

#endif
