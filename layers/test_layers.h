/* SPDX-License-Identifier: MIT */
/* test_layers.h - what tests look at inside of layers/, beside its interface, and why:
 *
 *     kept_row.h: targets of what stays against the constrained minimum
 *     shrinkage.h: variances against single samples' matrices */
#ifndef TEST_LAYERS_H
#define TEST_LAYERS_H

#include "kept_row.h"
#include "shrinkage.h"

#endif
