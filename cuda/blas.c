/* SPDX-License-Identifier: MIT */
/* blas.c - cuBLASLt by dlopen. Its matrices lie column by column: y [m, n] there is y^T [n, m], so
 * that b^T is its first operand, and a its second; a bias for each column of y is one for each row
 * there, as its epilogue has it. Products of f32 are in f32, not TF32; those of f16 and bf16 are
 * summed in f32, those of signed bytes in integers of 32 bits, which are all that it writes. */
#include "blas.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/act_kind.h"

/* Numbers of cublasLt.h and library_types.h, which are part of its binary interface. */
enum {
    COMPUTE_32F = 68,
    COMPUTE_32I = 72,
    TYPE_F32 = 0,
    TYPE_F16 = 2,
    TYPE_I8 = 3,
    TYPE_I32 = 10,
    TYPE_BF16 = 14,
    DESC_TRANS_A = 3,
    DESC_TRANS_B = 4,
    DESC_EPILOGUE = 7,
    DESC_BIAS = 8,
    LAYOUT_BATCHES = 5,
    LAYOUT_BATCH_STEP = 6,
    PREFERENCE_WORK = 1,
    PREFERENCE_ALIGNED_A = 5, /* of B, C and D the next ones */
    EPILOGUE_DEFAULT = 1,
    EPILOGUE_RELU = 2,
    EPILOGUE_BIAS = 4,
    EPILOGUE_GELU = 32,
    RESULT_UNKNOWN = 999 /* of the driver */
};

/* cublasLtMatmulHeuristicResult_t, whose layout is part of the binary interface, too: an algorithm,
 * which nothing here looks into, and the room that it works in. */
struct heuristic {
    uint64_t algorithm[8];
    size_t work_bytes;
    int status;
    float waves;
    int reserved[4];
};

#define BLAS_CALLS(CALL)                                                                           \
    CALL(cublasLtCreate, (void **handle))                                                          \
    CALL(cublasLtDestroy, (void *handle))                                                          \
    CALL(cublasLtMatmulDescCreate, (void **desc, int compute, int scale))                          \
    CALL(cublasLtMatmulDescDestroy, (void *desc))                                                  \
    CALL(cublasLtMatmulDescSetAttribute, (void *desc, int which, const void *value, size_t bytes)) \
    CALL(cublasLtMatrixLayoutCreate,                                                               \
         (void **layout, int type, uint64_t rows, uint64_t columns, int64_t step))                 \
    CALL(cublasLtMatrixLayoutDestroy, (void *layout))                                              \
    CALL(cublasLtMatrixLayoutSetAttribute,                                                         \
         (void *layout, int which, const void *value, size_t bytes))                               \
    CALL(cublasLtMatmulPreferenceCreate, (void **preference))                                      \
    CALL(cublasLtMatmulPreferenceDestroy, (void *preference))                                      \
    CALL(cublasLtMatmulPreferenceSetAttribute,                                                     \
         (void *preference, int which, const void *value, size_t bytes))                           \
    CALL(cublasLtMatmulAlgoGetHeuristic,                                                           \
         (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,          \
          int wanted, struct heuristic *found, int *n))                                            \
    CALL(cublasLtMatmul,                                                                           \
         (void *handle, void *desc, const void *alpha, const void *a, void *a_layout,              \
          const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d, \
          void *d_layout, const uint64_t *algorithm, void *work, size_t work_bytes,                \
          device_stream stream))

#define BLAS_MEMBER(name, parameters) int(*name) parameters;
struct pith_blas {
    void *library; /* owns, and handle */
    void *handle;
    BLAS_CALLS(BLAS_MEMBER)
};

struct blas_product {
    const struct pith_blas *blas;
    void *desc, *b, *a, *y; /* own: layouts of b^T, a and y */
    const void *b_data, *a_data, *added;
    void *y_data, *work;
    union {
        float real;
        int32_t whole; /* of bytes */
    } alpha;
    float beta;
    struct heuristic found;
};

/* ---- the library ----------------------------------------------------------------------------- */

/* A name that is given is the only one tried; of those known the newest comes first. Symbols stay
 * local: a program that links another version keeps its own. */
static void *find_library(const char *name)
{
    static const char *const known[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    void *found = *name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; !*name && !found && i < sizeof known / sizeof *known; i++)
        found = dlopen(known[i], RTLD_NOW | RTLD_LOCAL);
    return found;
}

/* *missing: the name looked up last, which is the one that is not there if the result is false. C
 * has no cast from what dlsym returns to a function, hence memcpy. */
static bool find_calls(struct pith_blas *b, const char **missing)
{
#define FIND(name, parameters)                                                                     \
    {                                                                                              \
        void *found = dlsym(b->library, #name);                                                    \
        *missing = #name;                                                                          \
        if (!found)                                                                                \
            return false;                                                                          \
        memcpy(&b->name, &found, sizeof found);                                                    \
    }
    BLAS_CALLS(FIND)
    return true;
}

struct pith_blas *pith_blas_open(const char *library, char *why, size_t bytes)
{
    const char *missing;
    struct pith_blas *b = calloc(1, sizeof *b);
    int result = 0;
    if (!b) {
        snprintf(why, bytes, "out of memory");
        return NULL;
    }
    b->library = find_library(library);
    if (!b->library)
        snprintf(why, bytes, "cuBLASLt is not here (%s)",
                 *library ? library : "libcublasLt.so.13, .12");
    else if (!find_calls(b, &missing))
        snprintf(why, bytes, "cuBLASLt lacks %s", missing);
    else if ((result = b->cublasLtCreate(&b->handle)))
        snprintf(why, bytes, "cuBLASLt cannot be opened: status %d", result);
    else
        return b;
    /* what a failed cublasLtCreate left there is no handle to destroy */
    b->handle = NULL;
    pith_blas_close(b);
    return NULL;
}

void pith_blas_close(struct pith_blas *b)
{
    if (!b)
        return;
    if (b->handle)
        b->cublasLtDestroy(b->handle);
    if (b->library)
        dlclose(b->library);
    free(b);
}

/* ---- products -------------------------------------------------------------------------------- */

/* A matrix of which one step is 1: `across` its stored rows, which are then `length` long. cuBLAS
 * takes nothing else: one step is 1, and the other at least a row's length. */
static bool is_plain(uint32_t step, uint32_t other, uint32_t length)
{
    return step == 1 && other >= length;
}

/* A call and its descriptors are not worth it for less than some 10^6 products. */
#define FEWEST_PRODUCTS (UINT64_C(1) << 20)
#define FEWEST_ROWS 9u /* of a: fewer are read by warps */

/* Rows and matrices begin at 16 bytes: others take kernels that are slow, of bytes there are none.
 */
static bool begins_whole(const struct gemm_args *g, uint32_t factors)
{
    const uint32_t a = g->a_col == 1 ? g->a_row : g->a_col, b = g->b_col == 1 ? g->b_row : g->b_col;
    const uintptr_t at = (uintptr_t)g->a | (uintptr_t)g->b | (uintptr_t)g->y;
    const uint32_t steps = a | b | (g->batch_rank ? g->a_batch[0] | g->b_batch[0] : 0);
    const bool bytes = factors == BLAS_BYTES;
    return steps % (bytes ? 16 : 8) == 0 && g->n % (bytes ? 4 : 8) == 0 && at % 16 == 0;
}

bool pith_blas_takes(const struct gemm_args *g, uint32_t factors)
{
    bool a = is_plain(g->a_col, g->a_row, g->k) || is_plain(g->a_row, g->a_col, g->m);
    bool b = is_plain(g->b_col, g->b_row, g->n) || is_plain(g->b_row, g->b_col, g->k);
    return a && b && g->batch_rank <= 1 && (factors == VALUE_F32 || begins_whole(g, factors)) &&
           g->m >= FEWEST_ROWS && (uint64_t)g->m * g->n * g->k >= FEWEST_PRODUCTS;
}

/* How exactly it computes tanh is not documented: good for numbers that are rounded to 16 bits. */
bool pith_blas_has_tail(const struct gemm_args *g)
{
    const bool bias =
        !g->c || (g->c_row == 0 && g->c_col == 1 && g->beta >= 1.0f && g->beta <= 1.0f);
    const bool act = g->act == ACT_NONE || g->act == ACT_RELU ||
                     (g->act == ACT_GELU_TANH && g->y_type != VALUE_F32);
    return bias && act && (!g->residual || g->residual_type == g->y_type);
}

static const int type_number[] = {[VALUE_F32] = TYPE_F32,
                                  [VALUE_F16] = TYPE_F16,
                                  [VALUE_BF16] = TYPE_BF16,
                                  [BLAS_BYTES] = TYPE_I8};

/* rows [columns] of the other are stored one behind the other; step: from one to the next. */
static int make_layout(const struct blas_product *p, void **layout, int type,
                       const uint32_t size[2], uint32_t step, uint32_t batches, uint64_t batch_step)
{
    const struct pith_blas *l = p->blas;
    int32_t n = (int32_t)batches;
    int64_t distance = (int64_t)batch_step;
    int result = l->cublasLtMatrixLayoutCreate(layout, type, size[0], size[1], step);
    if (!result && batches > 1)
        result = l->cublasLtMatrixLayoutSetAttribute(*layout, LAYOUT_BATCHES, &n, sizeof n);
    if (!result && batches > 1)
        result = l->cublasLtMatrixLayoutSetAttribute(*layout, LAYOUT_BATCH_STEP, &distance,
                                                     sizeof distance);
    return result;
}

static int make_layouts(struct blas_product *p, const struct gemm_args *g, uint32_t factors,
                        bool turn_b, bool turn_a)
{
    const int type = type_number[factors];
    const int y_type = factors == BLAS_BYTES ? TYPE_I32 : type_number[g->y_type];
    uint32_t batches = g->batch_rank ? g->batch_dim[0] : 1;
    const uint32_t b[2] = {turn_b ? g->k : g->n, turn_b ? g->n : g->k};
    const uint32_t a[2] = {turn_a ? g->m : g->k, turn_a ? g->k : g->m};
    const uint32_t y[2] = {g->n, g->m};
    int result =
        make_layout(p, &p->b, type, b, turn_b ? g->b_col : g->b_row, batches, g->b_batch[0]);
    if (!result)
        result =
            make_layout(p, &p->a, type, a, turn_a ? g->a_col : g->a_row, batches, g->a_batch[0]);
    if (!result)
        result = make_layout(p, &p->y, y_type, y, g->n, batches, (uint64_t)g->m * g->n);
    return result;
}

static int set(const struct blas_product *p, int which, const void *value, size_t bytes)
{
    return p->blas->cublasLtMatmulDescSetAttribute(p->desc, which, value, bytes);
}

/* turn_b and turn_a are cublasOperation_t, whose 0 is as it lies and 1 transposed. Its A is our b,
 * as y is computed transposed. The flags of an epilogue add up, and the default one alone stands
 * for none; the attribute of the bias is its address on the device. */
static int make_desc(struct blas_product *p, const struct gemm_args *g, uint32_t factors,
                     int32_t turn_b, int32_t turn_a)
{
    int32_t epilogue = (g->c ? EPILOGUE_BIAS : 0) | (g->act == ACT_RELU        ? EPILOGUE_RELU
                                                     : g->act == ACT_GELU_TANH ? EPILOGUE_GELU
                                                                               : 0);
    const bool bytes = factors == BLAS_BYTES;
    int result = p->blas->cublasLtMatmulDescCreate(&p->desc, bytes ? COMPUTE_32I : COMPUTE_32F,
                                                   bytes ? TYPE_I32 : TYPE_F32);
    result = result ? result : set(p, DESC_TRANS_A, &turn_b, sizeof turn_b);
    result = result ? result : set(p, DESC_TRANS_B, &turn_a, sizeof turn_a);
    epilogue = epilogue ? epilogue : EPILOGUE_DEFAULT;
    result = result ? result : set(p, DESC_EPILOGUE, &epilogue, sizeof epilogue);
    return result || !g->c ? result : set(p, DESC_BIAS, &g->c, sizeof g->c);
}

/* Bytes, up to 256, that all matrices of a batch begin at a multiple of. */
static uint32_t alignment_of(const void *at, uint64_t step_bytes)
{
    uint32_t bytes = 256;
    while (((uintptr_t)at | step_bytes) % bytes)
        bytes /= 2;
    return bytes;
}

/* Without these it takes all to begin at 256 bytes. */
static int set_alignments(const struct blas_product *p, const struct gemm_args *g, uint32_t factors,
                          void *preference)
{
    const uint32_t each = factors == BLAS_BYTES ? 1 : factors == VALUE_F32 ? 4 : 2;
    const uint32_t y_each = g->y_type == VALUE_F32 ? 4 : 2;
    const uint64_t y_step = g->batch_rank ? (uint64_t)g->m * g->n * y_each : 0;
    const uint32_t bytes[4] = {
        alignment_of(p->b_data, g->batch_rank ? (uint64_t)g->b_batch[0] * each : 0),
        alignment_of(p->a_data, g->batch_rank ? (uint64_t)g->a_batch[0] * each : 0),
        alignment_of(p->added, y_step), alignment_of(p->y_data, y_step)};
    int result = 0;
    for (int i = 0; i < 4 && !result; i++)
        result = p->blas->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_ALIGNED_A + i,
                                                               &bytes[i], sizeof bytes[i]);
    return result;
}

/* The best of the algorithms that take no more room than there is. One is requested; that none is
 * found has no status of its own. */
static int choose(struct blas_product *p, const struct gemm_args *g, uint32_t factors)
{
    const struct pith_blas *l = p->blas;
    void *preference = NULL;
    size_t most = BLAS_WORK;
    int n = 0, result = l->cublasLtMatmulPreferenceCreate(&preference);
    if (result)
        return result;
    result =
        l->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_WORK, &most, sizeof most);
    result = result ? result : set_alignments(p, g, factors, preference);
    if (!result)
        result = l->cublasLtMatmulAlgoGetHeuristic(l->handle, p->desc, p->b, p->a, p->y, p->y,
                                                   preference, 1, &p->found, &n);
    l->cublasLtMatmulPreferenceDestroy(preference);
    return result ? result : n < 1 ? -1 : p->found.status;
}

/* cublasLtMatmul() wants a matrix to add even where beta is 0, as an integer, too: y then stands
 * for it. */
struct blas_product *pith_blas_product_new(struct pith_blas *b, const struct gemm_args *g,
                                           uint32_t factors, void *work)
{
    struct blas_product *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    bool turn_b = !is_plain(g->b_col, g->b_row, g->n), turn_a = !is_plain(g->a_col, g->a_row, g->k);
    *p = (struct blas_product){.blas = b,
                               .b_data = g->b,
                               .a_data = g->a,
                               .added = g->residual ? g->residual : g->y,
                               .y_data = g->y,
                               .work = work,
                               .alpha = {g->alpha},
                               .beta = g->residual ? 1.0f : 0.0f};
    if (factors == BLAS_BYTES)
        p->alpha.whole = 1;
    if (make_layouts(p, g, factors, turn_b, turn_a) || make_desc(p, g, factors, turn_b, turn_a) ||
        choose(p, g, factors)) {
        pith_blas_product_free(p);
        return NULL;
    }
    return p;
}

void pith_blas_product_free(struct blas_product *p)
{
    if (!p)
        return;
    void *const layouts[] = {p->b, p->a, p->y};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i])
            p->blas->cublasLtMatrixLayoutDestroy(layouts[i]);
    if (p->desc)
        p->blas->cublasLtMatmulDescDestroy(p->desc);
    free(p);
}

/* A status of cuBLAS is no result of the driver, and may have the number of another one: it is
 * reported as an unknown error. */
int pith_blas_run(const struct blas_product *p, device_stream stream)
{
    int status = p->blas->cublasLtMatmul(p->blas->handle, p->desc, &p->alpha, p->b_data, p->b,
                                         p->a_data, p->a, &p->beta, p->added, p->y, p->y_data, p->y,
                                         p->found.algorithm, p->work, BLAS_WORK, stream);
    return status ? RESULT_UNKNOWN : 0;
}
