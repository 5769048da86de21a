/* SPDX-License-Identifier: MIT */
/* fake_cuda.c - libcuda.so.1 on the emulator. Streams are lazy: nothing runs before somebody waits.
 * Device memory is memory of this process that ends at a page which must not be touched, and is NaN
 * where nothing was written.
 *
 * Behaviour (fake_cuda.h) is set by a call or, for programs, by FAKE_CUDA, numbers in the order of
 * the struct. At exit, what is still alive is printed on standard error, and the status is 70. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "fake_cuda.h"
#include "emu_launch.h"

#define EXPORT __attribute__((visibility("default")))
enum {
    NO_MEMORY = 2,
    NOT_READY = 3,
    INVALID = 1,
    NO_DEVICE = 100,
    BAD_DEVICE = 101,
    NO_BINARY = 209,
    NOT_FOUND = 500,
    TOO_LARGE = 720,
    LOST = 719
};
typedef device_address address;

static struct fake_cuda_behaviour behaviour;
static struct fake_cuda_counts counts;
static bool lost;

/* ---- work of a stream ----------------------------------------------------------------------- */

enum work_kind { WORK_COPY, WORK_FILL, WORK_LAUNCH, WORK_EVENT, WORK_CALL };
struct work {
    enum work_kind kind;
    void *to;
    const void *from;
    size_t bytes;
    uint32_t value, kernel, grid[3];
    void *arg; /* owns */
    size_t arg_bytes;
    void (*call)(void *arg);
    struct work *next;
};
struct list {
    struct work *first, **last;
};
static struct list queue, *capture;

static void append(struct list *l, const struct work *w)
{
    struct work *copy = malloc(sizeof *copy);
    *copy = *w;
    copy->next = NULL;
    if (w->arg) {
        copy->arg = malloc(w->arg_bytes);
        memcpy(copy->arg, w->arg, w->arg_bytes);
    }
    if (!l->first)
        l->last = &l->first;
    *l->last = copy;
    l->last = &copy->next;
}

static int put(const struct work *w)
{
    if (lost)
        return LOST;
    append(capture ? capture : &queue, w);
    return 0;
}

/* When the stream came by; 0: not yet. */
struct event {
    uint64_t ns;
};

static uint64_t imagined_ns = 1;

static void record(struct event *e)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    e->ns = behaviour.launch_ns || behaviour.call_ns
                ? imagined_ns
                : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void do_work(const struct work *w)
{
    uint32_t *to = w->to;
    switch (w->kind) {
    case WORK_COPY:
        memmove(w->to, w->from, w->bytes);
        break;
    case WORK_FILL:
        for (size_t i = 0; i < w->bytes / 4; i++)
            to[i] = w->value;
        break;
    case WORK_CALL:
        w->call(w->arg);
        imagined_ns += behaviour.call_ns;
        break;
    case WORK_EVENT:
        record(w->to);
        break;
    case WORK_LAUNCH:
        if (!behaviour.idle)
            emu_launch(w->kernel, w->grid, w->arg, behaviour.order);
        counts.launches++;
        if (w->kernel == LAUNCH_program) {
            counts.programs++;
            imagined_ns += ((const struct program_args *)w->arg)->n * behaviour.step_ns;
        }
        if (w->kernel != LAUNCH_gemm_parts && w->kernel != LAUNCH_conv_parts &&
            w->kernel != LAUNCH_conv_splits_i8 && w->kernel != LAUNCH_map_f32 &&
            w->kernel != LAUNCH_rows_i8)
            imagined_ns += behaviour.launch_ns;
    }
}

static void clear(struct list *l, bool run)
{
    for (struct work *w = l->first, *next; w; w = next) {
        next = w->next;
        if (run)
            do_work(w);
        free(w->arg);
        free(w);
    }
    l->first = NULL;
}

static int wait_for_all(void)
{
    counts.waits++;
    if (behaviour.losing_wait && counts.waits >= behaviour.losing_wait)
        lost = true;
    clear(&queue, !lost);
    return lost ? LOST : 0;
}

/* ---- memory --------------------------------------------------------------------------------- */

struct block {
    uint8_t *at, *map;
    size_t bytes, map_bytes;
    struct block *next;
};
static struct block *blocks;

static struct block *take(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + 255) / 256 * 256;
    size_t body = (whole + page - 1) / page * page;
    counts.allocations_made++;
    if (bytes == 0 || counts.allocations_made == behaviour.failing_allocation ||
        (behaviour.memory_bytes && counts.allocated_bytes + bytes > behaviour.memory_bytes))
        return NULL;
    struct block *b = malloc(sizeof *b);
    b->map_bytes = body + 2 * page;
    b->map = mmap(NULL, b->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(b->map + page, body, PROT_READ | PROT_WRITE);
    b->at = b->map + page + body - whole;
    b->bytes = bytes;
    memset(b->at, 0xff, bytes);
    memset(b->at + bytes, 0xa5, whole - bytes);
    b->next = blocks;
    blocks = b;
    counts.allocations++;
    counts.allocated_bytes += bytes;
    return b;
}

static int give(const void *at)
{
    struct block **p = &blocks;
    while (*p && (*p)->at != at)
        p = &(*p)->next;
    struct block *b = *p;
    if (!b)
        return INVALID;
    for (size_t i = b->bytes; i % 256; i++)
        if (b->at[i] != 0xa5) {
            fprintf(stderr, "fake cuda: written beyond an allocation of %zu bytes\n", b->bytes);
            abort();
        }
    *p = b->next;
    counts.allocations--;
    counts.allocated_bytes -= b->bytes;
    munmap(b->map, b->map_bytes);
    free(b);
    return 0;
}

/* ---- tests ---------------------------------------------------------------------------------- */

EXPORT void fake_cuda_set(const struct fake_cuda_behaviour *b)
{
    behaviour = *b;
    counts.allocations_made = counts.waits = counts.launches = counts.graph_launches = 0;
    lost = false;
}

EXPORT struct fake_cuda_counts fake_cuda_counts(void)
{
    return counts;
}

/* For programs: FAKE_CUDA_COUNTS=FILE gets how often a graph was launched. */
static __attribute__((destructor)) void write_counts(void)
{
    const char *path = getenv("FAKE_CUDA_COUNTS");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%llu\n", (unsigned long long)counts.graph_launches);
        fclose(f);
    }
}

static __attribute__((constructor)) void read_behaviour(void)
{
    const char *text = getenv("FAKE_CUDA");
    unsigned long long v[11] = {0};
    if (text)
        sscanf(text, "%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu", v, v + 1, v + 2,
               v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9, v + 10);
    behaviour = (struct fake_cuda_behaviour){.order = (uint32_t)v[0],
                                             .failing_allocation = (uint32_t)v[1],
                                             .losing_wait = (uint32_t)v[2],
                                             .no_device = (uint32_t)v[3],
                                             .version = (uint32_t)v[4],
                                             .no_code = (uint32_t)v[5],
                                             .memory_bytes = v[6],
                                             .processors = (uint32_t)v[7],
                                             .cooperative = (uint32_t)v[8],
                                             .launch_ns = (uint32_t)v[9],
                                             .idle = (uint32_t)v[10]};
}

static __attribute__((destructor)) void report_leaks(void)
{
    if (counts.allocations || counts.objects) {
        fprintf(stderr, "fake cuda: %llu allocations and %llu objects are left\n",
                (unsigned long long)counts.allocations, (unsigned long long)counts.objects);
        _exit(70);
    }
}

EXPORT int fake_cuda_call(void (*call)(void *arg), void *arg, size_t bytes)
{
    return put(&(struct work){.kind = WORK_CALL, .call = call, .arg = arg, .arg_bytes = bytes});
}

/* ---- the driver ----------------------------------------------------------------------------- */

#define PROTOTYPE(name, parameters) EXPORT int name parameters;
DRIVER_CALLS(PROTOTYPE)
DRIVER_NEWER_CALLS(PROTOTYPE)

int cuInit(unsigned flags)
{
    return flags ? INVALID : 0;
}

static int device_count(void)
{
    return behaviour.no_device ? 0 : 1;
}

int cuDriverGetVersion(int *version)
{
    *version = behaviour.version ? (int)behaviour.version : 13000;
    return 0;
}

int cuGetErrorName(int result, const char **name)
{
    *name = result == NO_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == LOST      ? "CUDA_ERROR_LAUNCH_FAILED"
            : result == NO_BINARY ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                                  : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = device_count();
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < device_count() ? 0 : BAD_DEVICE;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    snprintf(name, (size_t)bytes, "emulator %d", device);
    return 0;
}

/* Of compute capability 7.5, the least that there is; of which a program has some already. */
#define SHARED_MOST 65536u
#define PROGRAM_DECLARES 22528u
static uint32_t shared_bytes(void)
{
    return behaviour.shared_bytes ? behaviour.shared_bytes : SHARED_MOST;
}

enum { PROCESSORS = 16, COOPERATIVE = 95, SHARED_OPTIN = 97 };
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const bool known =
        attribute == PROCESSORS || attribute == COOPERATIVE || attribute == SHARED_OPTIN;
    *value = attribute == PROCESSORS    ? behaviour.processors ? (int)behaviour.processors : 132
             : attribute == COOPERATIVE ? behaviour.cooperative != 0
                                        : (int)shared_bytes();
    return device < device_count() && known ? 0 : INVALID;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared)
{
    const uint64_t most = shared_bytes() / (shared + PROGRAM_DECLARES);
    *n = (int)(behaviour.cooperative < most ? behaviour.cooperative : most);
    return f && threads == LAUNCH_THREADS ? 0 : INVALID;
}

static int the_context;
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = &the_context;
    counts.objects++;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    counts.objects--;
    return 0;
}

static int pushed;
int cuCtxPushCurrent_v2(void *context)
{
    pushed++;
    return context == &the_context ? 0 : INVALID;
}

int cuCtxPopCurrent_v2(void **context)
{
    *context = &the_context;
    return pushed-- > 0 ? 0 : INVALID;
}

static int the_module;
int cuModuleLoadData(void **module, const void *image)
{
    if (!pushed || !image)
        return INVALID;
    if (behaviour.no_code)
        return NO_BINARY;
    *module = &the_module;
    counts.objects++;
    return 0;
}

int cuModuleUnload(void *module)
{
    counts.objects--;
    return module == &the_module ? 0 : INVALID;
}

static char function[LAUNCH_KERNELS];
int cuModuleGetFunction(void **f, void *module, const char *name)
{
    (void)module;
    for (uint32_t i = 0; i < LAUNCH_KERNELS; i++)
        if (strcmp(name, emu_kernel_name(i)) == 0) {
            *f = &function[i];
            return 0;
        }
    return NOT_FOUND;
}

/* What a kernel may request above 48 KB. */
static uint32_t shared_most[LAUNCH_KERNELS];
int cuFuncSetAttribute(void *f, int attribute, int value)
{
    if (attribute != 8 || value < 0 || (uint32_t)value > shared_bytes())
        return INVALID;
    shared_most[(char *)f - function] = (uint32_t)value;
    return 0;
}

int cuMemAlloc_v2(address *to, size_t bytes)
{
    struct block *b = pushed ? take(bytes) : NULL;
    if (b)
        *to = (address)(uintptr_t)b->at;
    return b ? 0 : NO_MEMORY;
}

/* Of memory that host and device both reach, which all of it is here (bench/gpu_cases.c). */
EXPORT int cuMemAllocManaged(address *to, size_t bytes, unsigned flags);
int cuMemAllocManaged(address *to, size_t bytes, unsigned flags)
{
    return flags == 1 ? cuMemAlloc_v2(to, bytes) : INVALID;
}

int cuMemFree_v2(address at)
{
    return give((const void *)(uintptr_t)at);
}

int cuMemHostAlloc(void **to, size_t bytes, unsigned flags)
{
    struct block *b = flags ? NULL : take(bytes);
    if (b)
        *to = b->at;
    return b ? 0 : NO_MEMORY;
}

int cuMemFreeHost(void *at)
{
    return give(at);
}

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    return put(&(struct work){
        .kind = WORK_COPY, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes});
}

int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream)
{
    (void)stream;
    return put(&(struct work){
        .kind = WORK_COPY, .to = to, .from = (const void *)(uintptr_t)from, .bytes = bytes});
}

int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void *stream)
{
    (void)stream;
    return put(&(struct work){.kind = WORK_COPY,
                              .to = (void *)(uintptr_t)to,
                              .from = (const void *)(uintptr_t)from,
                              .bytes = bytes});
}

int cuMemsetD32Async(address to, unsigned value, size_t n, void *stream)
{
    (void)stream;
    return put(&(struct work){
        .kind = WORK_FILL, .to = (void *)(uintptr_t)to, .value = value, .bytes = n * 4});
}

static int the_stream;
int cuStreamCreate(void **stream, unsigned flags)
{
    *stream = &the_stream;
    counts.objects++;
    return pushed && flags <= 1 ? 0 : INVALID;
}

int cuStreamDestroy_v2(void *stream)
{
    counts.objects--;
    return stream == &the_stream ? 0 : INVALID;
}

int cuStreamSynchronize(void *stream)
{
    if (stream != &the_stream || capture)
        return INVALID;
    return wait_for_all();
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    if (stream != &the_stream || capture || mode != 2)
        return INVALID;
    capture = calloc(1, sizeof *capture);
    counts.objects++;
    return 0;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    if (stream != &the_stream || !capture)
        return INVALID;
    *graph = capture;
    capture = NULL;
    return 0;
}

int cuGraphInstantiateWithFlags(void **run, void *graph, unsigned long long flags)
{
    struct list *copy = calloc(1, sizeof *copy);
    for (const struct work *w = ((struct list *)graph)->first; w; w = w->next)
        append(copy, w);
    *run = copy;
    counts.objects++;
    return flags ? INVALID : 0;
}

int cuGraphLaunch(void *run, void *stream)
{
    (void)stream;
    counts.graph_launches++;
    for (const struct work *w = ((struct list *)run)->first; w && !lost; w = w->next)
        append(&queue, w);
    return lost ? LOST : 0;
}

static int drop(void *graph)
{
    clear(graph, false);
    free(graph);
    counts.objects--;
    return 0;
}

int cuGraphExecDestroy(void *run)
{
    return drop(run);
}

int cuGraphDestroy(void *graph)
{
    return drop(graph);
}

int cuEventCreate(void **event, unsigned flags)
{
    *event = calloc(1, sizeof(struct event));
    counts.objects++;
    return pushed && !flags ? 0 : INVALID;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    counts.objects--;
    return 0;
}

/* In a capture it would only order streams. */
int cuEventRecord(void *event, void *stream)
{
    return stream && !capture ? put(&(struct work){.kind = WORK_EVENT, .to = event}) : INVALID;
}

/* The flag makes it a node of the graph that is captured. */
int cuEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    return stream && capture && flags == 1 ? put(&(struct work){.kind = WORK_EVENT, .to = event})
                                           : INVALID;
}

int cuEventElapsedTime(float *ms, void *begin, void *end)
{
    const struct event *a = begin, *b = end;
    if (lost)
        return LOST;
    if (!a->ns || !b->ns || b->ns < a->ns)
        return NOT_READY;
    *ms = (float)((double)(b->ns - a->ns) / 1e6);
    return 0;
}

int cuLaunchKernel(void *f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                   void **parameters, void **extra)
{
    (void)stream;
    uint32_t kernel = (uint32_t)((char *)f - function);
    bool fits = kernel < LAUNCH_KERNELS && grid_x && grid_y && grid_z && grid_x < 1u << 31 &&
                grid_y < 65536 && grid_z < 65536 && block_y == 1 && block_z == 1 && !extra;
    if (!fits)
        return INVALID;
    const struct launch_block b = launch_block_of(kernel, parameters[0]);
    if (block_x != b.threads || shared_bytes != b.shared ||
        (b.shared > 49152 && b.shared > shared_most[kernel]))
        return INVALID;
    return put(&(struct work){.kind = WORK_LAUNCH,
                              .kernel = kernel,
                              .grid = {grid_x, grid_y, grid_z},
                              .arg = parameters[0],
                              .arg_bytes = emu_arg_bytes(kernel)});
}

/* More blocks than are there at once would wait for ever. */
int cuLaunchCooperativeKernel(void *f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, void *stream, void **parameters)
{
    const uint64_t processors = behaviour.processors ? behaviour.processors : 132;
    const uint64_t each =
        behaviour.cooperative ? behaviour.cooperative : 1; /* for bench/gpu_cases.c */
    if ((uint64_t)grid_x * grid_y * grid_z > processors * each)
        return TOO_LARGE;
    return cuLaunchKernel(f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                          stream, parameters, NULL);
}
