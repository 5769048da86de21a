/* SPDX-License-Identifier: MIT */
/* pool_f32_neon.c - see pool_f32_impl.h. */
#include "kernels/arm/simd_neon.h"
#include "kernels/ref/pool_f32_impl.h"
