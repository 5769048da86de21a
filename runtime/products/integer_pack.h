/* SPDX-License-Identifier: MIT */
/* integer_pack.h - what the ways to pack an integer weight share. */
#ifndef INTEGER_PACK_H
#define INTEGER_PACK_H

#include "integer_conv.h"

/* Weight e of output o, of bytes with one segment. Of a matrix, which has one tap, without
 * dividing. */
static inline int32_t integer_weight_at(const struct integer_layout *l,
                                        const struct integer_weights *weights, size_t o, uint32_t e)
{
    const uint32_t tap = e < l->cg ? 0 : e / l->cg, channel = e - tap * l->cg;
    return ((const int8_t *)weights->w)[o * weights->output + channel * weights->channel + tap];
}

/* Groups of slots of a window of c that find room; run: elements of a segment. */
uint32_t pith_integer_most_groups(const struct integer_conv *c, uint32_t run);

/* Slots (pith_kernel_integer.h), for so many rows of x, or slots in spans, at most `most` groups a
 * panel. sum: of the weights of each output. The table of halved weights stands in front of packed.
 */
void pith_pack_slots(const struct integer_layout *l, const struct integer_weights *weights,
                     uint64_t rows, uint32_t most, uint32_t *sum, uint8_t *packed);

#endif
