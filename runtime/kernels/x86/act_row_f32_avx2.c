/* SPDX-License-Identifier: MIT */
/* act_row_f32_avx2.c - see act_row_f32_impl.h. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/ref/act_row_f32_impl.h"
