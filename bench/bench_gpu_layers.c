/* SPDX-License-Identifier: MIT */
/* bench_gpu_layers.c - what a GPU makes of single matrices with codebooks: Han's nine layers, a
 * large one, and densities from 5 to 60 %, beside the same matrix dense - in f32 by cuBLASLt where
 * it is and by pith's own kernel, in f16 by pith's own - and the constants of the device that bound
 * them. Needs the runtime's archives and libc alone (bench/gpu.sh).
 *
 *     bench_gpu_layers SECONDS        a line of JSON each on standard output
 *
 * Times are medians of replays of a graph that holds the product many times, by events, each on a
 * copy of the matrix of its own (cold: copies make up four times an L2 of 50 MB) or on one (hot).
 * On the emulator, whose times say nothing, matrices are small. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_plan.h"
#include "device_product.h"
#include "pith_host.h"

#define CENTROIDS 16u
#define MOST_COPIES 1024u
#define MOST_REPLAYS 1000u
#define COLD_BYTES (UINT64_C(200) << 20)

static struct pith_cuda *cuda;
static device_stream stream;
static double seconds_each;
static bool is_emulator;
static uint64_t random_state = 1;

static uint32_t next_random(uint32_t n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % n;
}

static void need(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "bench_gpu_layers: %s: result %d\n", what, result);
    exit(1);
}

static device_address take(uint64_t bytes)
{
    device_address at = 0;
    need(cuda->cuMemAlloc_v2(&at, bytes), "no memory on the device");
    return at;
}

static void copy_there(device_address to, const void *from, uint64_t bytes)
{
    need(cuda->cuMemcpyHtoDAsync_v2(to, from, bytes, stream), "cannot copy");
    need(cuda->cuStreamSynchronize(stream), "cannot copy");
}

/* ---- matrices ------------------------------------------------------------------------------- */

struct matrix {
    struct weight w;
    uint8_t *support, *index, *book; /* own */
    float *dense;                    /* owns: the first rows that are checked */
};
#define CHECKED_ROWS 32u

static struct matrix matrix_new(uint32_t rows, uint32_t cols, double density)
{
    uint64_t count = (uint64_t)rows * cols;
    struct matrix m = {.support = calloc(count / 8 + 1, 1),
                       .index = malloc(count),
                       .book = calloc(1 + 4 * CENTROIDS, 1),
                       .dense = calloc((size_t)CHECKED_ROWS * cols, sizeof(float))};
    float book[CENTROIDS];
    for (uint32_t i = 0; i < CENTROIDS; i++)
        book[i] = ((float)i - 7.5f) * 0.01f;
    memcpy(m.book + 1, book, sizeof book);
    m.w = (struct weight){.type = PITH_F32,
                          .shape = {2, {rows, cols}},
                          .count = count,
                          .support = SUPPORT_BITMAP,
                          .grid = GRID_CODEBOOK,
                          .n_centroids = CENTROIDS,
                          .index_bits = 8,
                          .group_elems = count,
                          .n_groups = 1};
    for (uint64_t i = 0; i < count; i++) {
        if (next_random(1u << 20) >= density * (1u << 20))
            continue;
        uint8_t index = (uint8_t)next_random(CENTROIDS);
        m.support[i / 8] |= (uint8_t)(1u << i % 8);
        m.index[m.w.nnz++] = index;
        if (i < (uint64_t)CHECKED_ROWS * cols)
            m.dense[i] = book[index];
    }
    m.w.support_stream = (struct stream){m.support, (size_t)(count + 7) / 8};
    m.w.index_stream = (struct stream){m.index, (size_t)m.w.nnz};
    m.w.codebook = (struct stream){m.book, 1 + 4 * CENTROIDS};
    return m;
}

static void matrix_free(struct matrix *m)
{
    free(m->support);
    free(m->index);
    free(m->book);
    free(m->dense);
}

/* ---- times ---------------------------------------------------------------------------------- */

static int act(const struct lowering *l, const struct action *a)
{
    void *arg = l->args + a->arg;
    if (a->kind == ACTION_BLAS)
        return pith_blas_run(l->product[a->arg], stream);
    if (a->kind == ACTION_COPY)
        return cuda->cuMemcpyDtoDAsync_v2(a->to, a->from, a->bytes, stream);
    return cuda->cuLaunchKernel(cuda->kernel[a->kernel], a->grid[0], a->grid[1], a->grid[2],
                                LAUNCH_THREADS, 1, 1, 0, stream, &arg, NULL);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All actions of l as one graph; microseconds of a replay, of which the first two do not count. */
static double median_us(const struct lowering *l, uint32_t *replays)
{
    static double us[MOST_REPLAYS];
    void *graph, *run, *begin, *end;
    uint32_t n = 0, most = is_emulator ? 1 : MOST_REPLAYS;
    need(cuda->cuStreamBeginCapture_v2(stream, DRIVER_CAPTURE_RELAXED), "cannot capture");
    for (uint32_t i = 0; i < l->n_actions; i++)
        need(act(l, &l->action[i]), "cannot launch");
    need(cuda->cuStreamEndCapture(stream, &graph), "cannot capture");
    need(cuda->cuGraphInstantiateWithFlags(&run, graph, 0), "cannot make the graph");
    need(cuda->cuEventCreate(&begin, 0) || cuda->cuEventCreate(&end, 0), "no events");
    uint64_t start = pith_clock_ns(NULL);
    for (uint32_t i = 0;
         n < most && (n < 3 || (double)(pith_clock_ns(NULL) - start) < seconds_each * 1e9); i++) {
        float ms = 0;
        need(cuda->cuEventRecord(begin, stream), "no time");
        need(cuda->cuGraphLaunch(run, stream), "cannot run");
        need(cuda->cuEventRecord(end, stream), "no time");
        need(cuda->cuStreamSynchronize(stream), "the device failed");
        need(cuda->cuEventElapsedTime(&ms, begin, end), "no time");
        if (i >= 2 || is_emulator)
            us[n++] = 1e3 * (double)ms;
    }
    cuda->cuEventDestroy_v2(begin);
    cuda->cuEventDestroy_v2(end);
    cuda->cuGraphExecDestroy(run);
    cuda->cuGraphDestroy(graph);
    qsort(us, n, sizeof *us, by_value);
    *replays = n;
    return us[n / 2];
}

/* ---- products ------------------------------------------------------------------------------- */

enum contender { COMPRESSED, DENSE_F32, DENSE_F16, BLAS_F32, N_CONTENDERS };
static const char *const names[] = {"compressed", "dense_f32", "dense_f16", "cublaslt_f32"};

struct operands {
    const struct matrix *m;
    struct gemm_args g;
    device_address work;
};

/* Appends the product on the matrix at l->constants. false: it cannot be had. */
static bool lower(struct lowering *l, const struct operands *o, enum contender who)
{
    struct gemm_args g = o->g;
    const void *at = (const void *)(uintptr_t)l->constants;
    if (who == COMPRESSED)
        return pith_device_compressed(l, &g, &o->m->w, 0);
    g.b = at;
    if (who == DENSE_F32) {
        pith_device_product(l, &g);
    } else if (who == DENSE_F16) {
        struct gemm_half_args h = {.g = g, .w = at};
        const uint32_t grid[3] = {(g.n + GEMV_ROWS - 1) / GEMV_ROWS, g.m, 1};
        pith_device_grid(l, LAUNCH_gemv_half, grid, &h, sizeof h);
    } else {
        return pith_device_blas_any(l, &g);
    }
    return true;
}

struct result {
    bool there;
    double cold_us, hot_us, off;
    uint64_t bytes;
    uint32_t replays, kernel;
};

/* Bytes of the matrix, and of them on the host. Dense ones are zeros: times do not depend on it. */
static uint8_t *packed_bytes(struct lowering *l, const struct operands *o, enum contender who,
                             uint64_t *bytes)
{
    *bytes = who == COMPRESSED  ? l->constant_bytes
             : who == DENSE_F16 ? o->m->w.count * 2
                                : o->m->w.count * 4;
    uint8_t *p = calloc(*bytes, 1);
    for (uint32_t i = 0; p && who == COMPRESSED && i < l->n_constants; i++)
        if (pith_device_pack(&l->constant[i], p + l->constant[i].offset))
            return NULL;
    return p;
}

/* Largest difference of the checked rows, as a share of the sum of |w x|. */
static double difference(const struct operands *o, const float *x)
{
    float y[CHECKED_ROWS];
    double most = 0;
    uint32_t rows = o->g.n < CHECKED_ROWS ? o->g.n : CHECKED_ROWS;
    need(cuda->cuMemcpyDtoHAsync_v2(y, (device_address)(uintptr_t)o->g.y, rows * sizeof *y, stream),
         "cannot copy");
    need(cuda->cuStreamSynchronize(stream), "cannot copy");
    for (uint32_t r = 0; r < rows; r++) {
        double sum = 0, size = 1e-30;
        for (uint32_t c = 0; c < o->g.k; c++) {
            double v = (double)o->m->dense[(size_t)r * o->g.k + c] * (double)x[c];
            sum += v;
            size += fabs(v);
        }
        double off = fabs((double)y[r] - sum) / size;
        most = off <= most ? most : off; /* NaN stays */
    }
    return most;
}

static double time_copies(struct lowering *l, const struct operands *o, enum contender who,
                          device_address at, uint64_t step, uint32_t copies, uint32_t *replays)
{
    l->n_actions = l->n_args = 0;
    for (uint32_t i = 0; i < copies; i++) {
        l->constants = at + i * step;
        if (!lower(l, o, who))
            need(1, "cannot lower");
    }
    return median_us(l, replays) / copies;
}

static struct result run(const struct operands *o, enum contender who, const float *x)
{
    struct lowering l = {.cuda = cuda, .arena = 1, .work = o->work};
    static struct pith_plan plan;
    struct result r = {.kernel = LAUNCH_KERNELS};
    l.plan = &plan;
    if (!lower(&l, o, who)) {
        pith_device_lowering_free(&l);
        return r;
    }
    if (l.action[l.n_actions - 1].kind == ACTION_LAUNCH)
        r.kernel = l.action[l.n_actions - 1].kernel;
    uint8_t *packed = packed_bytes(&l, o, who, &r.bytes);
    need(!packed, "cannot pack");
    uint64_t step = (r.bytes + 255) & ~UINT64_C(255),
             copies = is_emulator ? 2 : COLD_BYTES / step + 2;
    copies = copies < MOST_COPIES ? copies : MOST_COPIES;
    device_address at = take(step * copies);
    for (uint64_t i = 0; i < copies; i++)
        copy_there(at + i * step, packed, r.bytes);
    r.cold_us = time_copies(&l, o, who, at, step, (uint32_t)copies, &r.replays);
    r.hot_us = time_copies(&l, o, who, at, 0, is_emulator ? 2 : 32, &r.replays);
    r.off = who == COMPRESSED ? difference(o, x) : 0;
    r.there = true;
    cuda->cuMemFree_v2(at);
    free(packed);
    pith_device_lowering_free(&l);
    return r;
}

static const char *kernel_name(uint32_t kernel)
{
#define KERNEL_NAME(name, type) #name,
    static const char *const of[] = {DEVICE_KERNELS(KERNEL_NAME) "cublasLtMatmul"};
    return of[kernel];
}

static bool bench(const char *part, const char *name, uint32_t rows, uint32_t cols, double density)
{
    uint32_t less = is_emulator ? 32 : 1;
    rows /= less;
    cols /= less;
    struct matrix m = matrix_new(rows, cols, density);
    float *x = malloc(cols * sizeof *x);
    for (uint32_t i = 0; i < cols; i++)
        x[i] = ((float)next_random(2001) - 1000.0f) / 1000.0f;
    device_address a = take(cols * sizeof *x), y = take(rows * sizeof *x), work = take(BLAS_WORK);
    struct operands o = {.m = &m, .work = work};
    o.g = (struct gemm_args){.a = (const float *)(uintptr_t)a,
                             .y = (float *)(uintptr_t)y,
                             .m = 1,
                             .n = rows,
                             .k = cols,
                             .a_row = cols,
                             .a_col = 1,
                             .b_row = 1,
                             .b_col = cols,
                             .alpha = 1.0f};
    copy_there(a, x, cols * sizeof *x);
    bool good = true;
    printf("{\"part\":\"%s\",\"name\":\"%s\",\"rows\":%u,\"cols\":%u,\"density\":%g", part, name,
           rows, cols, density);
    for (uint32_t who = 0; who < N_CONTENDERS; who++) {
        struct result r = run(&o, (enum contender)who, x);
        if (!r.there)
            continue;
        printf(",\"%s\":{\"kernel\":\"%s\",\"bytes\":%llu,\"cold_us\":%.3f,\"hot_us\":%.3f,"
               "\"replays\":%u}",
               names[who], kernel_name(r.kernel), (unsigned long long)r.bytes, r.cold_us, r.hot_us,
               r.replays);
        if (who == COMPRESSED) {
            printf(",\"off\":%.3g", r.off);
            good = r.off <= 2.0 * cols / 16777216;
        }
    }
    printf("}\n");
    fflush(stdout);
    cuda->cuMemFree_v2(a);
    cuda->cuMemFree_v2(y);
    cuda->cuMemFree_v2(work);
    matrix_free(&m);
    free(x);
    return good;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* A copy of `bytes`, 64 times in a graph: in an L2 what is small; a node of the graph what is next
 * to nothing. */
static double copy_us(uint64_t bytes)
{
    struct lowering l = {.arena = 1};
    device_address from = take(bytes), to = take(bytes);
    uint32_t replays, n = is_emulator ? 2 : 64;
    need(cuda->cuMemsetD32Async(from, 0, bytes / 4, stream), "cannot fill");
    for (uint32_t i = 0; i < n; i++)
        pith_device_copy(&l, (void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    double us = median_us(&l, &replays) / n;
    pith_device_lowering_free(&l);
    cuda->cuMemFree_v2(from);
    cuda->cuMemFree_v2(to);
    return us;
}

/* The least a kernel takes as a node of a graph: one of a single block that does one element. */
static double kernel_us(void)
{
    struct lowering l = {.arena = 1};
    device_address at = take(256);
    uint32_t replays, n = is_emulator ? 2 : 64;
    struct map_args m = {.x = (const float *)(uintptr_t)at, .y = (float *)(uintptr_t)at, .n = 1};
    need(cuda->cuMemsetD32Async(at, 0, 64, stream), "cannot fill");
    for (uint32_t i = 0; i < n; i++)
        pith_device_launch(&l, LAUNCH_map_f32, 1, &m, sizeof m);
    double us = median_us(&l, &replays) / n;
    pith_device_lowering_free(&l);
    cuda->cuMemFree_v2(at);
    return us;
}

static void constants(void)
{
    struct pith_error err = {0};
    double speed = 0;
    uint64_t small = UINT64_C(8) << 20;
    need(pith_cuda_copy_speed(cuda, &speed, &err), err.text);
    printf("{\"part\":\"constants\",\"copy_gb_s\":%.1f,\"l2_copy_gb_s\":%.1f,\"copy_node_us\":%.3f,"
           "\"kernel_node_us\":%.3f}\n",
           speed / 1e9, 2 * (double)small / copy_us(small) / 1e3, copy_us(256), kernel_us());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t rows, cols;
        double density;
    } layers[] = {{"Alex-6", 4096, 9216, 0.09},  {"Alex-7", 4096, 4096, 0.09},
                  {"Alex-8", 1000, 4096, 0.25},  {"VGG-6", 4096, 25088, 0.04},
                  {"VGG-7", 4096, 4096, 0.04},   {"VGG-8", 1000, 4096, 0.23},
                  {"NT-We", 600, 4096, 0.10},    {"NT-Wd", 8791, 600, 0.11},
                  {"NT-LSTM", 2400, 1201, 0.10}, {"large", 16384, 16384, 0.09}};
    static const double densities[] = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    struct pith_error err = {0};
    void *context;
    bool good = true;
    if (argc != 2) {
        fputs("usage: bench_gpu_layers SECONDS\n", stderr);
        return 2;
    }
    seconds_each = strtod(argv[1], NULL);
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    is_emulator = strncmp(pith_cuda_name(cuda), "emulator", 8) == 0;
    pith_cuda_allow_blas(cuda, "");
    need(cuda->cuCtxPushCurrent_v2(cuda->context), "no context");
    need(cuda->cuStreamCreate(&stream, DRIVER_STREAM_NON_BLOCKING), "no stream");
    constants();
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        good = bench("layer", layers[i].name, layers[i].rows, layers[i].cols, layers[i].density) &&
               good;
    for (size_t i = 0; i < sizeof densities / sizeof *densities; i++)
        good = bench("density", "square", 8192, 8192, densities[i]) && good;
    cuda->cuStreamDestroy_v2(stream);
    cuda->cuCtxPopCurrent_v2(&context);
    pith_cuda_close(cuda);
    return good ? 0 : 1;
}
