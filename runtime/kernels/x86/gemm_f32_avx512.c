/* SPDX-License-Identifier: MIT */
/* gemm_f32_avx512.c - 8 x 48 or 49: 24 sums, 3 vectors of b, 1 broadcast, the extra column. */
#include "kernels/x86/simd_avx512.h"
#define MR 8
#define NV 3
#define EXTRA_COLUMN 1
#define MR_WIDE 0
#include "kernels/ref/gemm_f32_impl.h"
