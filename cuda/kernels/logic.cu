/* SPDX-License-Identifier: MIT */
/* logic.cu - comparisons, choices by them, conversions of type, and where along an axis the largest
 * element is. Each element by itself, as the CPU's operators have it (ops/op_compare.c, op_where.c,
 * op_cast.c, op_arg.c). */
#include "device.h"

/* An element of any of these types as an integer; of f32 apart. */
DEVICE int64_t whole_at(uint32_t type, const void *p, uint32_t i)
{
    return type == PITH_BOOL ? ((const uint8_t *)p)[i] != 0 : integer_of(type, p, i);
}

DEVICE bool compared_f32(uint32_t kind, float a, float b)
{
    switch (kind) {
    case COMPARED_EQUAL:
        return a == b;
    case COMPARED_NOT_EQUAL:
        return a != b;
    case COMPARED_LESS:
        return a < b;
    case COMPARED_LESS_EQUAL:
        return a <= b;
    case COMPARED_GREATER:
        return a > b;
    default:
        return a >= b;
    }
}

/* Bools are 0 and 1 here. */
DEVICE bool compared_i64(uint32_t kind, int64_t a, int64_t b)
{
    switch (kind) {
    case COMPARED_EQUAL:
        return a == b;
    case COMPARED_NOT_EQUAL:
    case COMPARED_XOR:
        return a != b;
    case COMPARED_LESS:
        return a < b;
    case COMPARED_LESS_EQUAL:
        return a <= b;
    case COMPARED_GREATER:
        return a > b;
    case COMPARED_GREATER_EQUAL:
        return a >= b;
    case COMPARED_AND:
        return (a & b) != 0;
    default: /* COMPARED_OR */
        return (a | b) != 0;
    }
}

KERNEL(compare, compare_args)
{
    FOR_EACH(i, arg->z.n)
    {
        uint32_t at_a, at_b;
        zip_offsets(&arg->z, i, &at_a, &at_b);
        ((uint8_t *)arg->z.y)[i] =
            arg->type == PITH_F32
                ? compared_f32(arg->z.op, ((const float *)arg->z.a)[at_a],
                               ((const float *)arg->z.b)[at_b])
                : compared_i64(arg->z.op, whole_at(arg->type, arg->z.a, at_a),
                               whole_at(arg->type, arg->z.b, at_b));
    }
}

KERNEL(where, where_args)
{
    FOR_EACH(i, arg->n)
    {
        uint32_t left = i, at[3] = {0, 0, 0};
        for (uint32_t k = arg->rank; k-- > 0;) {
            const uint32_t place = left % arg->dim[k];
            left /= arg->dim[k];
            UNROLLED
            for (uint32_t o = 0; o < 3; o++)
                at[o] += place * arg->step[o][k];
        }
        const bool first = arg->condition[at[0]] != 0;
        move_element(arg->y, i, first ? arg->a : arg->b, first ? at[1] : at[2], arg->bytes);
    }
}

/* What does not fit in 64 bits is 0; of what does, the type's lowest bits stay. */
DEVICE int64_t truncated(float x)
{
    return x > -0x1p63f && x < 0x1p63f ? (int64_t)x : 0;
}

KERNEL(cast, cast_args)
{
    FOR_EACH(i, arg->n)
    {
        const bool from_f32 = arg->from == PITH_F32;
        const float x = from_f32 ? ((const float *)arg->x)[i] : 0.0f;
        const int64_t v = from_f32 ? truncated(x) : whole_at(arg->from, arg->x, i);
        switch (arg->to) {
        case PITH_F32:
            ((float *)arg->y)[i] = (float)v;
            break;
        case PITH_BOOL:
            ((uint8_t *)arg->y)[i] = from_f32 ? x != 0.0f : v != 0;
            break;
        case PITH_I8:
        case PITH_U8:
            ((uint8_t *)arg->y)[i] = (uint8_t)v;
            break;
        case PITH_I16:
        case PITH_U16:
            ((uint16_t *)arg->y)[i] = (uint16_t)v;
            break;
        case PITH_I32:
            ((int32_t *)arg->y)[i] = (int32_t)v;
            break;
        default:
            ((int64_t *)arg->y)[i] = v;
        }
    }
}

/* Of a later element: whether it takes the place of the best so far. */
#define FOUND(v, best) ((arg->is_min ? (v) < (best) : (v) > (best)) || (arg->last && (v) == (best)))

DEVICE int64_t place_f32(const struct arg_args *arg, uint32_t at)
{
    const float *x = (const float *)arg->x + at;
    float best = *x;
    int64_t place = 0;
    for (uint32_t i = 1; i < arg->count; i++) {
        const float v = x[(size_t)i * arg->inner];
        if (FOUND(v, best)) {
            best = v;
            place = i;
        }
    }
    return place;
}

DEVICE int64_t place_i64(const struct arg_args *arg, uint32_t at)
{
    int64_t best = integer_of(arg->type, arg->x, at), place = 0;
    for (uint32_t i = 1; i < arg->count; i++) {
        const int64_t v = integer_of(arg->type, arg->x, at + i * arg->inner);
        if (FOUND(v, best)) {
            best = v;
            place = i;
        }
    }
    return place;
}

KERNEL(arg_extreme, arg_args)
{
    FOR_EACH(i, arg->n)
    {
        const uint32_t at = i / arg->inner * arg->count * arg->inner + i % arg->inner;
        arg->y[i] = arg->type == PITH_F32 ? place_f32(arg, at) : place_i64(arg, at);
    }
}
