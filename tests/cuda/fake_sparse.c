/* SPDX-License-Identifier: MIT */
/* fake_sparse.c - libcusparse.so.12 on the fake driver's stream: y = W x in double, W in CSR of
 * f32. What bench/gpu_sparse.h does not use, and a matrix that is none, is refused. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))
enum { INVALID = 3, FAILED = 6, WORK = 256 };

struct matrix {
    int64_t rows, cols, nnz;
    const int32_t *row_at, *column;
    const float *value;
};
struct vector {
    int64_t n;
    float *value;
};
struct product {
    struct matrix w;
    struct vector x, y;
    void *work;
};

EXPORT int cusparseCreate(void **handle)
{
    *handle = calloc(1, sizeof(void *));
    return 0;
}

EXPORT int cusparseDestroy(void *handle)
{
    free(handle);
    return 0;
}

EXPORT int cusparseSetStream(void **handle, void *stream)
{
    *handle = stream;
    return 0;
}

EXPORT int cusparseCreateCsr(struct matrix **m, int64_t rows, int64_t cols, int64_t nnz,
                             const int32_t *row_at, const int32_t *column, const float *value,
                             int row_type, int column_type, int base, int type)
{
    if (row_type != 2 || column_type != 2 || base != 0 || type != 0 || rows < 1 || cols < 1)
        return INVALID;
    *m = malloc(sizeof **m);
    **m = (struct matrix){rows, cols, nnz, row_at, column, value};
    return 0;
}

EXPORT int cusparseDestroySpMat(void *m)
{
    free(m);
    return 0;
}

EXPORT int cusparseCreateDnVec(struct vector **v, int64_t n, float *value, int type)
{
    if (type != 0 || n < 1)
        return INVALID;
    *v = malloc(sizeof **v);
    **v = (struct vector){n, value};
    return 0;
}

EXPORT int cusparseDestroyDnVec(void *v)
{
    free(v);
    return 0;
}

static bool fits(int turned, const float *alpha, const struct matrix *w, const struct vector *x,
                 const float *beta, const struct vector *y, int type, int algorithm)
{
    return !turned && type == 0 && algorithm == 0 && x->n == w->cols && y->n == w->rows &&
           *alpha >= 1.0f && *alpha <= 1.0f && *beta >= 0.0f && *beta <= 0.0f;
}

EXPORT int cusparseSpMV_bufferSize(void **handle, int turned, const float *alpha,
                                   const struct matrix *w, const struct vector *x,
                                   const float *beta, const struct vector *y, int type,
                                   int algorithm, size_t *bytes)
{
    *bytes = WORK;
    return *handle && fits(turned, alpha, w, x, beta, y, type, algorithm) ? 0 : INVALID;
}

/* It may use all the work that it was lent. */
static void run(void *arg)
{
    const struct product *p = arg;
    memset(p->work, 0xff, WORK);
    if (p->w.row_at[0] != 0 || p->w.row_at[p->w.rows] != p->w.nnz)
        abort();
    for (int64_t row = 0; row < p->w.rows; row++) {
        double sum = 0;
        for (int32_t i = p->w.row_at[row]; i < p->w.row_at[row + 1]; i++) {
            if (p->w.column[i] < 0 || p->w.column[i] >= p->w.cols)
                abort();
            sum += (double)p->w.value[i] * (double)p->x.value[p->w.column[i]];
        }
        p->y.value[row] = (float)sum;
    }
}

EXPORT int cusparseSpMV(void **handle, int turned, const float *alpha, const struct matrix *w,
                        const struct vector *x, const float *beta, const struct vector *y, int type,
                        int algorithm, void *work)
{
    struct product p = {*w, *x, *y, work};
    if (!*handle || !work || !fits(turned, alpha, w, x, beta, y, type, algorithm))
        return INVALID;
    return fake_cuda_call(run, &p, sizeof p) ? FAILED : 0;
}
