/* SPDX-License-Identifier: MIT */
/* gpu_cases.c - the cases of tests/cuda on a device instead of the emulator, in memory that the
 * host and the device reach at the same address (cuMemAllocManaged). Each test program of
 * tests/cuda is linked with its main() renamed (bench/gpu.sh). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cuda/driver.h"
#include "guard_page.h"
#include "ptx_launch.h"

#define DEVICE_CASES(CASE)                                                                         \
    CASE(ops) CASE(weights) CASE(half) CASE(attention) CASE(huffman) CASE(integers) CASE(rows)
#define MAIN_OF(name) int main_##name(void);
DEVICE_CASES(MAIN_OF)
int main_cases(const char *name);

#define ATTACH_GLOBAL 1u /* CU_MEM_ATTACH_GLOBAL of cuda.h */

static struct pith_cuda *cuda;
static device_stream stream;
static int (*alloc_managed)(device_address *address, size_t bytes, unsigned flags);
static uint32_t launches;

static void need(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "gpu_cases: %s: result %d\n", what, result);
    exit(1);
}

const char *emu_kernel_name(uint32_t kernel);
const char *emu_kernel_name(uint32_t kernel)
{
#define KERNEL_NAME(name, type) #name,
    static const char *const names[] = {DEVICE_KERNELS(KERNEL_NAME) "none"};
    return names[kernel];
}

/* ---- memory that both reach ------------------------------------------------------------------ */

#define MOST_BLOCKS 256u

static struct {
    uintptr_t at; /* 0: free */
    size_t bytes;
} block[MOST_BLOCKS];

void *device_guard_new(size_t bytes)
{
    device_address at = 0;
    uint32_t i = 0;
    while (i < MOST_BLOCKS && block[i].at)
        i++;
    need(i == MOST_BLOCKS, "too many blocks at once");
    need(alloc_managed(&at, bytes + 1, ATTACH_GLOBAL), "no memory that both reach");
    block[i].at = (uintptr_t)at;
    block[i].bytes = bytes + 1;
    return (void *)(uintptr_t)at;
}

void device_guard_free(void *p)
{
    for (uint32_t i = 0; i < MOST_BLOCKS; i++)
        block[i].at = block[i].at == (uintptr_t)p ? 0 : block[i].at;
    cuda->cuMemFree_v2((uintptr_t)p);
}

/* An address of the host's own memory: a device would fault there, where the emulator reads. Tested
 * on the emulator alone: drivers map ranges of low addresses, as counters are that lie side by
 * side. */
static bool is_of_host(uint64_t address)
{
    unsigned char in_core;
    for (uint32_t i = 0; i < MOST_BLOCKS; i++)
        if (block[i].at && address - block[i].at <= block[i].bytes)
            return false;
    return address >> 47 == 0 && address >= 4096 &&
           mincore((void *)(uintptr_t)(address & ~UINT64_C(4095)), 4096, &in_core) == 0;
}

static void check_words(uint32_t kernel, const void *arg, size_t bytes)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)arg + at, sizeof word);
        if (is_of_host(word)) {
            fprintf(stderr, "gpu_cases: %s: byte %zu of its arguments is an address of the host\n",
                    emu_kernel_name(kernel), at);
            exit(1);
        }
    }
}

/* Bytes between members and behind them keep what the stack held before, which may be an address,
 * so they are cleared where the compiler can do that. */
#if __has_builtin(__builtin_clear_padding)
#define CLEAR_PADDING(v) __builtin_clear_padding(v)
#else
#define CLEAR_PADDING(v) ((void)(v))
#endif
static void check_addresses(uint32_t kernel, const void *arg)
{
#define CHECK_MEMBERS(name, type)                                                                  \
    if (kernel == LAUNCH_##name) {                                                                 \
        struct type copy;                                                                          \
        memcpy(&copy, arg, sizeof copy);                                                           \
        CLEAR_PADDING(&copy);                                                                      \
        check_words(kernel, &copy, sizeof copy);                                                   \
    }
    DEVICE_KERNELS(CHECK_MEMBERS)
}

/* ---- launches -------------------------------------------------------------------------------- */

bool ptx_given(void)
{
    return false;
}

/* The order of lanes is the device's own, whichever is requested. */
void ptx_launch(uint32_t kernel, const uint32_t grid[3], const void *arg, uint32_t order)
{
    (void)order;
    if (strncmp(pith_cuda_name(cuda), "emulator", 8) == 0)
        check_addresses(kernel, arg);
    need(pith_driver_launch(cuda, kernel, grid, arg, stream), "cannot launch");
    need(cuda->cuStreamSynchronize(stream), "the device failed");
    launches++;
}

/* What cases print, where one fails, is not for those who read the JSON. */
static FILE *part_stdout(void)
{
    FILE *json = fdopen(dup(STDOUT_FILENO), "w");
    need(!json || dup2(STDERR_FILENO, STDOUT_FILENO) < 0, "no output");
    return json;
}

static int run(const char *name, int (*cases)(void))
{
    FILE *json = part_stdout();
    struct pith_error err = {0};
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "gpu_cases: %s\n", err.text);
        return 2;
    }
    void *found = dlsym(cuda->library, "cuMemAllocManaged");
    need(!found, "no cuMemAllocManaged");
    memcpy(&alloc_managed, &found, sizeof found);
    need(cuda->cuCtxPushCurrent_v2(cuda->context), "no context");
    need(cuda->cuStreamCreate(&stream, DRIVER_STREAM_NON_BLOCKING), "no stream");
    cases(); /* the first that fails ends the program */
    fprintf(json, "{\"part\":\"cases\",\"name\":\"%s\",\"launches\":%u}\n", name, launches);
    fclose(json);
    cuda->cuStreamDestroy_v2(stream);
    cuda->cuCtxPopCurrent_v2(&found);
    pith_cuda_close(cuda);
    return 0;
}

int main_cases(const char *name)
{
#define RUN_CASE(of)                                                                               \
    if (strcmp(name, #of) == 0)                                                                    \
        return run(name, main_##of);
    DEVICE_CASES(RUN_CASE)
    fprintf(stderr, "gpu_cases: no cases '%s'\n", name);
    return 2;
}
