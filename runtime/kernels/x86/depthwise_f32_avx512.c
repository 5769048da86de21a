/* SPDX-License-Identifier: MIT */
/* depthwise_f32_avx512.c - see depthwise_f32_impl.h. */
#include "pith_simd_avx512.h"
#include "depthwise_flat_impl.h"
#include "depthwise_f32_impl.h"
