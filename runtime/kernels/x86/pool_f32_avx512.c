/* SPDX-License-Identifier: MIT */
/* pool_f32_avx512.c - see pool_f32_impl.h. */
#include "kernels/x86/simd_avx512.h"
#include "kernels/ref/pool_f32_impl.h"
