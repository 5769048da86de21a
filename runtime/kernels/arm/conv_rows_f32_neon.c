/* SPDX-License-Identifier: MIT */
/* conv_rows_f32_neon.c - tiles as those of gemm_f32_neon.c. */
#include "kernels/arm/simd_neon.h"
#define MR NEON_MR
#define NV 3
#include "kernels/ref/conv_rows_f32_impl.h"
