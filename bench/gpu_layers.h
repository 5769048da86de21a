/* SPDX-License-Identifier: MIT */
/* gpu_layers.h - single matrices of bench_gpu.c, compressed and dense, beside cuBLASLt and
 * cuSPARSE. */
#ifndef GPU_LAYERS_H
#define GPU_LAYERS_H

#include <dlfcn.h>
#include <math.h>
#include "cuda/device_product.h"
#include "gpu_device.h"

#define CENTROIDS 16u
#define CHECKED_ROWS 32u
#define MOST_BATCH 64u
#define WORK_BYTES (64u << 20)
#define MOST_COPIES 1024u
#define COLD_BYTES (UINT64_C(200) << 20) /* four times an L2 of 50 MB */

static float book[CENTROIDS];

/* A drawn matrix [rows, cols], and operands of its product with up to MOST_BATCH rows. */
struct matrix {
    struct weight w;
    uint8_t *support, *index; /* own */
    float *dense, *x;         /* own; dense: the rows that are checked */
    struct gemm_args g;
    device_address work, half; /* half: room for x in f16 */
};

static void matrix_new(struct matrix *m, uint32_t rows, uint32_t cols, double density)
{
    static uint8_t raw[1 + 4 * CENTROIDS];
    const uint64_t count = (uint64_t)rows * cols;
    const uint64_t n_x = (uint64_t)MOST_BATCH * cols, n_y = (uint64_t)MOST_BATCH * rows;
    const device_address a = take(n_x * sizeof *m->x), y = take(n_y * sizeof *m->x);
    *m = (struct matrix){.support = calloc(count / 8 + 1, 1),
                         .index = malloc(count),
                         .dense = calloc((size_t)CHECKED_ROWS * cols, sizeof(float)),
                         .x = malloc(n_x * sizeof *m->x),
                         .work = take(WORK_BYTES),
                         .half = take(n_x * sizeof *m->x)};
    for (uint32_t i = 0; i < CENTROIDS; i++)
        book[i] = ((float)i - 7.5f) * 0.01f;
    memcpy(raw + 1, book, sizeof book);
    m->w = (struct weight){.type = PITH_F32,
                           .shape = {2, {rows, cols}},
                           .count = count,
                           .support = density < 1 ? SUPPORT_BITMAP : SUPPORT_DENSE,
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
    if (density < 1)
        m->w.support_stream = (struct stream){m->support, (size_t)(count + 7) / 8};
    m->w.index_stream = (struct stream){m->index, (size_t)m->w.nnz};
    for (uint64_t i = 0; i < n_x; i++)
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
    copy_there(a, m->x, n_x * sizeof *m->x);
    need(cuda->cuMemsetD32Async(m->half, 0, n_x, stream), "cannot fill");
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

/* Largest difference of the checked rows, with row `at` of x, as a share of the sum of |w x|. */
static double row_difference(const struct matrix *m, uint32_t at)
{
    float y[CHECKED_ROWS];
    double most = 0;
    uint32_t rows = m->g.n < CHECKED_ROWS ? m->g.n : CHECKED_ROWS;
    const device_address from = (device_address)(uintptr_t)(m->g.y + (size_t)at * m->g.n);
    need(cuda->cuMemcpyDtoHAsync_v2(y, from, rows * sizeof *y, stream), "cannot copy");
    need(cuda->cuStreamSynchronize(stream), "cannot copy");
    for (uint32_t r = 0; r < rows; r++) {
        double sum = 0, size = 1e-30;
        for (uint32_t c = 0; c < m->g.k; c++) {
            double v =
                (double)m->dense[(size_t)r * m->g.k + c] * (double)m->x[(size_t)at * m->g.k + c];
            sum += v;
            size += fabs(v);
        }
        double off = fabs((double)y[r] - sum) / size;
        most = off <= most ? most : off; /* NaN stays */
    }
    return most;
}

static double matrix_difference(const struct matrix *m)
{
    const double first = row_difference(m, 0), last = row_difference(m, m->g.m - 1);
    return first <= last ? last : first; /* NaN stays */
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

/* COMPRESSED_F16: tensor cores may be used. CODES_I8: of few rows. The dense ones of floats of pith
 * are for one row. */
enum contender {
    COMPRESSED,
    COMPRESSED_F16,
    BLAS_F32,
    BLAS_F16,
    BLAS_I8,
    DENSE_I8,
    CODES_I8,
    DENSE_F32,
    DENSE_F16,
    N_CONTENDERS
};
#define N_BATCH_CONTENDERS DENSE_F32
static const char *const names[] = {"compressed",   "compressed_f16", "cublaslt_f32",
                                    "cublaslt_f16", "cublaslt_i8",    "dense_i8",
                                    "codes_i8",     "dense_f32",      "dense_f16"};

static struct gemm_i8_args bytes_of(const struct matrix *m)
{
    return (struct gemm_i8_args){.a = (const void *)(uintptr_t)m->half,
                                 .y = (int32_t *)(void *)m->g.y,
                                 .s = m->g,
                                 .a_signed = 1,
                                 .b_signed = 1};
}

/* Few rows: codes of int8 centroids, or (8 bits) bytes, as pack_codes.c has them. */
static bool lower_codes(struct lowering *l, const struct matrix *m, uint32_t bits)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)l->constants;
    const struct gemm_i8_args g = bytes_of(m);
    const struct codes w = {.book = (const void *)at,
                            .word = (const void *)(at + 256),
                            .bits = bits,
                            .steps = (g.s.k + CODES_COLUMNS(bits) - 1) / CODES_COLUMNS(bits)};
    pith_device_few_rows(l, &g, &w);
    return true;
}

/* Room for either form: groups of rows and whole steps. */
static uint64_t code_bytes(const struct matrix *m, uint32_t bits)
{
    const uint64_t columns = CODES_COLUMNS(bits), rows = m->g.n + CODES_ROWS;
    return 256 + (m->g.k + columns) * rows * bits / 8 + rows * sizeof(int32_t);
}

/* Bytes, with sums of rows behind them (pack_rows.c). */
static bool lower_bytes(struct lowering *l, const struct matrix *m, bool by_blas)
{
    const uint32_t row = (m->g.k + I8_SLICE - 1) / I8_SLICE * I8_SLICE;
    const uint8_t *at = (const uint8_t *)(uintptr_t)l->constants;
    struct gemm_packed_i8_args p = {
        .g = bytes_of(m),
        .w = {at, (const int32_t *)(const void *)(at + (size_t)m->g.n * row), row, 0},
        .whole = m->g.k % 16 == 0};
    struct gemm_args g = m->g;
    g.a = p.g.a;
    g.b = (const void *)at;
    if (by_blas)
        return row == g.k && g.n % 4 == 0 && pith_device_blas(l, &g, BLAS_BYTES);
    if (g.m <= FEW_ROWS)
        return lower_codes(l, m, 8);
    const uint32_t grid[3] = {(g.n + GEMM_TILE - 1) / GEMM_TILE, (g.m + GEMM_TILE - 1) / GEMM_TILE,
                              1};
    pith_device_grid(l, LAUNCH_gemm_packed_i8, grid, &p, sizeof p);
    return true;
}

/* Appends the product on the matrix at l->constants. false: it cannot be had. */
static bool lower(struct lowering *l, const struct matrix *m, enum contender who)
{
    struct gemm_args g = m->g;
    const void *at = (const void *)(uintptr_t)l->constants;
    if (who == COMPRESSED || who == COMPRESSED_F16)
        return pith_device_compressed(l, &g, &m->w, 0, who == COMPRESSED_F16);
    if (who == BLAS_I8 || who == DENSE_I8)
        return lower_bytes(l, m, who == BLAS_I8);
    if (who == CODES_I8)
        return g.m <= FEW_ROWS && lower_codes(l, m, 4);
    g.b = at;
    if (who == DENSE_F32) {
        pith_device_product(l, &g);
    } else if (who == DENSE_F16) {
        struct gemm_half_args h = {.g = g, .w = at};
        const uint32_t grid[3] = {(g.n + GEMV_ROWS - 1) / GEMV_ROWS, g.m, 1};
        pith_device_grid(l, LAUNCH_gemv_half, grid, &h, sizeof h);
    } else {
        g.a = who == BLAS_F16 ? (const void *)(uintptr_t)m->half : g.a;
        return pith_device_blas(l, &g, who == BLAS_F16 ? VALUE_F16 : VALUE_F32);
    }
    return true;
}

static int put_action(void *work, uint32_t i)
{
    const struct lowering *l = work;
    return pith_device_act(l, &l->action[i], stream);
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

/* What is behind sums that blocks share is not what is looked for. */
static const char *kernel_name(const struct lowering *l)
{
    const struct action *a = &l->action[l->n_actions - 1];
    a -= a->kind == ACTION_LAUNCH && a->kernel == LAUNCH_gemm_parts;
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
        need(l.work_bytes > WORK_BYTES, "too little room to work in");
        const bool compressed = who <= COMPRESSED_F16;
        const uint64_t bytes = compressed                            ? l.constant_bytes
                               : who == DENSE_F16 || who == BLAS_F16 ? m->w.count * 2
                               : who == DENSE_I8 || who == BLAS_I8 || who == CODES_I8
                                   ? code_bytes(m, who == CODES_I8 ? 4 : 8)
                                   : m->w.count * 4;
        const uint64_t step = (bytes + 255) & ~UINT64_C(255), copies = copies_of(step);
        const device_address at = take(step * copies);
        uint8_t *packed = calloc(bytes, 1);
        r.kernel = kernel_name(&l);
        for (uint32_t i = 0; compressed && i < l.n_constants; i++)
            need(!packed || pith_device_pack(&l.constant[i], packed + l.constant[i].offset),
                 "cannot pack");
        for (uint64_t i = 0; i < copies; i++)
            copy_there(at + i * step, packed, bytes);
        r.cold_us = lowered_us(&l, m, who, at, step, (uint32_t)copies);
        r.hot_us = lowered_us(&l, m, who, at, 0, is_emulator ? 2 : 32);
        r.off = compressed ? matrix_difference(m) : 0;
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
    if (!sparse.handle || m->w.support == SUPPORT_DENSE)
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

/* A line of a matrix at one batch. The bound of f16 is that of docs/cuda.md, the term of small
 * values aside. */
static bool bench_batch(struct matrix *m, const char *name, double density, uint32_t batch)
{
    bool good = true;
    const uint32_t all = batch == 1 ? N_CONTENDERS + 1 : N_BATCH_CONTENDERS;
    m->g.m = batch;
    printf(
        "{\"part\":\"layer\",\"name\":\"%s\",\"rows\":%u,\"cols\":%u,\"density\":%g,\"batch\":%u",
        name, m->g.n, m->g.k, density, batch);
    for (uint32_t who = 0; who < all; who++) {
        struct result r = who < N_CONTENDERS ? run(m, (enum contender)who) : run_sparse(m);
        if (r.kernel)
            printf(",\"%s\":{\"kernel\":\"%s\",\"cold_us\":%.3f,\"hot_us\":%.3f,\"off\":%.3g}",
                   who < N_CONTENDERS ? names[who] : "cusparse_f32", r.kernel, r.cold_us, r.hot_us,
                   r.off);
        good = good && r.off <= 2.0 * m->g.k / 16777216 + (who == COMPRESSED_F16) * 1.1 / 1024;
    }
    puts("}");
    fflush(stdout);
    return good;
}

static int layers(double most)
{
    static const struct {
        const char *name;
        uint32_t rows, cols;
        double density;
        bool batches;
    } of[] = {{"large", 16384, 16384, 1.00, true},  {"large", 16384, 16384, 0.09, true},
              {"Alex-6", 4096, 9216, 0.09, true},   {"dense", 4096, 4096, 1.00, true},
              {"Alex-7", 4096, 4096, 0.09, false},  {"Alex-8", 1000, 4096, 0.25, false},
              {"VGG-6", 4096, 25088, 0.04, false},  {"VGG-7", 4096, 4096, 0.04, false},
              {"VGG-8", 1000, 4096, 0.23, false},   {"NT-We", 600, 4096, 0.10, false},
              {"NT-Wd", 8791, 600, 0.11, false},    {"NT-LSTM", 2400, 1201, 0.10, false},
              {"large", 16384, 16384, 0.04, false}, {"large", 16384, 16384, 0.20, false},
              {"large", 16384, 16384, 0.40, false}, {"large", 16384, 16384, 0.60, false}};
    static const uint32_t batches[] = {1, 4, 16, 64};
    const uint32_t less = is_emulator ? 32 : 1;
    uint64_t start = pith_clock_ns(NULL);
    uint32_t missed = 0;
    bool good = true;
    if (!sparse_open())
        printf("{\"part\":\"missing\",\"name\":\"cuSPARSE\"}\n");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct matrix m;
        if ((double)(pith_clock_ns(NULL) - start) > most * 1e9) {
            missed++;
            continue;
        }
        matrix_new(&m, of[i].rows / less, of[i].cols / less, of[i].density);
        for (uint32_t b = 0; b < (of[i].batches ? sizeof batches / sizeof *batches : 1); b++)
            good = bench_batch(&m, of[i].name, of[i].density, batches[b]) && good;
        matrix_free(&m);
    }
    if (missed)
        printf("{\"part\":\"left_out\",\"matrices\":%u}\n", missed);
    if (sparse.handle)
        sparse.cusparseDestroy(sparse.handle);
    return good ? 0 : 1;
}

#endif
