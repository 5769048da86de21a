/* SPDX-License-Identifier: MIT */
/* depthwise_f32_avx512.c - see depthwise_f32_impl.h. */
#include "kernels/x86/simd_avx512.h"
#include "kernels/x86/depthwise_flat_impl.h"
#include "kernels/ref/depthwise_f32_impl.h"
