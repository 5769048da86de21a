/* SPDX-License-Identifier: MIT */
/* bench_costs.c - what the choice of kernels is made by (struct pith_costs), measured on this
 * machine for each class it belongs to, beside what is compiled in: elements per 8 ns on one core.
 *
 *     make bench-build
 *     build/release/bench/bench_costs
 *
 * The fastest of the runs that fit into 50 ms counts. Numbers of a machine go to its line in
 * runtime/kernels/costs.c, or into opts.costs. */
#include "pith_host.h"
#include "product_case.h"

#define MANY_ROWS 64u
#define BUDGET_NS 50000000u
#define ALWAYS 65535u

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
    struct made_product made = product_new(&w, m, kernels, PITH_FLAG_DECODE_ONCE, NULL);
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
