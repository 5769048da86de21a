/* SPDX-License-Identifier: MIT */
/* test_kernels_ref.h - what tests look at inside of runtime/kernels/ref/, beside its interface, and
 * why:
 *
 *     elementary_f32.h: distance to libm, function by function
 *     math_f32.h: distance to libm, function by function
 *     sum_f32.h: the order of a sum */
#ifndef TEST_KERNELS_REF_H
#define TEST_KERNELS_REF_H

#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/math_f32.h"
#include "kernels/ref/sum_f32.h"

#endif
