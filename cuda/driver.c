/* SPDX-License-Identifier: MIT */
/* driver.c - finds the driver, opens a device and the kernels on it, and translates its
 * results. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "blas.h"
#include "driver.h"
#include "pith_host.h"

enum {
    /* Results of enum cudaError_enum (cuda.h) that mean something of their own to a caller. The
     * numbers are part of the driver's binary interface, so that no header of CUDA is needed to
     * build this. */
    RESULT_INVALID_IMAGE = 200,
    RESULT_NO_BINARY = 209,
    RESULT_UNSUPPORTED_PTX = 222
};

/* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, _COOPERATIVE_LAUNCH,
 * _MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
 */
enum { PROCESSORS = 16, COOPERATIVE = 95, SHARED_MOST = 97 };

/* The oldest driver whose entry points these are: graphs, captured in relaxed mode. */
#define OLDEST_DRIVER 11000

/* cuGetErrorName is NULL while the driver is still being searched for it. */
static const char *result_name(const struct pith_cuda *cuda, int result)
{
    const char *name = NULL;
    if (!cuda->cuGetErrorName || cuda->cuGetErrorName(result, &name) || !name)
        return "unknown error";
    return name;
}

/* All other failures are PITH_ERR_IO: after most of them (a lost device, an illegal address) the
 * context is of no use any more. */
enum pith_status pith_driver_status(const struct pith_cuda *cuda, int result, const char *what,
                                    struct pith_error *err)
{
    enum pith_status st = result == DRIVER_NO_MEMORY ? PITH_ERR_MEMORY : PITH_ERR_IO;
    if (result == 0)
        return PITH_OK;
    return pith_error_set(err, st, "cuda: %s: %s (%d)", what, result_name(cuda, result), result);
}

/* RTLD_LOCAL keeps the driver's symbols out of the program, which may have loaded CUDA by itself.
 * The address of each function is copied as bytes, since ISO C does not convert an object pointer,
 * which dlsym returns, into a function pointer. */
static enum pith_status find_driver(struct pith_cuda *cuda, struct pith_error *err)
{
    cuda->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda->library)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "cuda: there is no NVIDIA driver here (libcuda.so.1)");
#define FIND(call, parameters)                                                                     \
    {                                                                                              \
        void *found = dlsym(cuda->library, #call);                                                 \
        if (!found && !newer)                                                                      \
            return pith_error_set(err, PITH_ERR_UNSUPPORTED,                                       \
                                  "cuda: the driver is too old: it lacks %s", #call);              \
        memcpy(&cuda->call, &found, sizeof found);                                                 \
    }
    bool newer = false;
    DRIVER_CALLS(FIND)
    newer = true;
    DRIVER_NEWER_CALLS(FIND)
    return PITH_OK;
}

/* Kernels run in the device's primary context: it is the one that CUDA's runtime library uses, so
 * that addresses and streams can be exchanged with a program that uses the device itself
 * (pith_cuda_plan_enqueue). All that is missing before a device is named makes
 * PITH_ERR_UNSUPPORTED, upon which a caller runs the plan on the CPU. */
static enum pith_status find_device(struct pith_cuda *cuda, uint32_t device, struct pith_error *err)
{
    int count = 0, version = 0, result = cuda->cuInit(0);
    result = result ? result : cuda->cuDriverGetVersion(&version);
    if (!result && version < OLDEST_DRIVER)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "cuda: the driver is too old: it is of CUDA %d.%d, 11.0 is needed",
                              version / 1000, version % 1000 / 10);
    result = result ? result : cuda->cuDeviceGetCount(&count);
    if (result)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED, "cuda: no device: %s (%d)",
                              result_name(cuda, result), result);
    if (device >= (uint32_t)count)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED, "cuda: no device %u: there %s %d", device,
                              count == 1 ? "is" : "are", count);
    static const int which[] = {PROCESSORS, SHARED_MOST, COOPERATIVE};
    int of[3] = {0};
    result = cuda->cuDeviceGet(&cuda->device, (int)device);
    for (int i = 0; i < 3 && !result; i++)
        result = cuda->cuDeviceGetAttribute(&of[i], which[i], cuda->device);
    cuda->processors = (uint32_t)of[0];
    cuda->shared_most = (uint32_t)of[1];
    cuda->cooperative = of[2] != 0;
    result = result ? result : cuda->cuDeviceGetName(cuda->name, sizeof cuda->name, cuda->device);
    result = result ? result : cuda->cuDevicePrimaryCtxRetain(&cuda->context, cuda->device);
    return pith_driver_status(cuda, result, "cannot open the device", err);
}

/* The driver chooses from the image the code for its device. Whether there is any shows here alone,
 * in the result of loading it. */
static enum pith_status load_kernels(struct pith_cuda *cuda, struct pith_error *err)
{
    bool empty;
    const void *image = pith_cuda_image(&empty);
    int result = cuda->cuModuleLoadData(&cuda->module, image);
    if (result && empty)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "cuda: this pith was built without nvcc: %s (%d)",
                              result_name(cuda, result), result);
    if (result == RESULT_NO_BINARY || result == RESULT_INVALID_IMAGE ||
        result == RESULT_UNSUPPORTED_PTX)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "cuda: this pith has no kernels for %s: %s (%d)", cuda->name,
                              result_name(cuda, result), result);
#define FIND_KERNEL(name, type)                                                                    \
    if (!result)                                                                                   \
        result = cuda->cuModuleGetFunction(&cuda->kernel[LAUNCH_##name], cuda->module, #name);
    DEVICE_KERNELS(FIND_KERNEL)
    /* more than 48 KB of shared memory has to be requested */
    for (uint32_t k = LAUNCH_spmv_relative; k <= LAUNCH_codes_mma && !result; k++)
        if (k == LAUNCH_spmv_relative || k == LAUNCH_program || LAUNCH_HAS_TABLE(k))
            result = cuda->cuFuncSetAttribute(
                cuda->kernel[k], DRIVER_LAUNCH_SHARED_MOST,
                (int)(cuda->shared_most - (k == LAUNCH_program ? PROGRAM_OWN : 0)));
    return pith_driver_status(cuda, result, "cannot load the kernels", err);
}

/* The context is current only while the driver is called and is popped again, so that the caller's
 * thread keeps the context that it had. */
static enum pith_status open_device(struct pith_cuda *cuda, uint32_t device, struct pith_error *err)
{
    enum pith_status st = find_driver(cuda, err);
    st = st ? st : find_device(cuda, device, err);
    if (st)
        return st;
    void *context;
    int result = cuda->cuCtxPushCurrent_v2(cuda->context);
    if (result)
        return pith_driver_status(cuda, result, "cannot open the device", err);
    st = load_kernels(cuda, err);
    cuda->cuCtxPopCurrent_v2(&context);
    return st;
}

/* By a model of an H100 (docs/cuda.md): 8,192 symbols of a sub-stream, one behind the other, take
 * some 0.3 ms there, however many sub-streams there are; the CPU some 3 ns an element. */
#define DECODE_LEAST (UINT64_C(1) << 17)

/* What was opened before a failure is closed by pith_cuda_close, which looks at each member: calloc
 * has made all of them NULL. */
enum pith_status pith_cuda_open(uint32_t device, struct pith_cuda **cuda, struct pith_error *err)
{
    if (!cuda)
        return PITH_ERR_ARGUMENT;
    struct pith_cuda *c = calloc(1, sizeof *c);
    if (!c)
        return pith_error_set(err, PITH_ERR_MEMORY, "out of memory");
    c->decode_least = DECODE_LEAST;
    enum pith_status st = open_device(c, device, err);
    if (st)
        pith_cuda_close(c);
    else
        *cuda = c;
    return st;
}

/* The reverse order of opening. A module can be unloaded only while its context is current. */
void pith_cuda_close(struct pith_cuda *cuda)
{
    void *context;
    if (!cuda)
        return;
    if (cuda->module && !cuda->cuCtxPushCurrent_v2(cuda->context)) {
        pith_blas_close(cuda->blas);
        cuda->cuModuleUnload(cuda->module);
        cuda->cuCtxPopCurrent_v2(&context);
    }
    if (cuda->context)
        cuda->cuDevicePrimaryCtxRelease_v2(cuda->device);
    if (cuda->library)
        dlclose(cuda->library);
    free(cuda);
}

int pith_driver_launch(const struct pith_cuda *cuda, uint32_t kernel, const uint32_t grid[3],
                       const void *arg, device_stream stream)
{
    const struct launch_block b = launch_block_of(kernel, arg);
    void *parameter = (void *)(uintptr_t)arg; /* which the driver copies before it returns */
    if (kernel == LAUNCH_program)
        return cuda->cuLaunchCooperativeKernel(cuda->kernel[kernel], grid[0], grid[1], grid[2],
                                               b.threads, 1, 1, b.shared, stream, &parameter);
    return cuda->cuLaunchKernel(cuda->kernel[kernel], grid[0], grid[1], grid[2], b.threads, 1, 1,
                                b.shared, stream, &parameter, NULL);
}

int pith_driver_time(const struct pith_cuda *cuda, device_stream stream,
                     int (*put)(void *work, uint32_t number), void *work, uint32_t tries,
                     uint64_t *ns)
{
    void *event[2] = {NULL, NULL};
    int result = cuda->cuEventCreate(&event[0], 0);
    result = result ? result : cuda->cuEventCreate(&event[1], 0);
    *ns = UINT64_MAX;
    for (uint32_t i = 0; i <= tries && !result; i++) {
        float ms = 0;
        result = cuda->cuEventRecord(event[0], stream);
        result = result ? result : put(work, i);
        result = result ? result : cuda->cuEventRecord(event[1], stream);
        result = result ? result : cuda->cuStreamSynchronize(stream);
        result = result ? result : cuda->cuEventElapsedTime(&ms, event[0], event[1]);
        const uint64_t took = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
        *ns = i && took < *ns ? took : *ns;
    }
    for (int i = 0; i < 2; i++)
        if (event[i])
            cuda->cuEventDestroy_v2(event[i]);
    return result;
}

void pith_cuda_set_precision(struct pith_cuda *cuda, enum pith_cuda_precision precision)
{
    if (cuda)
        cuda->precision = precision;
}

void pith_cuda_allow_blas(struct pith_cuda *cuda, const char *library)
{
    if (!cuda || !library)
        return;
    cuda->blas_allowed = strlen(library) < sizeof cuda->blas_name;
    snprintf(cuda->blas_name, sizeof cuda->blas_name, "%s", library);
}

const char *pith_cuda_blas_note(const struct pith_cuda *cuda)
{
    return cuda ? cuda->blas_note : NULL;
}

const char *pith_cuda_name(const struct pith_cuda *cuda)
{
    return cuda ? cuda->name : NULL;
}
