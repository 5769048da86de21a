/* SPDX-License-Identifier: MIT */
/* test_ops.h - what tests look at inside of runtime/ops/, beside its interface, and why:
 *
 *     op_list.h: operators one by one, without a graph around them */
#ifndef TEST_OPS_H
#define TEST_OPS_H

#include "ops/op_list.h"

#endif
