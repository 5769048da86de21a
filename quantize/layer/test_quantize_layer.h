/* SPDX-License-Identifier: MIT */
/* test_quantize_layer.h - what tests look at inside of quantize/layer/, beside its interface, and
 * why:
 *
 *     integer_layer.h: what a layer holds before and after its statistics are estimated anew
 *     radix.h: powers of two, and which are none
 *     radix_weight.h: rows whose best scale is known */
#ifndef TEST_QUANTIZE_LAYER_H
#define TEST_QUANTIZE_LAYER_H

#include "integer_layer.h"
#include "radix.h"
#include "radix_weight.h"

#endif
