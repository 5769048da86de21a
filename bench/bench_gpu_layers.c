/* SPDX-License-Identifier: MIT */
/* bench_gpu_layers.c - what a GPU makes of single matrices with codebooks: Han's nine layers, a
 * large one, and densities from 5 to 60 %, beside the same matrix dense - in f32 and in f16, by
 * cuBLASLt where it is and by pith's own kernels - and by cuSPARSE where that is, and the constants
 * of the device that bound them. Needs the runtime's archives and libc alone (bench/gpu.sh).
 *
 *     bench_gpu_layers SECONDS MOST      a line of JSON each on standard output; matrices that are
 *                                        not begun within MOST seconds are left out and counted
 *     bench_gpu_layers SECONDS forms     every form of a matrix, which the choice is made of
 *                                        (device_compressed.c)
 *
 * Times are medians of replays of a graph that holds the product many times, by events, each on a
 * copy of the matrix of its own (cold: copies make up four times an L2 of 50 MB) or on one (hot).
 * On the emulator, whose times say nothing, matrices are small. */
#include <math.h>
#include "device_product.h"
#include "gpu_sparse.h"
#include "gpu_times.h"

#define CENTROIDS 16u
#define MOST_CENTROIDS 256u
#define MOST_COPIES 1024u
#define COLD_BYTES (UINT64_C(200) << 20)

static struct sparse_peer sparse; /* library NULL: cuSPARSE is not here */
static uint64_t random_state = 1;

static uint32_t next_random(uint32_t n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % n;
}

/* ---- matrices ------------------------------------------------------------------------------- */

struct matrix {
    struct weight w;
    uint8_t *support, *index, *book; /* own */
    float *dense;                    /* owns: the first rows that are checked */
};
#define CHECKED_ROWS 32u

static struct matrix matrix_new(uint32_t rows, uint32_t cols, double density, uint32_t centroids)
{
    uint64_t count = (uint64_t)rows * cols;
    struct matrix m = {.support = calloc(count / 8 + 1, 1),
                       .index = malloc(count),
                       .book = calloc(1 + 4 * MOST_CENTROIDS, 1),
                       .dense = calloc((size_t)CHECKED_ROWS * cols, sizeof(float))};
    float book[MOST_CENTROIDS];
    for (uint32_t i = 0; i < centroids; i++)
        book[i] = ((float)i - 7.5f) * 0.01f;
    memcpy(m.book + 1, book, centroids * sizeof *book);
    m.w = (struct weight){.type = PITH_F32,
                          .shape = {2, {rows, cols}},
                          .count = count,
                          .support = SUPPORT_BITMAP,
                          .grid = GRID_CODEBOOK,
                          .n_centroids = centroids,
                          .index_bits = 8,
                          .group_elems = count,
                          .n_groups = 1};
    for (uint64_t i = 0; i < count; i++) {
        if (next_random(1u << 20) >= density * (1u << 20))
            continue;
        uint8_t index = (uint8_t)next_random(centroids);
        m.support[i / 8] |= (uint8_t)(1u << i % 8);
        m.index[m.w.nnz++] = index;
        if (i < (uint64_t)CHECKED_ROWS * cols)
            m.dense[i] = book[index];
    }
    m.w.support_stream = (struct stream){m.support, (size_t)(count + 7) / 8};
    m.w.index_stream = (struct stream){m.index, (size_t)m.w.nnz};
    m.w.codebook = (struct stream){m.book, 1 + 4 * centroids};
    return m;
}

static void matrix_free(struct matrix *m)
{
    free(m->support);
    free(m->index);
    free(m->book);
    free(m->dense);
}

/* ---- products ------------------------------------------------------------------------------- */

enum contender { COMPRESSED, DENSE_F32, DENSE_F16, BLAS_F32, BLAS_F16, CUSPARSE, N_CONTENDERS };
static const char *const names[] = {"compressed",   "dense_f32",    "dense_f16",
                                    "cublaslt_f32", "cublaslt_f16", "cusparse_f32"};

struct operands {
    const struct matrix *m;
    struct gemm_args g;
    int way;                   /* of COMPRESSED; < 0: the chosen one */
    device_address work, half; /* half: x in f16 */
};

/* Appends the product on the matrix at l->constants. false: it cannot be had. */
static bool lower(struct lowering *l, const struct operands *o, enum contender who)
{
    struct gemm_args g = o->g;
    const void *at = (const void *)(uintptr_t)l->constants;
    if (who == COMPRESSED && o->way >= 0)
        return pith_device_compressed_by(l, &g, &o->m->w, 0, (enum compressed_way)o->way);
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
        g.a = who == BLAS_F16 ? (const void *)(uintptr_t)o->half : g.a;
        return pith_device_blas_any(l, &g, who == BLAS_F16);
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
    *bytes = who == COMPRESSED                     ? l->constant_bytes
             : who == DENSE_F16 || who == BLAS_F16 ? o->m->w.count * 2
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
    return actions_us(l, replays) / copies;
}

static uint64_t copies_of(uint64_t step)
{
    uint64_t copies = is_emulator ? 2 : COLD_BYTES / step + 2;
    return copies < MOST_COPIES ? copies : MOST_COPIES;
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
    uint64_t step = (r.bytes + 255) & ~UINT64_C(255), copies = copies_of(step);
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

/* ---- cuSPARSE -------------------------------------------------------------------------------- */

static uint8_t *csr_bytes(const struct operands *o, const struct csr_layout *c)
{
    const struct weight *w = &o->m->w;
    uint8_t *p = calloc(c->bytes + 1, 1);
    need(!p, "out of memory");
    int32_t *row_at = (int32_t *)(void *)p, *column = (int32_t *)(void *)(p + c->column), n = 0;
    float *value = (float *)(void *)(p + c->value), book[CENTROIDS];
    memcpy(book, o->m->book + 1, sizeof book);
    for (uint64_t i = 0; i < w->count; i++) {
        if (i % o->g.k == 0)
            row_at[i / o->g.k] = n;
        if (!(o->m->support[i / 8] >> i % 8 & 1))
            continue;
        column[n] = (int32_t)(i % o->g.k);
        value[n] = book[o->m->index[n]];
        n++;
    }
    row_at[o->g.n] = n;
    return p;
}

struct sparse_copies {
    struct sparse_product of[MOST_COPIES];
    void *work;
    bool hot; /* the first alone */
};

static int put_sparse(void *work, uint32_t i)
{
    const struct sparse_copies *c = work;
    return sparse_run(&sparse, &c->of[c->hot ? 0 : i], c->work);
}

static struct result run_sparse(const struct operands *o, const float *x)
{
    static struct sparse_copies s;
    struct csr_layout c = csr_layout(o->g.n, o->m->w.nnz);
    struct result r = {.kernel = LAUNCH_KERNELS + 1, .bytes = c.bytes};
    const uint32_t size[2] = {o->g.n, o->g.k};
    uint64_t step = (c.bytes + 255) & ~UINT64_C(255), copies = copies_of(step);
    size_t bytes = 0;
    if (!sparse.library)
        return r;
    uint8_t *csr = csr_bytes(o, &c);
    device_address at = take(step * copies), work = 0;
    r.there = true;
    for (uint64_t i = 0; i < copies; i++) {
        copy_there(at + i * step, csr, c.bytes);
        r.there = sparse_product_new(&sparse, &s.of[i], at + i * step, size, o->m->w.nnz,
                                     (void *)(uintptr_t)o->g.a, o->g.y) &&
                  r.there;
    }
    r.there = r.there && sparse_work(&sparse, &s.of[0], &bytes);
    if (r.there) {
        work = take(bytes + 1);
        s.work = (void *)(uintptr_t)work;
        s.hot = false;
        /* once outside a graph: it may ready something */
        need(sparse_run(&sparse, &s.of[0], s.work), "cuSPARSE");
        need(cuda->cuStreamSynchronize(stream), "cuSPARSE");
        r.off = difference(o, x);
        r.cold_us = graph_us(put_sparse, &s, (uint32_t)copies, &r.replays) / (double)copies;
        s.hot = true;
        copies = is_emulator ? 2 : 32;
        r.hot_us = graph_us(put_sparse, &s, (uint32_t)copies, &r.replays) / (double)copies;
        cuda->cuMemFree_v2(work);
    }
    for (uint64_t i = 0; i < copies_of(step); i++)
        sparse_product_free(&sparse, &s.of[i]);
    cuda->cuMemFree_v2(at);
    free(csr);
    return r;
}

/* ---- a matrix -------------------------------------------------------------------------------- */

static const char *kernel_name(uint32_t kernel)
{
#define KERNEL_NAME(name, type) #name,
    static const char *const of[] = {DEVICE_KERNELS(KERNEL_NAME) "cublasLtMatmul", "cusparseSpMV"};
    return of[kernel];
}

/* The matrix, on the emulator a small one, and operands of its product. */
struct case_of {
    struct matrix m;
    struct operands o;
    float *x; /* owns */
};

static struct case_of case_new(uint32_t rows, uint32_t cols, double density, uint32_t centroids)
{
    const uint32_t less = is_emulator ? 32 : 1;
    rows /= less;
    cols /= less;
    struct case_of c = {.m = matrix_new(rows, cols, density, centroids),
                        .x = malloc(cols * sizeof *c.x)};
    for (uint32_t i = 0; i < cols; i++)
        c.x[i] = ((float)next_random(2001) - 1000.0f) / 1000.0f;
    const device_address a = take(cols * sizeof *c.x), y = take(rows * sizeof *c.x);
    c.o = (struct operands){.way = -1, .work = take(BLAS_WORK), .half = take(cols * sizeof *c.x)};
    c.o.g = (struct gemm_args){.a = (const float *)(uintptr_t)a,
                               .y = (float *)(uintptr_t)y,
                               .m = 1,
                               .n = rows,
                               .k = cols,
                               .a_row = cols,
                               .a_col = 1,
                               .b_row = 1,
                               .b_col = cols,
                               .alpha = 1.0f};
    copy_there(a, c.x, cols * sizeof *c.x);
    need(cuda->cuMemsetD32Async(c.o.half, 0, cols, stream), "cannot fill");
    return c;
}

static void case_free(struct case_of *c)
{
    cuda->cuMemFree_v2((device_address)(uintptr_t)c->o.g.a);
    cuda->cuMemFree_v2((device_address)(uintptr_t)c->o.g.y);
    cuda->cuMemFree_v2(c->o.work);
    cuda->cuMemFree_v2(c->o.half);
    matrix_free(&c->m);
    free(c->x);
}

static bool bench(const char *part, const char *name, uint32_t rows, uint32_t cols, double density)
{
    struct case_of c = case_new(rows, cols, density, CENTROIDS);
    bool good = true;
    c.o.m = &c.m;
    printf("{\"part\":\"%s\",\"name\":\"%s\",\"rows\":%u,\"cols\":%u,\"density\":%g", part, name,
           c.o.g.n, c.o.g.k, density);
    for (uint32_t who = 0; who < N_CONTENDERS; who++) {
        struct result r =
            who == CUSPARSE ? run_sparse(&c.o, c.x) : run(&c.o, (enum contender)who, c.x);
        if (!r.there)
            continue;
        printf(",\"%s\":{\"kernel\":\"%s\",\"bytes\":%llu,\"cold_us\":%.3f,\"hot_us\":%.3f,"
               "\"replays\":%u}",
               names[who], kernel_name(r.kernel), (unsigned long long)r.bytes, r.cold_us, r.hot_us,
               r.replays);
        if (who == COMPRESSED)
            printf(",\"off\":%.3g", r.off);
        good = good && r.off <= 2.0 * c.o.g.k / 16777216;
    }
    printf("}\n");
    fflush(stdout);
    case_free(&c);
    return good;
}

/* Each form of one matrix that has a kernel for one row of x. */
static bool bench_forms(uint32_t rows, uint32_t cols, double density, uint32_t centroids)
{
    static const char *const ways[] = {"relative", "columns", "codes"};
    struct case_of c = case_new(rows, cols, density, centroids);
    bool good = true;
    c.o.m = &c.m;
    printf("{\"part\":\"forms\",\"rows\":%u,\"cols\":%u,\"density\":%g,\"centroids\":%u", c.o.g.n,
           c.o.g.k, density, centroids);
    for (c.o.way = 0; c.o.way < 3; c.o.way++) {
        struct result r = run(&c.o, COMPRESSED, c.x);
        if (r.there)
            printf(",\"%s_cold_us\":%.3f,\"%s_hot_us\":%.3f", ways[c.o.way], r.cold_us,
                   ways[c.o.way], r.hot_us);
        good = good && r.off <= 2.0 * c.o.g.k / 16777216;
    }
    printf("}\n");
    fflush(stdout);
    case_free(&c);
    return good;
}

/* Of the largest matrix with 16 centroids alone: the host takes half a minute to pack one. */
static bool all_forms(void)
{
    static const uint32_t sizes[][2] = {{1000, 4096}, {8791, 600}, {4096, 4096}, {16384, 16384}};
    static const double densities[] = {0.04, 0.09, 0.15, 0.25, 0.4};
    bool good = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof densities / sizeof *densities; k++)
            for (uint32_t centroids = 16; centroids <= (sizes[i][0] > 9000 ? 16 : 240);
                 centroids += 224)
                good = bench_forms(sizes[i][0], sizes[i][1], densities[k], centroids) && good;
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
    double us = actions_us(&l, &replays) / n;
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
    double us = actions_us(&l, &replays) / n;
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

/* 0 where there is time left; else 1, and the matrix is left out. */
static uint32_t left_out(uint64_t start, double most)
{
    return (double)(pith_clock_ns(NULL) - start) > most * 1e9;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t rows, cols;
        double density;
    } layers[] = {{"Alex-6", 4096, 9216, 0.09},   {"Alex-7", 4096, 4096, 0.09},
                  {"Alex-8", 1000, 4096, 0.25},   {"VGG-6", 4096, 25088, 0.04},
                  {"VGG-7", 4096, 4096, 0.04},    {"VGG-8", 1000, 4096, 0.23},
                  {"NT-We", 600, 4096, 0.10},     {"NT-Wd", 8791, 600, 0.11},
                  {"NT-LSTM", 2400, 1201, 0.10},  {"large", 16384, 16384, 0.09},
                  {"large-4", 16384, 16384, 0.04}};
    static const double densities[] = {0.05, 0.2, 0.4, 0.6};
    uint32_t missed = 0;
    uint64_t start = pith_clock_ns(NULL);
    bool good = true;
    if (argc != 3) {
        fputs("usage: bench_gpu_layers SECONDS MOST | forms\n", stderr);
        return 2;
    }
    const double most = strtod(argv[2], NULL);
    seconds_each = strtod(argv[1], NULL);
    if (!open_device("bench_gpu_layers"))
        return 2;
    if (!sparse_open(&sparse, stream))
        printf("{\"part\":\"missing\",\"name\":\"cuSPARSE\"}\n");
    if (strcmp(argv[2], "forms") == 0) {
        good = all_forms();
        close_device();
        return !good;
    }
    constants();
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (left_out(start, most))
            missed++;
        else
            good =
                bench("layer", layers[i].name, layers[i].rows, layers[i].cols, layers[i].density) &&
                good;
    for (size_t i = 0; i < sizeof densities / sizeof *densities; i++)
        if (left_out(start, most))
            missed++;
        else
            good = bench("density", "square", 16384, 16384, densities[i]) && good;
    if (missed)
        printf("{\"part\":\"left_out\",\"matrices\":%u}\n", missed);
    sparse_close(&sparse);
    close_device();
    return good ? 0 : 1;
}
