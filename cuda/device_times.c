/* SPDX-License-Identifier: MIT */
/* device_times.c - what steps take on the device, by events. In a graph they stand between the
 * steps, so that no launch is in their times; a run that has to wait for the CPU puts two of them
 * around each step. */
#include "device_plan.h"

/* An event of its own for each: a run of the graph records all of them. */
int pith_device_mark(struct pith_cuda_plan *p, uint32_t at)
{
    const struct pith_cuda *c = p->cuda;
    struct device_times *t = &p->times;
    struct device_mark m = {.step = at};
    bool no_memory = false;
    if (!pith_device_grow(&no_memory, &t->mark, t->n, &t->room, 1, sizeof m))
        return DRIVER_NO_MEMORY;
    int result = c->cuEventCreate(&m.event, 0);
    if (result)
        return result;
    t->mark[t->n++] = m;
    return c->cuEventRecordWithFlags(m.event, p->stream, DRIVER_RECORD_EXTERNAL);
}

void pith_device_reset_times(struct pith_cuda_plan *p)
{
    for (uint32_t i = 0; i < p->plan->n_steps; i++)
        p->plan->step[i].ns = 0;
}

static uint64_t ns_of(float ms)
{
    return ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
}

int pith_device_read_times(struct pith_cuda_plan *p)
{
    const struct device_times *t = &p->times;
    int result = 0;
    pith_device_reset_times(p);
    for (uint32_t i = 0; i + 1 < t->n && !result; i++) {
        float ms = 0;
        result = p->cuda->cuEventElapsedTime(&ms, t->mark[i].event, t->mark[i + 1].event);
        p->plan->step[t->mark[i].step].ns += ns_of(ms);
    }
    return result;
}

int pith_device_pair(struct pith_cuda_plan *p, uint32_t which)
{
    void **event = &p->times.pair[which];
    int result = *event ? 0 : p->cuda->cuEventCreate(event, 0);
    return result ? result : p->cuda->cuEventRecord(*event, p->stream);
}

int pith_device_pair_ns(struct pith_cuda_plan *p, uint64_t *ns)
{
    float ms = 0;
    int result = p->cuda->cuEventElapsedTime(&ms, p->times.pair[0], p->times.pair[1]);
    *ns = ns_of(ms);
    return result;
}

/* The device's context is current, unless it is lost: then there is nothing to destroy. */
void pith_device_times_free(struct pith_cuda_plan *p)
{
    struct device_times *t = &p->times;
    for (uint32_t i = 0; i < t->n; i++)
        p->cuda->cuEventDestroy_v2(t->mark[i].event);
    for (uint32_t i = 0; i < 2; i++)
        if (t->pair[i])
            p->cuda->cuEventDestroy_v2(t->pair[i]);
}
