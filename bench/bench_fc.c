/* SPDX-License-Identifier: MIT */
/* bench_fc.c - batch-1 products of the fully connected layers of AlexNet's shape, pruned to the
 * densities of Deep Compression and quantised to 5 bits, from every run form and from dense f32.
 *
 *     make deps bench-build && build/venv/bin/pip install mkl
 *     LD_LIBRARY_PATH=build/venv/lib build/release/bench/bench_fc [rounds]
 *     PITH_CPU=avx2 LD_LIBRARY_PATH=build/venv/lib build/release/bench/bench_fc
 *
 * Peers are loaded when present: MKL's sgemv (pip install mkl) and oneDNN's dnnl_sgemm
 * (libdnnl-dev), both on one thread. Contenders take turns; a turn is one run unmeasured and three
 * measured in CPU time of the thread, so each has its own operand as warm as its size allows. The
 * table has the median. `best` is the faster peer (our own dense product where there is none),
 * `err` the largest error in parts of the bound 2 K 2^-24 sum |w x|. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "pith_kernels.h"
#include "pith_host.h"
#include "run_form.h"

#define CENTROIDS 32u
#define RUNS_A_TURN 3u

struct layer {
    uint32_t rows, cols;
    double density;
};

static const struct layer layers[] = {{4096, 9216, 0.09}, {4096, 4096, 0.09}, {1000, 4096, 0.25}};
#define N_LAYERS (sizeof layers / sizeof *layers)

struct problem {
    uint32_t rows, cols;
    struct weight w, plain; /* the same matrix with a codebook and without */
    float *dense, *x, *y;
    double *exact, *bound;
};

struct peers {
    void (*sgemv)(int, int, int, int, float, const float *, int, const float *, int, float, float *,
                  int);
    int (*sgemm)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
                 const float *, int64_t, float, float *, int64_t);
};

struct contender {
    const char *name;
    void (*run)(const struct contender *, const struct problem *);
    const struct peers *peers;
    const struct pith_kernels *kernels;
    struct run_form *form;
    bool is_peer;
    double bytes, err;
    double *times;
};

static uint64_t seed = 2026;

static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(void)
{
    return ((double)(next_random() >> 11) + 0.5) * 0x1p-53;
}

static float gaussian(void)
{
    return (float)(sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()));
}

static void *must(void *p)
{
    if (!p) {
        fprintf(stderr, "bench_fc: no memory\n");
        exit(1);
    }
    return p;
}

static void *new_array(size_t n, size_t bytes)
{
    size_t all = (n * bytes + 63) & ~(size_t)63;
    void *p = must(aligned_alloc(64, all));
    memset(p, 0, all);
    return p;
}

static int by_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The magnitude that `density` of the elements reach, from a sample. */
static float threshold_of(const float *v, size_t n, double density)
{
    size_t m = n < 1u << 20 ? n : 1u << 20;
    float *sample = new_array(m, sizeof *sample);
    for (size_t i = 0; i < m; i++)
        sample[i] = fabsf(v[i * (n / m)]);
    qsort(sample, m, sizeof *sample, by_float);
    float t = sample[(size_t)((1 - density) * (double)m)];
    free(sample);
    return t;
}

static uint32_t nearest(const float *codebook, float v)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < CENTROIDS; i++)
        if (fabsf(codebook[i] - v) < fabsf(codebook[best] - v))
            best = i;
    return best;
}

/* Prunes p->dense, replaces what is left by 16 evenly spaced centroids of either sign, and writes
 * both struct weights. */
static void compress(struct problem *p, double density)
{
    size_t n = (size_t)p->rows * p->cols, nnz = 0;
    float t = threshold_of(p->dense, n, density), codebook[CENTROIDS];
    uint8_t *bitmap = new_array(n / 8 + 1, 1), *index = new_array(n, 1), *value = new_array(n, 4);
    uint8_t *raw = new_array(1 + 4 * CENTROIDS, 1);
    for (uint32_t i = 0; i < CENTROIDS / 2; i++) {
        codebook[CENTROIDS / 2 + i] = t + ((float)i + 0.5f) * (4.5f - t) / (CENTROIDS / 2);
        codebook[CENTROIDS / 2 - 1 - i] = -codebook[CENTROIDS / 2 + i];
    }
    for (uint32_t i = 0; i < CENTROIDS; i++)
        store_le32(raw + 1 + 4 * i, f32_bits(codebook[i]));
    for (size_t i = 0; i < n; i++) {
        if (fabsf(p->dense[i]) < t) {
            p->dense[i] = 0;
            continue;
        }
        index[nnz] = (uint8_t)nearest(codebook, p->dense[i]);
        p->dense[i] = codebook[index[nnz]];
        store_le32(value + 4 * nnz, f32_bits(p->dense[i]));
        bitmap[i / 8] |= (uint8_t)(1u << i % 8);
        nnz++;
    }
    p->plain = (struct weight){.type = PITH_F32,
                               .shape = {2, {p->rows, p->cols}},
                               .count = n,
                               .nnz = nnz,
                               .support = SUPPORT_BITMAP,
                               .support_stream = {bitmap, (n + 7) / 8},
                               .index_stream = {value, 4 * nnz}};
    p->w = p->plain;
    p->w.grid = GRID_CODEBOOK;
    p->w.n_centroids = CENTROIDS;
    p->w.index_bits = 8;
    p->w.group_elems = n;
    p->w.n_groups = 1;
    p->w.index_stream = (struct stream){index, nnz};
    p->w.codebook = (struct stream){raw, 1 + 4 * CENTROIDS};
}

static struct problem problem_new(const struct layer *l)
{
    struct problem p = {.rows = l->rows, .cols = l->cols};
    size_t n = (size_t)l->rows * l->cols;
    p.dense = new_array(n, 4);
    p.x = new_array(l->cols, 4);
    p.y = new_array(l->rows, 4);
    p.exact = new_array(l->rows, 8);
    p.bound = new_array(l->rows, 8);
    for (size_t i = 0; i < n; i++)
        p.dense[i] = gaussian();
    for (uint32_t i = 0; i < l->cols; i++)
        p.x[i] = (float)(2 * uniform() - 1);
    compress(&p, l->density);
    for (uint32_t r = 0; r < l->rows; r++) {
        uint32_t terms = 0;
        for (uint32_t c = 0; c < l->cols; c++) {
            double product = (double)p.dense[(size_t)r * l->cols + c] * (double)p.x[c];
            p.exact[r] += product;
            p.bound[r] += fabs(product);
            terms += product != 0;
        }
        p.bound[r] *= 2 * terms * 0x1p-24;
    }
    return p;
}

static void problem_free(struct problem *p)
{
    free((void *)p->w.support_stream.bytes);
    free((void *)p->w.index_stream.bytes);
    free((void *)p->w.codebook.bytes);
    free((void *)p->plain.index_stream.bytes);
    free(p->dense);
    free(p->x);
    free(p->y);
    free(p->exact);
    free(p->bound);
}

/* ---- contenders ------------------------------------------------------------------------------ */

static void run_mkl(const struct contender *c, const struct problem *p)
{
    const int row_major = 101, no_trans = 111;
    c->peers->sgemv(row_major, no_trans, (int)p->rows, (int)p->cols, 1, p->dense, (int)p->cols,
                    p->x, 1, 0, p->y, 1);
}

static void run_dnnl(const struct contender *c, const struct problem *p)
{
    c->peers->sgemm('N', 'N', p->rows, 1, p->cols, 1, p->dense, p->cols, p->x, 1, 0, p->y, 1);
}

static void run_dense(const struct contender *c, const struct problem *p)
{
    const struct gemv_f32_job job = {.w = p->dense,
                                     .ldw = p->cols,
                                     .x = p->x,
                                     .y = p->y,
                                     .rows = p->rows,
                                     .k = p->cols,
                                     .act = {ACT_NONE, 0, 0}};
    c->kernels->dense.gemv_f32(&job);
}

static void run_form(const struct contender *c, const struct problem *p)
{
    pith_run_form_matvec(&c->kernels->sparse, c->form, p->x, p->y, 0, c->form->n_units);
}

static void *open_first(const char *const *names)
{
    void *lib = NULL;
    for (; *names && !lib; names++)
        lib = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    return lib;
}

static void load_peers(struct peers *peers)
{
    static const char *const mkl[] = {"libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2", NULL};
    static const char *const dnnl[] = {"libdnnl.so", "libdnnl.so.3", "libdnnl.so.2", NULL};
    setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 1);
    setenv("MKL_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    void *lib = open_first(mkl);
    void *f = lib ? dlsym(lib, "cblas_sgemv") : NULL;
    memcpy(&peers->sgemv, &f, sizeof f);
    lib = open_first(dnnl);
    f = lib ? dlsym(lib, "dnnl_sgemm") : NULL;
    memcpy(&peers->sgemm, &f, sizeof f);
}

static struct run_form *build(const struct weight *w, const struct problem *p,
                              const struct sparse_kernels *k)
{
    struct run_form_need need;
    if (pith_run_form_need(w, p->rows, p->cols, k, &need))
        return NULL;
    void *form = new_array(need.bytes, 1), *scratch = new_array(need.scratch_bytes, 1);
    const struct pith_kernels kernels = {.sparse = *k};
    const struct op_env env = {.kernels = &kernels, .scratch = scratch};
    if (pith_run_form_build(&env, w, p->rows, p->cols, form)) {
        fprintf(stderr, "bench_fc: cannot build\n");
        exit(1);
    }
    free(scratch);
    return form;
}

/* The form of one kind, wanted or not; NULL where the weight has none. */
static struct run_form *forced(enum run_form_kind kind, const struct weight *w,
                               const struct problem *p, const struct sparse_kernels *k)
{
    struct sparse_kernels t = *k;
    memset(t.costs.dense, 0, sizeof t.costs.dense);
    for (uint32_t i = 0; i < RUN_FORM_KINDS; i++)
        t.costs.form[i] = i == (uint32_t)kind || i == FORM_CSR_CODEBOOK;
    struct run_form *form = build(w, p, &t);
    if (form && form->kind != (uint32_t)kind) {
        free(form);
        form = NULL;
    }
    return form;
}

#define MAX_CONTENDERS 8

static size_t line_up(struct contender c[MAX_CONTENDERS], const struct problem *p,
                      const struct peers *peers, const struct pith_kernels *k)
{
    size_t n = 0;
    double f32 = 4.0 * p->rows * p->cols;
    if (peers->sgemv)
        c[n++] =
            (struct contender){.name = "mkl sgemv", .run = run_mkl, .is_peer = true, .bytes = f32};
    if (peers->sgemm)
        c[n++] = (struct contender){
            .name = "dnnl_sgemm", .run = run_dnnl, .is_peer = true, .bytes = f32};
    c[n++] = (struct contender){.name = "pith dense", .run = run_dense, .bytes = f32};
    const struct {
        const char *name;
        struct run_form *form;
    } forms[] = {{"pith chosen", build(&p->w, p, &k->sparse)},
                 {"window", forced(FORM_WINDOW, &p->w, p, &k->sparse)},
                 {"csr codebook", forced(FORM_CSR_CODEBOOK, &p->w, p, &k->sparse)},
                 {"csr f32", forced(FORM_CSR_VALUE, &p->plain, p, &k->sparse)}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].form)
            c[n++] = (struct contender){.name = forms[i].name,
                                        .run = run_form,
                                        .form = forms[i].form,
                                        .bytes = (double)pith_run_form_bytes(forms[i].form)};
    for (size_t i = 0; i < n; i++) {
        c[i].peers = peers;
        c[i].kernels = k;
    }
    return n;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double error_of(const struct problem *p)
{
    double worst = 0;
    for (uint32_t r = 0; r < p->rows; r++) {
        double e = fabs((double)p->y[r] - p->exact[r]) / (p->bound[r] + 0x1p-149);
        worst = e <= worst ? worst : e; /* NaN stays */
    }
    return worst;
}

static void measure(struct contender *c, size_t n, const struct problem *p, uint32_t rounds)
{
    for (size_t i = 0; i < n; i++)
        c[i].times = new_array((size_t)rounds * RUNS_A_TURN, sizeof(double));
    for (uint32_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < n; i++) {
            memset(p->y, 0xff, p->rows * sizeof *p->y);
            c[i].run(&c[i], p);
            if (round == 0)
                c[i].err = error_of(p);
            for (uint32_t k = 0; k < RUNS_A_TURN; k++) {
                double start = now_us();
                c[i].run(&c[i], p);
                c[i].times[round * RUNS_A_TURN + k] = now_us() - start;
            }
        }
    for (size_t i = 0; i < n; i++)
        qsort(c[i].times, (size_t)rounds * RUNS_A_TURN, sizeof(double), by_double);
}

/* Prints the table of one layer; returns best dense / chosen form. */
static double report(const struct layer *l, const struct contender *c, size_t n, uint32_t rounds,
                     int *failed)
{
    double best = INFINITY, own = NAN, chosen = NAN;
    for (size_t i = 0; i < n; i++) {
        double us = c[i].times[rounds * RUNS_A_TURN / 2];
        if (c[i].is_peer && us < best)
            best = us;
        if (c[i].run == run_dense)
            own = us;
        if (strcmp(c[i].name, "pith chosen") == 0)
            chosen = us;
    }
    best = isinf(best) ? own : best;
    chosen = isnan(chosen) ? own : chosen;
    for (size_t i = 0; i < n; i++) {
        double us = c[i].times[rounds * RUNS_A_TURN / 2];
        printf("%u x %u  %.2f  %-13s %9.1f us  %8.2f MB  %6.2f x  err %.4f%s\n", l->rows, l->cols,
               l->density, c[i].name, us, c[i].bytes * 1e-6, best / us, c[i].err,
               c[i].err <= 1 ? "" : "  WRONG");
        *failed |= !(c[i].err <= 1);
    }
    return best / chosen;
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 21, mask = 0;
    const char *cpu = getenv("PITH_CPU");
    struct peers peers;
    struct pith_kernels kernels;
    double log_sum = 0;
    int failed = 0;
    if (rounds == 0 || (cpu && pith_cpu_mask_parse(cpu, &mask))) {
        fprintf(stderr, "bench_fc: rounds must be positive and PITH_CPU a set of levels\n");
        return 2;
    }
    load_peers(&peers);
    pith_kernels_fill(&kernels, pith_cpu_features() & (mask ? mask : UINT32_MAX));
    for (size_t i = 0; i < N_LAYERS; i++) {
        struct problem p = problem_new(&layers[i]);
        struct contender c[MAX_CONTENDERS];
        size_t n = line_up(c, &p, &peers, &kernels);
        measure(c, n, &p, rounds);
        log_sum += log(report(&layers[i], c, n, rounds, &failed));
        for (size_t j = 0; j < n; j++) {
            free(c[j].form);
            free(c[j].times);
        }
        problem_free(&p);
    }
    printf("geometric mean: %.2f x\n", exp(log_sum / N_LAYERS));
    return failed;
}
