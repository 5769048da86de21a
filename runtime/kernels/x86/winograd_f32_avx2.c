/* SPDX-License-Identifier: MIT */
/* winograd_f32_avx2.c - see winograd_f32_impl.h. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/ref/winograd_f32_impl.h"
