/* SPDX-License-Identifier: MIT */
/* narrow_float.h - f16 and bf16, the floats of 2 bytes: a model holds what they stand for as
 * f32, and remembers the type (pith_const.stored). */
#ifndef PITH_NARROW_FLOAT_H
#define PITH_NARROW_FLOAT_H

#include <stdbool.h>
#include "pith_types.h"

static inline bool pith_type_is_narrow(enum pith_type type)
{
    return type == PITH_F16 || type == PITH_BF16;
}

/* type, here and below: PITH_F16 or PITH_BF16. x to nearest, ties to even, as an f32; what is
 * beyond the largest number of the type becomes infinite, NaN stays NaN. */
float pith_narrow_round(enum pith_type type, float x);

/* The 16 bits of an x that is a number of the type; of a NaN with its payload. Of another x:
 * unspecified. */
uint16_t pith_narrow_bits(enum pith_type type, float x);

/* x: [n] f32. Whether a reader of their 16 bits gets each of them back to the bit. */
bool pith_narrow_holds(enum pith_type type, const float *x, uint64_t n);

#endif
