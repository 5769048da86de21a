/* SPDX-License-Identifier: MIT */
/* sparse_conv_avx2.c - sparse_conv_impl.h for AVX2. */
#include "pith_simd_avx2.h"
#define BLOCK 8
#define GRADIENT_BLOCK 8
#define TABLE pith_sparse_avx2
#include "sparse_conv_impl.h"
