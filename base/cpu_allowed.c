/* SPDX-License-Identifier: MIT */
/* cpu_allowed.c - the processor's features are read once: under a hypervisor CPUID is a trap of
 * microseconds, and some kernels are looked up for every row of a tensor. */
#include "cpu_allowed.h"

#include <stdatomic.h>

#include "pith_runtime.h"

/* Set once `allowed` is initialized, by whichever thread is first; all threads compute the same
 * value. */
#define IS_SET (1u << 30)
static _Atomic uint32_t allowed;

void pith_cpu_allow(uint32_t mask)
{
    uint32_t all = mask == 0 ? UINT32_MAX : mask & PITH_CPU_REF ? 0 : mask;
    atomic_store_explicit(&allowed, (pith_cpu_features() & all) | IS_SET, memory_order_relaxed);
}

uint32_t pith_cpu_allowed(void)
{
    uint32_t set = atomic_load_explicit(&allowed, memory_order_relaxed);
    if (!set) {
        pith_cpu_allow(0);
        set = atomic_load_explicit(&allowed, memory_order_relaxed);
    }
    return set & ~IS_SET;
}
