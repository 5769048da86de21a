/* SPDX-License-Identifier: MIT */
/* bench_eie.c - one fully connected layer with a 4-bit codebook, as a plan runs it, beside MKL's
 * sparse and dense products and oneDNN's. bench/eie_layers.py drives it: each line that it reads is
 * a turn, of all contenders one after the other, and it answers with a line of JSON,
 *
 *     {"kernel": "spmm", "bytes": 12345, "pith": 1.2, "mkl csr": 3.4, "mkl f32": 5.6, ...}
 *
 * the shortest milliseconds of three runs of each (CPU time of the thread, or with more threads
 * elapsed time); what cannot be loaded is left out.
 *
 *     bench_eie ROWS COLS PERCENT BATCH THREADS
 *     bench_eie FILE BATCH THREADS            the layer of a .pith file, alone
 *
 * COLD in the environment: before each run 128 MiB are written, so that no weight is in a cache. */
#include <dlfcn.h>
#include <time.h>
#include "pith_host.h"
#include "product_case.h"

#define RUNS 3
#define COLD_BYTES ((size_t)128 << 20)

struct descr {
    int type, mode, diag; /* struct matrix_descr of mkl_spblas.h */
};

struct mkl {
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                  float, float *, int);
    int (*create)(void **, int, int, int, int *, int *, int *, float *);
    int (*hint)(void *, int, struct descr, int, int, int);
    int (*hint_one)(void *, int, struct descr, int);
    int (*optimize)(void *);
    int (*mm)(int, float, void *, struct descr, int, const float *, int, int, float, float *, int);
    int (*mv)(int, float, void *, struct descr, const float *, float, float *);
};

struct contest {
    uint32_t rows, cols, batch, threads;
    struct made_product made;
    struct pith_session *session; /* of a file; NULL: `made` */
    struct weight w;
    float *dense, *x, *turned, *y;
    uint8_t *sweep; /* [COLD_BYTES], or NULL */
    struct mkl mkl;
    void *csr;
    int (*dnnl)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                int64_t, float, float *, int64_t);
};

static const struct descr general = {20, 0, 0};

static double now_ms(const struct contest *c)
{
    struct timespec t;
    clock_gettime(c->threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void *any_of(const char *const *names)
{
    void *lib = NULL;
    for (; *names && !lib; names++)
        lib = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    return lib;
}

static void symbol(void *lib, const char *name, void *to)
{
    void *f = lib ? dlsym(lib, name) : NULL;
    memcpy(to, &f, sizeof f);
}

static void load_peers(struct contest *c)
{
    static const char *const mkl[] = {"libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2", NULL};
    static const char *const dnnl[] = {"libdnnl.so", "libdnnl.so.3", NULL};
    char threads[16];
    snprintf(threads, sizeof threads, "%u", c->threads);
    setenv("MKL_THREADING_LAYER", c->threads > 1 ? "GNU" : "SEQUENTIAL", 1);
    setenv("OMP_NUM_THREADS", threads, 1);
    void *lib = any_of(mkl);
    symbol(lib, "cblas_sgemm", &c->mkl.sgemm);
    symbol(lib, "mkl_sparse_s_create_csr", &c->mkl.create);
    symbol(lib, "mkl_sparse_set_mm_hint", &c->mkl.hint);
    symbol(lib, "mkl_sparse_set_mv_hint", &c->mkl.hint_one);
    symbol(lib, "mkl_sparse_optimize", &c->mkl.optimize);
    symbol(lib, "mkl_sparse_s_mm", &c->mkl.mm);
    symbol(lib, "mkl_sparse_s_mv", &c->mkl.mv);
    symbol(any_of(dnnl), "dnnl_sgemm", &c->dnnl);
}

/* MKL's matrix of the same nonzeros, with the number of columns as a hint. */
static void *csr_of(const struct contest *c)
{
    int *ptr = new_bytes(((uint64_t)c->rows + 1) * 4), *col = new_bytes(c->w.nnz * 4), n = 0;
    float *value = new_bytes(c->w.nnz * 4);
    void *matrix;
    for (uint32_t r = 0; r < c->rows; r++) {
        for (uint32_t k = 0; k < c->cols; k++)
            if (c->dense[(size_t)r * c->cols + k] != 0.0f) {
                col[n] = (int)k;
                value[n++] = c->dense[(size_t)r * c->cols + k];
            }
        ptr[r + 1] = n;
    }
    if (!c->mkl.create ||
        c->mkl.create(&matrix, 0, (int)c->rows, (int)c->cols, ptr, ptr + 1, col, value))
        return NULL;
    if (c->batch > 1)
        c->mkl.hint(matrix, 10, general, 101, (int)c->batch, 10000);
    else
        c->mkl.hint_one(matrix, 10, general, 10000);
    c->mkl.optimize(matrix);
    return matrix;
}

static void run_pith(struct contest *c)
{
    pith_product_run(&c->made.p, &c->made.d, &c->made.env);
}

static void run_file(struct contest *c)
{
    if (pith_plan_run(pith_plan_of(c->session)))
        exit(1);
}

static void run_csr(struct contest *c)
{
    if (c->batch == 1)
        c->mkl.mv(10, 1, c->csr, general, c->x, 0, c->y);
    else
        c->mkl.mm(10, 1, c->csr, general, 101, c->turned, (int)c->batch, (int)c->batch, 0, c->y,
                  (int)c->batch);
}

static void run_sgemm(struct contest *c)
{
    c->mkl.sgemm(101, 111, 112, (int)c->batch, (int)c->rows, (int)c->cols, 1, c->x, (int)c->cols,
                 c->dense, (int)c->cols, 0, c->y, (int)c->rows);
}

static void run_dnnl(struct contest *c)
{
    c->dnnl('N', 'T', c->batch, c->rows, c->cols, 1, c->x, c->cols, c->dense, c->cols, 0, c->y,
            c->rows);
}

static double fastest(struct contest *c, void (*run)(struct contest *c))
{
    double best = 1e30;
    run(c);
    for (int i = 0; i < RUNS; i++) {
        for (size_t k = 0; c->sweep && k < COLD_BYTES; k += 64)
            ((volatile uint8_t *)c->sweep)[k]++;
        double start = now_ms(c);
        run(c);
        double ms = now_ms(c) - start;
        best = ms < best ? ms : best;
    }
    return best;
}

static void turn(struct contest *c)
{
    printf("{\"kernel\": \"%s\", \"pith\": %.5f", c->made.kernel, fastest(c, run_pith));
    if (c->csr)
        printf(", \"mkl csr\": %.5f", fastest(c, run_csr));
    if (c->mkl.sgemm)
        printf(", \"mkl f32\": %.5f", fastest(c, run_sgemm));
    if (c->dnnl)
        printf(", \"onednn f32\": %.5f", fastest(c, run_dnnl));
    printf("}\n");
    fflush(stdout);
}

/* The step that takes most of the weights names the kernel. */
static void file_turns(struct contest *c, const char *path, const struct pith_opts *opts)
{
    struct pith_error err = {0};
    struct pith_layer layer, largest = {0};
    struct pith_tensor x;
    if (pith_open(path, opts, &c->session, &err) ||
        pith_plan_input(pith_plan_of(c->session), 0, &x)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (uint32_t i = 0; !pith_plan_layer(pith_plan_of(c->session), i, &layer); i++)
        largest = layer.weight_bytes > largest.weight_bytes ? layer : largest;
    float *to = pith_plan_input_data(pith_plan_of(c->session), 0);
    for (size_t i = 0; i < x.bytes / sizeof *to; i++)
        to[i] = (float)(next_random() % 256) / 256.0f;
    for (int line = getchar(); line != EOF; line = getchar())
        if (line == '\n') {
            printf("{\"kernel\": \"%s\", \"pith int8\": %.5f}\n", largest.kernel,
                   fastest(c, run_file));
            fflush(stdout);
        }
    pith_close(c->session);
}

static void operands(struct contest *c)
{
    void *scratch = new_bytes(pith_weight_scratch_bytes(&c->w));
    c->dense = new_bytes((uint64_t)c->rows * c->cols * 4);
    if (pith_weight_expand_f32(&c->w, c->dense, scratch))
        exit(1);
    free(scratch);
    c->x = new_bytes((uint64_t)c->batch * c->cols * 4);
    c->turned = new_bytes((uint64_t)c->batch * c->cols * 4);
    c->y = new_bytes((uint64_t)c->batch * c->rows * 4);
    for (uint64_t i = 0; i < (uint64_t)c->batch * c->cols; i++)
        c->turned[i % c->cols * c->batch + i / c->cols] = c->x[i] =
            (float)(next_random() % 256) / 256.0f;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 6)
        return 2;
    struct contest c = {.batch = (uint32_t)atoi(argv[argc - 2]),
                        .threads = (uint32_t)atoi(argv[argc - 1])};
    if (getenv("COLD"))
        c.sweep = new_bytes(COLD_BYTES);
    const char *cpu = getenv("PITH_CPU");
    uint32_t mask = UINT32_MAX;
    struct pith_kernels k;
    struct pith_opts opts;
    if (cpu && pith_cpu_mask_parse(cpu, &mask))
        return 2;
    pith_kernels_fill(&k, pith_cpu_features() & mask);
    pith_opts_init(&opts, sizeof opts);
    opts.cpu_mask = cpu ? mask : 0;
    opts.batch = c.batch;
    if (c.threads > 1 && pith_threads_start(&opts, c.threads))
        return 1;
    if (argc == 4) {
        file_turns(&c, argv[1], &opts);
        return 0;
    }
    c.rows = (uint32_t)atoi(argv[1]), c.cols = (uint32_t)atoi(argv[2]);
    const struct matrix m = {c.rows, c.cols, (uint32_t)atoi(argv[3]), 16};
    c.w = weight_new(&m);
    operands(&c);
    load_peers(&c);
    c.csr = c.mkl.create ? csr_of(&c) : NULL;
    c.made = product_new(&c.w, c.batch, &k, 0, &opts);
    c.made.d.a = c.x, c.made.d.y = c.y;
    for (int line = getchar(); line != EOF; line = getchar())
        if (line == '\n')
            turn(&c);
    return 0;
}
