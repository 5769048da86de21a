/* SPDX-License-Identifier: MIT */
#ifndef KERNELS_OF_FEATURES_H
#define KERNELS_OF_FEATURES_H

#include "train/kernels/train_kernels.h"

static inline struct train_kernels train_kernels_of(uint32_t features)
{
    struct train_kernels k;
    pith_train_kernels_fill(&k, features);
    return k;
}

#endif
