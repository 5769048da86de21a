/* SPDX-License-Identifier: MIT */
/* test_train_kernels.h - what tests look at inside of train/kernels/, beside its interface, and
 * why:
 *
 *     narrow_conv.h: every instruction set against sums in double
 *     panel_product.h: every instruction set against sums in double
 *     primitive.h: what kernels are handed and count their time in; the ordered backend
 *     train_kernels.h: every entry of the list
 *     sparse_conv.h: every instruction set against sums in double
 *     winograd.h: every instruction set against sums in double */
#ifndef TEST_TRAIN_KERNELS_H
#define TEST_TRAIN_KERNELS_H

#include "narrow_conv.h"
#include "panel_product.h"
#include "primitive.h"
#include "sparse_conv.h"
#include "train_kernels.h"
#include "winograd.h"

static inline struct train_kernels train_kernels_of(uint32_t features)
{
    struct train_kernels k;
    pith_train_kernels_fill(&k, features);
    return k;
}

#endif
