/* SPDX-License-Identifier: MIT */
/* narrow_conv_avx2.c - narrow_conv_impl.h for AVX2. */
#include "pith_simd_avx2.h"
#define MOST_TAPS 12
#define TABLE pith_narrow_avx2
#include "narrow_conv_impl.h"
