/* SPDX-License-Identifier: MIT */
/* sparse_conv.h - convolutions of which most weights are removed: the work is that of the weights
 * that are left. Pictures become lanes, so that one weight meets one place in all of them at once,
 * whatever its neighbours are:
 *
 *     x [N, H, W, C] -> [C, H, W, lanes];  y[o][at] = bias[o] + sum of w * x[c][at + tap]
 *
 * dx is the same sum over dy, by a list of the weights that read a channel; a weight that is left
 * gets its gradient, the others get 0. Which are left is said by a mask, not by their values: what
 * is rounded to 0 still learns. */
#ifndef SPARSE_CONV_H
#define SPARSE_CONV_H

#include "primitive.h"
#include "sparse_conv_kernels.h"

struct sparse_conv;
/* Two axes, one group, and a picture of each lane fits the cache. */
bool pith_sparse_conv_suits(const struct prim_conv_shape *s);
/* For all slices, of s->n pictures each. share: of the weights, below which it pays off. kernels:
 * NULL, or those to be used in place of the CPU's best. PITH_ERR_MEMORY. */
enum pith_status pith_sparse_conv_new(const struct prim_conv_shape *s, bool need_dx, double share,
                                      const struct sparse_conv_kernels *kernels,
                                      struct sparse_conv **conv);
void pith_sparse_conv_free(struct sparse_conv *conv); /* accepts NULL */
/* Of what forward and backward take, 64-byte aligned, whatever the mask. */
uint64_t pith_sparse_conv_scratch_bytes(const struct sparse_conv *conv);
/* alive: [as w] 0 where a weight is removed, NULL: none is. Whether it pays off to use this, and
 * only then may the calls below be made. */
bool pith_sparse_conv_keep(struct sparse_conv *conv, const uint8_t *alive);
/* What w [O, C, KH, KW] holds now. */
void pith_sparse_conv_renew(struct sparse_conv *conv, const float *w);
/* As pith_prim_conv_forward and _backward; p counts the time. */
void pith_sparse_conv_forward(const struct sparse_conv *conv, struct prim *p, void *scratch,
                              const float *x, const float *bias, float *y);
void pith_sparse_conv_backward(const struct sparse_conv *conv, struct prim *p, void *scratch,
                               const float *x, const float *dy, float *dx, float *dw, float *db);

#endif
