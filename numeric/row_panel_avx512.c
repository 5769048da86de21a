/* SPDX-License-Identifier: MIT */
/* row_panel_avx512.c - row_panel_impl.h for AVX-512. */
#define VECTOR_BYTES 64
#define ROW_PANEL pith_row_panel_avx512
#include "row_panel_impl.h"
