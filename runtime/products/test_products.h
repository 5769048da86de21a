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

#include "integer_conv.h"
#include "integer_slots.h"
#include "product_f32.h"
#include "quad_form.h"
#include "run_form.h"

#endif
