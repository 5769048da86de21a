/* SPDX-License-Identifier: MIT */
/* copy_speed.c - how fast the device copies in its own memory: what no kernel is faster than. */
#include "driver.h"

#define COPY_BYTES (UINT64_C(64) << 20) /* more than an L2 holds */
#define COPIES 8u

struct copying {
    const struct pith_cuda *c;
    device_address from; /* owns, and the stream: as many bytes behind it are copied to */
    device_stream stream;
};

static int put_copies(void *work, uint32_t number)
{
    const struct copying *k = work;
    int result = 0;
    (void)number;
    for (uint32_t i = 0; i < COPIES && !result; i++)
        result = k->c->cuMemcpyDtoDAsync_v2(k->from + COPY_BYTES, k->from, COPY_BYTES, k->stream);
    return result;
}

static int measure(struct copying *k, uint64_t *ns)
{
    int result = k->c->cuMemAlloc_v2(&k->from, 2 * COPY_BYTES);
    result = result ? result : k->c->cuStreamCreate(&k->stream, DRIVER_STREAM_NON_BLOCKING);
    result = result ? result : k->c->cuMemsetD32Async(k->from, 0, COPY_BYTES / 4, k->stream);
    result = result ? result : pith_driver_time(k->c, k->stream, put_copies, k, 1, ns);
    if (k->stream)
        k->c->cuStreamDestroy_v2(k->stream);
    if (k->from)
        k->c->cuMemFree_v2(k->from);
    return result;
}

enum pith_status pith_cuda_copy_speed(struct pith_cuda *cuda, double *bytes_per_s,
                                      struct pith_error *err)
{
    if (!cuda || !bytes_per_s)
        return PITH_ERR_ARGUMENT;
    struct copying k = {.c = cuda};
    void *context;
    uint64_t ns = 0;
    int result = cuda->cuCtxPushCurrent_v2(cuda->context);
    if (result)
        return pith_driver_status(cuda, result, "the device was lost", err);
    result = measure(&k, &ns);
    cuda->cuCtxPopCurrent_v2(&context);
    *bytes_per_s = !result && ns ? 2e9 * COPIES * (double)COPY_BYTES / (double)ns : 0;
    return pith_driver_status(cuda, result, "cannot time a copy", err);
}
