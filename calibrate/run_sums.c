/* SPDX-License-Identifier: MIT */
/* run_sums.c - a square of an f32 is exact in a double, and as many as fit into memory do not
 * overflow one: so the sum of squares is finite iff every number was. */
#include "run_sums.h"

#include "pith_runtime.h"

#define RUN_SUMS pith_run_sums
#define WIDE 16
#include "run_sums_impl.h"

pith_run_sums_fn *pith_run_sums_for(uint32_t cpu_mask)
{
#ifdef __x86_64__
    uint32_t has = pith_cpu_features() & (cpu_mask ? cpu_mask : UINT32_MAX);
    if (has & PITH_CPU_AVX512)
        return pith_run_sums_avx512;
    if (has & PITH_CPU_AVX2)
        return pith_run_sums_avx2;
#else
    (void)cpu_mask;
#endif
    return pith_run_sums;
}
