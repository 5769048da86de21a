/* SPDX-License-Identifier: MIT */
/* bench_load.c - what making a plan of a file takes: milliseconds of pith_open_memory on one thread
 * (time of the processor, and by the clock) and on all (by the clock), beside the estimate that
 * `pith encode` tells. The constants of pack/load_estimate.c come from it: the first time less that
 * of the same network encoded with
 * `--coder none`, over the number of elements.
 *
 *     make bench-build
 *     pith import net.onnx -o net.pith && pith cluster net.pith --bits 4 -o small.pith
 *     for coder in none huffman adaptive; do pith encode small.pith --coder $coder -o $coder.pith;
 * done build/release/bench/bench_load none.pith huffman.pith adaptive.pith
 *     build/release/bench/bench_load --rounds 41 adaptive.pith
 *
 * Files take turns, so that a change of the machine's pace hits all alike; the table has medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "pith_host.h"
#include "pith_model.h"
#include "pith_pack.h"

#define MAX_ROUNDS 1001u
#define DEFAULT_ROUNDS 11u

struct file {
    const char *path;
    struct pith_buffer bytes;
    double cpu[MAX_ROUNDS], alone[MAX_ROUNDS], together[MAX_ROUNDS]; /* milliseconds */
};

static double milliseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double open_once(const struct file *f, const struct pith_opts *opts, clockid_t clock)
{
    struct pith_session *s;
    struct pith_error err = {0};
    double start = milliseconds(clock);
    if (pith_open_memory(f->bytes.data, f->bytes.bytes, opts, &s, &err)) {
        fprintf(stderr, "bench_load: %s: %s\n", f->path, err.text);
        exit(1);
    }
    double taken = milliseconds(clock) - start;
    pith_close(s);
    return taken;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, uint32_t n)
{
    qsort(v, n, sizeof *v, compare);
    return v[n / 2];
}

static void read_file(struct file *f)
{
    FILE *in = fopen(f->path, "rb");
    long n = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
    f->bytes.data = n > 0 ? malloc((size_t)n) : NULL;
    if (!f->bytes.data || fseek(in, 0, SEEK_SET) ||
        fread(f->bytes.data, 1, (size_t)n, in) != (size_t)n) {
        fprintf(stderr, "bench_load: cannot read '%s'\n", f->path);
        exit(1);
    }
    f->bytes.bytes = (size_t)n;
    fclose(in);
}

static void print_row(struct file *f, uint32_t rounds)
{
    double seconds = 0;
    if (pith_load_seconds(&f->bytes, &seconds))
        seconds = -1e-3;
    printf("%12zu %10.2f %10.2f %12.2f %10.2f  %s\n", f->bytes.bytes, median(f->cpu, rounds),
           median(f->alone, rounds), median(f->together, rounds), seconds * 1e3, f->path);
}

int main(int argc, char **argv)
{
    uint32_t rounds = DEFAULT_ROUNDS, first = 1;
    if (argc > 2 && strcmp(argv[1], "--rounds") == 0) {
        rounds = (uint32_t)strtoul(argv[2], NULL, 10);
        first = 3;
    }
    if (rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    uint32_t n = (uint32_t)argc - first;
    if (argc <= (int)first) {
        printf(
            "bench_load: no files given, nothing timed (bench_load [--rounds N] FILE.pith ...)\n");
        return 0;
    }
    struct file *files = calloc(n, sizeof *files);
    struct pith_opts alone, together;
    pith_opts_init(&alone, sizeof alone);
    pith_opts_init(&together, sizeof together);
    uint32_t threads = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (!files || pith_threads_start(&together, threads))
        return 1;
    for (uint32_t i = 0; i < n; i++) {
        files[i].path = argv[first + i];
        read_file(&files[i]);
    }
    for (uint32_t r = 0; r < rounds; r++)
        for (uint32_t i = 0; i < n; i++) {
            files[i].cpu[r] = open_once(&files[i], &alone, CLOCK_PROCESS_CPUTIME_ID);
            files[i].alone[r] = open_once(&files[i], &alone, CLOCK_MONOTONIC);
            files[i].together[r] = open_once(&files[i], &together, CLOCK_MONOTONIC);
        }
    printf("%12s %10s %10s %8s x %u %10s\n", "bytes", "processor", "1 thread", "threads", threads,
           "estimate");
    for (uint32_t i = 0; i < n; i++) {
        print_row(&files[i], rounds);
        free(files[i].bytes.data);
    }
    free(files);
    pith_threads_stop(&together);
    return 0;
}
