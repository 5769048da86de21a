/* SPDX-License-Identifier: MIT */
/* test_quantize_rewrite.h - what tests look at inside of quantize/rewrite/, beside its interface,
 * and why:
 *
 *     pith_expand_recurrent.h: layers written as loops against the operators, in floats */
#ifndef TEST_QUANTIZE_REWRITE_H
#define TEST_QUANTIZE_REWRITE_H

#include "pith_expand_recurrent.h"

#endif
