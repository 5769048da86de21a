/* SPDX-License-Identifier: MIT */
/* conv_rows_f32_avx512.c - 8 x 48, as gemm_f32_avx512.c. */
#include "kernels/x86/simd_avx512.h"
#define MR 8
#define NV 3
#include "kernels/ref/conv_rows_f32_impl.h"
