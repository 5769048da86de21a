/* SPDX-License-Identifier: MIT */
/* histogram_count.c - which of the loops this machine can run. */
#include "histogram_count.h"

#define HISTOGRAM_COUNT pith_histogram_count
#include "histogram_count_impl.h"

pith_histogram_count_fn *pith_histogram_count_for(uint32_t cpu_mask)
{
#ifdef __x86_64__
    uint32_t has = pith_cpu_features() & (cpu_mask ? cpu_mask : UINT32_MAX);
    if (has & PITH_CPU_AVX512)
        return pith_histogram_count_avx512;
    if (has & PITH_CPU_AVX2)
        return pith_histogram_count_avx2;
#else
    (void)cpu_mask;
#endif
    return pith_histogram_count;
}
