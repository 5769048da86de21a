/* SPDX-License-Identifier: MIT */
/* bench_costs.c - what the choice of kernels is made by (struct pith_costs), measured on this
 * machine for each class it belongs to, beside what is compiled in: elements per 8 ns on one core.
 *
 *     make bench-build
 *     build/release/bench/bench_costs
 *
 * The fastest of the runs that fit into 50 ms counts. Numbers of a machine go to its line in
 * runtime/kernels/costs.c, or into opts.costs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/weight.h"
#include "kernels/kernels.h"
#include "pith_host.h"
#include "products/product_f32.h"

#define MANY_ROWS 64u
#define BUDGET_NS 50000000u
#define ALWAYS 65535u

static uint32_t seed = 2026;

static uint32_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static void *new_bytes(uint64_t bytes)
{
    size_t n = ((size_t)bytes + 127) & ~(size_t)63;
    void *p = aligned_alloc(64, n);
    if (!p) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memset(p, 0, n);
}

struct matrix {
    uint32_t rows, cols, percent, centroids; /* centroids 0: f32 */
};

/* Sparse with a bitmap, or dense; indices of 8 bits. */
static struct weight weight_new(const struct matrix *m)
{
    uint64_t n = (uint64_t)m->rows * m->cols, nnz = 0;
    uint8_t *bitmap = new_bytes(n / 8 + 1), *index = new_bytes(m->centroids ? n : 4 * n);
    uint8_t *raw = new_bytes(1 + 4 * 256);
    for (uint64_t i = 0; i < n && m->centroids; i++) {
        if (next_random() % 100 >= m->percent)
            continue;
        bitmap[i / 8] |= (uint8_t)(1u << i % 8);
        index[nnz++] = (uint8_t)(next_random() % m->centroids);
    }
    for (uint32_t i = 0; i < m->centroids; i++)
        store_le32(raw + 1 + 4 * i, f32_bits(((float)i + 0.5f) / (float)m->centroids - 0.5f));
    bool dense = m->percent == 100;
    return (struct weight){.type = PITH_F32,
                           .shape = {2, {m->rows, m->cols}},
                           .count = n,
                           .nnz = m->centroids ? nnz : n,
                           .support = dense ? SUPPORT_DENSE : SUPPORT_BITMAP,
                           .grid = m->centroids ? GRID_CODEBOOK : GRID_PLAIN,
                           .n_centroids = m->centroids,
                           .index_bits = 8,
                           .group_elems = n,
                           .n_groups = 1,
                           .support_stream = {bitmap, dense ? 0 : (size_t)(n + 7) / 8},
                           .index_stream = {index, (size_t)(m->centroids ? nnz : 4 * n)},
                           .codebook = {raw, m->centroids ? 1 + 4 * (size_t)m->centroids : 0}};
}

static void weight_free(struct weight *w)
{
    free((void *)(uintptr_t)w->support_stream.bytes);
    free((void *)(uintptr_t)w->index_stream.bytes);
    free((void *)(uintptr_t)w->codebook.bytes);
}

/* A product of m rows with a constant weight. */
struct made_product {
    struct product p;
    struct product_data d; /* prep is owned, a and y are the caller's */
    struct op_env env;     /* scratch is owned */
};

static struct made_product product_new(const struct weight *w, uint32_t m,
                                       const struct pith_kernels *k)
{
    struct made_product c = {.p = {.m = m,
                                   .n = w->shape.dim[0],
                                   .k = w->shape.dim[1],
                                   .trans_b = true,
                                   .alpha = 1,
                                   .beta = 1},
                             .d = {.weight = w},
                             .env = {.kernels = k, .flags = PITH_FLAG_DECODE_ONCE}};
    struct op_need need;
    if (pith_product_need(&c.p, w, 0, &c.env, &need))
        exit(1);
    c.d.prep = need.prep_bytes ? new_bytes(need.prep_bytes) : NULL;
    c.env.scratch = new_bytes(need.prep_scratch_bytes);
    if (pith_product_prepare(&c.p, w, c.d.prep, &c.env))
        exit(1);
    free(c.env.scratch);
    c.env.scratch = new_bytes(need.scratch_bytes);
    return c;
}

static void product_free(struct made_product *c)
{
    free((void *)(uintptr_t)c->d.prep);
    free(c->env.scratch);
}

static double fastest_ns(const struct product *p, const struct product_data *d,
                         const struct op_env *env)
{
    uint64_t best = UINT64_MAX, spent = 0;
    for (uint32_t i = 0; spent < BUDGET_NS || i < 3; i++) {
        uint64_t start = pith_clock_ns(NULL);
        pith_product_run(p, d, env);
        uint64_t ns = pith_clock_ns(NULL) - start;
        spent += ns;
        best = ns < best ? ns : best;
    }
    return (double)best;
}

/* Elements in 8 ns of a product with m rows of x that handles `work` elements for each. */
static double speed(const struct matrix *matrix, uint32_t m, const struct pith_kernels *kernels,
                    uint32_t more_percent)
{
    struct weight w = weight_new(matrix);
    struct made_product made = product_new(&w, m, kernels);
    float *x = new_bytes((uint64_t)m * matrix->cols * sizeof *x);
    float *y = new_bytes((uint64_t)m * matrix->rows * sizeof *y);
    made.d.a = x, made.d.y = y;
    double work = (double)w.nnz + (double)w.count * more_percent / 100;
    double elements = work * m * 8 / fastest_ns(&made.p, &made.d, &made.env);
    product_free(&made);
    free(x), free(y);
    weight_free(&w);
    return elements;
}

/* Costs under which form `kind` is chosen, or with RUN_FORM_KINDS dense rows and tiles. */
static void force(struct pith_kernels *k, uint32_t kind)
{
    struct pith_costs *c = &k->sparse.costs;
    memset(c, 0, sizeof *c);
    c->dense[0] = c->dense[1] = c->dense[2] = c->tiles = 1;
    if (kind < RUN_FORM_KINDS)
        c->form[kind] = ALWAYS;
    c->window_batch = ALWAYS;
    c->csr_centroids = kind == FORM_CSR_VALUE ? 0 : 256;
}

static void line(const char *name, double measured, uint32_t compiled)
{
    printf("  %-14s %9.1f %9u\n", name, measured, compiled);
}

static void measure(uint32_t features)
{
    static const char *const names[] = {"csr values", "csr codebook", "windows",
                                        "4 bits",     "5 bits",       "8 bits"};
    static const struct matrix forms[] = {{1024, 1024, 10, 32},  {1024, 1024, 10, 32},
                                          {1024, 1024, 10, 32},  {1024, 1024, 100, 16},
                                          {1024, 1024, 100, 32}, {1024, 1024, 100, 256}};
    static const struct matrix dense[] = {
        {512, 512, 100, 0}, {2048, 1024, 100, 0}, {8192, 2048, 100, 0}};
    static const char *const sizes[] = {"f32 in L2", "f32 in L3", "f32 in memory"};
    const char *class_name;
    struct pith_costs costs;
    struct pith_kernels kernels;
    pith_costs_of(features, &costs, &class_name);
    pith_kernels_fill(&kernels, features);
    printf("%s: elements per 8 ns    measured  compiled\n", class_name);
    for (uint32_t i = 0; i < RUN_FORM_KINDS; i++) {
        force(&kernels, i);
        line(names[i], speed(&forms[i], 1, &kernels, 0), costs.form[i]);
    }
    force(&kernels, RUN_FORM_KINDS);
    for (uint32_t i = 0; i < 3; i++)
        line(sizes[i], speed(&dense[i], 1, &kernels, 0), costs.dense[i]);
    if (kernels.dense.nr)
        line("f32 tiles", speed(&forms[5], MANY_ROWS, &kernels, 0), costs.tiles);
    if (costs.form[FORM_WINDOW]) {
        force(&kernels, FORM_WINDOW);
        line("windows, rows", speed(&forms[2], MANY_ROWS, &kernels, 7), costs.window_batch);
    }
}

int main(void)
{
    static const uint32_t classes[] = {
        0,
        PITH_CPU_NEON,
        PITH_CPU_AVX2,
        PITH_CPU_AVX2 | PITH_CPU_AVX512,
        PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VBMI,
        PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VBMI | PITH_CPU_VNNI | PITH_CPU_AMX,
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!(classes[i] & ~pith_cpu_features()))
            measure(classes[i]);
    return 0;
}
