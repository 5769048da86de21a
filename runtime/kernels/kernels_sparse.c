/* SPDX-License-Identifier: MIT */
/* kernels_sparse.c - fills the table of sparse and codebook products from their list. */
#include "kernels/kernel_sparse.h"
#include "core/build_choice.h"
#include "pith_runtime.h"
#include "core/op_number.h"

void pith_sparse_kernels_fill(struct sparse_kernels *k, uint32_t features)
{
    pith_costs_of(features, &k->costs, NULL);
    memset(k->rows, 0, sizeof k->rows);
    features &= PITH_BUILD_CPU;
    if (BUILT_PRODUCTS) {
        SPARSE_KERNELS(KERNEL_TAKE)
    }
    k->quad_lanes = features & PITH_CPU_AVX512 ? 16
                    : features & PITH_CPU_AVX2 ? 8
                    : features & PITH_CPU_NEON ? 4
                                               : 1;
}
