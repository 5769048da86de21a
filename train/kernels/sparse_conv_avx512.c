/* SPDX-License-Identifier: MIT */
/* sparse_conv_avx512.c - sparse_conv_impl.h for AVX-512. */
#include "pith_simd_avx512.h"
#define BLOCK 24
#define GRADIENT_BLOCK 24
#define TABLE pith_sparse_avx512
#include "sparse_conv_impl.h"
