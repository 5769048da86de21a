/* SPDX-License-Identifier: MIT */
/* sparse_conv_base.c - sparse_conv_impl.h for every CPU. */
#include "simd_base.h"
#define BLOCK 8
#define GRADIENT_BLOCK 8
#define TABLE pith_sparse_base
#include "sparse_conv_impl.h"
