/* SPDX-License-Identifier: MIT */
/* bench_batch.c - does a row of a batch ever take longer in a larger batch? Products of compressed
 * fully connected layers with every number of rows from 1 to 64, on one thread: microseconds a row,
 * how many times the best of the smaller batches that is, and memory.
 *
 *     make bench-build
 *     build/release/bench/bench_batch [rounds [ROWS COLS PERCENT CENTROIDS]]
 *     PITH_CPU=avx2 build/release/bench/bench_batch
 *
 * Batches take turns, so that a change of the machine's pace hits all alike; the table has medians
 * of CPU time. Ends with 1 when a row takes more than 1.10 times as long as in some smaller batch.
 */
#include <time.h>
#include "pith_host.h"
#include "product_case.h"

#define MAX_ROWS 64u
#define LIMIT 1.10

static const struct matrix layers[] = {
    {4096, 4096, 10, 32}, {4096, 4096, 100, 16}, {4096, 4096, 100, 32}, {4096, 4096, 100, 256},
    {1024, 1024, 10, 32}, {1024, 1024, 100, 16}, {1024, 1024, 30, 32},  {300, 784, 8, 32}};

/* The product of one batch, and what its rounds took. */
struct contender {
    struct made_product made;
    double *us;
};

static struct contender contender_new(const struct weight *w, uint32_t m, float *a, float *y,
                                      const struct pith_kernels *k, uint32_t flags, uint32_t rounds)
{
    struct contender c = {product_new(w, m, k, flags), new_bytes(rounds * sizeof(double))};
    c.made.d.a = a, c.made.d.y = y;
    return c;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_round(struct contender c[MAX_ROWS], uint32_t round)
{
    for (size_t b = 0; b < MAX_ROWS; b++) {
        uint32_t repeats = 1 + 16 / c[b].made.p.m;
        pith_product_run(&c[b].made.p, &c[b].made.d, &c[b].made.env);
        double start = now_us();
        for (uint32_t i = 0; i < repeats; i++)
            pith_product_run(&c[b].made.p, &c[b].made.d, &c[b].made.env);
        c[b].us[round] = (now_us() - start) / (repeats * (double)c[b].made.p.m);
    }
}

/* The largest ratio to the best of the smaller batches. */
static double report(const struct matrix *l, struct contender c[MAX_ROWS], uint32_t rounds)
{
    double best = 0, worst = 0;
    printf("%u x %u, %u %% stored, %u centroids\n", l->rows, l->cols, l->percent, l->centroids);
    for (size_t b = 0; b < MAX_ROWS; b++) {
        qsort(c[b].us, rounds, sizeof(double), by_double);
        double us = c[b].us[rounds / 2], ratio = best > 0 ? us / best : 1;
        printf("  batch %2u  %9.1f us a row  %5.2f x  %s, %.1f MB kept, %.1f for a run\n",
               c[b].made.p.m, us, ratio, c[b].made.kernel, (double)c[b].made.kept_bytes * 1e-6,
               (double)c[b].made.scratch_bytes * 1e-6);
        best = best > 0 && best < us ? best : us;
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

static double measure(const struct matrix *l, const struct pith_kernels *k, uint32_t flags,
                      uint32_t rounds)
{
    struct weight w = weight_new(l);
    struct contender c[MAX_ROWS];
    float *a = new_bytes((uint64_t)MAX_ROWS * l->cols * sizeof *a);
    float *y = new_bytes((uint64_t)MAX_ROWS * l->rows * sizeof *y);
    for (uint64_t i = 0; i < (uint64_t)MAX_ROWS * l->cols; i++)
        a[i] = (float)(next_random() % 256) / 256.0f;
    for (size_t b = 0; b < MAX_ROWS; b++)
        c[b] = contender_new(&w, (uint32_t)b + 1, a, y, k, flags, rounds);
    for (uint32_t round = 0; round < rounds; round++)
        run_round(c, round);
    double worst = report(l, c, rounds);
    for (size_t b = 0; b < MAX_ROWS; b++) {
        product_free(&c[b].made);
        free(c[b].us);
    }
    free(a);
    free(y);
    weight_free(&w);
    return worst;
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 15, mask = 0;
    const char *cpu = getenv("PITH_CPU");
    double worst = 0;
    if (cpu && pith_cpu_mask_parse(cpu, &mask)) {
        fprintf(stderr, "bench_batch: PITH_CPU=%s\n", cpu);
        return 2;
    }
    struct pith_kernels k;
    pith_kernels_fill(&k, pith_cpu_features() & (mask ? mask : UINT32_MAX));
    uint32_t flags = getenv("DENSE_ONLY") ? PITH_FLAG_DENSE_ONLY : 0;
    struct matrix asked = {0};
    for (int i = 0; i < 4 && argc == 6; i++)
        (&asked.rows)[i] = (uint32_t)strtoul(argv[2 + i], NULL, 10);
    size_t n = argc == 6 ? 1 : sizeof layers / sizeof *layers;
    for (size_t i = 0; i < n; i++) {
        double ratio = measure(argc == 6 ? &asked : &layers[i], &k, flags, rounds > 0 ? rounds : 1);
        worst = ratio > worst ? ratio : worst;
    }
    printf("a row takes at most %.2f times as long as in a smaller batch\n", worst);
    return worst > LIMIT;
}
