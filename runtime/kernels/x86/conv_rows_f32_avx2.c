/* SPDX-License-Identifier: MIT */
/* conv_rows_f32_avx2.c - 4 x 24, as gemm_f32_avx2.c. */
#include "kernels/x86/simd_avx2.h"
#define MR 4
#define NV 3
#include "kernels/ref/conv_rows_f32_impl.h"
