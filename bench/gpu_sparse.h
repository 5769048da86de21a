/* SPDX-License-Identifier: MIT */
/* gpu_sparse.h - a peer of bench_gpu_layers.c: y = W x by cuSPARSE, W in CSR of f32 with columns of
 * 32 bits, found by dlopen. Where it is not on the machine, or refuses, it is left out. */
#ifndef GPU_SPARSE_H
#define GPU_SPARSE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

#define SPARSE_MEMBER(name, parameters) int(*name) parameters;
struct sparse_peer {
    void *library, *handle; /* own; library NULL: it is not here */
    SPARSE_CALLS(SPARSE_MEMBER)
};

static void sparse_close(struct sparse_peer *s)
{
    if (s->handle)
        s->cusparseDestroy(s->handle);
    if (s->library)
        dlclose(s->library);
    *s = (struct sparse_peer){.library = NULL};
}

/* C has no cast from what dlsym returns to a function, hence memcpy. */
static bool sparse_open(struct sparse_peer *s, void *stream)
{
    bool good = true;
    *s = (struct sparse_peer){.library = dlopen("libcusparse.so.12", RTLD_NOW | RTLD_LOCAL)};
    if (!s->library)
        return false;
#define SPARSE_FIND(name, parameters)                                                              \
    {                                                                                              \
        void *found = dlsym(s->library, #name);                                                    \
        good = good && found;                                                                      \
        memcpy(&s->name, &found, sizeof found);                                                    \
    }
    SPARSE_CALLS(SPARSE_FIND)
    good = good && !s->cusparseCreate(&s->handle) && !s->cusparseSetStream(s->handle, stream);
    if (!good)
        sparse_close(s);
    return good;
}

/* Where the parts of a matrix lie behind its first byte. */
struct csr_layout {
    uint64_t column, value, bytes;
};

static struct csr_layout csr_layout(uint32_t rows, uint64_t nnz)
{
    const uint64_t words = (nnz * 4 + 255) & ~UINT64_C(255);
    const uint64_t column = ((uint64_t)(rows + 1) * 4 + 255) & ~UINT64_C(255);
    return (struct csr_layout){column, column + words, column + 2 * words};
}

/* A matrix on the device, x and y, as cuSPARSE describes them. */
struct sparse_product {
    void *matrix, *x, *y;
};

static bool sparse_product_new(const struct sparse_peer *s, struct sparse_product *p, uint64_t at,
                               const uint32_t size[2], uint64_t nnz, void *x, void *y)
{
    struct csr_layout c = csr_layout(size[0], nnz);
    uint8_t *first = (uint8_t *)(uintptr_t)at;
    *p = (struct sparse_product){.matrix = NULL};
    return !s->cusparseCreateCsr(&p->matrix, size[0], size[1], (int64_t)nnz, first,
                                 first + c.column, first + c.value, SPARSE_INDEX_32,
                                 SPARSE_INDEX_32, SPARSE_BASE_0, SPARSE_F32) &&
           !s->cusparseCreateDnVec(&p->x, size[1], x, SPARSE_F32) &&
           !s->cusparseCreateDnVec(&p->y, size[0], y, SPARSE_F32);
}

static void sparse_product_free(const struct sparse_peer *s, struct sparse_product *p)
{
    if (p->matrix)
        s->cusparseDestroySpMat(p->matrix);
    if (p->x)
        s->cusparseDestroyDnVec(p->x);
    if (p->y)
        s->cusparseDestroyDnVec(p->y);
}

static const float sparse_one = 1.0f, sparse_none = 0.0f;

/* Room that the product works in. false: it is refused. */
static bool sparse_work(const struct sparse_peer *s, const struct sparse_product *p, size_t *bytes)
{
    return !s->cusparseSpMV_bufferSize(s->handle, SPARSE_AS_IT_LIES, &sparse_one, p->matrix, p->x,
                                       &sparse_none, p->y, SPARSE_F32, SPARSE_ALGORITHM, bytes);
}

static int sparse_run(const struct sparse_peer *s, const struct sparse_product *p, void *work)
{
    return s->cusparseSpMV(s->handle, SPARSE_AS_IT_LIES, &sparse_one, p->matrix, p->x, &sparse_none,
                           p->y, SPARSE_F32, SPARSE_ALGORITHM, work);
}

#endif
