/* SPDX-License-Identifier: MIT */
/* test_quantize_transform.h - what tests look at inside of quantize/transform/, beside its
 * interface, and why:
 *
 *     expand_recurrent.h: layers written as loops against the operators, in floats */
#ifndef TEST_QUANTIZE_REWRITE_H
#define TEST_QUANTIZE_REWRITE_H

#include "expand_recurrent.h"

#endif
