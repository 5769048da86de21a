/* SPDX-License-Identifier: MIT */
/* logic.cu - comparisons, choices by them, conversions of type, and where along an axis the largest
 * element is. Each element by itself, as the CPU's operators have it (ops/op_compare.c, op_where.c,
 * op_cast.c, op_arg.c). */
#include "device_map.cuh"

/* An element of any of these types as an integer; of f32 apart. */
DEVICE int64_t whole_at(uint32_t type, const void *p, uint32_t i)
{
    return type == PITH_BOOL ? ((const uint8_t *)p)[i] != 0 : integer_of(type, p, i);
}

#define ORDERS                                                                                     \
    case COMPARED_EQUAL:                                                                           \
        return a == b;                                                                             \
    case COMPARED_LESS:                                                                            \
        return a < b;                                                                              \
    case COMPARED_LESS_EQUAL:                                                                      \
        return a <= b;                                                                             \
    case COMPARED_GREATER:                                                                         \
        return a > b;                                                                              \
    case COMPARED_GREATER_EQUAL:                                                                   \
        return a >= b;

DEVICE bool compared_f32(uint32_t kind, float a, float b)
{
    switch (kind) {
        ORDERS
    default:
        return a != b;
    }
}

/* Bools are 0 and 1 here. */
DEVICE bool compared_i64(uint32_t kind, int64_t a, int64_t b)
{
    switch (kind) {
        ORDERS
    case COMPARED_AND:
        return (a & b) != 0;
    case COMPARED_OR:
        return (a | b) != 0;
    default: /* NOT_EQUAL, XOR */
        return a != b;
    }
}

KERNEL(compare, zip_args)
{
    FOR_EACH(i, arg->n)
    {
        const struct offsets at = offsets_of(i, arg->rank, arg->dim, arg->a_step, arg->b_step);
        ((uint8_t *)arg->y)[i] = arg->type == PITH_F32
                                     ? compared_f32(arg->op, ((const float *)arg->a)[at.a],
                                                    ((const float *)arg->b)[at.b])
                                     : compared_i64(arg->op, whole_at(arg->type, arg->a, at.a),
                                                    whole_at(arg->type, arg->b, at.b));
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
        if (arg->to == PITH_F32)
            ((float *)arg->y)[i] = (float)v;
        else if (arg->to == PITH_BOOL)
            ((uint8_t *)arg->y)[i] = from_f32 ? x != 0.0f : v != 0;
        else
            put_integer(arg->to, arg->y, i, v);
    }
}

/* Of a later element: whether it takes the place of the best so far. */
#define FOUND(v, best) ((arg->is_min ? (v) < (best) : (v) > (best)) || (arg->last && (v) == (best)))

#define PLACE_OF(type, value)                                                                      \
    type best = value(0u);                                                                         \
    for (uint32_t k = 1; k < arg->count; k++) {                                                    \
        const type v = value(k);                                                                   \
        place = FOUND(v, best) ? k : place;                                                        \
        best = FOUND(v, best) ? v : best;                                                          \
    }

#define ELEMENT(k) (at + (k) * arg->inner)
#define FLOAT(k) (((const float *)arg->x)[ELEMENT(k)])
#define INTEGER(k) integer_of(arg->type, arg->x, ELEMENT(k))

KERNEL(arg_extreme, arg_args)
{
    FOR_EACH(i, arg->n)
    {
        const uint32_t at = i / arg->inner * arg->count * arg->inner + i % arg->inner;
        uint32_t place = 0;
        if (arg->type == PITH_F32) {
            PLACE_OF(float, FLOAT)
        } else {
            PLACE_OF(int64_t, INTEGER)
        }
        arg->y[i] = place;
    }
}
