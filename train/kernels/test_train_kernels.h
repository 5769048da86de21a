/* SPDX-License-Identifier: MIT */
/* test_train_kernels.h - what tests look at inside of train/kernels/, beside its interface, and
 * why:
 *
 *     panel_product.h: every instruction set against sums in double
 *     primitive.h: sums of one order, and at every instruction set against sums in double
 *     train_kernels.h: every entry of the list
 *     winograd.h: every instruction set against sums in double */
#ifndef TEST_TRAIN_KERNELS_H
#define TEST_TRAIN_KERNELS_H

#include "panel_product.h"
#include "primitive.h"
#include "train_kernels.h"
#include "winograd.h"

static inline struct train_kernels train_kernels_of(uint32_t features)
{
    struct train_kernels k;
    pith_train_kernels_fill(&k, features);
    return k;
}

#endif
