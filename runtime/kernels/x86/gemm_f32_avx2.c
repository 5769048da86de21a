/* SPDX-License-Identifier: MIT */
/* gemm_f32_avx2.c - 4 x 24: 12 sums, 3 vectors of b, 1 broadcast: all 16 registers. */
#include "pith_simd_avx2.h"
#define MR 4
#define NV 3
#define EXTRA_COLUMN 0
#include "gemm_f32_impl.h"
