/* SPDX-License-Identifier: MIT */
/* panel_product_base.c - panel_product_impl.h for every CPU. */
#include "simd_base.h"
#define MR 4
#define DOT_ROWS 2
#define DOT_COLUMNS 4
#define TABLE pith_panel_base
#include "panel_product_impl.h"
