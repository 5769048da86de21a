/* SPDX-License-Identifier: MIT */
/* integer_range.h - how a real number becomes an integer of few bits. C and C++, for the CPU and
 * for a device. */
#ifndef INTEGER_RANGE_H
#define INTEGER_RANGE_H

#include "pith_runtime.h"

/* What can be stored, as distances from a zero point. */
struct integer_range {
    enum pith_type type;
    int32_t zero_point;
    float low, high;
};

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
