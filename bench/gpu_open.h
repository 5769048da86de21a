/* SPDX-License-Identifier: MIT */
/* gpu_open.h - a network's plan for a device, as benches run it. */
#ifndef GPU_OPEN_H
#define GPU_OPEN_H

#include <stdio.h>
#include "pith_cuda.h"
#include "pith_host.h"

/* As devices want it: a whole batch at once, no bands of rows; a batch that the file has not is
 * refused. */
static inline enum pith_status gpu_session(const char *path, uint32_t batch, uint32_t flags,
                                           struct pith_session **s, struct pith_error *err)
{
    struct pith_opts o;
    struct pith_tensor t;
    pith_opts_init(&o, sizeof o);
    o.batch = batch;
    o.flags = PITH_FLAG_WHOLE_BATCH | flags;
    enum pith_status st = pith_open(path, &o, s, err);
    if (st || batch == 1)
        return st;
    st = pith_plan_input(pith_plan_of(*s), 0, &t);
    if (!st && (t.rank == 0 || t.dim[0] != batch)) {
        pith_close(*s);
        *s = NULL;
        snprintf(err->text, sizeof err->text, "the batch is fixed");
        return PITH_ERR_UNSUPPORTED;
    }
    return st;
}

/* With the flags that leave the fewest steps to the CPU. *s and *gpu are the caller's to close. */
static inline enum pith_status gpu_open(struct pith_cuda *cuda, const char *path, uint32_t batch,
                                        struct pith_session **s, struct pith_cuda_plan **gpu,
                                        struct pith_error *err)
{
    for (int i = 0; i < 2; i++) {
        enum pith_status st = gpu_session(path, batch, i ? PITH_FLAG_NO_FUSION : 0, s, err);
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
