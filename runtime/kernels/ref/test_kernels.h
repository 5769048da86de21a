/* SPDX-License-Identifier: MIT */
/* test_kernels.h - what tests look at inside of runtime/kernels/ and contract/, beside their
 * interfaces, and why:
 *
 *     activate.h: the scalar definition that kernels and operators are held against
 *     integer_element.h: elements of any integer type, read as operators do
 *     shape_rule.h: rules at their limits */
#ifndef TEST_KERNELS_H
#define TEST_KERNELS_H

#include "kernels/ref/activate.h"
#include "kernels/ref/integer_element.h"
#include "op_interface/shape_rule.h"

#endif
