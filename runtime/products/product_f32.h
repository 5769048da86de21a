/* SPDX-License-Identifier: MIT */
/* product_f32.h - one matrix product y = act(alpha * a b + beta * c + residual): what Gemm, MatMul
 * and convolutions of one pixel have in common. need() chooses the cheapest entry of the list of
 * product kernels (product_kernel.h) and keeps it in the struct, which prepare() and run() read. */
#ifndef PRODUCT_F32_H
#define PRODUCT_F32_H

#include "products/product.h"

/* weight: constant b, or NULL. choice: the kernel that is wanted, its number from 1 on; 0: the
 * cheapest. Sets kernel and constant. PITH_ERR_CORRUPT: that kernel cannot do it. */
enum pith_status pith_product_need(struct product *p, const struct weight *weight, uint32_t choice,
                                   const struct op_env *env, struct op_need *need);
enum pith_status pith_product_prepare(const struct product *p, const struct weight *weight,
                                      void *prep, const struct op_env *env);
void pith_product_run(const struct product *p, const struct product_data *d,
                      const struct op_env *env);

#endif
