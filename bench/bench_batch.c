/* SPDX-License-Identifier: MIT */
/* bench_batch.c - does a row of a batch ever take longer in a larger batch? Products of compressed
 * fully connected layers with 1 to 64 rows, on one thread: microseconds a row, and how many times
 * the best of the smaller batches that is.
 *
 *     make bench-build
 *     build/release/bench/bench_batch [rounds]
 *     PITH_CPU=avx2 build/release/bench/bench_batch
 *
 * Batches take turns, so that a change of the machine's pace hits all alike; the table has medians
 * of CPU time. Ends with 1 when a row takes more than 1.10 times as long as in some smaller batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "pith_kernels.h"
#include "pith_host.h"
#include "product_f32.h"
#include "pith_weight.h"

#define CENTROIDS 32u
#define MAX_ROWS 64u
#define LIMIT 1.10

struct layer {
    uint32_t outputs, inputs, percent, centroids;
};

static const struct layer layers[] = {
    {4096, 4096, 10, 32}, {4096, 4096, 100, 16}, {4096, 4096, 100, 32}, {4096, 4096, 100, 256},
    {1024, 1024, 10, 32}, {1024, 1024, 100, 16}, {1024, 1024, 30, 32},  {300, 784, 8, 32}};
static const uint32_t batches[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                   12, 14, 16, 18, 20, 24, 28, 32, 48, 64};
#define N_BATCHES (sizeof batches / sizeof *batches)

static uint32_t seed = 2026;

static uint32_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static void *new_array(uint64_t bytes)
{
    bytes = (bytes + 63) & ~(uint64_t)63;
    void *p = aligned_alloc(64, (size_t)bytes + 64);
    if (!p) {
        fprintf(stderr, "bench_batch: no memory\n");
        exit(1);
    }
    return memset(p, 0, (size_t)bytes + 64);
}

/* Sparse with a bitmap, or dense; indices of 8 bits. */
static struct weight weight_new(const struct layer *l)
{
    uint64_t n = (uint64_t)l->outputs * l->inputs, nnz = 0;
    uint8_t *bitmap = new_array(n / 8 + 1), *index = new_array(n), *raw = new_array(1 + 4 * 256);
    for (uint64_t i = 0; i < n; i++) {
        if (next_random() % 100 >= l->percent)
            continue;
        bitmap[i / 8] |= (uint8_t)(1u << i % 8);
        index[nnz++] = (uint8_t)(next_random() % l->centroids);
    }
    for (uint32_t i = 0; i < l->centroids; i++)
        store_le32(raw + 1 + 4 * i, f32_bits(((float)i + 0.5f) / (float)l->centroids - 0.5f));
    bool dense = l->percent == 100;
    return (struct weight){.type = PITH_F32,
                           .shape = {2, {l->outputs, l->inputs}},
                           .count = n,
                           .nnz = nnz,
                           .support = dense ? SUPPORT_DENSE : SUPPORT_BITMAP,
                           .grid = GRID_CODEBOOK,
                           .n_centroids = l->centroids,
                           .index_bits = 8,
                           .group_elems = n,
                           .n_groups = 1,
                           .support_stream = {bitmap, dense ? 0 : (size_t)(n + 7) / 8},
                           .index_stream = {index, (size_t)nnz},
                           .codebook = {raw, 1 + 4 * (size_t)l->centroids}};
}

static void weight_free(struct weight *w)
{
    free((void *)w->support_stream.bytes);
    free((void *)w->index_stream.bytes);
    free((void *)w->codebook.bytes);
}

/* The product of one batch, ready to run. */
struct contender {
    struct product p;
    struct product_data d;
    struct op_env env;
    const char *kernel;
    double *us;
};

static struct contender contender_new(const struct weight *w, uint32_t m, float *a, float *y,
                                      const struct pith_kernels *k, uint32_t flags, uint32_t rounds)
{
    struct contender c = {.p = {.m = m,
                                .n = w->shape.dim[0],
                                .k = w->shape.dim[1],
                                .trans_b = true,
                                .alpha = 1,
                                .beta = 1},
                          .d = {.a = a, .weight = w, .y = y},
                          .env = {.kernels = k, .flags = flags},
                          .us = new_array(rounds * sizeof(double))};
    struct op_need need;
    if (pith_product_need(&c.p, w, 0, &c.env, &need))
        exit(1);
    c.kernel = need.kernel;
    c.d.prep = new_array(need.prep_bytes);
    c.env.scratch = new_array(need.prep_scratch_bytes);
    if (pith_product_prepare(&c.p, w, c.d.prep, &c.env))
        exit(1);
    free(c.env.scratch);
    c.env.scratch = new_array(need.scratch_bytes);
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

static void run_round(struct contender c[N_BATCHES], uint32_t round)
{
    for (size_t b = 0; b < N_BATCHES; b++) {
        uint32_t repeats = 1 + 16 / c[b].p.m;
        pith_product_run(&c[b].p, &c[b].d, &c[b].env);
        double start = now_us();
        for (uint32_t i = 0; i < repeats; i++)
            pith_product_run(&c[b].p, &c[b].d, &c[b].env);
        c[b].us[round] = (now_us() - start) / (repeats * (double)c[b].p.m);
    }
}

/* The largest ratio to the best of the smaller batches. */
static double report(const struct layer *l, struct contender c[N_BATCHES], uint32_t rounds)
{
    double best = 0, worst = 0;
    printf("%u x %u, %u %% stored, %u centroids\n", l->outputs, l->inputs, l->percent,
           l->centroids);
    for (size_t b = 0; b < N_BATCHES; b++) {
        qsort(c[b].us, rounds, sizeof(double), by_double);
        double us = c[b].us[rounds / 2], ratio = best > 0 ? us / best : 1;
        printf("  batch %2u  %9.1f us a row  %5.2f x  %s\n", c[b].p.m, us, ratio, c[b].kernel);
        best = best > 0 && best < us ? best : us;
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

static double measure(const struct layer *l, const struct pith_kernels *k, uint32_t flags,
                      uint32_t rounds)
{
    struct weight w = weight_new(l);
    struct contender c[N_BATCHES];
    float *a = new_array((uint64_t)MAX_ROWS * l->inputs * sizeof *a);
    float *y = new_array((uint64_t)MAX_ROWS * l->outputs * sizeof *y);
    for (uint64_t i = 0; i < (uint64_t)MAX_ROWS * l->inputs; i++)
        a[i] = (float)(next_random() % 256) / 256.0f;
    for (size_t b = 0; b < N_BATCHES; b++)
        c[b] = contender_new(&w, batches[b], a, y, k, flags, rounds);
    for (uint32_t round = 0; round < rounds; round++)
        run_round(c, round);
    double worst = report(l, c, rounds);
    for (size_t b = 0; b < N_BATCHES; b++) {
        free(c[b].d.prep);
        free(c[b].env.scratch);
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
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        double ratio = measure(&layers[i], &k, flags, rounds > 0 ? rounds : 1);
        worst = ratio > worst ? ratio : worst;
    }
    printf("a row takes at most %.2f times as long as in a smaller batch\n", worst);
    return worst > LIMIT;
}
