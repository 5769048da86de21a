/* SPDX-License-Identifier: MIT */
/* panels_that_run.h - kernels of row panels for each instruction set that this machine has. */
#ifndef PANELS_THAT_RUN_H
#define PANELS_THAT_RUN_H

#include "numeric/row_panel_list.h"
#include "pith_runtime.h"

enum { PANELS = 3 };

/* How many there are. */
static inline size_t panels_that_run(const struct row_panel_kernels *of[PANELS])
{
    size_t n = 0;
    of[n++] = &pith_row_panel_base;
#if defined(__x86_64__)
    if (pith_cpu_features() & PITH_CPU_AVX2)
        of[n++] = &pith_row_panel_avx2;
    if (pith_cpu_features() & PITH_CPU_AVX512)
        of[n++] = &pith_row_panel_avx512;
#endif
    return n;
}

#endif
