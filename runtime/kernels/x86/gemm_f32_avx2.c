/* SPDX-License-Identifier: MIT */
/* gemm_f32_avx2.c - 4 x 24: 12 sums, 3 vectors of b, 1 broadcast: all 16 registers. 6 x 16: as
 * many sums, 2 vectors of b. */
#include "kernels/x86/simd_avx2.h"
#define MR 4
#define NV 3
#define EXTRA_COLUMN 0
#define MR_WIDE 6
#define WIDE_NV 2
#include "kernels/ref/gemm_f32_impl.h"
