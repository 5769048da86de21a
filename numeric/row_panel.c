/* SPDX-License-Identifier: MIT */
/* row_panel.c - the list as a table; the loops stand in row_panel_impl.h. */
#include "row_panel_list.h"

#include "base/cpu_allowed.h"
#include "pith_runtime.h"

void pith_row_panel_kernels_fill(struct row_panel_table *k, uint32_t features)
{
    ROW_PANEL_KERNELS(KERNEL_TAKE)
}

struct row_panel_kernels pith_row_panel_kernels(void)
{
    struct row_panel_table k;
    pith_row_panel_kernels_fill(&k, pith_cpu_allowed());
    return *k.panel;
}
