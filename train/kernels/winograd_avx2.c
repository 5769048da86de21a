/* SPDX-License-Identifier: MIT */
/* winograd_avx2.c - winograd_impl.h for AVX2: 8 sums, 2 vectors of b, 1 broadcast. */
#include "kernels/x86/simd_avx2.h"
#define MR 4
#define TABLE pith_winograd_avx2
#include "winograd_impl.h"
