/* SPDX-License-Identifier: MIT */
/* Time of one inference: median, minimum and 90th percentile of repeated runs. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "pith_host.h"
#include "engine.h"
#include "base/error_fill.h"
#include "base/in_parallel.h"
#include "base/seeded_random.h"

#define WARM_UPS 2
#define MIN_RUNS 5
#define MAX_RUNS 100000
#define COLD_RUNS 11
#define COLD_BYTES ((size_t)128 << 20) /* at least; twice the last cache where that is more */
#define LINE 64u

/* The sum of 12 uniforms has variance 1. */
static float next_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 6; i++) {
        uint64_t r = next_random(state);
        sum += (double)(uint32_t)r / 4294967296.0 + (double)(uint32_t)(r >> 32) / 4294967296.0;
    }
    return (float)sum;
}

void pith_fill_normal(struct pith_plan *plan, uint64_t seed)
{
    if (!plan)
        return;
    uint64_t state = seed;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        if (pith_plan_input(plan, i, &t))
            continue;
        float *x = pith_plan_input_data(plan, i);
        if (t.type != PITH_F32) {
            memset(x, 0, (size_t)t.bytes); /* an index or a flag: 0 is one everywhere */
            continue;
        }
        for (uint64_t k = 0; k < t.bytes / sizeof *x; k++)
            x[k] = next_normal(&state);
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds the run just done to the fastest runs of the layers. */
static void keep_fastest(struct pith_engine *e)
{
    struct pith_layer l;
    for (uint32_t i = 0; i < pith_plan_layer_count(e->plan); i++) {
        pith_plan_layer(e->plan, i, &l);
        if (l.ns < e->layer_ns[i])
            e->layer_ns[i] = l.ns;
    }
}

static bool layers_ready(struct pith_engine *e)
{
    uint32_t n = pith_plan_layer_count(e->plan);
    if (e->layer_ns || !e->opts.clock_ns)
        return true;
    e->layer_ns = malloc((n ? n : 1) * sizeof *e->layer_ns);
    for (uint32_t i = 0; e->layer_ns && i < n; i++)
        e->layer_ns[i] = UINT64_MAX;
    return e->layer_ns != NULL;
}

/* So far, of all threads. */
static uint64_t page_faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

static enum pith_status timed_run(struct pith_engine *e, uint64_t *ns, struct pith_error *err)
{
    const uint64_t start = pith_clock_ns(NULL);
    const enum pith_status st = pith_engine_run(e, err);
    *ns = pith_clock_ns(NULL) - start;
    return st;
}

/* A plan may reuse the inputs' memory. Then drawn ones are put back before each run, outside of the
 * time: drawing them anew takes longer than many a run, and caches cool down meanwhile. */
enum inputs { KEEP, COMPARE, PUT_BACK };

/* Whether all inputs are as kept; kept NULL: *bytes of them. */
static bool visit_inputs(struct pith_plan *plan, enum inputs what, uint8_t *kept, size_t *bytes)
{
    bool same = true;
    *bytes = 0;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        if (pith_plan_input(plan, i, &t))
            continue;
        const size_t n = (size_t)t.bytes;
        void *x = pith_plan_input_data(plan, i);
        if (kept && what == KEEP)
            memcpy(kept + *bytes, x, n);
        else if (kept && what == PUT_BACK)
            memcpy(x, kept + *bytes, n);
        else if (kept)
            same = same && memcmp(x, kept + *bytes, n) == 0;
        *bytes += n;
    }
    return same;
}

struct runs {
    uint64_t *ns; /* [MAX_RUNS], of which n are set */
    uint32_t n;
    uint64_t faults;
};

static enum pith_status repeat(struct pith_engine *e, double seconds, uint8_t *kept,
                               struct runs *runs, struct pith_error *err)
{
    struct pith_plan *plan = pith_engine_plan(e);
    enum pith_status st = PITH_OK;
    size_t bytes;
    bool reused = false;
    visit_inputs(plan, KEEP, kept, &bytes);
    for (int i = 0; i < WARM_UPS && !st; i++) {
        st = timed_run(e, runs->ns, err);
        reused = reused || !visit_inputs(plan, COMPARE, kept, &bytes);
        visit_inputs(plan, PUT_BACK, kept, &bytes);
    }
    runs->faults = page_faults();
    const uint64_t end = pith_clock_ns(NULL) + (uint64_t)(seconds * 1e9);
    for (runs->n = 0;
         !st && runs->n < MAX_RUNS && (runs->n < MIN_RUNS || pith_clock_ns(NULL) < end);
         ++runs->n) {
        if (reused)
            visit_inputs(plan, PUT_BACK, kept, &bytes);
        st = timed_run(e, &runs->ns[runs->n], err);
        if (e->layer_ns)
            keep_fastest(e);
    }
    runs->faults = page_faults() - runs->faults;
    return st;
}

enum pith_status pith_time(struct pith_engine *e, double seconds, struct pith_timing *timing,
                           struct pith_error *err)
{
    if (!e || !timing)
        return PITH_ERR_ARGUMENT;
    uint64_t *ns = malloc(MAX_RUNS * sizeof *ns);
    struct runs runs = {.ns = ns};
    size_t bytes;
    visit_inputs(pith_engine_plan(e), KEEP, NULL, &bytes);
    uint8_t *kept = malloc(bytes ? bytes : 1);
    if (!ns || !kept || !layers_ready(e)) {
        free(ns);
        free(kept);
        return pith_error_no_memory(err);
    }
    memset(ns, 1, MAX_RUNS * sizeof *ns); /* its pages are no faults of the runs */
    pith_fill_normal(pith_engine_plan(e), 1);
    enum pith_status st = repeat(e, seconds, kept, &runs, err);
    if (!st) {
        const uint32_t n = runs.n;
        qsort(ns, n, sizeof *ns, by_value);
        *timing = (struct pith_timing){.ms_median = (double)ns[n / 2] / 1e6,
                                       .ms_min = (double)ns[0] / 1e6,
                                       .ms_p90 = (double)ns[n * 9 / 10] / 1e6,
                                       .runs = n,
                                       .page_faults = runs.faults};
    }
    free(ns);
    free(kept);
    return st;
}

/* ---- cold ----------------------------------------------------------------------------------- */

struct sweep {
    uint8_t *memory;
    size_t piece; /* bytes of each thread */
};

/* Writes, for what was written has to leave a cache before anything else comes in. */
static void sweep_piece(void *arg, uint32_t i)
{
    const struct sweep *s = arg;
    volatile uint8_t *memory = s->memory + i * s->piece;
    for (size_t k = 0; k < s->piece; k += LINE)
        memory[k]++;
}

static size_t last_cache_bytes(void)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : 0;
#else
    return 0;
#endif
}

/* Each thread sweeps a piece, for second-level caches are of one core. */
static bool new_sweep(struct sweep *s, uint32_t threads)
{
    const size_t cache = last_cache_bytes();
    s->piece = (2 * cache > COLD_BYTES ? 2 * cache : COLD_BYTES) / threads / LINE * LINE;
    s->memory = calloc(threads, s->piece);
    return s->memory != NULL;
}

enum pith_status pith_time_cold(struct pith_engine *e, double *ms, struct pith_error *err)
{
    if (!e || !ms)
        return PITH_ERR_ARGUMENT;
    const uint32_t threads = e->opts.parallel_for ? pith_threads_count(&e->opts) : 1;
    uint64_t ns[COLD_RUNS];
    enum pith_status st = PITH_OK;
    struct sweep sweep;
    if (!new_sweep(&sweep, threads))
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < COLD_RUNS && !st; i++) {
        pith_in_parallel(&e->opts, threads, sweep_piece, &sweep);
        pith_fill_normal(pith_engine_plan(e), 1);
        st = timed_run(e, &ns[i], err);
    }
    free(sweep.memory);
    if (st)
        return st;
    qsort(ns, COLD_RUNS, sizeof *ns, by_value);
    *ms = (double)ns[COLD_RUNS / 2] / 1e6;
    return PITH_OK;
}
