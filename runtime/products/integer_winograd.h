/* SPDX-License-Identifier: MIT */
/* integer_winograd.h - 3x3 convolutions of integers by Winograd's F(4x4, 3x3)
 * (kernel_integer.h), to the bit what integer_conv.h gives. */
#ifndef INTEGER_WINOGRAD_H
#define INTEGER_WINOGRAD_H

#include "products/integer_conv.h"

/* As pith_integer_conv_need, with packing PACK_WINOGRAD. false also where y is not bytes,
 * channels-last like x, and where a sum might not fit 26 bits: whatever the weights, of more than
 * 227 channels. */
bool pith_integer_winograd_need(const struct integer_conv *c, const struct op_env *env,
                                struct integer_layout *l);
/* Whether it is faster than plain weights, where it is supported, by so much that it is worth eight
 * times their memory. */
bool pith_integer_winograd_pays(const struct integer_conv *c, const struct integer_kernels *k);
/* prep: as integer_winograd.c lays it out, of l->prep_bytes. */
void pith_integer_winograd_pack(const struct integer_layout *l,
                                const struct integer_weights *weights, void *prep);
void pith_integer_winograd_run(const struct integer_conv *c, const struct integer_layout *l,
                               const struct op_env *env, const struct integer_conv_data *data);

#endif
