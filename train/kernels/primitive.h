/* SPDX-License-Identifier: MIT */
/* primitive.h - the numerical work that a library does best: the one interface to it. Backends
 * (prim_backend.h) implement these and nothing else calls a library: oneDNN (backend_dnnl.c), fast;
 * one of our own (backend_ordered.c), whose sums have the same bits on every CPU.
 *
 * A struct prim serves one slice of the batch: calls on one must not overlap. Calls run on the
 * calling thread alone and give the same bits on every thread. */
#ifndef PRIMITIVE_H
#define PRIMITIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "pith_runtime.h"

struct prim;
/* oneDNN's. PITH_ERR_MEMORY, _UNSUPPORTED (no such library on this machine). */
enum pith_status pith_prim_new(struct prim **p);
/* Each result is one chain of roundings, the same for all features (PITH_CPU_ bits that the process
 * may use): products and convolutions are those of pith_kernel_ordered.h, of 0, or what c or the
 * bias has, + a[k] b[k], k ascending; a convolution's k are taps, each with its channels, its
 * gradients' channels or pixels. PITH_ERR_MEMORY. */
enum pith_status pith_prim_new_ordered(uint32_t features, struct prim **p);
bool pith_prim_is_ordered(const struct prim *p);
void pith_prim_free(struct prim *p); /* accepts NULL; after everything made with it */
/* Seconds spent in here since the last call of this function. */
double pith_prim_seconds(struct prim *p);
/* Work that is done like the library's, beside it, counts too (winograd.c). */
void pith_prim_count(struct prim *p, double seconds);

/* c[m,n] (+)= alpha * op(a) op(b), row-major, ld* in elements; op: transposed or
 * not. */
void pith_prim_gemm(struct prim *p, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, bool add,
                    float *c, int64_t ldc);

/* Convolution, channels last: x [N, spatial, C], w [O, C/group, spatial] row-major as the model has
 * it, y [N, spatial', O]. */
struct prim_conv_shape {
    uint32_t axes; /* spatial: 1..3 */
    int64_t n, c, o, group;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
};
struct prim_conv;
/* need_dx: the gradient of x is wanted. PITH_ERR_UNSUPPORTED, _MEMORY. */
enum pith_status pith_prim_conv_new(struct prim *p, const struct prim_conv_shape *s, bool need_dx,
                                    struct prim_conv **conv);
void pith_prim_conv_free(struct prim_conv *conv); /* accepts NULL */
/* bias: [O] or NULL. */
void pith_prim_conv_forward(struct prim_conv *conv, const float *x, const float *w,
                            const float *bias, float *y);
/* dx: set; dw [as w], db [O]: set. Any may be NULL. */
void pith_prim_conv_backward(struct prim_conv *conv, const float *x, const float *w,
                             const float *dy, float *dx, float *dw, float *db);

/* Pooling, channels last (kernel, stride, pads of the shape; c == o); max keeps where its values
 * came from in a workspace. */
struct prim_pool;
enum prim_pool_kind { PRIM_POOL_MAX, PRIM_POOL_AVERAGE, PRIM_POOL_AVERAGE_WITH_PADS };
enum pith_status pith_prim_pool_new(struct prim *p, const struct prim_conv_shape *s,
                                    enum prim_pool_kind kind, struct prim_pool **pool);
void pith_prim_pool_free(struct prim_pool *pool); /* accepts NULL */
void pith_prim_pool_forward(struct prim_pool *pool, const float *x, float *y);
void pith_prim_pool_backward(struct prim_pool *pool, const float *dy, float *dx); /* dx: set */

#endif
