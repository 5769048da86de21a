/* SPDX-License-Identifier: MIT */
/* bench_gpu.c - networks and single matrices on a GPU: bits and times. Needs the runtime's archives
 * and libc alone, so that it can be taken to a bare machine (bench/gpu.sh).
 *
 *     bench_gpu make NET.pith...               NAME.in, NET.pith.out: seeded inputs of NAME.pith,
 *                                              NAME.f16.pith and NAME.int8.pith, the CPU's outputs
 *     bench_gpu run SECONDS MOST NET.pith...   beside the CPU, from host memory to host memory
 *     bench_gpu batch SECONDS NET.pith...      at batch 1, 8 and 64, on the device, as
 *                                              gpu_peers.py times torch; those in f16 as they are
 *                                              and ("+mma") by tensor cores
 *     bench_gpu layers SECONDS MOST            Han's nine layers and large matrices, 4 to 60 % of
 *                                              them kept, 16 values a weight, beside the same
 * matrix dense (pith, cuBLASLt; f32, f16) and cuSPARSE bench_gpu steps NET.pith once, without a
 * graph, for tools that look at copies bench_gpu cases NAME                     the cases of
 * tests/cuda (gpu_cases.c)
 *
 * A line of JSON each. SECONDS is the time of one figure, a median; what is not begun within MOST
 * seconds is left out and counted. Times of layers and batches are of replays of a graph, between
 * events; layers run on copies of the matrix that exceed the L2 four times (cold) and on one (hot).
 * The emulator's times mean nothing, so matrices are small there. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_plan.h"
#include "device_product.h"
#include "pith_cuda.h"
#include "pith_host.h"

#define MOST_RUNS 2000u

static struct pith_cuda *cuda;
static device_stream stream;
static double seconds_each;
static bool is_emulator;
static uint64_t random_state = 1;

static void need(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "bench_gpu: %s: result %d\n", what, result);
    exit(1);
}

/* xorshift64*; 31 bits */
static uint32_t next_random(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33);
}

/* uniform in -1 .. 1 */
static float next_value(void)
{
    return (float)((double)(next_random() >> 7) / 8388608.0 - 1.0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Device 0, made current, and a stream; cuBLASLt may be used. */
static void open_device(void)
{
    struct pith_error err = {0};
    if (pith_cuda_open(0, &cuda, &err)) {
        fprintf(stderr, "bench_gpu: %s\n", err.text);
        exit(2);
    }
    is_emulator = strncmp(pith_cuda_name(cuda), "emulator", 8) == 0;
    pith_cuda_allow_blas(cuda, "");
    need(cuda->cuCtxPushCurrent_v2(cuda->context), "no context");
    need(cuda->cuStreamCreate(&stream, DRIVER_STREAM_NON_BLOCKING), "no stream");
}

static void close_device(void)
{
    void *context;
    cuda->cuStreamDestroy_v2(stream);
    cuda->cuCtxPopCurrent_v2(&context);
    pith_cuda_close(cuda);
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

/* Puts work on the stream. 0, or a result. */
typedef int enqueue_fn(void *work);

/* Median of the microseconds between events around it; the first two runs do not count. */
static double device_us(enqueue_fn *enqueue, void *work)
{
    static double us[MOST_RUNS];
    void *begin, *end;
    uint32_t n = 0, most = is_emulator ? 1 : MOST_RUNS;
    need(cuda->cuEventCreate(&begin, 0) || cuda->cuEventCreate(&end, 0), "no events");
    uint64_t start = pith_clock_ns(NULL);
    for (uint32_t i = 0;
         n < most && (n < 3 || (double)(pith_clock_ns(NULL) - start) < seconds_each * 1e9); i++) {
        float ms = 0;
        need(cuda->cuEventRecord(begin, stream), "no time");
        need(enqueue(work), "cannot run");
        need(cuda->cuEventRecord(end, stream), "no time");
        need(cuda->cuStreamSynchronize(stream), "the device failed");
        need(cuda->cuEventElapsedTime(&ms, begin, end), "no time");
        if (i >= 2 || is_emulator)
            us[n++] = 1e3 * (double)ms;
    }
    cuda->cuEventDestroy_v2(begin);
    cuda->cuEventDestroy_v2(end);
    qsort(us, n, sizeof *us, by_value);
    return us[n / 2];
}

static int replay(void *graph)
{
    return cuda->cuGraphLaunch(graph, stream);
}

/* One replay of a graph enqueues put(work, 0) to put(work, n - 1): microseconds of one of them. */
static double graph_us(int (*put)(void *work, uint32_t i), void *work, uint32_t n)
{
    void *graph, *run;
    need(cuda->cuStreamBeginCapture_v2(stream, DRIVER_CAPTURE_RELAXED), "cannot capture");
    for (uint32_t i = 0; i < n; i++)
        need(put(work, i), "cannot launch");
    need(cuda->cuStreamEndCapture(stream, &graph), "cannot capture");
    need(cuda->cuGraphInstantiateWithFlags(&run, graph, 0), "cannot make the graph");
    double us = device_us(replay, run) / n;
    cuda->cuGraphExecDestroy(run);
    cuda->cuGraphDestroy(graph);
    return us;
}

/* ---- networks -------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* A whole batch at once, no bands of rows; a batch that the file does not have is refused. */
static enum pith_status open_session(const char *path, uint32_t batch, uint32_t flags,
                                     struct pith_session **s, struct pith_error *err)
{
    struct pith_opts o;
    struct pith_tensor t;
    pith_opts_init(&o, sizeof o);
    o.batch = batch;
    o.flags = PITH_FLAG_WHOLE_BATCH | flags;
    enum pith_status st = pith_open(path, &o, s, err);
    if (st || batch == 1)
        return st;
    st = pith_plan_input(pith_plan_of(*s), 0, &t);
    if (st || (t.rank > 0 && t.dim[0] == batch))
        return st;
    pith_close(*s);
    *s = NULL;
    snprintf(err->text, sizeof err->text, "the batch is fixed");
    return PITH_ERR_UNSUPPORTED;
}

/* With the flags that leave the fewest steps to the CPU. *s and *gpu are the caller's to close. */
static enum pith_status open_plan(const char *path, uint32_t batch, struct pith_session **s,
                                  struct pith_cuda_plan **gpu, struct pith_error *err)
{
    for (int i = 0; i < 2; i++) {
        enum pith_status st = open_session(path, batch, i ? PITH_FLAG_NO_FUSION : 0, s, err);
        if (!st)
            st = pith_cuda_plan_new(cuda, pith_plan_of(*s), gpu, err);
        if (st || i == 1 || pith_cuda_plan_facts(*gpu).cpu_steps == 0)
            return st;
        pith_cuda_plan_free(*gpu);
        pith_close(*s);
        *gpu = NULL;
        *s = NULL;
    }
    return PITH_OK;
}

/* path + ".out", or the network's name + ".in". */
static void file_of(char name[1024], const char *path, bool outputs)
{
    static const char *const ends[] = {".f16.pith", ".int8.pith", ".pith"};
    snprintf(name, 1020, "%s", path);
    size_t n = strlen(name);
    for (size_t i = 0; !outputs && i < sizeof ends / sizeof *ends; i++)
        if (n > strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0) {
            n -= strlen(ends[i]);
            break;
        }
    strcpy(name + n, outputs ? ".out" : ".in");
}

/* All inputs, or outputs, one behind the other, as a file: written from the plan, or read, inputs
 * into the plan, outputs into *expected. */
static bool move(struct pith_plan *plan, const char *path, bool outputs, bool write,
                 uint8_t **expected)
{
    char name[1024];
    file_of(name, path, outputs);
    FILE *f = fopen(name, write ? "wb" : "rb");
    if (!f)
        return false;
    bool good = true;
    uint64_t at = 0;
    uint32_t n = outputs ? pith_plan_output_count(plan) : pith_plan_input_count(plan);
    for (uint32_t i = 0; i < n && good; i++) {
        struct pith_tensor t;
        outputs ? pith_plan_output(plan, i, &t) : pith_plan_input(plan, i, &t);
        if (write) {
            const void *data =
                outputs ? pith_plan_output_data(plan, i) : pith_plan_input_data(plan, i);
            good = fwrite(data, 1, t.bytes, f) == t.bytes;
        } else if (outputs) {
            uint8_t *bigger = realloc(*expected, (size_t)(at + t.bytes));
            *expected = bigger ? bigger : *expected;
            good = bigger && fread(bigger + at, 1, t.bytes, f) == t.bytes;
        } else {
            good = fread(pith_plan_input_data(plan, i), 1, t.bytes, f) == t.bytes;
        }
        at += t.bytes;
    }
    return fclose(f) == 0 && good;
}

static int make_one(const char *path)
{
    struct pith_session *s;
    struct pith_error err;
    if (pith_open(path, NULL, &s, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct pith_plan *plan = pith_plan_of(s);
    random_state = 1;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        float *x = pith_plan_input_data(plan, i);
        if (pith_plan_input(plan, i, &t))
            continue;
        memset(x, 0, t.bytes); /* an index or a flag: 0 is one everywhere */
        for (uint64_t k = 0; t.type == PITH_F32 && k < t.bytes / sizeof *x; k++)
            x[k] = next_value();
    }
    bool good = move(plan, path, false, true, NULL) && pith_plan_run(plan) == PITH_OK &&
                move(plan, path, true, true, NULL);
    pith_close(s);
    return good ? 0 : 1;
}

/* Largest difference of the outputs from those of the file, as a share of the largest value; 0: all
 * bits are equal. */
static double difference(struct pith_plan *plan, const char *path)
{
    uint8_t *expected = NULL;
    uint64_t at = 0;
    double off = 0, largest = 0;
    if (!move(plan, path, true, false, &expected)) {
        free(expected);
        return NAN;
    }
    for (uint32_t i = 0; i < pith_plan_output_count(plan); i++) {
        struct pith_tensor t;
        pith_plan_output(plan, i, &t);
        const float *x = pith_plan_output_data(plan, i);
        const float *y = (const float *)(const void *)(expected + at);
        if (t.type != PITH_F32 && memcmp(x, y, t.bytes) != 0)
            off = INFINITY;
        for (uint64_t k = 0; t.type == PITH_F32 && k < t.bytes / sizeof *x; k++) {
            double d = fabs((double)x[k] - (double)y[k]);
            off = d <= off ? off : d; /* NaN stays */
            largest = fmax(largest, fabs((double)y[k]));
        }
        at += t.bytes;
    }
    free(expected);
    return off > 0 && largest > 0 ? off / largest : off;
}

/* Of runs of the device's plan, or of the CPU's where gpu is NULL, from host to host. */
static double median_us(struct pith_plan *plan, struct pith_cuda_plan *gpu, double seconds)
{
    static double us[MOST_RUNS];
    struct pith_error err;
    uint64_t begin = pith_clock_ns(NULL), now = begin;
    uint32_t n = 0;
    while (n < (is_emulator ? 1 : MOST_RUNS) && (n < 3 || (double)(now - begin) < seconds * 1e9)) {
        uint64_t start = pith_clock_ns(NULL);
        if (gpu ? pith_cuda_plan_run(gpu, &err) : pith_plan_run(plan))
            return NAN;
        now = pith_clock_ns(NULL);
        us[n++] = (double)(now - start) / 1e3;
    }
    qsort(us, n, sizeof *us, by_value);
    return us[n / 2];
}

/* By the plan that the CPU has without a device: steps joined, bands of rows. */
static double cpu_us(const char *path, double seconds)
{
    struct pith_session *s = NULL;
    struct pith_error err;
    if (pith_open(path, NULL, &s, &err))
        return NAN;
    bool good = move(pith_plan_of(s), path, false, false, NULL);
    double us = good ? median_us(pith_plan_of(s), NULL, seconds) : NAN;
    pith_close(s);
    return us;
}

/* seconds 0: once, without the graph, and no times. */
static int run_one(const char *path, double seconds)
{
    struct pith_session *s = NULL;
    struct pith_cuda_plan *gpu = NULL;
    struct pith_error err = {0};
    double off = NAN;
    enum pith_status st = open_plan(path, 1, &s, &gpu, &err);
    if (!st && seconds <= 0 && gpu->graph) {
        cuda->cuGraphExecDestroy(gpu->graph);
        gpu->graph = NULL;
    }
    if (!st && move(pith_plan_of(s), path, false, false, NULL))
        st = pith_cuda_plan_run(gpu, &err);
    if (st) {
        printf("{\"part\":\"network\",\"name\":\"%s\",\"error\":%d}\n", base_name(path), (int)st);
        fprintf(stderr, "%s: %s\n", path, err.text);
    } else {
        struct pith_cuda_facts facts = pith_cuda_plan_facts(gpu);
        off = difference(pith_plan_of(s), path);
        if (seconds > 0)
            printf("{\"part\":\"network\",\"name\":\"%s\",\"off\":%.3g,\"gpu_us\":%.2f,"
                   "\"cpu_us\":%.2f,\"launches\":%u,\"cpu_steps\":%u}\n",
                   base_name(path), off, median_us(pith_plan_of(s), gpu, seconds / 2),
                   cpu_us(path, seconds / 2), facts.launches, facts.cpu_steps);
    }
    fflush(stdout);
    pith_cuda_plan_free(gpu);
    pith_close(s);
    return !(off <= 1e-3);
}

static bool is_late(uint64_t start, double most)
{
    return (double)(pith_clock_ns(NULL) - start) > most * 1e9;
}

static int run_all(double seconds, double most, int n, char **paths)
{
    uint64_t start = pith_clock_ns(NULL);
    int bad = 0, missed = 0;
    printf("{\"part\":\"device\",\"name\":\"%s\"}\n", pith_cuda_name(cuda));
    for (int i = 0; i < n; i++)
        if (is_late(start, most))
            missed++;
        else
            bad |= run_one(paths[i], fmin(seconds, most / n));
    if (missed)
        printf("{\"part\":\"left_out\",\"networks\":%d}\n", missed);
    return bad;
}

static int enqueue_plan(void *gpu)
{
    struct pith_error err;
    return (int)pith_cuda_plan_enqueue(gpu, stream, &err);
}

static int batch_one(const char *path, uint32_t batch, enum pith_cuda_precision precision)
{
    struct pith_session *s = NULL;
    struct pith_cuda_plan *gpu = NULL;
    struct pith_error err = {0};
    pith_cuda_set_precision(cuda, precision);
    enum pith_status st = open_plan(path, batch, &s, &gpu, &err);
    if (!st) /* inputs, and code and caches that a first run readies */
        st = pith_cuda_plan_run(gpu, &err);
    printf("{\"part\":\"batch\",\"name\":\"%s%s\",\"batch\":%u,", base_name(path),
           precision == PITH_CUDA_F16 ? "+mma" : "", batch);
    if (st)
        printf("\"error\":%d}\n", (int)st);
    else
        printf("\"us\":%.2f}\n", device_us(enqueue_plan, gpu));
    if (st)
        fprintf(stderr, "%s, batch %u: %s\n", path, batch, err.text);
    fflush(stdout);
    pith_cuda_plan_free(gpu);
    pith_close(s);
    return st != PITH_OK;
}

static int batch_all(int n, char **paths)
{
    static const uint32_t batches[] = {1, 8, 64}, few[] = {1, 2, 3};
    int bad = 0;
    for (int i = 0; i < n; i++)
        for (int mma = 0; mma < (strstr(paths[i], ".f16.pith") ? 2 : 1); mma++)
            for (int k = 0; k < 3; k++)
                bad |= batch_one(paths[i], is_emulator ? few[k] : batches[k],
                                 mma ? PITH_CUDA_F16 : PITH_CUDA_F32);
    return bad;
}

/* ---- matrices -------------------------------------------------------------------------------- */

#define CENTROIDS 16u
#define CHECKED_ROWS 32u
#define MOST_COPIES 1024u
#define COLD_BYTES (UINT64_C(200) << 20) /* four times an L2 of 50 MB */

static float book[CENTROIDS];

/* A drawn matrix [rows, cols], and operands of its product with one row. */
struct matrix {
    struct weight w;
    uint8_t *support, *index; /* own */
    float *dense, *x;         /* own; dense: the rows that are checked */
    struct gemm_args g;
    device_address work, half; /* half: x in f16 */
};

static void matrix_new(struct matrix *m, uint32_t rows, uint32_t cols, double density)
{
    static uint8_t raw[1 + 4 * CENTROIDS];
    const uint64_t count = (uint64_t)rows * cols;
    const device_address a = take(cols * sizeof *m->x), y = take(rows * sizeof *m->x);
    *m = (struct matrix){.support = calloc(count / 8 + 1, 1),
                         .index = malloc(count),
                         .dense = calloc((size_t)CHECKED_ROWS * cols, sizeof(float)),
                         .x = malloc(cols * sizeof *m->x),
                         .work = take(BLAS_WORK),
                         .half = take(cols * sizeof *m->x)};
    for (uint32_t i = 0; i < CENTROIDS; i++)
        book[i] = ((float)i - 7.5f) * 0.01f;
    memcpy(raw + 1, book, sizeof book);
    m->w = (struct weight){.type = PITH_F32,
                           .shape = {2, {rows, cols}},
                           .count = count,
                           .support = SUPPORT_BITMAP,
                           .grid = GRID_CODEBOOK,
                           .n_centroids = CENTROIDS,
                           .index_bits = 8,
                           .group_elems = count,
                           .n_groups = 1,
                           .codebook = {raw, sizeof raw}};
    for (uint64_t i = 0; i < count; i++) {
        if (next_random() % (1u << 20) >= density * (1u << 20))
            continue;
        uint8_t index = (uint8_t)(next_random() % CENTROIDS);
        m->support[i / 8] |= (uint8_t)(1u << i % 8);
        m->index[m->w.nnz++] = index;
        if (i < (uint64_t)CHECKED_ROWS * cols)
            m->dense[i] = book[index];
    }
    m->w.support_stream = (struct stream){m->support, (size_t)(count + 7) / 8};
    m->w.index_stream = (struct stream){m->index, (size_t)m->w.nnz};
    for (uint32_t i = 0; i < cols; i++)
        m->x[i] = next_value();
    m->g = (struct gemm_args){.a = (const float *)(uintptr_t)a,
                              .y = (float *)(uintptr_t)y,
                              .m = 1,
                              .n = rows,
                              .k = cols,
                              .a_row = cols,
                              .a_col = 1,
                              .b_row = 1,
                              .b_col = cols,
                              .alpha = 1.0f};
    copy_there(a, m->x, cols * sizeof *m->x);
    need(cuda->cuMemsetD32Async(m->half, 0, cols, stream), "cannot fill");
}

static void matrix_free(struct matrix *m)
{
    cuda->cuMemFree_v2((device_address)(uintptr_t)m->g.a);
    cuda->cuMemFree_v2((device_address)(uintptr_t)m->g.y);
    cuda->cuMemFree_v2(m->work);
    cuda->cuMemFree_v2(m->half);
    free(m->support);
    free(m->index);
    free(m->dense);
    free(m->x);
}

/* Largest difference of the checked rows, as a share of the sum of |w x|. */
static double matrix_difference(const struct matrix *m)
{
    float y[CHECKED_ROWS];
    double most = 0;
    uint32_t rows = m->g.n < CHECKED_ROWS ? m->g.n : CHECKED_ROWS;
    need(cuda->cuMemcpyDtoHAsync_v2(y, (device_address)(uintptr_t)m->g.y, rows * sizeof *y, stream),
         "cannot copy");
    need(cuda->cuStreamSynchronize(stream), "cannot copy");
    for (uint32_t r = 0; r < rows; r++) {
        double sum = 0, size = 1e-30;
        for (uint32_t c = 0; c < m->g.k; c++) {
            double v = (double)m->dense[(size_t)r * m->g.k + c] * (double)m->x[c];
            sum += v;
            size += fabs(v);
        }
        double off = fabs((double)y[r] - sum) / size;
        most = off <= most ? most : off; /* NaN stays */
    }
    return most;
}

struct result {
    const char *kernel; /* NULL: it cannot be had */
    double cold_us, hot_us, off;
};

static uint64_t copies_of(uint64_t step)
{
    uint64_t copies = is_emulator ? 2 : COLD_BYTES / step + 2;
    return copies < MOST_COPIES ? copies : MOST_COPIES;
}

enum contender { COMPRESSED, DENSE_F32, DENSE_F16, BLAS_F32, BLAS_F16, N_CONTENDERS };
static const char *const names[] = {"compressed", "dense_f32", "dense_f16", "cublaslt_f32",
                                    "cublaslt_f16"};

/* Appends the product on the matrix at l->constants. false: it cannot be had. */
static bool lower(struct lowering *l, const struct matrix *m, enum contender who)
{
    struct gemm_args g = m->g;
    const void *at = (const void *)(uintptr_t)l->constants;
    if (who == COMPRESSED)
        return pith_device_compressed(l, &g, &m->w, 0);
    g.b = at;
    if (who == DENSE_F32) {
        pith_device_product(l, &g);
    } else if (who == DENSE_F16) {
        struct gemm_half_args h = {.g = g, .w = at};
        const uint32_t grid[3] = {(g.n + GEMV_ROWS - 1) / GEMV_ROWS, g.m, 1};
        pith_device_grid(l, LAUNCH_gemv_half, grid, &h, sizeof h);
    } else {
        g.a = who == BLAS_F16 ? (const void *)(uintptr_t)m->half : g.a;
        return pith_device_blas_any(l, &g, who == BLAS_F16);
    }
    return true;
}

static int put_action(void *work, uint32_t i)
{
    struct lowering *l = work;
    const struct action *a = &l->action[i];
    if (a->kind == ACTION_BLAS)
        return pith_blas_run(l->product[a->arg], stream);
    if (a->kind == ACTION_COPY)
        return cuda->cuMemcpyDtoDAsync_v2(a->to, a->from, a->bytes, stream);
    return pith_driver_launch(cuda, a->kernel, a->grid, l->args + a->arg, stream);
}

static double lowered_us(struct lowering *l, const struct matrix *m, enum contender who,
                         device_address at, uint64_t step, uint32_t copies)
{
    l->n_actions = l->n_args = 0;
    for (uint32_t i = 0; i < copies; i++) {
        l->constants = at + i * step;
        need(!lower(l, m, who), "cannot lower");
    }
    return graph_us(put_action, l, l->n_actions) * l->n_actions / copies;
}

static const char *kernel_name(const struct action *a)
{
#define KERNEL_NAME(name, type) #name,
    static const char *const of[] = {DEVICE_KERNELS(KERNEL_NAME) NULL};
    return a->kind == ACTION_LAUNCH ? of[a->kernel] : "cublasLtMatmul";
}

static struct result run(const struct matrix *m, enum contender who)
{
    static struct pith_plan plan;
    struct lowering l = {.cuda = cuda, .plan = &plan, .arena = 1, .work = m->work};
    struct result r = {.kernel = NULL};
    if (lower(&l, m, who)) {
        /* Dense ones are zeros: times do not depend on it. */
        const uint64_t bytes = who == COMPRESSED                     ? l.constant_bytes
                               : who == DENSE_F16 || who == BLAS_F16 ? m->w.count * 2
                                                                     : m->w.count * 4;
        const uint64_t step = (bytes + 255) & ~UINT64_C(255), copies = copies_of(step);
        const device_address at = take(step * copies);
        uint8_t *packed = calloc(bytes, 1);
        r.kernel = kernel_name(&l.action[l.n_actions - 1]);
        for (uint32_t i = 0; who == COMPRESSED && i < l.n_constants; i++)
            need(!packed || pith_device_pack(&l.constant[i], packed + l.constant[i].offset),
                 "cannot pack");
        for (uint64_t i = 0; i < copies; i++)
            copy_there(at + i * step, packed, bytes);
        r.cold_us = lowered_us(&l, m, who, at, step, (uint32_t)copies);
        r.hot_us = lowered_us(&l, m, who, at, 0, is_emulator ? 2 : 32);
        r.off = who == COMPRESSED ? matrix_difference(m) : 0;
        cuda->cuMemFree_v2(at);
        free(packed);
    }
    pith_device_lowering_free(&l);
    return r;
}

/* ---- cuSPARSE: y = W x, W in CSR of f32, columns of 32 bits ---------------------------------- */

/* Numbers of cusparse.h and library_types.h, which are part of its binary interface. */
enum { SPARSE_INDEX_32 = 2, SPARSE_BASE_0 = 0, SPARSE_F32 = 0, SPARSE_AS_IT_LIES = 0 };
enum { SPARSE_ALGORITHM = 0 /* its own choice */ };

#define SPARSE_CALLS(CALL)                                                                         \
    CALL(cusparseCreate, (void **handle))                                                          \
    CALL(cusparseDestroy, (void *handle))                                                          \
    CALL(cusparseSetStream, (void *handle, void *stream))                                          \
    CALL(cusparseCreateCsr,                                                                        \
         (void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *row_at, void *column,      \
          void *value, int row_type, int column_type, int base, int type))                         \
    CALL(cusparseDestroySpMat, (void *matrix))                                                     \
    CALL(cusparseCreateDnVec, (void **vector, int64_t n, void *values, int type))                  \
    CALL(cusparseDestroyDnVec, (void *vector))                                                     \
    CALL(cusparseSpMV_bufferSize,                                                                  \
         (void *handle, int turned, const void *alpha, void *matrix, void *x, const void *beta,    \
          void *y, int type, int algorithm, size_t *bytes))                                        \
    CALL(cusparseSpMV, (void *handle, int turned, const void *alpha, void *matrix, void *x,        \
                        const void *beta, void *y, int type, int algorithm, void *buffer))

static struct {
    void *library, *handle;
#define SPARSE_MEMBER(name, parameters) int(*name) parameters;
    SPARSE_CALLS(SPARSE_MEMBER)
    void *of[MOST_COPIES], *x, *y, *work;
    bool hot; /* the first copy alone */
} sparse;
static const float sparse_one = 1.0f, sparse_none = 0.0f;

/* C has no cast from what dlsym returns to a function, hence memcpy. */
static bool sparse_open(void)
{
    bool good = true;
    sparse.library = dlopen("libcusparse.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!sparse.library)
        return false;
#define SPARSE_FIND(name, parameters)                                                              \
    {                                                                                              \
        void *found = dlsym(sparse.library, #name);                                                \
        good = good && found;                                                                      \
        memcpy(&sparse.name, &found, sizeof found);                                                \
    }
    SPARSE_CALLS(SPARSE_FIND)
    good = good && !sparse.cusparseCreate(&sparse.handle) &&
           !sparse.cusparseSetStream(sparse.handle, stream);
    sparse.handle = good ? sparse.handle : NULL;
    return good;
}

static int put_sparse(void *work, uint32_t i)
{
    (void)work;
    return sparse.cusparseSpMV(sparse.handle, SPARSE_AS_IT_LIES, &sparse_one,
                               sparse.of[sparse.hot ? 0 : i], sparse.x, &sparse_none, sparse.y,
                               SPARSE_F32, SPARSE_ALGORITHM, sparse.work);
}

/* Bytes of rows, columns and values, each from the next multiple of 256 on. */
struct csr {
    uint64_t column, value, bytes;
    uint8_t *data; /* owns */
};

static struct csr csr_new(const struct matrix *m)
{
    struct csr c = {.column = ((uint64_t)(m->g.n + 1) * 4 + 255) & ~UINT64_C(255)};
    c.value = c.column + ((m->w.nnz * 4 + 255) & ~UINT64_C(255));
    c.bytes = c.value + m->w.nnz * 4;
    c.data = calloc(c.bytes, 1);
    need(!c.data, "out of memory");
    int32_t *row_at = (int32_t *)(void *)c.data, *column = (int32_t *)(void *)(c.data + c.column);
    float *value = (float *)(void *)(c.data + c.value);
    int32_t n = 0;
    for (uint64_t i = 0; i < m->w.count; i++) {
        if (i % m->g.k == 0)
            row_at[i / m->g.k] = n;
        if (!(m->support[i / 8] >> i % 8 & 1))
            continue;
        column[n] = (int32_t)(i % m->g.k);
        value[n] = book[m->index[n]];
        n++;
    }
    row_at[m->g.n] = n;
    return c;
}

static struct result run_sparse(const struct matrix *m)
{
    struct result r = {.kernel = NULL};
    if (!sparse.handle)
        return r;
    struct csr c = csr_new(m);
    const uint64_t step = (c.bytes + 255) & ~UINT64_C(255), copies = copies_of(step);
    const device_address at = take(step * copies);
    size_t bytes = 0;
    for (uint64_t i = 0; i < copies; i++) {
        uint8_t *first = (uint8_t *)(uintptr_t)(at + i * step);
        copy_there(at + i * step, c.data, c.bytes);
        need(sparse.cusparseCreateCsr(&sparse.of[i], m->g.n, m->g.k, (int64_t)m->w.nnz, first,
                                      first + c.column, first + c.value, SPARSE_INDEX_32,
                                      SPARSE_INDEX_32, SPARSE_BASE_0, SPARSE_F32),
             "cuSPARSE");
    }
    need(sparse.cusparseCreateDnVec(&sparse.x, m->g.k, (void *)(uintptr_t)m->g.a, SPARSE_F32) ||
             sparse.cusparseCreateDnVec(&sparse.y, m->g.n, m->g.y, SPARSE_F32) ||
             sparse.cusparseSpMV_bufferSize(sparse.handle, SPARSE_AS_IT_LIES, &sparse_one,
                                            sparse.of[0], sparse.x, &sparse_none, sparse.y,
                                            SPARSE_F32, SPARSE_ALGORITHM, &bytes),
         "cuSPARSE");
    sparse.work = (void *)(uintptr_t)take(bytes + 1);
    sparse.hot = false;
    need(put_sparse(NULL, 0) || cuda->cuStreamSynchronize(stream), "cuSPARSE"); /* readies things */
    r = (struct result){.kernel = "cusparseSpMV", .off = matrix_difference(m)};
    r.cold_us = graph_us(put_sparse, NULL, (uint32_t)copies);
    sparse.hot = true;
    r.hot_us = graph_us(put_sparse, NULL, is_emulator ? 2 : 32);
    for (uint64_t i = 0; i < copies; i++)
        sparse.cusparseDestroySpMat(sparse.of[i]);
    sparse.cusparseDestroyDnVec(sparse.x);
    sparse.cusparseDestroyDnVec(sparse.y);
    cuda->cuMemFree_v2((device_address)(uintptr_t)sparse.work);
    cuda->cuMemFree_v2(at);
    free(c.data);
    return r;
}

static bool bench_matrix(const char *name, uint32_t rows, uint32_t cols, double density)
{
    struct matrix m;
    const uint32_t less = is_emulator ? 32 : 1;
    double off = 0;
    matrix_new(&m, rows / less, cols / less, density);
    printf("{\"part\":\"layer\",\"name\":\"%s\",\"rows\":%u,\"cols\":%u,\"density\":%g", name,
           m.g.n, m.g.k, density);
    for (uint32_t who = 0; who <= N_CONTENDERS; who++) {
        struct result r = who < N_CONTENDERS ? run(&m, (enum contender)who) : run_sparse(&m);
        if (r.kernel)
            printf(",\"%s\":{\"kernel\":\"%s\",\"cold_us\":%.3f,\"hot_us\":%.3f}",
                   who < N_CONTENDERS ? names[who] : "cusparse_f32", r.kernel, r.cold_us, r.hot_us);
        off = r.off <= off ? off : r.off; /* NaN stays */
    }
    printf(",\"off\":%.3g}\n", off);
    fflush(stdout);
    const bool good = off <= 2.0 * m.g.k / 16777216;
    matrix_free(&m);
    return good;
}

static int layers(double most)
{
    static const struct {
        const char *name;
        uint32_t rows, cols;
        double density;
    } of[] = {
        {"Alex-6", 4096, 9216, 0.09},  {"Alex-7", 4096, 4096, 0.09},  {"Alex-8", 1000, 4096, 0.25},
        {"VGG-6", 4096, 25088, 0.04},  {"VGG-7", 4096, 4096, 0.04},   {"VGG-8", 1000, 4096, 0.23},
        {"NT-We", 600, 4096, 0.10},    {"NT-Wd", 8791, 600, 0.11},    {"NT-LSTM", 2400, 1201, 0.10},
        {"large", 16384, 16384, 0.04}, {"large", 16384, 16384, 0.09}, {"large", 16384, 16384, 0.20},
        {"large", 16384, 16384, 0.40}, {"large", 16384, 16384, 0.60}};
    uint64_t start = pith_clock_ns(NULL);
    uint32_t missed = 0;
    bool good = true;
    if (!sparse_open())
        printf("{\"part\":\"missing\",\"name\":\"cuSPARSE\"}\n");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (is_late(start, most))
            missed++;
        else
            good = bench_matrix(of[i].name, of[i].rows, of[i].cols, of[i].density) && good;
    if (missed)
        printf("{\"part\":\"left_out\",\"matrices\":%u}\n", missed);
    if (sparse.handle)
        sparse.cusparseDestroy(sparse.handle);
    return good ? 0 : 1;
}

/* ---- the program ----------------------------------------------------------------------------- */

#ifdef GPU_CASES
int main_cases(const char *name);
#else
static int main_cases(const char *name)
{
    fprintf(stderr, "bench_gpu: cases %s are in what bench/gpu.sh builds\n", name);
    return 2;
}
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    int bad = 0;
    if (strcmp(what, "cases") == 0)
        return main_cases(argv[2]);
    if (strcmp(what, "make") == 0) {
        for (int i = 2; i < argc; i++)
            bad |= make_one(argv[i]);
        return bad;
    }
    bool is_run = argc > 4 && strcmp(what, "run") == 0;
    bool is_batch = argc > 3 && strcmp(what, "batch") == 0;
    bool is_layers = argc == 4 && strcmp(what, "layers") == 0;
    if (!is_run && !is_batch && !is_layers && strcmp(what, "steps") != 0) {
        fputs("usage: bench_gpu make NET.pith... | run SECONDS MOST NET.pith... | batch SECONDS "
              "NET.pith...\n       | layers SECONDS MOST | steps NET.pith | cases NAME\n",
              stderr);
        return 2;
    }
    open_device();
    seconds_each = strtod(argv[2], NULL);
    if (is_run)
        bad = run_all(seconds_each, strtod(argv[3], NULL), argc - 4, argv + 4);
    else if (is_batch)
        bad = batch_all(argc - 3, argv + 3);
    else if (is_layers)
        bad = layers(strtod(argv[3], NULL));
    else
        bad = run_one(argv[2], 0);
    close_device();
    return bad;
}
