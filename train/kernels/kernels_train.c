/* SPDX-License-Identifier: MIT */
/* kernels_train.c - fills the table of training's kernels from their list. */
#include "train_kernels.h"

#include "base/cpu_allowed.h"
#include "pith_runtime.h"

void pith_train_kernels_fill(struct train_kernels *k, uint32_t features)
{
    TRAIN_KERNELS(KERNEL_TAKE)
}

struct train_kernels pith_train_kernels(void)
{
    struct train_kernels k;
    pith_train_kernels_fill(&k, pith_cpu_allowed());
    return k;
}
