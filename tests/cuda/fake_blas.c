/* SPDX-License-Identifier: MIT */
/* fake_blas.c - libcublasLt.so.13 on the fake driver's stream: products in double of matrices of
 * f32, of f16 or bf16 into the same or f32, or of signed bytes into i32, that lie column by column.
 * What the real one would refuse, or read out of place, is refused. */
#include "fake_blas.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/half_bits.h"
#include "fake_cuda.h"
#include "half_values.h"

#define EXPORT __attribute__((visibility("default")))
enum { NOT_INITIALIZED = 1, INVALID = 7, FAILED = 13, NOT_SUPPORTED = 15 };
#define ALGORITHM UINT64_C(0x70697468626c6173)

static struct fake_blas_behaviour behaviour;
static struct fake_blas_counts counts;
static uint32_t n_products; /* products, of a stream or a graph */

struct layout {
    uint64_t rows, columns;
    int64_t step, batch_step;
    int32_t batches;
    int type; /* 0: f32, 2: f16, 14: bf16, 3: i8, 10: i32 */
};
struct desc {
    bool whole; /* computes in i32, with scales of i32 */
    int32_t trans_a, trans_b, epilogue;
    const void *bias; /* of d's type */
};
struct preference {
    size_t work;
    uint32_t aligned[4]; /* bytes, of a, b, c and d */
};
struct found {
    uint64_t algorithm[8];
    size_t work;
    int status;
    float waves;
    int reserved[4];
};

EXPORT void fake_blas_set(const struct fake_blas_behaviour *b)
{
    behaviour = *b;
    counts.products = n_products = 0;
}

EXPORT struct fake_blas_counts fake_blas_counts(void)
{
    return counts;
}

static void *make(size_t bytes)
{
    counts.objects++;
    return calloc(1, bytes);
}

static int drop(void *p)
{
    counts.objects--;
    free(p);
    return 0;
}

static int copy_value(void *to, size_t own, const void *value, size_t bytes)
{
    if (own != bytes)
        return INVALID;
    memcpy(to, value, bytes);
    return 0;
}

EXPORT int cublasLtCreate(void **handle)
{
    if (behaviour.no_handle)
        return NOT_INITIALIZED;
    *handle = make(1);
    return 0;
}

EXPORT int cublasLtDestroy(void *handle)
{
    return drop(handle);
}

/* In f32, with scales of f32, or both in i32. */
EXPORT int cublasLtMatmulDescCreate(struct desc **d, int compute, int scale)
{
    if ((compute != 68 || scale != 0) && (compute != 72 || scale != 10))
        return INVALID;
    *d = make(sizeof **d);
    (*d)->whole = compute == 72;
    (*d)->epilogue = 1;
    return 0;
}

EXPORT int cublasLtMatmulDescDestroy(struct desc *d)
{
    return drop(d);
}

EXPORT int cublasLtMatmulDescSetAttribute(struct desc *d, int which, const void *v, size_t bytes)
{
    switch (which) {
    case 3:
        return copy_value(&d->trans_a, sizeof d->trans_a, v, bytes);
    case 4:
        return copy_value(&d->trans_b, sizeof d->trans_b, v, bytes);
    case 7:
        return copy_value(&d->epilogue, sizeof d->epilogue, v, bytes);
    case 8:
        return copy_value(&d->bias, sizeof d->bias, v, bytes);
    default:
        return INVALID;
    }
}

EXPORT int cublasLtMatrixLayoutCreate(struct layout **l, int type, uint64_t rows, uint64_t columns,
                                      int64_t step)
{
    if ((type != 0 && type != 2 && type != 14 && type != 3 && type != 10) || !rows || !columns ||
        step < (int64_t)rows)
        return INVALID;
    *l = make(sizeof **l);
    **l = (struct layout){rows, columns, step, 0, 1, type};
    return 0;
}

EXPORT int cublasLtMatrixLayoutDestroy(struct layout *l)
{
    return drop(l);
}

EXPORT int cublasLtMatrixLayoutSetAttribute(struct layout *l, int which, const void *v,
                                            size_t bytes)
{
    if (which == 5)
        return copy_value(&l->batches, sizeof l->batches, v, bytes);
    return which == 6 ? copy_value(&l->batch_step, sizeof l->batch_step, v, bytes) : INVALID;
}

EXPORT int cublasLtMatmulPreferenceCreate(struct preference **p)
{
    *p = make(sizeof **p);
    for (int i = 0; i < 4; i++)
        (*p)->aligned[i] = 256;
    return 0;
}

EXPORT int cublasLtMatmulPreferenceDestroy(struct preference *p)
{
    return drop(p);
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(struct preference *p, int which, const void *v,
                                                size_t bytes)
{
    if (which >= 5 && which <= 8)
        return copy_value(&p->aligned[which - 5], sizeof p->aligned[0], v, bytes);
    return which == 1 ? copy_value(&p->work, sizeof p->work, v, bytes) : INVALID;
}

/* ---- a product ------------------------------------------------------------------------------ */

struct product {
    struct desc desc;
    struct layout a, b, c, d;
    const void *a_data, *b_data;
    const void *c_data;
    void *d_data;
    double alpha, beta;
    void *work;
    size_t work_bytes;
};

/* Its rules for bytes: A turned and B not, multiples of four, no epilogue. */
static bool fits_whole(const struct product *p)
{
    return p->a.type == 3 && p->d.type == 10 && p->desc.trans_a && !p->desc.trans_b &&
           p->d.rows % 4 == 0 && p->a.rows % 4 == 0 && p->a.step % 4 == 0 && p->b.step % 4 == 0 &&
           p->d.step % 4 == 0 && p->desc.epilogue == 1;
}

static bool fits(const struct product *p)
{
    const bool types = p->a.type == 0 || p->a.type == 2 || p->a.type == 14;
    uint64_t m = p->desc.trans_a ? p->a.columns : p->a.rows;
    uint64_t k = p->desc.trans_a ? p->a.rows : p->a.columns;
    uint64_t k_too = p->desc.trans_b ? p->b.columns : p->b.rows;
    uint64_t n = p->desc.trans_b ? p->b.rows : p->b.columns;
    return k == k_too && m == p->d.rows && n == p->d.columns && p->c.rows == m &&
           p->c.columns == n && p->a.type == p->b.type && p->c.type == p->d.type &&
           (p->desc.whole ? fits_whole(p) : types && (p->d.type == 0 || p->d.type == p->a.type)) &&
           p->a.batches == p->d.batches && p->b.batches == p->d.batches;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, const struct desc *desc,
                                          const struct layout *a, const struct layout *b,
                                          const struct layout *c, const struct layout *d,
                                          const struct preference *preference, int wanted,
                                          struct found *found, int *n)
{
    struct product p = {.desc = *desc, .a = *a, .b = *b, .c = *c, .d = *d};
    *n = 0;
    if (!handle || wanted < 1 || !fits(&p))
        return INVALID;
    if (behaviour.no_algorithm)
        return behaviour.no_algorithm == 1 ? NOT_SUPPORTED : 0;
    *n = 1;
    *found = (struct found){.algorithm = {ALGORITHM}, .work = preference->work / 2};
    for (int i = 0; i < 4; i++)
        found->algorithm[1 + i] = preference->aligned[i];
    return 0;
}

static double number(const void *x, int type, uint64_t at)
{
    if (type == 0)
        return (double)((const float *)x)[at];
    if (type == 3)
        return ((const int8_t *)x)[at];
    return (double)half_values(type == 14)[((const uint16_t *)x)[at]];
}

static double element(const void *x, const struct layout *l, bool turned, uint64_t batch,
                      uint64_t row, uint64_t column)
{
    uint64_t at = batch * (uint64_t)l->batch_step +
                  (turned ? row * (uint64_t)l->step + column : column * (uint64_t)l->step + row);
    return number(x, l->type, at);
}

static void put(void *y, int type, uint64_t at, float v)
{
    if (type == 0)
        ((float *)y)[at] = v;
    else
        ((uint16_t *)y)[at] = (uint16_t)(type == 14 ? bf16_of_f32(v) : f16_of_f32(v));
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static void put_one(const struct product *p, uint64_t batch, uint64_t row, uint64_t column)
{
    const uint64_t terms = p->desc.trans_a ? p->a.rows : p->a.columns;
    uint64_t at = batch * (uint64_t)p->d.batch_step + column * (uint64_t)p->d.step + row;
    double sum = 0;
    for (uint64_t k = 0; k < terms; k++)
        sum += element(p->a_data, &p->a, p->desc.trans_a, batch, row, k) *
               element(p->b_data, &p->b, p->desc.trans_b, batch, k, column);
    if (p->desc.whole) { /* which double has exactly */
        ((int32_t *)p->d_data)[at] = (int32_t)(uint32_t)(int64_t)(p->alpha * sum);
        return;
    }
    sum *= p->alpha;
    if (p->beta > 0) /* else c is not read */
        sum += p->beta * number(p->c_data, p->c.type, at);
    if (p->desc.epilogue & 4)
        sum += number(p->desc.bias, p->d.type, row);
    if (p->desc.epilogue & 32)
        sum = gelu(sum);
    put(p->d_data, p->d.type, at, p->desc.epilogue & 2 && sum < 0 ? 0.0f : (float)sum);
}

/* It may use all the work that it was lent. */
static void run(void *arg)
{
    const struct product *p = arg;
    memset(p->work, 0xff, p->work_bytes);
    for (uint64_t batch = 0; batch < (uint64_t)p->d.batches; batch++)
        for (uint64_t column = 0; column < p->d.columns; column++)
            for (uint64_t row = 0; row < p->d.rows; row++)
                put_one(p, batch, row, column);
    counts.products++;
}

/* Each matrix of a batch begins as was promised. */
static bool is_aligned(const void *x, const struct layout *l, uint64_t bytes)
{
    const uint64_t each = l->type == 3 ? 1 : l->type == 0 || l->type == 10 ? 4 : 2;
    const uint64_t step = (uint64_t)l->batch_step * each;
    return bytes && (l->type != 3 || bytes >= 4) && (uintptr_t)x % bytes == 0 &&
           (l->batches == 1 || step % bytes == 0);
}

static double scalar(const struct desc *desc, const void *x)
{
    return desc->whole ? *(const int32_t *)x : (double)*(const float *)x;
}

EXPORT int cublasLtMatmul(void *handle, const struct desc *desc, const void *alpha, const void *a,
                          const struct layout *a_layout, const void *b,
                          const struct layout *b_layout, const void *beta, const void *c,
                          const struct layout *c_layout, void *d, const struct layout *d_layout,
                          const uint64_t *algorithm, void *work, size_t work_bytes, void *stream)
{
    struct product p = {
        *desc, *a_layout, *b_layout,           *c_layout,          *d_layout, a,         b,
        c,     d,         scalar(desc, alpha), scalar(desc, beta), work,      work_bytes};
    if (!handle || !stream || algorithm[0] != ALGORITHM || !fits(&p) ||
        !is_aligned(a, a_layout, algorithm[1]) || !is_aligned(b, b_layout, algorithm[2]) ||
        !is_aligned(c, c_layout, algorithm[3]) || !is_aligned(d, d_layout, algorithm[4]))
        return INVALID;
    if (desc->whole && p.beta != 0) /* what is not read must not be added */
        return INVALID;
    if (behaviour.failing_product && ++n_products >= behaviour.failing_product)
        return FAILED;
    return fake_cuda_call(run, &p, sizeof p) ? FAILED : 0;
}
