/* SPDX-License-Identifier: MIT */
/* depthwise_f32_avx2.c - see depthwise_f32_impl.h. */
#include "pith_simd_avx2.h"
#include "depthwise_f32_impl.h"
