/* SPDX-License-Identifier: MIT */
/* kernels_dense.c - fills the dense part of the kernel table from its list. */
#include "core/build_choice.h"
#include "kernels/kernel_dense.h"
#include "pith_runtime.h"
#include "core/op_number.h"

/* What gemm_f32 and conv_rows_f32 of a level take at once. */
static void set_tile(struct dense_kernels *k, uint32_t features)
{
    if (features & PITH_CPU_AVX512)
        k->mr = 8, k->nr = 48, k->nr_max = 49, k->lanes = 16, k->strided = true;
    else if (features & PITH_CPU_AVX2)
        k->mr = 4, k->nr = 24, k->nr_max = 24, k->mr_wide = 6, k->nr_wide = 16, k->lanes = 8,
        k->strided = true;
    else if (features & PITH_CPU_NEON)
        k->mr = NEON_MR, k->nr = k->nr_max = 12, k->lanes = 4;
}

void pith_dense_kernels_fill(struct dense_kernels *k, uint32_t features)
{
    *k = (struct dense_kernels){0};
    features &= PITH_BUILD_CPU;
    if (BUILT_PRODUCTS) {
        DENSE_KERNELS(KERNEL_TAKE)
    }
    set_tile(k, features);
}
