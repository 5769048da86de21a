/* SPDX-License-Identifier: MIT */
/* max_pool_f32_avx2.c - see max_pool_f32_impl.h. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/ref/max_pool_f32_impl.h"
