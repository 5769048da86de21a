/* SPDX-License-Identifier: MIT */
/* primitive.h - products of matrices, convolutions and pools, forward and back, on the runtime's
 * kernels.
 *
 * A struct prim serves one slice of the batch: calls on one must not overlap. Calls run on the
 * calling thread alone and give the same bits on every thread. */
#ifndef PRIMITIVE_H
#define PRIMITIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "pith_types.h"

struct prim;
/* features: PITH_CPU_ bits that the process may use. Each result is one chain of additions: 0, or
 * what c or the bias has, + a[k] b[k], k ascending; a convolution's k are taps, each with its
 * channels, its gradients' channels or pixels. ordered: by the kernels of kernel_ordered.h,
 * which round each product, so that bits are the same for all features; else by those that fuse.
 * PITH_ERR_MEMORY. */
enum pith_status pith_prim_new(uint32_t features, bool ordered, struct prim **p);
bool pith_prim_is_ordered(const struct prim *p);
void pith_prim_free(struct prim *p); /* accepts NULL; after everything made with it */

/* Rows `step` elements apart; turned: read by columns. */
struct prim_matrix {
    const float *x;
    int64_t step;
    bool turned;
};
struct prim_result {
    float *x;
    int64_t step;
    bool add; /* to what is there */
};
struct prim_size {
    int64_t m, n, k;
};
/* c[m,n] (+)= alpha * a[m,k] b[k,n] */
void pith_prim_gemm(struct prim *p, struct prim_size size, float alpha, struct prim_matrix a,
                    struct prim_matrix b, struct prim_result c);

/* Convolution, channels last: x [N, spatial, C], w [O, C/group, spatial] row-major as the model has
 * it, y [N, spatial', O]. */
struct prim_conv_shape {
    uint32_t axes; /* spatial: 1..3 */
    int64_t n, c, o, group;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
};
struct prim_conv;
/* PITH_ERR_MEMORY. */
enum pith_status pith_prim_conv_new(struct prim *p, const struct prim_conv_shape *s,
                                    struct prim_conv **conv);
void pith_prim_conv_free(struct prim_conv *conv); /* accepts NULL */
/* bias: [O] or NULL. */
void pith_prim_conv_forward(struct prim_conv *conv, const float *x, const float *w,
                            const float *bias, float *y);
/* What is NULL of dx, dw and db is not wanted; x is read for dw alone. */
struct conv_gradients {
    const float *x, *dy;
    float *dx, *dw, *db; /* set: [as x], [as w], [O] */
    bool add_dx;         /* dx is added to; pith_winograd_backward alone */
};
void pith_prim_conv_backward(struct prim_conv *conv, const float *w,
                             const struct conv_gradients *g);

/* Pooling, channels last (kernel, stride, pads of the shape; c == o); max keeps which tap each
 * value came from. PITH_ERR_MEMORY. */
struct prim_pool;
enum prim_pool_kind { PRIM_POOL_MAX, PRIM_POOL_AVERAGE, PRIM_POOL_AVERAGE_WITH_PADS };
enum pith_status pith_prim_pool_new(const struct prim_conv_shape *s, enum prim_pool_kind kind,
                                    struct prim_pool **pool);
void pith_prim_pool_free(struct prim_pool *pool); /* accepts NULL */
void pith_prim_pool_forward(struct prim_pool *pool, const float *x, float *y);
void pith_prim_pool_backward(struct prim_pool *pool, const float *dy, float *dx); /* dx: set */

#endif
