/* SPDX-License-Identifier: MIT */
/* roofline.c - what the threads of an engine can do at most, measured by the runtime's own kernels:
 * multiply-adds of floats by gemm_f32 on operands in the first cache, reading by gemv_f32 on a
 * matrix. */
#include <stdlib.h>
#include "engine.h"
#include "base/error_fill.h"
#include "pith_host.h"
#include "base/in_parallel.h"
#include "kernels/kernels.h"

#define K 128u         /* of the product: b is 24 KiB of 48 columns */
#define READ_K 1040u   /* floats of a row that is read: rows are in different sets of caches */
#define CACHE_ROWS 64u /* 260 KiB */
#define MEMORY_FLOATS (1u << 24) /* of all threads: 64 MiB, beyond the second-level cache */
#define REPEATS_NS 2000000u      /* of one measurement, at least */
#define TURNS 5                  /* the best counts: other work slows the others */
#define ALIGN 16u                /* floats of a line: kernels read whole vectors of them */
#define MAX_THREADS 1024u

struct probe {
    const struct dense_kernels *d;
    float *memory; /* of all threads */
    size_t floats; /* of each */
    uint32_t rows, repeats;
};

static void multiply(void *arg, uint32_t i)
{
    const struct probe *p = arg;
    const uint32_t mr = p->d->mr, n = p->d->nr;
    float *a = p->memory + i * p->floats, *b = a + (size_t)mr * K, *c = b + (size_t)n * K;
    const struct gemm_f32_job job = {.a = a,
                                     .a_step = (size_t)mr * K,
                                     .b = b,
                                     .ldb = n,
                                     .c = c,
                                     .ldc = n,
                                     .m = mr,
                                     .n = n,
                                     .k = K,
                                     .finish = true};
    for (uint32_t r = 0; r < p->repeats; r++)
        p->d->gemm_f32(&job);
}

static void read_rows(void *arg, uint32_t i)
{
    const struct probe *p = arg;
    float *x = p->memory + i * p->floats, *y = x + READ_K;
    const struct gemv_f32_job job = {
        .w = y + p->rows, .ldw = READ_K, .x = x, .y = y, .rows = p->rows, .k = READ_K};
    for (uint32_t r = 0; r < p->repeats; r++)
        p->d->gemv_f32(&job);
}

/* Runs of body a second. */
static double speed(const struct pith_engine *e, struct probe *p, void (*body)(void *, uint32_t),
                    uint32_t threads)
{
    double best = 0;
    p->repeats = 1;
    for (int turn = 0; turn < TURNS;) {
        const uint64_t start = pith_clock_ns(NULL);
        pith_in_parallel(&e->opts, threads, body, p);
        const uint64_t ns = pith_clock_ns(NULL) - start;
        if (ns < REPEATS_NS && p->repeats < 1u << 30) {
            p->repeats *= 2; /* and warms up */
            continue;
        }
        const double now = p->repeats * 1e9 / (double)ns;
        best = now > best ? now : best;
        turn++;
    }
    return best;
}

static double read_speed(const struct pith_engine *e, struct probe *p, uint32_t rows,
                         uint32_t threads)
{
    p->rows = rows;
    return speed(e, p, read_rows, threads) * rows * READ_K * sizeof(float) * threads;
}

enum pith_status pith_engine_roofline(struct pith_engine *e, struct pith_roofline *roof,
                                      struct pith_error *err)
{
    if (!e || !roof)
        return PITH_ERR_ARGUMENT;
    struct pith_kernels kernels;
    const uint32_t mask = e->opts.cpu_mask, count = pith_threads_count(&e->opts);
    const uint32_t threads = e->opts.parallel_for && count < MAX_THREADS ? count : 1;
    const uint32_t rows = MEMORY_FLOATS / READ_K / threads / ALIGN * ALIGN + CACHE_ROWS;
    const size_t floats = (rows + (size_t)1) * READ_K + rows; /* the product's are fewer */
    pith_kernels_fill(&kernels, mask ? mask & pith_cpu_features() : pith_cpu_features());
    struct probe p = {.d = &kernels.dense,
                      .memory =
                          aligned_alloc(ALIGN * sizeof(float), threads * floats * sizeof(float)),
                      .floats = floats};
    if (!p.memory)
        return pith_error_no_memory(err);
    for (size_t i = 0; i < threads * floats; i++)
        p.memory[i] = 1.0f;
    struct pith_roofline r = {.memory_bytes_per_s = read_speed(e, &p, rows, threads),
                              .cache_bytes_per_s = read_speed(e, &p, CACHE_ROWS, threads)};
    const double of_job = 2.0 * kernels.dense.mr * kernels.dense.nr * K * threads;
    if (kernels.dense.mr)
        r.flops_per_s = speed(e, &p, multiply, threads) * of_job;
    free(p.memory);
    *roof = r;
    return PITH_OK;
}

uint64_t pith_engine_moved_bytes(const struct pith_engine *e, uint32_t layer)
{
    if (!e)
        return 0;
    struct pith_operand o;
    struct pith_layer l;
    uint64_t bytes;
    pith_plan_layer(e->plan, layer, &l);
    bytes = l.weight_bytes;
    for (uint32_t i = 0; !pith_plan_operand(e->plan, layer, i, &o); i++)
        if (o.place == PITH_PLACE_ARENA &&
            (o.role == PITH_ROLE_INPUT || o.role == PITH_ROLE_RESIDUAL ||
             o.role == PITH_ROLE_OUTPUT))
            bytes += o.tensor.bytes;
    return bytes;
}
