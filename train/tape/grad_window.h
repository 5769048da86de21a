/* SPDX-License-Identifier: MIT */
/* grad_window.h - strides, dilations, pads of a convolution or pool as the primitives take them. */
#ifndef GRAD_WINDOW_H
#define GRAD_WINDOW_H

#include "grad_op.h"

/* Everything but kernel and group (1) from in[0], out[0] and the attributes. Rank 3 to 5. */
void pith_grad_window(const struct grad_node *n, uint32_t strides, uint32_t dilations,
                      uint32_t pads, struct prim_conv_shape *s);

#endif
