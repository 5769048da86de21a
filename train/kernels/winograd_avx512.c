/* SPDX-License-Identifier: MIT */
/* winograd_avx512.c - winograd_impl.h for AVX-512: 16 sums, 2 vectors of b, 1 broadcast. */
#include "kernels/x86/simd_avx512.h"
#define MR 8
#define TABLE pith_winograd_avx512
#include "winograd_impl.h"
