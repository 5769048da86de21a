/* SPDX-License-Identifier: MIT */
/* fake_rows_choice.c - which of the variants this CPU runs. */
#include "fake_rows.h"
#include "pith_runtime.h"

const struct fake_rows *pith_fake_rows(void)
{
#if defined(__x86_64__)
    uint32_t features = pith_cpu_features();
    if (features & PITH_CPU_AVX512)
        return &pith_fake_rows_avx512;
    if (features & PITH_CPU_AVX2)
        return &pith_fake_rows_avx2;
#endif
    return &pith_fake_rows_base;
}
