/* SPDX-License-Identifier: MIT */
/* im2col_f32_avx2.c - see im2col_f32_impl.h. */
#include "pith_simd_avx2.h"
#include "im2col_f32_impl.h"
