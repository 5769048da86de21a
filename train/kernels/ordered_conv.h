/* SPDX-License-Identifier: MIT */
/* ordered_conv.h - convolutions and pools of the ordered backend (pith_prim_new_ordered). */
#ifndef ORDERED_CONV_H
#define ORDERED_CONV_H

#include "ordered_product.h"

struct ordered_prim {
    struct prim head;
    gemm_f32_fn *kernel;
    struct ordered_room room;
    float *shared; /* [n_shared] of whichever call runs; of all convolutions the most */
    size_t n_shared;
};

/* The functions of prim_backend. */
enum pith_status pith_ordered_conv_new(struct prim *p, const struct prim_conv_shape *s,
                                       bool need_dx, struct prim_conv **conv);
void pith_ordered_conv_free(struct prim_conv *conv);
void pith_ordered_conv_forward(struct prim_conv *conv, const float *x, const float *w,
                               const float *bias, float *y);
void pith_ordered_conv_backward(struct prim_conv *conv, const float *x, const float *w,
                                const float *dy, float *dx, float *dw, float *db);
enum pith_status pith_ordered_pool_new(struct prim *p, const struct prim_conv_shape *s,
                                       enum prim_pool_kind kind, struct prim_pool **pool);
void pith_ordered_pool_free(struct prim_pool *pool);
void pith_ordered_pool_forward(struct prim_pool *pool, const float *x, float *y);
void pith_ordered_pool_backward(struct prim_pool *pool, const float *dy, float *dx);

#endif
