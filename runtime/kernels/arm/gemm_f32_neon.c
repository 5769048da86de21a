/* SPDX-License-Identifier: MIT */
/* gemm_f32_neon.c - 8 x 12: 24 sums, 3 vectors of b, 2 of weights: 29 of 32 registers. 4 x 12 take
 * 16. */
#include "kernels/arm/simd_neon.h"
#define MR NEON_MR
#define NV 3
#define EXTRA_COLUMN 0
#define MR_WIDE 0
#include "kernels/ref/gemm_f32_impl.h"
