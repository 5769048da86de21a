/* SPDX-License-Identifier: MIT */
/* gpu_meter.h - power and load of NVIDIA GPUs, by NVML where it is installed. */
#ifndef GPU_METER_H
#define GPU_METER_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_meter; /* opaque; NULL: there is no GPU, or no NVML */

struct gpu_reading {
    char uuid[96];
    /* A reading that the GPU does not give is NAN. */
    double utilization; /* 0..1 */
    double power_w, power_limit_w;
    double energy_j; /* since the driver was loaded */
    double memory_total_bytes, memory_used_bytes;
};

struct gpu_meter *gpu_meter_open(void);
void gpu_meter_close(struct gpu_meter *meter); /* accepts NULL */
uint32_t gpu_meter_count(const struct gpu_meter *meter);
/* False: there is no GPU i. */
bool gpu_meter_read(const struct gpu_meter *meter, uint32_t i, struct gpu_reading *reading);

#endif
