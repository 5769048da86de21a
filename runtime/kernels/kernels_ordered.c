/* SPDX-License-Identifier: MIT */
/* kernels_ordered.c - fills the dense part of the kernel table from the list of ordered kernels. In
 * a file of its own, which a linker takes only where &pith_ordered_sums is named. */
#include "core/build_choice.h"
#include "kernels/kernel_ordered.h"
#include "pith_runtime.h"

/* Copies (im2col_f32, pack_rows_f32) stay those of the level; conv_f32 is never called where there
 * are tiles. */
void pith_ordered_kernels_fill(struct dense_kernels *k, uint32_t features)
{
    pith_dense_kernels_fill(k, features);
    features &= PITH_BUILD_CPU;
    ORDERED_KERNELS(KERNEL_TAKE)
    k->mr = ORDERED_MR, k->nr = k->nr_max = ORDERED_NR, k->lanes = 1;
    k->mr_wide = k->nr_wide = 0;
    k->strided = false;
    k->conv_rows_f32 = NULL;
    k->pool_f32 = NULL;
    k->winograd_in = NULL;
    k->winograd_out = NULL;
    k->winograd4_in = NULL;
    k->winograd4_out = NULL;
}

const struct pith_ordered pith_ordered_sums = {pith_ordered_kernels_fill};
