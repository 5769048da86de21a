/* SPDX-License-Identifier: MIT */
/* number_convert.c - elements of arrays between types. Integers travel as 64-bit integers and reals
 * as doubles, so that nothing is lost on the way; what the target cannot say is refused, for a
 * token number that came out one too small would be a wrong answer without a message. */
#include "number_convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data_source.h"
#include "base/half_float.h"
#include "core/tensor.h"

#define TWO_TO_63 9223372036854775808.0

struct number pith_number_load(enum pith_type type, const void *p)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } e = {0};
    memcpy(&e, p, pith_type_bytes(type));
    switch (type) {
    case PITH_F32:
        return (struct number){.d = (double)e.f32};
    case PITH_F64:
        return (struct number){.d = e.f64};
    case PITH_F16:
        return (struct number){.d = (double)half_to_f32(e.u16)};
    case PITH_BF16:
        return (struct number){.d = (double)f32_from_bits((uint32_t)e.u16 << 16)};
    case PITH_I8:
        return (struct number){true, e.i8, 0};
    case PITH_I16:
        return (struct number){true, e.i16, 0};
    case PITH_I32:
        return (struct number){true, e.i32, 0};
    case PITH_I64:
        return (struct number){true, e.i64, 0};
    case PITH_U16:
        return (struct number){true, e.u16, 0};
    case PITH_U8:
    case PITH_BOOL:
        break;
    }
    return (struct number){true, e.u8, 0};
}

void pith_store_low_bytes(void *to, uint32_t bytes, uint64_t v)
{
    uint8_t b1 = (uint8_t)v;
    uint16_t b2 = (uint16_t)v;
    uint32_t b4 = (uint32_t)v;
    switch (bytes) {
    case 1:
        memcpy(to, &b1, 1);
        break;
    case 2:
        memcpy(to, &b2, 2);
        break;
    case 4:
        memcpy(to, &b4, 4);
        break;
    default:
        memcpy(to, &v, 8);
        break;
    }
}

/* To an integer type of [low, high]; bytes of it are stored. */
static bool store_integer(struct number v, int64_t low, int64_t high, uint32_t bytes, void *to)
{
    int64_t i = v.i;
    if (!v.whole) {
        /* 2^63 itself does not fit, and NaN fails every comparison */
        if (!(v.d >= -TWO_TO_63 && v.d < TWO_TO_63) || v.d != floor(v.d))
            return false;
        i = (int64_t)v.d;
    }
    if (i < low || i > high)
        return false;
    pith_store_low_bytes(to, bytes, (uint64_t)i);
    return true;
}

static bool store_f64(struct number v, void *to)
{
    double d = v.whole ? (double)v.i : v.d;
    if (v.whole && (d >= TWO_TO_63 || (int64_t)d != v.i))
        return false;
    memcpy(to, &d, sizeof d);
    return true;
}

static bool store_f32(struct number v, float *to)
{
    double d;
    if (!store_f64(v, &d))
        return false;
    float f = (float)d;
    if (v.whole ? (double)f != d : isfinite(d) && !isfinite(f))
        return false;
    *to = f;
    return true;
}

static bool store_f16(struct number v, void *to)
{
    float f;
    if (!store_f32(v, &f))
        return false;
    uint16_t h = half_from_f32(f);
    float back = half_to_f32(h);
    if (v.whole ? back != f : isfinite(f) && !isfinite(back))
        return false;
    memcpy(to, &h, sizeof h);
    return true;
}

bool pith_number_store(struct number v, enum pith_type type, void *to)
{
    float f;
    switch (type) {
    case PITH_F64:
        return store_f64(v, to);
    case PITH_F16:
        return store_f16(v, to);
    case PITH_I8:
        return store_integer(v, INT8_MIN, INT8_MAX, 1, to);
    case PITH_U8:
        return store_integer(v, 0, UINT8_MAX, 1, to);
    case PITH_I16:
        return store_integer(v, INT16_MIN, INT16_MAX, 2, to);
    case PITH_U16:
        return store_integer(v, 0, UINT16_MAX, 2, to);
    case PITH_I32:
        return store_integer(v, INT32_MIN, INT32_MAX, 4, to);
    case PITH_I64:
        return store_integer(v, INT64_MIN, INT64_MAX, 8, to);
    case PITH_BOOL:
        return store_integer(v, 0, 1, 1, to);
    case PITH_BF16:
        return false; /* no input has it: import widens it to f32 */
    case PITH_F32:
        break;
    }
    if (!store_f32(v, &f))
        return false;
    memcpy(to, &f, sizeof f);
    return true;
}

const char *pith_number_text(struct number v, char *out)
{
    if (v.whole)
        snprintf(out, 32, "%lld", (long long)v.i);
    else
        snprintf(out, 32, "%.9g", v.d);
    return out;
}

static const char *type_name(enum pith_type type)
{
    static const char *const names[] = {"?",  "f32", "f16", "bf16", "f64", "i8",
                                        "u8", "i16", "u16", "i32",  "i64", "bool"};
    return (uint32_t)type < sizeof names / sizeof *names ? names[type] : names[0];
}

enum pith_status pith_array_convert(const struct pith_array *a, enum pith_type type, void *to,
                                    const char *name, struct pith_error *err)
{
    if (!a || !to || !name)
        return PITH_ERR_ARGUMENT;
    uint32_t from_bytes = pith_type_bytes(a->type), to_bytes = pith_type_bytes(type);
    if (a->type == type) {
        if (a->count)
            memcpy(to, a->data, (size_t)(a->count * to_bytes));
        return PITH_OK;
    }
    for (uint64_t i = 0; i < a->count; i++) {
        struct number v = pith_number_load(a->type, (const uint8_t *)a->data + i * from_bytes);
        char text[32];
        if (!pith_number_store(v, type, (uint8_t *)to + i * to_bytes))
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "%s: element %llu is %s (%s), which %s cannot hold", name,
                                   (unsigned long long)i, pith_number_text(v, text),
                                   type_name(a->type), type_name(type));
    }
    return PITH_OK;
}
