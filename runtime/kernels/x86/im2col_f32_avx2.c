/* SPDX-License-Identifier: MIT */
/* im2col_f32_avx2.c - see im2col_f32_impl.h. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/ref/im2col_f32_impl.h"
