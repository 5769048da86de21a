/* SPDX-License-Identifier: MIT */
/* test_contract.h - what tests look at inside of runtime/contract/, beside its interface, and why:
 *
 *     activate.h: the scalar definition that kernels and operators are held against
 *     integer_element.h: elements of any integer type, read as operators do
 *     shape_rule.h: rules at their limits */
#ifndef TEST_CONTRACT_H
#define TEST_CONTRACT_H

#include "activate.h"
#include "integer_element.h"
#include "shape_rule.h"

#endif
