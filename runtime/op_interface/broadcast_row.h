/* SPDX-License-Identifier: MIT */
/* broadcast_row.h - a row function (broadcast.h) from a function of two elements, for several
 * element types. */
#ifndef BROADCAST_ROW_H
#define BROADCAST_ROW_H

#include "kernels/kernels.h"
#include "op_interface/broadcast.h"

/* Element types in the order of tables of rows. */
enum row_type { ROW_F32, ROW_I8, ROW_U8, ROW_I16, ROW_U16, ROW_I32, ROW_I64, ROW_BOOL, ROW_TYPES };

/* ROW_TYPES for a type that no row is made for. */
static inline uint32_t row_type_of(enum pith_type type)
{
    switch (type) {
    case PITH_F32:
        return ROW_F32;
    case PITH_I8:
        return ROW_I8;
    case PITH_U8:
        return ROW_U8;
    case PITH_I16:
        return ROW_I16;
    case PITH_U16:
        return ROW_U16;
    case PITH_I32:
        return ROW_I32;
    case PITH_I64:
        return ROW_I64;
    case PITH_BOOL:
        return ROW_BOOL;
    default:
        return ROW_TYPES;
    }
}

/* `name`: y[i] = f(a, b) as TY; the fixed operand is loaded once. */
#define BROADCAST_ROW(name, TA, TB, TY, f)                                                         \
    static void name(const void *pa, size_t a_step, const void *pb, size_t b_step, void *py,       \
                     size_t n)                                                                     \
    {                                                                                              \
        const TA *a = pa;                                                                          \
        const TB *b = pb;                                                                          \
        TY *y = py;                                                                                \
        if (a_step && b_step) {                                                                    \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = (TY)f(a[i], b[i]);                                                          \
        } else if (b_step) {                                                                       \
            const TA fixed = a[0];                                                                 \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = (TY)f(fixed, b[i]);                                                         \
        } else {                                                                                   \
            const TB fixed = b[0];                                                                 \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = (TY)f(a[i], fixed);                                                         \
        }                                                                                          \
    }

/* The same in one loop that no compiler unrolls or vectorises: for types that networks use in shape
 * arithmetic and masks, where the code's size matters and its speed does not. Steps are 0 or 1. */
#define BROADCAST_ROW_SMALL(name, TA, TB, TY, f)                                                   \
    static void name(const void *pa, size_t a_step, const void *pb, size_t b_step, void *py,       \
                     size_t n)                                                                     \
    {                                                                                              \
        const TA *a = pa;                                                                          \
        const TB *b = pb;                                                                          \
        TY *y = py;                                                                                \
        for (size_t i = 0; i < n; i++, a += a_step, b += b_step)                                   \
            y[i] = (TY)f(*a, *b);                                                                  \
    }

/* name_f32, name_i8, ...: rows of all numeric types. */
#define BROADCAST_ROWS(name, f, f_float)                                                           \
    BROADCAST_ROW(name##_f32, float, float, float, f_float)                                        \
    BROADCAST_ROW_SMALL(name##_i8, int8_t, int8_t, int8_t, f)                                      \
    BROADCAST_ROW_SMALL(name##_u8, uint8_t, uint8_t, uint8_t, f)                                   \
    BROADCAST_ROW_SMALL(name##_i16, int16_t, int16_t, int16_t, f)                                  \
    BROADCAST_ROW_SMALL(name##_u16, uint16_t, uint16_t, uint16_t, f)                               \
    BROADCAST_ROW_SMALL(name##_i32, int32_t, int32_t, int32_t, f)                                  \
    BROADCAST_ROW(name##_i64, int64_t, int64_t, int64_t, f)

/* The kernel of f32 where this machine has one, else the operator's own loop. */
static inline pith_broadcast_row *pith_binary_row(const struct op_env *env, enum binary_kind kind,
                                                  pith_broadcast_row *const rows[ROW_TYPES],
                                                  enum pith_type type)
{
    const struct elementwise_rows *kernels = env->kernels ? env->kernels->row.elementwise : NULL;
    return type == PITH_F32 && kernels ? kernels->binary[kind] : rows[row_type_of(type)];
}

#define BROADCAST_ROW_TABLE(name)                                                                  \
    {                                                                                              \
        [ROW_F32] = name##_f32, [ROW_I8] = name##_i8, [ROW_U8] = name##_u8,                        \
        [ROW_I16] = name##_i16, [ROW_U16] = name##_u16, [ROW_I32] = name##_i32,                    \
        [ROW_I64] = name##_i64                                                                     \
    }

#endif
