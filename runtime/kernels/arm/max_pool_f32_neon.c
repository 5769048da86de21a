/* SPDX-License-Identifier: MIT */
/* max_pool_f32_neon.c - see max_pool_f32_impl.h. */
#include "kernels/arm/simd_neon.h"
#include "kernels/ref/max_pool_f32_impl.h"
