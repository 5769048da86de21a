/* SPDX-License-Identifier: MIT */
/* bench_first.c - from a file to its first outputs: pith_open and one run, each time anew.
 *
 *     bench_first ROUNDS THREADS FILE.pith ...     (bench/first_inference.py runs it beside a peer)
 *
 * Files take turns. A line a file: milliseconds of opening and of the first run, medians, and KiB
 * of memory that the process got for it beyond what it had before the first of all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"

#define MAX_FILES 16
#define MAX_ROUNDS 1001

static double open_ms[MAX_FILES][MAX_ROUNDS], run_ms[MAX_FILES][MAX_ROUNDS];

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of this program: rusage would tell the peak of the one that started it where that was larger. */
static long peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld", &kib);
    if (f)
        fclose(f);
    return kib;
}

/* Inputs are 0. */
static void once(const char *path, const struct pith_opts *opts, double *open, double *run)
{
    struct pith_session *s;
    struct pith_error err = {0};
    struct pith_tensor t;
    uint64_t begin = pith_clock_ns(NULL);
    if (pith_open(path, opts, &s, &err)) {
        fprintf(stderr, "bench_first: %s\n", err.text);
        exit(1);
    }
    uint64_t opened = pith_clock_ns(NULL);
    struct pith_plan *plan = pith_plan_of(s);
    for (uint32_t i = 0; pith_plan_input(plan, i, &t) == PITH_OK; i++)
        memset(pith_plan_input_data(plan, i), 0, (size_t)t.bytes);
    if (pith_plan_run(plan)) {
        fprintf(stderr, "bench_first: %s: the run failed\n", path);
        exit(1);
    }
    *open = (double)(opened - begin) / 1e6;
    *run = (double)(pith_clock_ns(NULL) - opened) / 1e6;
    pith_close(s);
}

int main(int argc, char **argv)
{
    int rounds = argc > 3 ? atoi(argv[1]) : 0, threads = argc > 3 ? atoi(argv[2]) : 0;
    if (rounds < 1 || rounds > MAX_ROUNDS || threads < 1 || argc - 3 > MAX_FILES) {
        fprintf(stderr, "usage: bench_first ROUNDS THREADS FILE.pith ...\n");
        return 2;
    }
    struct pith_opts opts;
    pith_opts_init(&opts, sizeof opts);
    if (threads > 1 && pith_threads_start(&opts, (uint32_t)threads))
        return 1;
    long before = peak_kib();
    for (int r = 0; r < rounds; r++)
        for (int f = 0; f < argc - 3; f++)
            once(argv[f + 3], &opts, &open_ms[f][r], &run_ms[f][r]);
    for (int f = 0; f < argc - 3; f++) {
        qsort(open_ms[f], (size_t)rounds, sizeof(double), by_time);
        qsort(run_ms[f], (size_t)rounds, sizeof(double), by_time);
        printf("%.3f %.3f %ld %s\n", open_ms[f][rounds / 2], run_ms[f][rounds / 2],
               peak_kib() - before, argv[f + 3]);
    }
    pith_threads_stop(&opts);
    return 0;
}
