/* SPDX-License-Identifier: MIT */
/* im2col_f32_neon.c - see im2col_f32_impl.h. */
#include "kernels/arm/simd_neon.h"
#include "kernels/ref/im2col_f32_impl.h"
