/* SPDX-License-Identifier: MIT */
/* conv_product.h - a convolution as one product of matrices, for numbers of channels that do not
 * fill a convolution primitive's vectors (LeNet-5's second, 20 to 50, takes half the time).
 *
 *     columns [N*pixels', KH*KW*C] = the window of each output    (channels last: rows of KW*C)
 *     y = columns W^T,  dW = dy^T columns,  dcolumns = dy W, added back into dx */
#ifndef CONV_PRODUCT_H
#define CONV_PRODUCT_H

#include "primitive.h"

struct conv_product;
/* Whether it pays off: two axes, one group, no dilation, awkward channels, windows of some size,
 * and columns that fit the cache. */
bool pith_conv_product_suits(const struct prim_conv_shape *s);
/* PITH_ERR_MEMORY. */
enum pith_status pith_conv_product_new(struct prim *p, const struct prim_conv_shape *s,
                                       bool need_dx, struct conv_product **conv);
void pith_conv_product_free(struct conv_product *conv); /* accepts NULL */
/* As pith_prim_conv_forward and _backward; backward is of the last forward's x. */
void pith_conv_product_forward(struct conv_product *conv, const float *x, const float *w,
                               const float *bias, float *y);
void pith_conv_product_backward(struct conv_product *conv, const float *w, const float *dy,
                                float *dx, float *dw, float *db);

#endif
