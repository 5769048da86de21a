/* SPDX-License-Identifier: MIT */
/* gemv_f32_avx2.c - see gemv_f32_impl.h. */
#include "pith_simd_avx2.h"
#include "gemv_f32_impl.h"
