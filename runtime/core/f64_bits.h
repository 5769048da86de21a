/* SPDX-License-Identifier: MIT */
/* f64_bits.h - a double as its bits and back; of floats: f32_bits.h. */
#ifndef PITH_F64_BITS_H
#define PITH_F64_BITS_H

#include <stdint.h>
#include <string.h>

static inline double f64_from_bits(uint64_t bits)
{
    double d;
    __builtin_memcpy(&d, &bits, sizeof d);
    return d;
}

static inline uint64_t f64_bits(double d)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &d, sizeof bits);
    return bits;
}

#endif
