/* SPDX-License-Identifier: MIT */
/* ptx_numbers.h - numbers of PTX in registers of 64 bits (ptx_run.c): what they are, and
 * conversions between their types. */
#ifndef PTX_NUMBERS_H
#define PTX_NUMBERS_H

#include <math.h>
#include "core/f32_bits.h"
#include "core/f64_bits.h"
#include "ptx.h"

static const uint8_t type_bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 2, 2, 4, 4};

static inline bool is_signed(enum ptx_type t)
{
    return t == PTX_S8 || t == PTX_S16 || t == PTX_S32 || t == PTX_S64;
}

/* The low bits that a type has, with its sign in front or zeros. */
static inline uint64_t narrow(enum ptx_type t, uint64_t v)
{
    uint32_t off = 64 - 8u * type_bytes[t];
    return is_signed(t) ? (uint64_t)((int64_t)(v << off) >> off) : v << off >> off;
}

static inline uint64_t not_a_number(enum ptx_type t)
{
    return t == PTX_F32 ? 0x7fffffff : 0x7fffffffffffffff; /* the one that NVIDIA's units make */
}

static inline float f32_of(uint64_t bits)
{
    return f32_from_bits((uint32_t)bits);
}

/* Towards zero; what does not fit is the nearest number that does, NaN 0. */
static inline uint64_t integer_of(double v, enum ptx_type to)
{
    uint32_t bits = 8u * type_bytes[to] - is_signed(to);
    double limit = ldexp(1.0, (int)bits), low = is_signed(to) ? -limit : 0.0;
    if (isnan(v))
        return 0;
    if (v >= limit)
        return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    return v <= low ? (is_signed(to) ? 0 - (1ull << bits) : 0)
           : v < 0  ? (uint64_t)(int64_t)v
                    : (uint64_t)v;
}

/* A 16-bit float of an f32, the nearest, ties to even: the exponent of the result is found first,
 * and the number counted in steps of its last bit. */
static inline uint64_t half_of(float f, bool is_bf16)
{
    const int digits = is_bf16 ? 8 : 11, least = is_bf16 ? -126 : -14;
    const uint64_t sign = signbit(f) ? 0x8000 : 0, infinite = is_bf16 ? 0x7f80 : 0x7c00;
    int e;
    if (isnan(f))
        return 0x7fff;
    if (isinf(f) || f == 0.0f)
        return sign | (f == 0.0f ? 0 : infinite);
    frexp((double)f, &e);
    e = e - 1 < least ? least : e - 1;
    const uint64_t steps = (uint64_t)nearbyint(ldexp(fabs((double)f), digits - 1 - e));
    const uint64_t bits = steps + ((uint64_t)(e - least) << (digits - 1)); /* one bit is implied */
    return sign | (bits < infinite ? bits : infinite);
}

static inline bool is_pair(enum ptx_type t)
{
    return t == PTX_F16X2 || t == PTX_BF16X2;
}

static inline uint64_t convert(const struct ptx_instruction *i, uint64_t v)
{
    if (i->type == PTX_F16 || i->type == PTX_BF16 || is_pair(i->type))
        return half_of(f32_from_bits((uint32_t)v), i->type == PTX_BF16 || i->type == PTX_BF16X2);
    bool to_float = i->type == PTX_F32 || i->type == PTX_F64;
    if (i->from == PTX_F32 || i->from == PTX_F64) {
        double d = i->from == PTX_F32 ? (double)f32_from_bits((uint32_t)v) : f64_from_bits(v);
        if (!to_float)
            return integer_of(d, i->type);
        return i->type == PTX_F64 ? f64_bits(d)
               : isnan(d)         ? not_a_number(PTX_F32)
                                  : f32_bits((float)d);
    }
    v = narrow(i->from, v);
    if (i->type == PTX_F32) /* at once: by way of double it would be rounded twice */
        return f32_bits(is_signed(i->from) ? (float)(int64_t)v : (float)v);
    if (i->type == PTX_F64)
        return f64_bits(is_signed(i->from) ? (double)(int64_t)v : (double)v);
    return narrow(i->type, v);
}

#endif
