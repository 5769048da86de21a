/* SPDX-License-Identifier: MIT */
/* network.c - the runtime as a WebAssembly module without imports: one instance, one network.
 * pith.mjs calls it. */
#include <stddef.h>
#include "pith_runtime.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define PAGE 65536u
#define ALIGN 64u

extern uint8_t __heap_base;
static uint8_t *end = &__heap_base;
static struct pith_plan *plan;

/* n bytes, aligned to 64, that stay; NULL: no memory. */
EXPORT(allocate) uint8_t *allocate(uint32_t n)
{
    uint8_t *begin = (uint8_t *)(((uintptr_t)end + ALIGN - 1) / ALIGN * ALIGN);
    uint64_t bytes = (uint64_t)(uintptr_t)begin + n,
             have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
    if (bytes > have && (bytes >> 32 || __builtin_wasm_memory_grow(0, (bytes - have + PAGE - 1) /
                                                                          PAGE) == (size_t)-1))
        return NULL;
    end = begin + n;
    return begin;
}

/* Plans the network in the bytes of a .pith file, which stay there. A status of pith_runtime.h. */
EXPORT(open) uint32_t open(const uint8_t *file, uint32_t bytes)
{
    struct pith_opts opts;
    struct pith_need need;
    uint64_t work_bytes;
    pith_opts_init(&opts, sizeof opts);
    opts.flags = PITH_FLAG_DECODE_ONCE;
    enum pith_status st = pith_plan_work_bytes(file, bytes, &opts, &work_bytes);
    if (st)
        return st;
    uint8_t *before = end, *work = work_bytes >> 32 ? NULL : allocate((uint32_t)work_bytes);
    st = work ? pith_plan_need(file, bytes, &opts, work, (size_t)work_bytes, &need)
              : PITH_ERR_MEMORY;
    end = before;
    if (st)
        return st;
    uint8_t *memory = need.bytes >> 32 ? NULL : allocate((uint32_t)need.bytes);
    return memory ? pith_plan_init(memory, (size_t)need.bytes, file, bytes, &opts, &plan)
                  : PITH_ERR_MEMORY;
}

EXPORT(run) uint32_t run(void)
{
    return pith_plan_run(plan);
}

EXPORT(input) void *input(uint32_t i)
{
    return pith_plan_input_data(plan, i);
}

EXPORT(input_bytes) uint32_t input_bytes(uint32_t i)
{
    struct pith_tensor t;
    return pith_plan_input(plan, i, &t) ? 0 : (uint32_t)t.bytes;
}

EXPORT(output) const void *output(uint32_t i)
{
    return pith_plan_output_data(plan, i);
}

EXPORT(output_bytes) uint32_t output_bytes(uint32_t i)
{
    struct pith_tensor t;
    return pith_plan_output(plan, i, &t) ? 0 : (uint32_t)t.bytes;
}
