/* SPDX-License-Identifier: MIT */
/* winograd.h - convolutions of 3 x 3 and 5 x 5 with stride 1 in a quarter and a sixth of the
 * multiplications (Winograd 1980; Lavin and Gray 2016): F(4x4, 3x3) on 6 x 6 points, F(4x4, 5x5) on
 * 8 x 8. Forward and both gradients, channels last, within 1e-5 of the largest value.
 *
 * One struct winograd serves all slices of a batch: the transformed weights (n * n / (r * r) times
 * the weights for y, as much for dx, 8 MiB at most) are shared and renewed once a step, everything
 * else lies in the scratch of the slice. */
#ifndef WINOGRAD_H
#define WINOGRAD_H

#include "primitive.h"
#include "winograd_kernels.h"

struct winograd;
/* Whether it pays off and stays small; follows from the shape alone. */
bool pith_winograd_suits(const struct prim_conv_shape *s);
/* kernels: NULL, or those to be used in place of the CPU's best. PITH_ERR_MEMORY. */
enum pith_status pith_winograd_new(const struct prim_conv_shape *s, bool need_dx,
                                   const struct winograd_kernels *kernels, struct winograd **conv);
void pith_winograd_free(struct winograd *conv); /* accepts NULL */
/* Of what forward and backward take, 64-byte aligned; 7 MiB at most. */
uint64_t pith_winograd_scratch_bytes(const struct winograd *conv);

/* w: [O, C, KH, KW]; all 8 parts, in any order, before forward and backward with them. */
void pith_winograd_renew(struct winograd *conv, const float *w, uint32_t part);
/* As pith_prim_conv_forward and _backward. Any thread. */
void pith_winograd_forward(const struct winograd *conv, void *scratch, const float *x,
                           const float *bias, float *y);
void pith_winograd_backward(const struct winograd *conv, void *scratch,
                            const struct conv_gradients *g);

#endif
