/* SPDX-License-Identifier: MIT */
/* bench_tail.c - how even the times of a network's runs are: percentiles of single runs, beside
 * those of a loop of arithmetic of the same length, which takes turns with them. The tail of the
 * loop is the machine's.
 *
 *     bench_tail NET.pith [RUNS [THREADS]]     100,000 runs on one thread
 */
#include <stdio.h>
#include <stdlib.h>
#include "pith_host.h"

#define USUAL_RUNS 100000u
#define FIRST_RUNS 1000u /* not counted: caches, clocks, the loop's length */

static volatile uint64_t kept; /* so that the loop stays */

static uint64_t time_of_run(struct pith_plan *plan)
{
    uint64_t start = pith_clock_ns(NULL);
    if (pith_plan_run(plan)) {
        fprintf(stderr, "bench_tail: the run failed\n");
        exit(1);
    }
    return pith_clock_ns(NULL) - start;
}

static uint64_t time_of_loop(uint64_t steps)
{
    uint64_t start = pith_clock_ns(NULL), v = kept;
    for (uint64_t i = 0; i < steps; i++)
        v = v * UINT64_C(0x5851f42d4c957f2d) + UINT64_C(0x14057b7ef767814f);
    kept = v;
    return pith_clock_ns(NULL) - start;
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts them. */
static double microseconds(uint64_t *times, size_t n, double part)
{
    qsort(times, n, sizeof *times, by_time);
    size_t at = (size_t)(part * (double)n);
    return (double)times[at < n ? at : n - 1] / 1000;
}

static void print_row(const char *what, uint64_t *times, size_t n)
{
    double half = microseconds(times, n, 0.5), p99 = microseconds(times, n, 0.99);
    double p999 = microseconds(times, n, 0.999);
    printf("| %s | %.2f us | %.2f us (%.2f) | %.2f us (%.2f) | %.0f us |\n", what, half, p99,
           p99 / half, p999, p999 / half, microseconds(times, n, 1));
}

int main(int argc, char **argv)
{
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : USUAL_RUNS;
    uint32_t threads = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1;
    struct pith_opts opts;
    struct pith_session *s = NULL;
    struct pith_error err = {0};
    if (argc < 2 || n < FIRST_RUNS) {
        fprintf(stderr, "usage: bench_tail NET.pith [RUNS, %u at least [THREADS]]\n", FIRST_RUNS);
        return 2;
    }
    pith_opts_init(&opts, sizeof opts);
    if ((threads > 1 && pith_threads_start(&opts, threads)) ||
        pith_open(argv[1], &opts, &s, &err)) {
        fprintf(stderr, "bench_tail: %s: %s\n", argv[1], err.text);
        return 1;
    }
    struct pith_plan *plan = pith_plan_of(s);
    uint64_t *runs = calloc(n, sizeof *runs), *loops = calloc(n, sizeof *loops), steps = 1000;
    if (!runs || !loops)
        return 1;
    for (size_t i = 0; i < FIRST_RUNS; i++)
        runs[i] = time_of_run(plan);
    for (int round = 0; round < 4; round++) { /* as long as the network's median */
        for (size_t i = 0; i < FIRST_RUNS; i++)
            loops[i] = time_of_loop(steps);
        steps = 1 + (uint64_t)((double)steps * microseconds(runs, FIRST_RUNS, 0.5) /
                               microseconds(loops, FIRST_RUNS, 0.5));
    }
    for (size_t i = 0; i < n; i++) {
        runs[i] = time_of_run(plan);
        loops[i] = time_of_loop(steps);
    }
    printf("| | p50 | p99 | p99.9 | most |\n| --- | --- | --- | --- | --- |\n");
    print_row("network", runs, n);
    print_row("loop", loops, n);
    free(runs);
    free(loops);
    pith_close(s);
    pith_threads_stop(&opts);
    return 0;
}
