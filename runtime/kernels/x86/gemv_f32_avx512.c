/* SPDX-License-Identifier: MIT */
/* gemv_f32_avx512.c - see gemv_f32_impl.h. */
#include "pith_simd_avx512.h"
#include "gemv_f32_impl.h"
