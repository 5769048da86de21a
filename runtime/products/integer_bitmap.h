/* SPDX-License-Identifier: MIT */
/* integer_bitmap.h - a sparse integer weight as bits and the values they stand for. */
#ifndef INTEGER_BITMAP_H
#define INTEGER_BITMAP_H

#include "integer_conv.h"

/* Puts it to packed: l->group_bytes. sum: of the weights of each output. */
void pith_pack_bitmap(const struct integer_layout *l, const struct integer_weights *weights,
                      uint32_t *sum, uint8_t *packed);

#endif
