/* SPDX-License-Identifier: MIT */
/* im2col_f32_avx512.c - see im2col_f32_impl.h. */
#include "pith_simd_avx512.h"
#include "im2col_f32_impl.h"
