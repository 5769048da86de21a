/* SPDX-License-Identifier: MIT */
/* depthwise_f32_neon.c - see depthwise_f32_impl.h. */
#include "simd_neon.h"
#include "depthwise_f32_impl.h"
