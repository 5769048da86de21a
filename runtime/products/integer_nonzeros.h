/* SPDX-License-Identifier: MIT */
/* integer_nonzeros.h - where the nonzeros of some outputs of an integer weight of bytes are, BLOCK
 * columns at a time: all outputs of a column are looked at together, for in memory they may lie
 * side by side. */
#ifndef INTEGER_NONZEROS_H
#define INTEGER_NONZEROS_H

#include "integer_conv.h"

#define BLOCK 64u

/* `outputs` from o on, n columns from `begin` on. */
struct nonzeros_at {
    uint32_t o, outputs, begin, n;
};

/* bits: [at.outputs], bit i of a column at.begin + i. */
void pith_integer_nonzeros(const struct integer_layout *l, const struct integer_weights *weights,
                           struct nonzeros_at at, uint64_t *bits);

static inline uint32_t lowest_bit(uint64_t bits)
{
#ifdef __GNUC__
    return (uint32_t)__builtin_ctzll(bits);
#else
    uint32_t i = 0;
    while (!(bits >> i & 1))
        i++;
    return i;
#endif
}

#endif
