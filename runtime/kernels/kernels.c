/* SPDX-License-Identifier: MIT */
/* The kernel table of a feature set: each family fills its part, scalar reference first. */
#include "kernels/kernels.h"

void pith_kernels_fill(struct pith_kernels *kernels, uint32_t features)
{
    kernels->features = features;
    pith_dense_kernels_fill(&kernels->dense, features);
    pith_sparse_kernels_fill(&kernels->sparse, features);
    pith_row_kernels_fill(&kernels->row, features);
    pith_integer_kernels_fill(&kernels->integer, features);
}
