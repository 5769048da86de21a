/* SPDX-License-Identifier: MIT */
/* rounding_f32.h - round, floor, ceil and sign as inline code without jumps. */
#ifndef ROUNDING_F32_H
#define ROUNDING_F32_H

#include "kernels/ref/activation_f32.h"

/* To the nearest integer, ties to even: adding 2^23 leaves no room for a fraction. */
static inline float round_f32(float x)
{
    float a = magnitude_of(x), whole = (a + 8388608.0f) - 8388608.0f;
    return choose(a < 8388608.0f, f32_from_bits(f32_bits(whole) | (f32_bits(x) & 0x80000000u)), x);
}

static inline float floor_f32(float x)
{
    float r = round_f32(x);
    return choose(r > x, r - 1.0f, r);
}

/* -0 for what lies in (-1, 0), as IEEE says: round_f32 keeps the sign and 1 is added to -1 alone.
 */
static inline float ceil_f32(float x)
{
    float r = round_f32(x), up = r + 1.0f;
    up = f32_from_bits(f32_bits(up) | (f32_bits(x) & 0x80000000u));
    return choose(r < x, up, r);
}

static inline float sign_f32(float x)
{
    float one = f32_from_bits(0x3f800000u | (f32_bits(x) & 0x80000000u));
    return choose(x < 0.0f || x > 0.0f, one, x != x ? x : 0.0f);
}

#endif
