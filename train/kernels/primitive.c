/* SPDX-License-Identifier: MIT */
/* primitive.c - each call goes to the backend that made what it is of, and its time is counted. */
#include "prim_backend.h"

#include "pith_host.h"

void pith_prim_free(struct prim *p)
{
    if (p)
        p->backend->free(p);
}

bool pith_prim_is_ordered(const struct prim *p)
{
    return p->backend->ordered;
}

double pith_prim_seconds(struct prim *p)
{
    const double seconds = 1e-9 * (double)p->ns;
    p->ns = 0;
    return seconds;
}

void pith_prim_count(struct prim *p, double seconds)
{
    p->ns += (uint64_t)(1e9 * seconds);
}

void pith_prim_gemm(struct prim *p, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, bool add,
                    float *c, int64_t ldc)
{
    const struct prim_product g = {.trans_a = trans_a,
                                   .trans_b = trans_b,
                                   .add = add,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .lda = lda,
                                   .ldb = ldb,
                                   .ldc = ldc,
                                   .alpha = alpha,
                                   .a = a,
                                   .b = b,
                                   .c = c};
    const uint64_t start = pith_clock_ns(NULL);
    p->backend->gemm(p, &g);
    p->ns += pith_clock_ns(NULL) - start;
}

/* ---- convolution ----------------------------------------------------------------------------- */

enum pith_status pith_prim_conv_new(struct prim *p, const struct prim_conv_shape *s, bool need_dx,
                                    struct prim_conv **conv)
{
    enum pith_status status = p->backend->conv_new(p, s, need_dx, conv);
    if (!status)
        (*conv)->p = p;
    return status;
}

void pith_prim_conv_free(struct prim_conv *conv)
{
    if (conv)
        conv->p->backend->conv_free(conv);
}

void pith_prim_conv_forward(struct prim_conv *conv, const float *x, const float *w,
                            const float *bias, float *y)
{
    const uint64_t start = pith_clock_ns(NULL);
    conv->p->backend->conv_forward(conv, x, w, bias, y);
    conv->p->ns += pith_clock_ns(NULL) - start;
}

void pith_prim_conv_backward(struct prim_conv *conv, const float *x, const float *w,
                             const float *dy, float *dx, float *dw, float *db)
{
    const uint64_t start = pith_clock_ns(NULL);
    conv->p->backend->conv_backward(conv, x, w, dy, dx, dw, db);
    conv->p->ns += pith_clock_ns(NULL) - start;
}

/* ---- pooling --------------------------------------------------------------------------------- */

enum pith_status pith_prim_pool_new(struct prim *p, const struct prim_conv_shape *s,
                                    enum prim_pool_kind kind, struct prim_pool **pool)
{
    enum pith_status status = p->backend->pool_new(p, s, kind, pool);
    if (!status)
        (*pool)->p = p;
    return status;
}

void pith_prim_pool_free(struct prim_pool *pool)
{
    if (pool)
        pool->p->backend->pool_free(pool);
}

void pith_prim_pool_forward(struct prim_pool *pool, const float *x, float *y)
{
    const uint64_t start = pith_clock_ns(NULL);
    pool->p->backend->pool_forward(pool, x, y);
    pool->p->ns += pith_clock_ns(NULL) - start;
}

void pith_prim_pool_backward(struct prim_pool *pool, const float *dy, float *dx)
{
    const uint64_t start = pith_clock_ns(NULL);
    pool->p->backend->pool_backward(pool, dy, dx);
    pool->p->ns += pith_clock_ns(NULL) - start;
}
