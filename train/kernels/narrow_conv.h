/* SPDX-License-Identifier: MIT */
/* narrow_conv.h - convolutions of few input channels, as a network's first one: their windows are
 * short rows of numbers that lie side by side, which a library's blocks of 16 channels waste most
 * of their width on. Forward and the gradient of the weights; there is no gradient of a picture.
 *
 *     window row: KW * C numbers;  y [N, pixels, O] = bias + windows w,  dw = windows^T dy
 *
 * Vectors lie along O; what is left of it, up to half a vector, is done in half vectors. */
#ifndef NARROW_CONV_H
#define NARROW_CONV_H

#include "primitive.h"
#include "narrow_conv_kernels.h"

struct narrow_conv;
/* Two axes, one group, no dilation, a window that the kernels know. */
bool pith_narrow_conv_suits(const struct prim_conv_shape *s);
/* kernels: NULL, or those to be used in place of the CPU's best. PITH_ERR_MEMORY. */
enum pith_status pith_narrow_conv_new(const struct prim_conv_shape *s,
                                      const struct narrow_kernels *kernels,
                                      struct narrow_conv **conv);
void pith_narrow_conv_free(struct narrow_conv *conv); /* accepts NULL */
/* Of what the calls take, 64-byte aligned. */
uint64_t pith_narrow_conv_scratch_bytes(const struct narrow_conv *conv);
/* As pith_prim_conv_forward and _backward without dx; p counts the time. */
void pith_narrow_conv_forward(const struct narrow_conv *conv, struct prim *p, void *scratch,
                              const float *x, const float *w, const float *bias, float *y);
void pith_narrow_conv_backward(const struct narrow_conv *conv, struct prim *p, void *scratch,
                               const float *x, const float *dy, float *dw, float *db);

#endif
