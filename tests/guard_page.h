/* SPDX-License-Identifier: MIT */
/* guard_page.h - buffers that end (or begin) at an unmapped page, so that reading or writing one
 * byte outside is a fault, and a seeded random source for kernel tests. */
#ifndef GUARD_PAGE_H
#define GUARD_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
    void *map;
    size_t map_bytes;
    void *data;
};

#ifdef GUARD_DEVICE /* memory of a device instead, without such pages                              \
                       (bench/gpu_cases.c) */
void *device_guard_new(size_t bytes);
void device_guard_free(void *p);

static inline struct guarded guard_new(size_t bytes, int at_end)
{
    (void)at_end;
    void *p = device_guard_new(bytes);
    return (struct guarded){p, bytes, p};
}

static inline void guard_free(struct guarded *g)
{
    device_guard_free(g->map);
}
#else
/* `bytes` bytes whose last is the last before an unmapped page (at_end), or whose first is the
 * first behind one. */
static inline struct guarded guard_new(size_t bytes, int at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (bytes + page - 1) / page * page;
    struct guarded g = {.map_bytes = inner + 2 * page};
    g.map = mmap(NULL, g.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED ||
        (inner && mprotect((char *)g.map + page, inner, PROT_READ | PROT_WRITE) != 0)) {
        perror("guard_new");
        exit(1);
    }
    g.data = (char *)g.map + page + (at_end ? inner - bytes : 0);
    return g;
}

static inline void guard_free(struct guarded *g)
{
    munmap(g->map, g->map_bytes);
}
#endif

/* splitmix64 */
static inline uint64_t random_u64(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* uniform in -1 .. 1 */
static inline float random_f32(uint64_t *seed)
{
    return (float)((int32_t)(random_u64(seed) >> 40) - (1 << 23)) / (float)(1 << 23);
}

static inline struct guarded guard_random(size_t n, int at_end, uint64_t *seed)
{
    struct guarded g = guard_new(n * sizeof(float), at_end);
    for (size_t i = 0; i < n; i++)
        ((float *)g.data)[i] = random_f32(seed);
    return g;
}

#endif
