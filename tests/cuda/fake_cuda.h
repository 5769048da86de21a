/* SPDX-License-Identifier: MIT */
/* fake_cuda.h - what tests call in the fake driver (fake_cuda.c), which they find by dlsym. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Order of lanes and blocks (emu_launch.h); the number of the allocation that fails, from now on
 * counted from 1 (0: none); the number of the wait at which the driver is lost. */
struct fake_cuda_behaviour {
    uint32_t order, failing_allocation, losing_wait;
    uint32_t no_device;    /* else there is one */
    uint32_t version;      /* 0: 13000 */
    uint32_t no_code;      /* the image has nothing for this device */
    uint64_t memory_bytes; /* of the device; 0: no limit */
    /* What a launch (of other kernels than those for parts of sums and conversions) and another
     * library's work take by the events; 0, 0: as they do here. */
    uint32_t launch_ns, call_ns;
    /* Multiprocessors, 0: 132; blocks of a kernel on each whose launches may wait for one another,
     * 0: they may not. A launch of such takes step_ns for each step of its program. */
    uint32_t processors, cooperative, step_ns;
    uint32_t shared_bytes; /* shared memory of a multiprocessor; 0: 65536 */
    uint32_t idle;         /* kernels are launched and do nothing */
};

struct fake_cuda_counts {
    uint64_t allocations, allocated_bytes; /* alive now: of device and pinned memory */
    uint64_t objects;                      /* alive now: contexts, modules, streams, graphs */
    uint64_t allocations_made, launches, graph_launches, waits, programs;
};

/* Another library's work on the stream: `call` with a copy of arg, when the stream comes by. A
 * result of the driver. */
int fake_cuda_call(void (*call)(void *arg), void *arg, size_t bytes);

void fake_cuda_set(const struct fake_cuda_behaviour *behaviour);
struct fake_cuda_counts fake_cuda_counts(void);

#endif
