/* SPDX-License-Identifier: MIT */
/* fake_device.h - the fake driver in this process, and engines on it. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "fake_cuda.h"
#include "pith_cuda.h"
#include "measure/engine.h"
#include "pith_host.h"

static void *fake_library;

static inline void *fake_symbol(const char *name)
{
    if (!fake_library)
        fake_library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!fake_library)
        fail_msg("%s", dlerror());
    void *p = dlsym(fake_library, name);
    assert_non_null(p);
    return p;
}

static inline void fake_set(struct fake_cuda_behaviour behaviour)
{
    void (*set)(const struct fake_cuda_behaviour *);
    void *p = fake_symbol("fake_cuda_set");
    memcpy(&set, &p, sizeof set);
    set(&behaviour);
}

static inline struct fake_cuda_counts fake_counts(void)
{
    struct fake_cuda_counts (*counts)(void);
    void *p = fake_symbol("fake_cuda_counts");
    memcpy(&counts, &p, sizeof counts);
    return counts();
}

static inline void assert_nothing_left(void)
{
    struct fake_cuda_counts c = fake_counts();
    assert_int_equal(c.allocations, 0);
    assert_int_equal(c.objects, 0);
}

/* A network of the folder of models, packed; false: there is none. */
static inline bool load_network(const char *name, struct pith_packed *packed)
{
    const char *data = getenv("PITH_DATA");
    struct pith_error err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s.onnx", data ? data : "../shared/data", name);
    enum pith_status st = pith_packed_load(path, NULL, packed, &err);
    SUCCEEDS(st && st != PITH_ERR_IO);
    return st == PITH_OK;
}

static inline struct pith_engine *open_on(const struct pith_packed *packed, const char *device,
                                          uint32_t flags)
{
    struct pith_engine *e;
    struct pith_error err = {0};
    struct pith_engine_opts o = {
        .size_bytes = sizeof o, .device = device, .device_or_fail = true, .flags = flags};
    SUCCEEDS(pith_engine_open_packed(packed, &o, &e, &err));
    return e;
}

static inline void run_on(struct pith_engine *e, uint64_t seed)
{
    struct pith_error err = {0};
    pith_fill_normal(pith_engine_plan(e), seed);
    SUCCEEDS(pith_engine_run(e, &err));
}

#endif
