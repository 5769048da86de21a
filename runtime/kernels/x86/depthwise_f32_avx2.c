/* SPDX-License-Identifier: MIT */
/* depthwise_f32_avx2.c - see depthwise_f32_impl.h. */
#include "kernels/x86/simd_avx2.h"
#include "kernels/ref/depthwise_f32_impl.h"
