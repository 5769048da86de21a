/* SPDX-License-Identifier: MIT */
/* row_panel_list.h - the loops of row_panel.h, for each instruction set. */
#ifndef ROW_PANEL_LIST_H
#define ROW_PANEL_LIST_H

#include <stdint.h>

#include "kernels/kernel_list.h"
#include "row_panel.h"

typedef const struct row_panel_kernels row_panel_entry;

struct row_panel_table {
    row_panel_entry *panel;
};

/* The list: kernel_list.h. */
#define ROW_PANEL_KERNELS_ANY(KERNEL) KERNEL(panel, row_panel_entry, pith_row_panel_base, 0)
#ifdef __x86_64__
#define ROW_PANEL_KERNELS_OWN(KERNEL)                                                              \
    KERNEL(panel, row_panel_entry, pith_row_panel_avx2, PITH_CPU_AVX2)                             \
    KERNEL(panel, row_panel_entry, pith_row_panel_avx512, PITH_CPU_AVX512)
#else
#define ROW_PANEL_KERNELS_OWN(KERNEL)
#endif
#define ROW_PANEL_KERNELS(KERNEL) ROW_PANEL_KERNELS_ANY(KERNEL) ROW_PANEL_KERNELS_OWN(KERNEL)

ROW_PANEL_KERNELS(KERNEL_DECLARE)

/* features: PITH_CPU_ bits, 0: the base alone. */
void pith_row_panel_kernels_fill(struct row_panel_table *k, uint32_t features);

#endif
