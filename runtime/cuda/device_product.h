/* SPDX-License-Identifier: MIT */
/* device_product.h - products that other operators are made of. */
#ifndef DEVICE_PRODUCT_H
#define DEVICE_PRODUCT_H

#include "device_lower.h"

/* Launches the product by the kernel that suits its shape. */
void pith_device_product(struct lowering *l, const struct gemm_args *g);
/* Input i, or, where it is the weight of the step, its floats. */
const float *pith_device_weight_or_data(struct lowering *l, const struct op_args *args, uint32_t i);

#endif
