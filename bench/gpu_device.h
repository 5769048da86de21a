/* SPDX-License-Identifier: MIT */
/* gpu_device.h - the device of bench_gpu.c, memory on it, and the time of work as nodes of a graph.
 */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/device_plan.h"
#include "pith_cuda.h"
#include "pith_host.h"

#define MOST_RUNS 2000u

static struct pith_cuda *cuda;
static device_stream stream;
static double seconds_each;
static bool is_emulator;
static uint64_t random_state = 1;

static void need(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "bench_gpu: %s: result %d\n", what, result);
    exit(1);
}

/* xorshift64*; 31 bits */
static uint32_t next_random(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33);
}

/* uniform in -1 .. 1 */
static float next_value(void)
{
    return (float)((double)(next_random() >> 7) / 8388608.0 - 1.0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Device 0, made current, and a stream; cuBLASLt may be used. */
static void open_device(void)
{
    struct pith_error err = {0};
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "bench_gpu: %s\n", err.text);
        exit(2);
    }
    is_emulator = strncmp(pith_cuda_name(cuda), "emulator", 8) == 0;
    pith_cuda_allow_blas(cuda, "");
    need(cuda->cuCtxPushCurrent_v2(cuda->context), "no context");
    need(cuda->cuStreamCreate(&stream, DRIVER_STREAM_NON_BLOCKING), "no stream");
}

static void close_device(void)
{
    void *context;
    cuda->cuStreamDestroy_v2(stream);
    cuda->cuCtxPopCurrent_v2(&context);
    pith_cuda_close(cuda);
}

static device_address take(uint64_t bytes)
{
    device_address at = 0;
    need(cuda->cuMemAlloc_v2(&at, bytes), "no memory on the device");
    return at;
}

static void copy_there(device_address to, const void *from, uint64_t bytes)
{
    need(cuda->cuMemcpyHtoDAsync_v2(to, from, bytes, stream), "cannot copy");
    need(cuda->cuStreamSynchronize(stream), "cannot copy");
}

/* Puts work on the stream. 0, or a result. */
typedef int enqueue_fn(void *work);

/* Median of the microseconds between events around it; the first two runs do not count. */
static double device_us(enqueue_fn *enqueue, void *work)
{
    static double us[MOST_RUNS];
    void *begin, *end;
    uint32_t n = 0, most = is_emulator ? 1 : MOST_RUNS;
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
    return us[n / 2];
}

static int replay(void *graph)
{
    return cuda->cuGraphLaunch(graph, stream);
}

/* One replay of a graph enqueues put(work, 0) to put(work, n - 1): microseconds of one of them. */
static double graph_us(int (*put)(void *work, uint32_t i), void *work, uint32_t n)
{
    void *graph, *run;
    need(cuda->cuStreamBeginCapture_v2(stream, DRIVER_CAPTURE_RELAXED), "cannot capture");
    for (uint32_t i = 0; i < n; i++)
        need(put(work, i), "cannot launch");
    need(cuda->cuStreamEndCapture(stream, &graph), "cannot capture");
    need(cuda->cuGraphInstantiateWithFlags(&run, graph, 0), "cannot make the graph");
    double us = device_us(replay, run) / n;
    cuda->cuGraphExecDestroy(run);
    cuda->cuGraphDestroy(graph);
    return us;
}

#endif
