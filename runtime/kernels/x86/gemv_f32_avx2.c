/* SPDX-License-Identifier: MIT */
/* gemv_f32_avx2.c - see gemv_f32_impl.h. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/ref/gemv_f32_impl.h"
