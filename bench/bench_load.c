/* SPDX-License-Identifier: MIT */
/* bench_load.c - from a file to its first outputs: pith_open and one run, each time anew.
 *
 *     bench_load [--rounds N] [--threads N] FILE.pith...
 *
 * Files take turns, so that a change of the machine's pace hits all alike. A line a file, medians:
 * milliseconds of opening, of the first run, KiB of memory beyond what the process had before the
 * first file, milliseconds of the processor that opening takes. The constants of
 * pack/load_estimate.c are the last, less that of the same network encoded with --coder none, over
 * the number of elements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "pith_host.h"

#define MAX_FILES 16
#define MAX_ROUNDS 1001

enum { OPEN, RUN, PROCESSOR, N_TIMES };
static double ms[MAX_FILES][N_TIMES][MAX_ROUNDS];

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double median(double *v, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
            double t = v[k];
            v[k] = v[k - 1];
            v[k - 1] = t;
        }
    return v[n / 2];
}

/* Of this program: rusage has the peak of the one that started it where that was larger. */
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
static void once(const char *path, const struct pith_opts *opts, int file, int round)
{
    struct pith_session *s;
    struct pith_error err = {0};
    struct pith_tensor t;
    double begin = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    if (pith_open(path, opts, &s, &err)) {
        fprintf(stderr, "bench_load: %s\n", err.text);
        exit(1);
    }
    double opened = now(CLOCK_MONOTONIC);
    ms[file][PROCESSOR][round] = now(CLOCK_PROCESS_CPUTIME_ID) - processor;
    struct pith_plan *plan = pith_plan_of(s);
    for (uint32_t i = 0; pith_plan_input(plan, i, &t) == PITH_OK; i++)
        memset(pith_plan_input_data(plan, i), 0, (size_t)t.bytes);
    if (pith_plan_run(plan)) {
        fprintf(stderr, "bench_load: %s: the run failed\n", path);
        exit(1);
    }
    ms[file][OPEN][round] = opened - begin;
    ms[file][RUN][round] = now(CLOCK_MONOTONIC) - opened;
    pith_close(s);
}

int main(int argc, char **argv)
{
    int rounds = 21, threads = 1, first = 1;
    for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2)
        *(strcmp(argv[first], "--rounds") == 0 ? &rounds : &threads) = atoi(argv[first + 1]);
    int files = argc - first;
    if (files < 1 || files > MAX_FILES || rounds < 1 || rounds > MAX_ROUNDS || threads < 1) {
        fprintf(stderr, "usage: bench_load [--rounds N] [--threads N] FILE.pith...\n");
        return 2;
    }
    struct pith_opts opts;
    pith_opts_init(&opts, sizeof opts);
    if (threads > 1 && pith_threads_start(&opts, (uint32_t)threads))
        return 1;
    long before = peak_kib();
    for (int r = 0; r < rounds; r++)
        for (int f = 0; f < files; f++)
            once(argv[first + f], &opts, f, r);
    for (int f = 0; f < files; f++)
        printf("%s %.3f %.3f %ld %.3f\n", argv[first + f], median(ms[f][OPEN], rounds),
               median(ms[f][RUN], rounds), peak_kib() - before, median(ms[f][PROCESSOR], rounds));
    pith_threads_stop(&opts);
    return 0;
}
