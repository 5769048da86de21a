/* SPDX-License-Identifier: MIT */
/* integer_slots.h - how the nonzeros of a sparse integer weight are packed. */
#ifndef INTEGER_SLOTS_H
#define INTEGER_SLOTS_H

#include "products/integer_conv.h"

/* Slots (kernel_integer.h), for so many rows of x, or slots in spans, at most `most` groups a
 * panel. sum: of the weights of each output. The table of halved weights stands in front of packed.
 */
void pith_pack_slots(const struct integer_layout *l, const struct integer_weights *weights,
                     uint64_t rows, uint32_t most, uint32_t *sum, uint8_t *packed);

#endif
