/* SPDX-License-Identifier: MIT */
/* narrow_conv_avx512.c - narrow_conv_impl.h for AVX-512. */
#include "pith_simd_avx512.h"
#define MOST_TAPS 27
#define TABLE pith_narrow_avx512
#include "narrow_conv_impl.h"
