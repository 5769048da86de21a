/* SPDX-License-Identifier: MIT */
/* resident.c FILE - opens a network as a program does that embeds the runtime and runs it once.
 * Prints the pages that this left resident, those of the file among them, and what the plan keeps,
 * in bytes. */
#include <stdio.h>
#include <string.h>
#include "pith_host.h"

/* Of this process, whatever they hold. */
static long long resident_bytes(void)
{
    long long kilobytes = -1;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %lld kB", &kilobytes) == 1)
            break;
    if (f)
        fclose(f);
    return kilobytes * 1024;
}

int main(int argc, char **argv)
{
    struct pith_session *s;
    struct pith_error err;
    struct pith_need need;
    long long before = resident_bytes();
    if (argc != 2 || before < 0)
        return 2;
    if (pith_open(argv[1], NULL, &s, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct pith_tensor x;
    struct pith_plan *plan = pith_plan_of(s);
    if (pith_plan_input(plan, 0, &x))
        return 1;
    memset(pith_plan_input_data(plan, 0), 0, x.bytes);
    if (pith_plan_run(plan))
        return 1;
    pith_session_need(s, &need);
    printf("%lld %llu %llu\n", resident_bytes() - before,
           (unsigned long long)(need.weights_bytes + need.arena_bytes),
           (unsigned long long)need.init_bytes);
    pith_close(s);
    return 0;
}
