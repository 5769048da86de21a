/* SPDX-License-Identifier: MIT */
#include "row_panel_list.h"

#include "pith_runtime.h"

struct row_panel_kernels pith_row_panel_kernels(void)
{
#if defined(__x86_64__)
    uint32_t features = pith_cpu_features();
    if (features & PITH_CPU_AVX512)
        return pith_row_panel_avx512;
    if (features & PITH_CPU_AVX2)
        return pith_row_panel_avx2;
#endif
    return pith_row_panel_base;
}
