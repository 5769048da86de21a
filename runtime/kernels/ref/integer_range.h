/* SPDX-License-Identifier: MIT */
/* integer_range.h - how a real number becomes an integer of few bits, and how that is stored.
 * C and C++, for the CPU and for a device. */
#ifndef INTEGER_RANGE_H
#define INTEGER_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include "pith_types.h"

/* v is within the type, i8, u8, i16 or u16. */
static inline void integer_put(enum pith_type type, void *p, size_t i, int32_t v)
{
    if (type == PITH_I8 || type == PITH_U8)
        ((uint8_t *)p)[i] = (uint8_t)v;
    else
        ((uint16_t *)p)[i] = (uint16_t)v;
}

/* What can be stored, as distances from a zero point. */
struct integer_range {
    enum pith_type type;
    int32_t zero_point;
    float low, high;
};

/* Distances from the zero point, so the clamp comes before it is added and needs no wider type. */
static inline struct integer_range integer_range_of(enum pith_type type, int32_t zero_point)
{
    bool is_signed = type == PITH_I8 || type == PITH_I16;
    int32_t steps = type == PITH_I8 || type == PITH_U8 ? 256 : 65536;
    int32_t low = is_signed ? -steps / 2 : 0;
    struct integer_range r; /* no compound literal: C++ has none */
    r.type = type;
    r.zero_point = zero_point;
    r.low = (float)(low - zero_point);
    r.high = (float)(low + steps - 1 - zero_point);
    return r;
}

/* saturate(round to even(v) + zero point); NaN gives the lowest. The bounds are whole numbers below
 * 2^17, so the order of rounding and clamping does not matter, and adding 1.5 * 2^23 leaves no room
 * for a fraction. */
static inline int32_t quantized(const struct integer_range *r, float v)
{
    const float magic = 12582912.0f;
    v = v > r->low ? v : r->low;
    v = v < r->high ? v : r->high;
    float rounded = (v + magic) - magic;
    return (int32_t)rounded + r->zero_point;
}

/* The same in double. */
static inline int32_t quantized_f64(const struct integer_range *r, double v)
{
    const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
    v = v > (double)r->low ? v : (double)r->low;
    v = v < (double)r->high ? v : (double)r->high;
    return (int32_t)((v + magic) - magic) + r->zero_point;
}

#endif
