/* SPDX-License-Identifier: MIT */
/* kernels_decode.c - fills the kernels of the entropy decoders from their lists. Those of codes
 * that are not built are NULL. */
#include "core/build_choice.h"
#include "kernels/kernel_decode.h"
#include "pith_runtime.h"

static void fill_huff(struct decode_kernels *k, uint32_t features)
{
    HUFF_KERNELS(KERNEL_TAKE)
}

static void fill_rans(struct decode_kernels *k, uint32_t features)
{
    RANS_KERNELS(KERNEL_TAKE)
}

void pith_decode_kernels_fill(struct decode_kernels *k, uint32_t features)
{
    *k = (struct decode_kernels){NULL, NULL};
    fill_huff(k, features & PITH_BUILD_CPU);
    if (BUILT_PART(RANS))
        fill_rans(k, features & PITH_BUILD_CPU);
}
