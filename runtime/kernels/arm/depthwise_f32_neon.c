/* SPDX-License-Identifier: MIT */
/* depthwise_f32_neon.c - see depthwise_f32_impl.h. */
#include "kernels/arm/simd_neon.h"
#include "kernels/ref/depthwise_f32_impl.h"
