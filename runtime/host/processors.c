/* SPDX-License-Identifier: MIT */
/* processors.c - how many threads can run at once: processors that this process may use, and the
 * time that its control group gets of them. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "pith_host.h"
#include "host/processors.h"

/* "200000 100000": of 100 ms of time, 200 on all processors together. "max": any. */
uint32_t pith_cpu_quota(const char *path)
{
    double quota = 0, period = 0;
    FILE *f = fopen(path, "re");
    const bool limited = f && fscanf(f, "%lf %lf", &quota, &period) == 2;
    if (f)
        fclose(f);
    if (!limited || !(quota > 0) || !(period > 0) || quota / period > (double)MOST_PROCESSORS)
        return 0;
    const uint32_t whole = (uint32_t)(quota / period);
    return whole > 0 ? whole : 1;
}

static uint32_t least(uint32_t a, uint32_t limit)
{
    return limit > 0 && limit < a ? limit : a;
}

uint32_t pith_processor_count(void)
{
    char line[256], path[300];
    cpu_set_t allowed;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t n = online < 1                       ? 1
                 : online > (long)MOST_PROCESSORS ? MOST_PROCESSORS
                                                  : (uint32_t)online;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        n = least(n, (uint32_t)CPU_COUNT(&allowed));
    /* In a container its own group is the root; else the group's place is in /proc. */
    n = least(n, pith_cpu_quota("/sys/fs/cgroup/cpu.max"));
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "0::/", 4) == 0 && line[4] != '\n') {
            line[strcspn(line, "\n")] = '\0';
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
            n = least(n, pith_cpu_quota(path));
        }
    if (f)
        fclose(f);
    return n;
}
