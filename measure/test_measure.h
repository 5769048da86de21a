/* SPDX-License-Identifier: MIT */
/* test_measure.h - what tests look at inside of measure/, beside its interface, and why:
 *
 *     integer_numbers.h: what a grid does to numbers, without a network */
#ifndef TEST_MEASURE_H
#define TEST_MEASURE_H

#include "integer_numbers.h"

#endif
