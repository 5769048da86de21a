/* SPDX-License-Identifier: MIT */
/* conv_rows_f32_avx512.c - 8 x 48, as gemm_f32_avx512.c. */
#include "pith_simd_avx512.h"
#define MR 8
#define NV 3
#include "conv_rows_f32_impl.h"
