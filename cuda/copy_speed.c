/* SPDX-License-Identifier: MIT */
/* copy_speed.c - how fast the device copies in its own memory: what no kernel is faster than. */
#include "driver.h"

#define COPY_BYTES (UINT64_C(64) << 20) /* more than an L2 holds */
#define COPIES 8u

struct copying {
    const struct pith_cuda *c;
    device_address from, to; /* own, and all that follows */
    device_stream stream;
    void *begin, *end;
};

static int get(struct copying *k)
{
    int result = k->c->cuMemAlloc_v2(&k->from, COPY_BYTES);
    if (!result)
        result = k->c->cuMemAlloc_v2(&k->to, COPY_BYTES);
    if (!result)
        result = k->c->cuStreamCreate(&k->stream, DRIVER_STREAM_NON_BLOCKING);
    if (!result)
        result = k->c->cuEventCreate(&k->begin, 0);
    return result ? result : k->c->cuEventCreate(&k->end, 0);
}

static void give(struct copying *k)
{
    if (k->end)
        k->c->cuEventDestroy_v2(k->end);
    if (k->begin)
        k->c->cuEventDestroy_v2(k->begin);
    if (k->stream)
        k->c->cuStreamDestroy_v2(k->stream);
    if (k->to)
        k->c->cuMemFree_v2(k->to);
    if (k->from)
        k->c->cuMemFree_v2(k->from);
}

/* Two copies come before the time: the first ones find the device asleep. */
static int measure(struct copying *k, float *ms)
{
    int result = k->c->cuMemsetD32Async(k->from, 0, COPY_BYTES / 4, k->stream);
    for (uint32_t i = 0; i < 2 + COPIES && !result; i++) {
        if (i == 2)
            result = k->c->cuEventRecord(k->begin, k->stream);
        if (!result)
            result = k->c->cuMemcpyDtoDAsync_v2(k->to, k->from, COPY_BYTES, k->stream);
    }
    if (!result)
        result = k->c->cuEventRecord(k->end, k->stream);
    if (!result)
        result = k->c->cuStreamSynchronize(k->stream);
    return result ? result : k->c->cuEventElapsedTime(ms, k->begin, k->end);
}

enum pith_status pith_cuda_copy_speed(struct pith_cuda *cuda, double *bytes_per_s,
                                      struct pith_error *err)
{
    if (!cuda || !bytes_per_s)
        return PITH_ERR_ARGUMENT;
    struct copying k = {.c = cuda};
    void *context;
    float ms = 0;
    int result = cuda->cuCtxPushCurrent_v2(cuda->context);
    if (result)
        return pith_driver_status(cuda, result, "the device was lost", err);
    result = get(&k);
    if (!result)
        result = measure(&k, &ms);
    give(&k);
    cuda->cuCtxPopCurrent_v2(&context);
    *bytes_per_s = ms > 0 ? 2.0 * COPIES * (double)COPY_BYTES / ((double)ms * 1e-3) : 0;
    return pith_driver_status(cuda, result, "cannot time a copy", err);
}
