/* SPDX-License-Identifier: MIT */
/* row_panel_list.h - the loops of pith_row_panel.h, for each instruction set. */
#ifndef ROW_PANEL_LIST_H
#define ROW_PANEL_LIST_H

#include "pith_row_panel.h"

extern const struct row_panel_kernels pith_row_panel_base, pith_row_panel_avx2,
    pith_row_panel_avx512;

#endif
