/* SPDX-License-Identifier: MIT */
/* panel_product_choice.c - which of the variants a CPU runs. */
#include "panel_product.h"

#include "pith_runtime.h"

const struct panel_kernels *pith_panel_kernels(uint32_t features)
{
#if defined(__x86_64__)
    if (features & PITH_CPU_AVX512)
        return &pith_panel_avx512;
    if (features & PITH_CPU_AVX2)
        return &pith_panel_avx2;
#else
    (void)features;
#endif
    return &pith_panel_base;
}
