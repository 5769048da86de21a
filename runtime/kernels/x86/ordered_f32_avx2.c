/* SPDX-License-Identifier: MIT */
/* ordered_f32_avx2.c - see ordered_f32_impl.h. */
#define ORDERED(name) name##_ordered_avx2
#define ROWS 4u
#define VECTORS 2u
#include "kernels/x86/simd_avx2.h"
#include "kernels/x86/ordered_taps.h"
#include "kernels/ref/ordered_f32_impl.h"
