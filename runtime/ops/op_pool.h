/* SPDX-License-Identifier: MIT */
/* op_pool.h - windows that slide over x [N,C,...], for every operator with the attributes of
 * AveragePool. */
#ifndef OP_POOL_H
#define OP_POOL_H

#include "op_interface/op_exec.h"

/* Kernel, stride, dilation, pad: products of two fit 64 bits with ease. */
#define POOL_MAX_WINDOW 65535

enum pool_kind { POOL_MAX = 0, POOL_SUM = 1, POOL_MEAN = 2 };

/* The shape rule: an f32 input, one f32 output. */
enum pith_status pith_pool_shape(const struct op_args *args);

/* Output 0 from x, which has the shape of input 0 (or is it). POOL_SUM: sums of the taps inside. */
void pith_pool_run(const struct op_args *args, const struct op_env *env, const float *x,
                   enum pool_kind kind);

#endif
