/* SPDX-License-Identifier: MIT */
/* conv_rows_f32_avx2.c - 4 x 24, as gemm_f32_avx2.c. */
#include "pith_simd_avx2.h"
#define MR 4
#define NV 3
#include "conv_rows_f32_impl.h"
