/* SPDX-License-Identifier: MIT */
/* f32_bits.h - a float as its bits and back; C and C++, for the CPU and for a device
 * (cuda/kernels/device.h). */
#ifndef PITH_F32_BITS_H
#define PITH_F32_BITS_H

#include <stdint.h>
#include <string.h>

static inline float f32_from_bits(uint32_t bits)
{
    float f;
    __builtin_memcpy(&f, &bits, sizeof f); /* memcpy would be a call without a libc */
    return f;
}

static inline uint32_t f32_bits(float f)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &f, sizeof bits);
    return bits;
}

#endif
