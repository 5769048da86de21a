/* SPDX-License-Identifier: MIT */
/* plan_need [-r] FILE ...: what a plan of each file needs, without threads: a line of bytes,
 * weights in run form, arena, scratch of one kernel and working memory of pith_plan_init with
 * reference kernels, the same where weights are decoded once, and with the kernels of this machine.
 * -r: the hash of the outputs of one run behind it, and its seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"

static double seconds(void)
{
    return (double)pith_clock_ns(NULL) * 1e-9;
}

static void fill(struct pith_plan *plan)
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        pith_plan_input(plan, i, &t);
        uint8_t *to = pith_plan_input_data(plan, i);
        memset(to, 0, t.bytes);
        for (uint64_t k = 0; t.type == PITH_F32 && k < t.bytes / 4; k++) {
            state = state * 1664525u + 1013904223u;
            float v = (float)(state >> 8) / 16777216.0f;
            memcpy(to + k * 4, &v, 4);
        }
    }
}

static uint64_t hash(const struct pith_plan *plan)
{
    uint64_t h = 14695981039346656037u;
    for (uint32_t i = 0; i < pith_plan_output_count(plan); i++) {
        struct pith_tensor t;
        pith_plan_output(plan, i, &t);
        const uint8_t *from = pith_plan_output_data(plan, i);
        for (uint64_t k = 0; k < t.bytes; k++)
            h = (h ^ from[k]) * 1099511628211u;
    }
    return h;
}

/* name: of the mask and flags. */
static int report(const char *path, const char *name, uint32_t mask, uint32_t flags, int run)
{
    struct pith_session *session;
    struct pith_error err;
    struct pith_opts o;
    struct pith_need need;
    pith_opts_init(&o, sizeof o);
    o.cpu_mask = mask;
    o.flags = flags;
    if (pith_open(path, &o, &session, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    pith_session_need(session, &need);
    printf("%s %s %llu %llu %llu %llu %llu", path, name, (unsigned long long)need.bytes,
           (unsigned long long)need.weights_bytes, (unsigned long long)need.arena_bytes,
           (unsigned long long)need.scratch_bytes, (unsigned long long)need.init_bytes);
    if (run) {
        struct pith_plan *plan = pith_plan_of(session);
        fill(plan);
        double t = seconds();
        pith_plan_run(plan);
        t = seconds() - t;
        printf(" %016llx %.4f", (unsigned long long)hash(plan), t);
    }
    printf("\n");
    pith_close(session);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = 0, run = argc > 1 && !strcmp(argv[1], "-r");
    for (int i = 1 + run; i < argc; i++) {
        bad |= report(argv[i], "reference", PITH_CPU_REF, 0, run);
        bad |= report(argv[i], "once", PITH_CPU_REF, PITH_FLAG_DECODE_ONCE, run);
        bad |= report(argv[i], "native", 0, 0, 0);
    }
    return bad;
}
