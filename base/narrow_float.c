/* SPDX-License-Identifier: MIT */
/* narrow_float.c - rounding to f16 and bf16, in integers, the same on every machine; and the 16
 * bits of what is rounded already. */
#include "narrow_float.h"

#include "core/element_f32.h"
#include "half_float.h"

#define F32_INFINITY 0x7f800000u /* bits; larger without the sign: NaN */

static bool is_nan(uint32_t bits)
{
    return (bits & 0x7fffffffu) > F32_INFINITY;
}

/* bf16 is the upper half of an f32. What the carry out of the mantissa does to the exponent is
 * right, past the largest number too: that becomes infinity. */
static float round_to_bf16(float x)
{
    uint32_t bits = f32_bits(x);
    if (is_nan(bits))
        return f32_from_bits((bits | 0x400000u) &
                             0xffff0000u); /* quiet: a payload of 0 is infinity */
    bits += 0x7fffu + (bits >> 16 & 1u);
    return f32_from_bits(bits & 0xffff0000u);
}

float pith_narrow_round(enum pith_type type, float x)
{
    return type == PITH_F16 ? half_to_f32(half_from_f32(x)) : round_to_bf16(x);
}

uint16_t pith_narrow_bits(enum pith_type type, float x)
{
    uint32_t bits = f32_bits(x);
    if (type == PITH_BF16)
        return (uint16_t)(bits >> 16);
    if (is_nan(bits))
        return (uint16_t)((bits >> 16 & 0x8000u) | HALF_INFINITY | (bits >> 13 & 0x3ffu));
    return half_from_f32(x);
}

/* Those of f16 that are neither subnormal nor infinite nor NaN are f32 of these exponents, with 13
 * bits that are 0; so are the zeros. */
static bool is_normal_half(uint32_t bits)
{
    uint32_t exponent = bits >> 23 & 255;
    return (bits & 0x1fffu) == 0 && ((exponent >= 113 && exponent <= 142) || bits << 1 == 0);
}

bool pith_narrow_holds(enum pith_type type, const float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (type == PITH_F16 && is_normal_half(f32_bits(x[i])))
            continue;
        uint8_t stored[2];
        float back;
        store_le16(stored, pith_narrow_bits(type, x[i]));
        pith_elements_to_f32(type, stored, 1, &back);
        if (f32_bits(back) != f32_bits(x[i]))
            return false;
    }
    return true;
}
