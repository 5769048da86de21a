/* SPDX-License-Identifier: MIT */
/* elementwise.cu - functions of one element (device_map.cuh), and of two that broadcast. */
#include "device_map.cuh"
#include "kernels/ref/integer_range.h"

/* By 64 bits at once, and by an index of 32 bits: integer_at() takes two to four registers more. */
DEVICE int64_t integer_of(uint32_t type, const void *p, uint32_t i)
{
    switch (type) {
    case PITH_I8:
        return ((const int8_t *)p)[i];
    case PITH_U8:
        return ((const uint8_t *)p)[i];
    case PITH_I16:
        return ((const int16_t *)p)[i];
    case PITH_U16:
        return ((const uint16_t *)p)[i];
    case PITH_I32:
        return ((const int32_t *)p)[i];
    default:
        return ((const int64_t *)p)[i];
    }
}

/* Its lowest bits, which the type has. */
DEVICE void put_integer(uint32_t type, void *p, uint32_t i, int64_t v)
{
    if (type == PITH_I64)
        ((int64_t *)p)[i] = v;
    else if (type == PITH_I32)
        ((int32_t *)p)[i] = (int32_t)v;
    else
        integer_put((enum pith_type)type, p, i, (int32_t)v);
}

KERNEL(map_f32, map_args)
{
    FOR_EACH(i, arg->n)
    put_value(arg->y, i, arg->y_type,
              mapped(arg->kind, arg->a, arg->b, value_at(arg->x, i, arg->x_type)));
}

DEVICE float zipped_f32(uint32_t op, float a, float b)
{
    switch (op) {
    case ZIP_ADD:
        return a + b;
    case ZIP_SUB:
        return a - b;
    case ZIP_MUL:
        return a * b;
    case ZIP_DIV:
        return a / b;
    case ZIP_PRELU:
        return a < 0.0f ? b * a : a;
    case ZIP_MIN:
        return b < a || b != b ? b : a;
    case ZIP_MAX:
        return b > a || b != b ? b : a;
    default: /* ZIP_POWER, of 2 or 3 */
        return b == 2.0f ? a * a : a * a * a;
    }
}

/* In 64 bits, of which the type's are kept: they wrap as the type's own arithmetic does. */
DEVICE int64_t zipped_i64(uint32_t op, int64_t a, int64_t b)
{
    int64_t rest;
    switch (op) {
    case ZIP_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case ZIP_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case ZIP_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case ZIP_MIN:
        return a < b ? a : b;
    case ZIP_MAX:
        return a > b ? a : b;
    case ZIP_DIV:
        return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    default: /* ZIP_MOD, of the dividend's sign; ZIP_MOD_FLOOR, of the divisor's */
        rest = b == 0 || b == -1 ? 0 : a % b;
        return op == ZIP_MOD_FLOOR && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
}

DEVICE void zip_element(const struct zip_args *arg, uint32_t i)
{
    const struct offsets at = offsets_of(i, arg->rank, arg->dim, arg->a_step, arg->b_step);
    if (arg->type == PITH_F32) {
        float y = zipped_f32(arg->op, value_at(arg->a, at.a, arg->a_type),
                             value_at(arg->b, at.b, arg->b_type));
        put_value(arg->y, i, arg->y_type, mapped(arg->act, arg->act_a, arg->act_b, y));
    } else {
        put_integer(arg->type, arg->y, i,
                    zipped_i64(arg->op, integer_of(arg->type, arg->a, at.a),
                               integer_of(arg->type, arg->b, at.b)));
    }
}

KERNEL(zip, zip_args)
{
    FOR_EACH(i, arg->n)
    zip_element(arg, i);
}

DEVICE float chained(const void *x, uint32_t i, uint32_t period, uint32_t type, float before)
{
    return x ? value_at(x, i < period ? i : i % period, type) : before;
}

KERNEL(chain, chain_args)
{
    FOR_EACH(i, arg->n)
    {
        float y = 0.0f;
        for (uint32_t k = 0; k < arg->count; k++) {
            const struct chain_link *l = &arg->link[k];
            float x = chained(l->a, i, l->a_period, l->a_type, y);
            if (l->zip != CHAIN_MAP)
                x = zipped_f32(l->zip, x, chained(l->b, i, l->b_period, l->b_type, y));
            y = mapped(l->act, l->act_a, l->act_b, x);
            put_value(l->y, i, l->y_type, y);
        }
    }
}

KERNEL(batch_norm_f32, batch_norm_args)
{
    FOR_EACH(i, arg->n)
    {
        uint32_t c = i / arg->inner % arg->channels;
        float s = arg->scale[c] / square_root(arg->var[c] + arg->epsilon);
        float t = arg->bias[c] - arg->mean[c] * s;
        put_value(arg->y, i, arg->y_type, value_at(arg->x, i, arg->x_type) * s + t);
    }
}
