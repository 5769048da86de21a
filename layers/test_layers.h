/* SPDX-License-Identifier: MIT */
/* test_layers.h - what tests look at inside of layers/, beside its interface, and why:
 *
 *     shrinkage.h: variances against single samples' matrices */
#ifndef TEST_LAYERS_H
#define TEST_LAYERS_H

#include "shrinkage.h"

#endif
