/* SPDX-License-Identifier: MIT */
/* panel_product_avx2.c - panel_product_impl.h for AVX2: 8 sums, 2 vectors of a panel, 1 broadcast.
 */
#include "kernels/x86/simd_avx2.h"
#define MR 4
#define DOT_ROWS 2
#define DOT_COLUMNS 4
#define TABLE pith_panel_avx2
#include "panel_product_impl.h"
