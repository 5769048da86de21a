/* SPDX-License-Identifier: MIT */
/* entropy.h - estimates of what a weight costs a file before it is coded: its place and its
 * value. What codes cost to the bit is computed by huffman/; what integers of a layer cost an
 * adaptive coder, by rd/rate_table.h. */
#ifndef PITH_ENTROPY_H
#define PITH_ENTROPY_H

#include <math.h>

/* Sign and magnitude of a weight that is there, on a grid of some 7 levels, where no counts say. */
#define PITH_VALUE_BITS 2.5f

/* Bits of one place, of which `part` are taken. */
static inline double pith_place_entropy(double part)
{
    return part > 0 && part < 1 ? -part * log2(part) - (1 - part) * log2(1 - part) : 0;
}

#endif
