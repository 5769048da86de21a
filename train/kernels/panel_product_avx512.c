/* SPDX-License-Identifier: MIT */
/* panel_product_avx512.c - panel_product_impl.h for AVX-512: 16 sums, 2 vectors of a panel, 1
 * broadcast. */
#include "kernels/x86/simd_avx512.h"
#define MR 8
#define DOT_ROWS 4
#define DOT_COLUMNS 6
#define TABLE pith_panel_avx512
#include "panel_product_impl.h"
