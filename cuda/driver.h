/* SPDX-License-Identifier: MIT */
/* driver.h - the CUDA driver, found when a device is opened (dlopen), never linked.
 *
 * Entry points that changed over the years are called by the name of the version that is meant
 * (_v2); a driver that lacks one is too old. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include "cuda/kernels/launch.h"
#include "pith_cuda.h"

typedef uint64_t device_address;
typedef void *device_stream;

/* Name, parameters. All return CUresult, 0 for success. */
#define DRIVER_CALLS(CALL)                                                                         \
    CALL(cuInit, (unsigned flags))                                                                 \
    CALL(cuDriverGetVersion, (int *version))                                                       \
    CALL(cuGetErrorName, (int result, const char **name))                                          \
    CALL(cuDeviceGetCount, (int *count))                                                           \
    CALL(cuDeviceGet, (int *device, int ordinal))                                                  \
    CALL(cuDeviceGetName, (char *name, int bytes, int device))                                     \
    CALL(cuDeviceGetAttribute, (int *value, int attribute, int device))                            \
    CALL(cuDevicePrimaryCtxRetain, (void **context, int device))                                   \
    CALL(cuDevicePrimaryCtxRelease_v2, (int device))                                               \
    CALL(cuCtxPushCurrent_v2, (void *context))                                                     \
    CALL(cuCtxPopCurrent_v2, (void **context))                                                     \
    CALL(cuModuleLoadData, (void **module, const void *image))                                     \
    CALL(cuModuleUnload, (void *module))                                                           \
    CALL(cuModuleGetFunction, (void **function, void *module, const char *name))                   \
    CALL(cuFuncSetAttribute, (void *function, int attribute, int value))                           \
    CALL(cuMemAlloc_v2, (device_address * address, size_t bytes))                                  \
    CALL(cuMemFree_v2, (device_address address))                                                   \
    CALL(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                            \
    CALL(cuMemFreeHost, (void *memory))                                                            \
    CALL(cuMemcpyHtoDAsync_v2,                                                                     \
         (device_address to, const void *from, size_t bytes, device_stream stream))                \
    CALL(cuMemcpyDtoHAsync_v2,                                                                     \
         (void *to, device_address from, size_t bytes, device_stream stream))                      \
    CALL(cuMemcpyDtoDAsync_v2,                                                                     \
         (device_address to, device_address from, size_t bytes, device_stream stream))             \
    CALL(cuMemsetD32Async, (device_address to, unsigned value, size_t n, device_stream stream))    \
    CALL(cuStreamCreate, (device_stream * stream, unsigned flags))                                 \
    CALL(cuStreamDestroy_v2, (device_stream stream))                                               \
    CALL(cuStreamSynchronize, (device_stream stream))                                              \
    CALL(cuStreamBeginCapture_v2, (device_stream stream, int mode))                                \
    CALL(cuStreamEndCapture, (device_stream stream, void **graph))                                 \
    CALL(cuGraphInstantiateWithFlags, (void **run, void *graph, unsigned long long flags))         \
    CALL(cuGraphLaunch, (void *run, device_stream stream))                                         \
    CALL(cuGraphExecDestroy, (void *run))                                                          \
    CALL(cuGraphDestroy, (void *graph))                                                            \
    CALL(cuEventCreate, (void **event, unsigned flags))                                            \
    CALL(cuEventRecord, (void *event, device_stream stream))                                       \
    CALL(cuEventElapsedTime, (float *ms, void *begin, void *end))                                  \
    CALL(cuEventDestroy_v2, (void *event))                                                         \
    CALL(cuLaunchKernel,                                                                           \
         (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
          unsigned block_y, unsigned block_z, unsigned shared_bytes, device_stream stream,         \
          void **parameters, void **extra))                                                        \
    CALL(cuLaunchCooperativeKernel,                                                                \
         (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
          unsigned block_y, unsigned block_z, unsigned shared_bytes, device_stream stream,         \
          void **parameters))                                                                      \
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                              \
         (int *blocks, void *function, int threads, size_t shared_bytes))

/* What older drivers lack, and can be done without; NULL there. From CUDA 11.1 on. */
#define DRIVER_NEWER_CALLS(CALL)                                                                   \
    CALL(cuEventRecordWithFlags, (void *event, device_stream stream, unsigned flags))

/* CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_RELAXED, CU_EVENT_RECORD_EXTERNAL and
 * CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of cuda.h. */
enum {
    DRIVER_NO_MEMORY = 2, /* CUDA_ERROR_OUT_OF_MEMORY */
    DRIVER_STREAM_NON_BLOCKING = 1,
    DRIVER_CAPTURE_RELAXED = 2,
    DRIVER_RECORD_EXTERNAL = 1,
    DRIVER_LAUNCH_SHARED_MOST = 8
};

/* A shape of products of floats, and whether cuBLASLt took less time for it (device_blas.c). */
#define TIMED_PRODUCTS 64u
struct timed_product {
    uint32_t shape[8];
    bool by_blas;
};

#define DRIVER_MEMBER(name, parameters) int(*name) parameters;
/* An open device. The driver's functions are its members, as nothing here is global. */
struct pith_cuda {
    void *library; /* owns */
    DRIVER_CALLS(DRIVER_MEMBER)
    DRIVER_NEWER_CALLS(DRIVER_MEMBER)
    int device;
    void *context, *module; /* own */
    void *kernel[LAUNCH_KERNELS];
    char name[64];
    uint32_t plans; /* that are open */
    enum pith_cuda_precision precision;
    /* cuBLASLt: whether it may be used, by which name, and, once it was looked for, itself or why
     * it is not. */
    bool blas_allowed, blas_tried;
    char blas_name[256], blas_note[128];
    struct pith_blas *blas; /* owns */
    struct timed_product timed[TIMED_PRODUCTS];
    uint32_t n_timed;
    uint64_t decode_least; /* weights of so many elements are decoded on the device */
    uint32_t processors;   /* multiprocessors */
    uint32_t shared_most;  /* bytes of shared memory that a block may have */
    bool cooperative;      /* blocks of a launch may wait for one another */
};

/* The status of a result of the driver, with one line of text: `what` failed. */
enum pith_status pith_driver_status(const struct pith_cuda *cuda, int result, const char *what,
                                    struct pith_error *err);

/* Puts a launch of the kernel on the stream, its struct of launch.h copied; the driver's result. */
int pith_driver_launch(const struct pith_cuda *cuda, uint32_t kernel, const uint32_t grid[3],
                       const void *arg, device_stream stream);

/* The shortest of so many tries, in ns, of what `put` puts on the stream; try 0, which readies code
 * and caches, comes before them. The driver's result. */
int pith_driver_time(const struct pith_cuda *cuda, device_stream stream,
                     int (*put)(void *work, uint32_t number), void *work, uint32_t tries,
                     uint64_t *ns);

/* The fatbin; *empty: the build had no nvcc. */
const void *pith_cuda_image(bool *empty);

#endif
