/* SPDX-License-Identifier: MIT */
/* conv_rows_f32_neon.c - 8 x 12, as gemm_f32_neon.c. */
#include "kernels/arm/simd_neon.h"
#define MR 8
#define NV 3
#include "kernels/ref/conv_rows_f32_impl.h"
