/* SPDX-License-Identifier: MIT */
/* channel_rows_choice.c - which of the variants this CPU runs. */
#include "channel_rows.h"
#include "pith_runtime.h"

const struct channel_rows *pith_channel_rows(void)
{
#if defined(__x86_64__)
    uint32_t features = pith_cpu_features();
    if (features & PITH_CPU_AVX512)
        return &pith_channel_rows_avx512;
    if (features & PITH_CPU_AVX2)
        return &pith_channel_rows_avx2;
#endif
    return &pith_channel_rows_base;
}
