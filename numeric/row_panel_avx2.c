/* SPDX-License-Identifier: MIT */
/* row_panel_avx2.c - row_panel_impl.h for AVX2. */
#define VECTOR_BYTES 32
#define ROW_PANEL pith_row_panel_avx2
#include "row_panel_impl.h"
