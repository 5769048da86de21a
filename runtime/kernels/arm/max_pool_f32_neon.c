/* SPDX-License-Identifier: MIT */
/* max_pool_f32_neon.c - see max_pool_f32_impl.h. */
#include "simd_neon.h"
#include "max_pool_f32_impl.h"
