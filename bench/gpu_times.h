/* SPDX-License-Identifier: MIT */
/* gpu_times.h - a device for benchmarks, memory on it, and the time of work as nodes of a graph. */
#ifndef GPU_TIMES_H
#define GPU_TIMES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_plan.h"
#include "pith_host.h"

#define MOST_REPLAYS 1000u

static struct pith_cuda *cuda;
static device_stream stream;
static double seconds_each; /* of a time */
static bool is_emulator;

static void need(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "%s: result %d\n", what, result);
    exit(1);
}

static inline device_address take(uint64_t bytes)
{
    device_address at = 0;
    need(cuda->cuMemAlloc_v2(&at, bytes), "no memory on the device");
    return at;
}

static inline void copy_there(device_address to, const void *from, uint64_t bytes)
{
    need(cuda->cuMemcpyHtoDAsync_v2(to, from, bytes, stream), "cannot copy");
    need(cuda->cuStreamSynchronize(stream), "cannot copy");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What is timed puts itself on the stream. 0, or a result. */
typedef int enqueue_fn(void *work);

/* Median of the microseconds between events around it; the first two runs do not count. */
static double device_us(enqueue_fn *enqueue, void *work, uint32_t *replays)
{
    static double us[MOST_REPLAYS];
    void *begin, *end;
    uint32_t n = 0, most = is_emulator ? 1 : MOST_REPLAYS;
    need(cuda->cuEventCreate(&begin, 0) || cuda->cuEventCreate(&end, 0), "no events");
    uint64_t start = pith_clock_ns(NULL);
    for (uint32_t i = 0;
         n < most && (n < 3 || (double)(pith_clock_ns(NULL) - start) < seconds_each * 1e9); i++) {
        float ms = 0;
        need(cuda->cuEventRecord(begin, stream), "no time");
        need(enqueue(work), "cannot run");
        need(cuda->cuEventRecord(end, stream), "no time");
        need(cuda->cuStreamSynchronize(stream), "the device failed");
        need(cuda->cuEventElapsedTime(&ms, begin, end), "no time");
        if (i >= 2 || is_emulator)
            us[n++] = 1e3 * (double)ms;
    }
    cuda->cuEventDestroy_v2(begin);
    cuda->cuEventDestroy_v2(end);
    qsort(us, n, sizeof *us, by_value);
    *replays = n;
    return us[n / 2];
}

static int replay(void *graph)
{
    return cuda->cuGraphLaunch(graph, stream);
}

/* Work that one replay of a graph does: put(work, 0) to put(work, n - 1) enqueue it. */
typedef int put_fn(void *work, uint32_t i);

static inline double graph_us(put_fn *put, void *work, uint32_t n, uint32_t *replays)
{
    void *graph, *run;
    need(cuda->cuStreamBeginCapture_v2(stream, DRIVER_CAPTURE_RELAXED), "cannot capture");
    for (uint32_t i = 0; i < n; i++)
        need(put(work, i), "cannot launch");
    need(cuda->cuStreamEndCapture(stream, &graph), "cannot capture");
    need(cuda->cuGraphInstantiateWithFlags(&run, graph, 0), "cannot make the graph");
    double us = device_us(replay, run, replays);
    cuda->cuGraphExecDestroy(run);
    cuda->cuGraphDestroy(graph);
    return us;
}

/* A lowered action, on the stream: a put_fn of a struct lowering. */
static inline int put_action(void *work, uint32_t i)
{
    struct lowering *l = work;
    const struct action *a = &l->action[i];
    if (a->kind == ACTION_BLAS)
        return pith_blas_run(l->product[a->arg], stream);
    if (a->kind == ACTION_COPY)
        return cuda->cuMemcpyDtoDAsync_v2(a->to, a->from, a->bytes, stream);
    return pith_driver_launch(cuda, a->kernel, a->grid, l->args + a->arg, stream);
}

static inline double actions_us(struct lowering *l, uint32_t *replays)
{
    return graph_us(put_action, l, l->n_actions, replays);
}

/* Device 0, made current, and a stream; cuBLASLt may be used. */
static bool open_device(const char *program)
{
    struct pith_error err = {0};
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "%s: %s\n", program, err.text);
        return false;
    }
    is_emulator = strncmp(pith_cuda_name(cuda), "emulator", 8) == 0;
    pith_cuda_allow_blas(cuda, "");
    need(cuda->cuCtxPushCurrent_v2(cuda->context), "no context");
    need(cuda->cuStreamCreate(&stream, DRIVER_STREAM_NON_BLOCKING), "no stream");
    return true;
}

static void close_device(void)
{
    void *context;
    cuda->cuStreamDestroy_v2(stream);
    cuda->cuCtxPopCurrent_v2(&context);
    pith_cuda_close(cuda);
}

#endif
