/* SPDX-License-Identifier: MIT */
/* op_binary.c - Add, Sub, Mul, Div and PRelu: two operands, broadcast.
 *
 * Integers wrap modulo 2^n (computed unsigned). Integer division truncates towards 0; it never
 * traps: x / 0 is 0 and the smallest integer divided by -1 is itself (the wrapped result). */
#include "broadcast.h"
#include "op_list.h"
#include "shape_rule.h"

/* PRelu's slope is repeated over x, never the reverse. */
static enum pith_status shape_binary(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    const struct tview *a = args->in[0], *b = args->in[1];
    if (a->type != b->type)
        return PITH_ERR_CORRUPT;
    bool is_prelu = args->info->op == PITH_OP_PRELU;
    if (a->type != PITH_F32 && (is_prelu || (a->type != PITH_I32 && a->type != PITH_I64)))
        return PITH_ERR_UNSUPPORTED;
    struct shape s;
    st = pith_broadcast_shape(&a->shape, &b->shape, &s);
    if (st)
        return st;
    if (is_prelu && !pith_shape_equal(&s, &a->shape))
        return PITH_ERR_CORRUPT;
    return pith_out_set(args->out[0], a->type, &s);
}

static inline float add_f32(float a, float b)
{
    return a + b;
}

static inline float sub_f32(float a, float b)
{
    return a - b;
}

static inline float mul_f32(float a, float b)
{
    return a * b;
}

static inline float div_f32(float a, float b)
{
    return a / b;
}

static inline float prelu_f32(float x, float slope)
{
    return x < 0.0f ? slope * x : x;
}

#define INTEGER_OPS(T, U, suffix)                                                                  \
    static inline T add_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return (T)((U)a + (U)b);                                                                   \
    }                                                                                              \
    static inline T sub_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return (T)((U)a - (U)b);                                                                   \
    }                                                                                              \
    static inline T mul_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return (T)((U)a * (U)b);                                                                   \
    }                                                                                              \
    static inline T div_##suffix(T a, T b)                                                         \
    {                                                                                              \
        if (b == 0)                                                                                \
            return 0;                                                                              \
        return b == -1 ? (T)(0 - (U)a) : (T)(a / b);                                               \
    }

INTEGER_OPS(int32_t, uint32_t, i32)
INTEGER_OPS(int64_t, uint64_t, i64)

/* A row of f in its three forms; the fixed operand is loaded once. */
#define ROW(T, f)                                                                                  \
    static void f##_row(const void *pa, size_t a_step, const void *pb, size_t b_step, void *py,    \
                        size_t n)                                                                  \
    {                                                                                              \
        const T *a = pa, *b = pb;                                                                  \
        T *y = py;                                                                                 \
        if (a_step && b_step) {                                                                    \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = f(a[i], b[i]);                                                              \
        } else if (b_step) {                                                                       \
            const T fixed = a[0];                                                                  \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = f(fixed, b[i]);                                                             \
        } else {                                                                                   \
            const T fixed = b[0];                                                                  \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = f(a[i], fixed);                                                             \
        }                                                                                          \
    }

ROW(float, add_f32)
ROW(float, sub_f32)
ROW(float, mul_f32)
ROW(float, div_f32)
ROW(float, prelu_f32)
ROW(int32_t, add_i32)
ROW(int32_t, sub_i32)
ROW(int32_t, mul_i32)
ROW(int32_t, div_i32)
ROW(int64_t, add_i64)
ROW(int64_t, sub_i64)
ROW(int64_t, mul_i64)
ROW(int64_t, div_i64)

/* rows: f32, i32, i64 */
static void run_binary(const struct op_args *args, const struct op_env *env,
                       pith_broadcast_row *const rows[3])
{
    const struct tview *a = args->in[0], *b = args->in[1];
    struct broadcast bc = pith_broadcast_plan(&a->shape, &b->shape);
    pith_broadcast_row *row = rows[a->type == PITH_F32 ? 0 : a->type == PITH_I32 ? 1 : 2];
    pith_broadcast_run(&bc, env, row, a->data, b->data, args->out[0]->data,
                       pith_type_bytes(a->type));
}

#define BINARY_OP(name, number)                                                                    \
    static void run_##name(const struct op_args *args, const struct op_env *env)                   \
    {                                                                                              \
        static pith_broadcast_row *const rows[3] = {name##_f32_row, name##_i32_row,                \
                                                    name##_i64_row};                               \
        run_binary(args, env, rows);                                                               \
    }                                                                                              \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 2,                                                                             \
        .n_in_max = 2,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .flags = OP_INPLACE,                                                                       \
        .shape = shape_binary,                                                                     \
        .run = run_##name,                                                                         \
    };

BINARY_OP(add, PITH_OP_ADD)
BINARY_OP(sub, PITH_OP_SUB)
BINARY_OP(mul, PITH_OP_MUL)
BINARY_OP(div, PITH_OP_DIV)

static void run_prelu(const struct op_args *args, const struct op_env *env)
{
    static pith_broadcast_row *const rows[3] = {prelu_f32_row};
    run_binary(args, env, rows);
}

const struct op_info pith_op_prelu = {
    .op = PITH_OP_PRELU,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .flags = OP_INPLACE,
    .shape = shape_binary,
    .run = run_prelu,
};
