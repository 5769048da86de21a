/* SPDX-License-Identifier: MIT */
/* gpu_meter.c - NVML is found when it is needed: nothing is linked, and its numbers are part of the
 * driver's binary interface, so that no header is needed to build this. */
#include "gpu_meter.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct utilization {
    unsigned gpu, memory; /* per cent */
};
struct memory {
    unsigned long long total, free, used;
};

#define NVML_FUNCTIONS(F)                                                                          \
    F(nvmlInit_v2, (void))                                                                         \
    F(nvmlShutdown, (void))                                                                        \
    F(nvmlDeviceGetCount_v2, (unsigned *n))                                                        \
    F(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **device))                                  \
    F(nvmlDeviceGetUUID, (void *device, char *uuid, unsigned bytes))                               \
    F(nvmlDeviceGetUtilizationRates, (void *device, struct utilization *u))                        \
    F(nvmlDeviceGetPowerUsage, (void *device, unsigned *mw))                                       \
    F(nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned *mw))                               \
    F(nvmlDeviceGetTotalEnergyConsumption, (void *device, unsigned long long *mj))                 \
    F(nvmlDeviceGetMemoryInfo, (void *device, struct memory *memory))

struct gpu_meter {
    void *library;
    unsigned n;
#define POINTER(name, parameters) int(*name) parameters;
    NVML_FUNCTIONS(POINTER)
#undef POINTER
};

/* The address is copied as bytes, since ISO C does not convert an object pointer into a function
 * pointer. */
static bool find_all(struct gpu_meter *m)
{
#define FIND(name, parameters)                                                                     \
    {                                                                                              \
        void *found = dlsym(m->library, #name);                                                    \
        if (!found)                                                                                \
            return false;                                                                          \
        memcpy(&m->name, &found, sizeof found);                                                    \
    }
    NVML_FUNCTIONS(FIND)
#undef FIND
    return true;
}

struct gpu_meter *gpu_meter_open(void)
{
    struct gpu_meter *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    bool begun = m->library && find_all(m) && m->nvmlInit_v2() == 0;
    if (begun && m->nvmlDeviceGetCount_v2(&m->n) == 0 && m->n > 0)
        return m;
    if (begun)
        m->nvmlShutdown();
    if (m->library)
        dlclose(m->library);
    free(m);
    return NULL;
}

void gpu_meter_close(struct gpu_meter *m)
{
    if (!m)
        return;
    m->nvmlShutdown();
    dlclose(m->library);
    free(m);
}

uint32_t gpu_meter_count(const struct gpu_meter *m)
{
    return m ? m->n : 0;
}

bool gpu_meter_read(const struct gpu_meter *m, uint32_t i, struct gpu_reading *r)
{
    void *device;
    struct utilization u = {0};
    struct memory memory = {0};
    unsigned mw = 0, limit_mw = 0;
    unsigned long long mj = 0;
    *r = (struct gpu_reading){0};
    if (!m || i >= m->n || m->nvmlDeviceGetHandleByIndex_v2(i, &device) != 0 ||
        m->nvmlDeviceGetUUID(device, r->uuid, sizeof r->uuid - 1) != 0)
        return false;
    r->utilization = m->nvmlDeviceGetUtilizationRates(device, &u) == 0 ? u.gpu / 100.0 : NAN;
    r->power_w = m->nvmlDeviceGetPowerUsage(device, &mw) == 0 ? mw / 1e3 : NAN;
    r->power_limit_w =
        m->nvmlDeviceGetEnforcedPowerLimit(device, &limit_mw) == 0 ? limit_mw / 1e3 : NAN;
    r->energy_j = m->nvmlDeviceGetTotalEnergyConsumption(device, &mj) == 0 ? (double)mj / 1e3 : NAN;
    const bool has_memory = m->nvmlDeviceGetMemoryInfo(device, &memory) == 0;
    r->memory_total_bytes = has_memory ? (double)memory.total : NAN;
    r->memory_used_bytes = has_memory ? (double)memory.used : NAN;
    return true;
}
