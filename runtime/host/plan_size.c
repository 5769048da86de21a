/* SPDX-License-Identifier: MIT */
/* pith_plan_size: pith_plan_need in memory from malloc. */
#include <stdlib.h>
#include "host/checked_opts.h"
#include "pith_host.h"

#define WORK_ALIGN 64u

/* A microcontroller calls pith_plan_need() with memory of its own; a program with an allocator
 * need not know of working memory. */
enum pith_status pith_plan_size(const void *blob, size_t bytes, const struct pith_opts *opts,
                                struct pith_need *need)
{
    if (!blob || !need)
        return PITH_ERR_ARGUMENT;
    uint64_t work_bytes;
    enum pith_status st = pith_plan_work_bytes(blob, bytes, opts, &work_bytes);
    if (st)
        return st;
    void *work = aligned_alloc(WORK_ALIGN, (size_t)work_bytes);
    if (!work)
        return PITH_ERR_MEMORY;
    const struct pith_opts checked = checked_opts(opts); /* by pith_plan_work_bytes */
    st = pith_plan_need(blob, bytes, &checked, work, (size_t)work_bytes, need);
    free(work);
    return st;
}
