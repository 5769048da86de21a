/* SPDX-License-Identifier: MIT */
/* ordered_f32_avx512.c - see ordered_f32_impl.h. */
#define ORDERED(name) name##_ordered_avx512
#define ROWS 8u
#define VECTORS 3u
#include "kernels/x86/simd_avx512.h"
#include "kernels/x86/ordered_taps.h"
#include "kernels/ref/ordered_f32_impl.h"
