/* SPDX-License-Identifier: MIT */
/* test_products.h - what tests look at inside of runtime/products/, beside its interface, and why:
 *
 *     integer_conv.h: products whose kernels and layouts the test chooses
 *     integer_slots.h: where groups of slots begin
 *     product_f32.h: which kernel is chosen by which costs
 *     quad_form.h: what kernels of several columns read
 *     run_form.h: which form is chosen for which weight, and what is in it */
#ifndef TEST_PRODUCTS_H
#define TEST_PRODUCTS_H

#include "products/integer_conv.h"
#include "products/integer_slots.h"
#include "products/product_f32.h"
#include "products/quad_form.h"
#include "products/run_form.h"

#endif
