/* SPDX-License-Identifier: MIT */
/* gpu_open.h - a network's plan for a device, as benches run it. */
#ifndef GPU_OPEN_H
#define GPU_OPEN_H

#include "pith_cuda.h"
#include "pith_host.h"

/* With the flags that leave the fewest steps to the CPU. *s and *gpu are the caller's to close. */
static inline enum pith_status gpu_open(struct pith_cuda *cuda, const char *path, uint32_t batch,
                                        struct pith_session **s, struct pith_cuda_plan **gpu,
                                        struct pith_error *err)
{
    struct pith_opts o;
    pith_opts_init(&o, sizeof o);
    o.batch = batch;
    for (int i = 0; i < 2; i++) {
        o.flags = PITH_FLAG_WHOLE_BATCH | (i ? PITH_FLAG_NO_FUSION : 0);
        enum pith_status st = pith_open(path, &o, s, err);
        if (!st)
            st = pith_cuda_plan_new(cuda, pith_plan_of(*s), gpu, err);
        if (st || i == 1 || pith_cuda_plan_facts(*gpu).cpu_steps == 0)
            return st;
        pith_cuda_plan_free(*gpu);
        pith_close(*s);
        *gpu = NULL;
        *s = NULL;
    }
    return PITH_OK;
}

#endif
