/* SPDX-License-Identifier: MIT */
/* row_panel_base.c - row_panel_impl.h for every CPU. */
#define VECTOR_BYTES 16
#define ROW_PANEL pith_row_panel_base
#include "row_panel_impl.h"
