/* SPDX-License-Identifier: MIT */
/* prim_backend.h - what stands behind primitive.h: a table of functions for each backend, whose
 * structs begin with those here. Contracts are primitive.h's. */
#ifndef PRIM_BACKEND_H
#define PRIM_BACKEND_H

#include "primitive.h"

/* The arguments of pith_prim_gemm. */
struct prim_product {
    bool trans_a, trans_b, add;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha;
    const float *a, *b;
    float *c;
};

struct prim_backend {
    bool ordered;
    void (*free)(struct prim *p);
    void (*gemm)(struct prim *p, const struct prim_product *g);
    enum pith_status (*conv_new)(struct prim *p, const struct prim_conv_shape *s, bool need_dx,
                                 struct prim_conv **conv);
    void (*conv_free)(struct prim_conv *conv);
    void (*conv_forward)(struct prim_conv *conv, const float *x, const float *w, const float *bias,
                         float *y);
    void (*conv_backward)(struct prim_conv *conv, const float *x, const float *w, const float *dy,
                          float *dx, float *dw, float *db);
    enum pith_status (*pool_new)(struct prim *p, const struct prim_conv_shape *s,
                                 enum prim_pool_kind kind, struct prim_pool **pool);
    void (*pool_free)(struct prim_pool *pool);
    void (*pool_forward)(struct prim_pool *pool, const float *x, float *y);
    void (*pool_backward)(struct prim_pool *pool, const float *dy, float *dx);
};

struct prim {
    const struct prim_backend *backend;
    uint64_t ns; /* spent in calls since they were asked for */
};

struct prim_conv {
    struct prim *p; /* set by primitive.c */
};

struct prim_pool {
    struct prim *p; /* set by primitive.c */
};

#endif
