/* SPDX-License-Identifier: MIT */
/* gemv_f32_avx512.c - see gemv_f32_impl.h. */
#include "kernels/x86/simd_avx512.h"
#include "kernels/ref/gemv_f32_impl.h"
