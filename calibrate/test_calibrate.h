/* SPDX-License-Identifier: MIT */
/* test_calibrate.h - what tests look at inside of calibrate/, beside its interface, and why:
 *
 *     calibrate_kernels.h: every entry of the list
 *     value_observer.h: one value, without a network around it */
#ifndef TEST_CALIBRATE_H
#define TEST_CALIBRATE_H

#include "calibrate_kernels.h"
#include "value_observer.h"

#endif
