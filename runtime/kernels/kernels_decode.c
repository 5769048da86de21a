/* SPDX-License-Identifier: MIT */
/* kernels_decode.c - fills the kernels of the entropy decoders from their list. */
#include "build_choice.h"
#include "pith_kernel_decode.h"
#include "pith_runtime.h"

void pith_decode_kernels_fill(struct decode_kernels *k, uint32_t features)
{
    features &= PITH_BUILD_CPU;
    DECODE_KERNELS(KERNEL_TAKE)
}
