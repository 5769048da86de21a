/* SPDX-License-Identifier: MIT */
/* op_binary.c - Add, Sub, Mul, Div and PRelu: two operands, broadcast.
 *
 * Integers wrap modulo 2^n (computed unsigned). Integer division truncates towards 0; it never
 * traps: x / 0 is 0 and the smallest integer divided by -1 is itself (the wrapped result).
 *
 * Broadcasting (op_interface/broadcast.c) leaves rows in which each operand either advances or
 * stands still, so a row function sees three cases; BROADCAST_ROW makes a loop of each, which
 * compilers turn into vectors. Rows of integers (BROADCAST_ROW_SMALL) have one loop: they occur
 * in arithmetic on shapes and indices, a few elements long. */
#include "kernels/kernels.h"
#include "kernels/ref/elementwise_f32.h"
#include "op_interface/broadcast_row.h"
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"

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
    if (is_prelu ? a->type != PITH_F32 : row_type_of(a->type) >= ROW_BOOL)
        return PITH_ERR_UNSUPPORTED;
    struct shape s;
    st = pith_broadcast_shape(&a->shape, &b->shape, &s);
    if (st)
        return st;
    if (is_prelu && !pith_shape_equal(&s, &a->shape))
        return PITH_ERR_CORRUPT;
    return pith_out_set(args->out[0], a->type, &s);
}

/* Named functions, not expressions in the macro, so that rows of one operator differ in nothing
 * else and a debugger shows which one runs. */
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

/* Signed overflow is undefined in C; the same bits come out of unsigned arithmetic. Division
 * alone needs the signed type, and the one quotient that overflows, -2^(n-1) / -1, is the
 * negation modulo 2^n, which the last line does for every a. */
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

/* Shorter integers are computed in 32 bits, where nothing overflows but what wraps anyway. i8,
 * u8 and i16 are promoted to int. Only u16 times u16 may leave its range, hence the unsigned
 * product. */
#define SHORT_OPS(T, suffix)                                                                       \
    static inline T add_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return (T)(a + b);                                                                         \
    }                                                                                              \
    static inline T sub_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return (T)(a - b);                                                                         \
    }                                                                                              \
    static inline T mul_##suffix(T a, T b)                                                         \
    {                                                                                              \
        return (T)((uint32_t)a * (uint32_t)b);                                                     \
    }                                                                                              \
    static inline T div_##suffix(T a, T b)                                                         \
    {                                                                                              \
        if (b == 0)                                                                                \
            return 0;                                                                              \
        return (T)(a / b);                                                                         \
    }

SHORT_OPS(int8_t, i8)
SHORT_OPS(uint8_t, u8)
SHORT_OPS(int16_t, i16)
SHORT_OPS(uint16_t, u16)

#define ROWS(name)                                                                                 \
    BROADCAST_ROW(name##_row_f32, float, float, float, name##_f32)                                 \
    BROADCAST_ROW_SMALL(name##_row_i8, int8_t, int8_t, int8_t, name##_i8)                          \
    BROADCAST_ROW_SMALL(name##_row_u8, uint8_t, uint8_t, uint8_t, name##_u8)                       \
    BROADCAST_ROW_SMALL(name##_row_i16, int16_t, int16_t, int16_t, name##_i16)                     \
    BROADCAST_ROW_SMALL(name##_row_u16, uint16_t, uint16_t, uint16_t, name##_u16)                  \
    BROADCAST_ROW_SMALL(name##_row_i32, int32_t, int32_t, int32_t, name##_i32)                     \
    BROADCAST_ROW_SMALL(name##_row_i64, int64_t, int64_t, int64_t, name##_i64)

ROWS(add)
ROWS(sub)
ROWS(mul)
ROWS(div)
BROADCAST_ROW(prelu_row_f32, float, float, float, prelu_f32)

static void run_binary(const struct op_args *args, const struct op_env *env, enum binary_kind kind,
                       pith_broadcast_row *const rows[ROW_TYPES])
{
    const struct tview *a = args->in[0], *b = args->in[1];
    struct broadcast bc = pith_broadcast_plan(&a->shape, &b->shape);
    pith_broadcast_row *row = pith_binary_row(env, kind, rows, a->type);
    const uint32_t bytes = pith_type_bytes(a->type);
    pith_broadcast_run(
        &bc, env, row,
        &(struct broadcast_data){a->data, b->data, args->out[0]->data, {bytes, bytes, bytes}});
}

/* In place where one operand has the output's shape; the planner checks that and that nothing
 * else reads it (plan/alias.c). `learned`: the inputs that training may take for parameters. */
#define BINARY_OP(name, number, kind, learned)                                                     \
    static void run_##name(const struct op_args *args, const struct op_env *env)                   \
    {                                                                                              \
        static pith_broadcast_row *const rows[ROW_TYPES] = BROADCAST_ROW_TABLE(name##_row);        \
        run_binary(args, env, kind, rows);                                                         \
    }                                                                                              \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 2,                                                                             \
        .n_in_max = 2,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .flags = OP_INPLACE,                                                                       \
        .traits = {.flags = TRAIT_ARITHMETIC | TRAIT_BROADCASTS, .parameters = learned},           \
        .shape = shape_binary,                                                                     \
        .run = run_##name,                                                                         \
    };

BINARY_OP(add, PITH_OP_ADD, BINARY_ADD, 1u << 0 | 1u << 1)
BINARY_OP(sub, PITH_OP_SUB, BINARY_SUB, 0)
BINARY_OP(mul, PITH_OP_MUL, BINARY_MUL, 1u << 0 | 1u << 1)
BINARY_OP(div, PITH_OP_DIV, BINARY_DIV, 0)

static void run_prelu(const struct op_args *args, const struct op_env *env)
{
    static pith_broadcast_row *const rows[ROW_TYPES] = {[ROW_F32] = prelu_row_f32};
    run_binary(args, env, BINARY_PRELU, rows);
}

const struct op_info pith_op_prelu = {
    .op = PITH_OP_PRELU,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .flags = OP_INPLACE,
    .traits = {.flags = TRAIT_RECTIFIES, .parameters = 1u << 1},
    .shape = shape_binary,
    .run = run_prelu,
};
