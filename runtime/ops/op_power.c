/* SPDX-License-Identifier: MIT */
/* op_power.c - Pow and Mod, broadcast.
 *
 * Pow gives base's type; base and exponent are f32, i32 or i64 each. f32: C's powf. An integer
 * to a whole power wraps modulo 2^n, and to a negative one is 1 / x^|y| truncated (x / 0 is 0,
 * as in Div); to a fraction it is rounded through f32, truncated, and 0 where no integer is
 * near. Mod: the sign of the divisor, or with `fmod` that of the dividend (C's % and fmod); x
 * mod 0 is 0 for integers, NaN for f32, which has only the latter form.
 *
 * ONNX Pow-15 and Mod-13. What an undefined case gives is written down because C leaves it open
 * and machines differ there; import folds constants with the same functions, so folding changes
 * nothing. */
#include "op_interface/broadcast_row.h"
#include "kernels/ref/elementary_f32.h"
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* ---- Pow --------------------------------------------------------------------------------- */

/* The types that import keeps for arithmetic; f16 and f64 have become f32 by then. */
static bool is_power_type(enum pith_type type)
{
    return type == PITH_F32 || type == PITH_I32 || type == PITH_I64;
}

static enum pith_status shape_power(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    const struct tview *a = args->in[0], *b = args->in[1];
    if (!is_power_type(a->type) || !is_power_type(b->type))
        return PITH_ERR_UNSUPPORTED;
    struct shape s;
    st = pith_broadcast_shape(&a->shape, &b->shape, &s);
    return st ? st : pith_out_set(args->out[0], a->type, &s);
}

/* Square and multiply, modulo 2^64; the narrower type's wrapped result is its lower half. */
static int64_t power_i64(int64_t x, int64_t y)
{
    if (y < 0) /* 1 / x^|y|: only 1 and -1 leave anything */
        return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    uint64_t base = (uint64_t)x, p = 1;
    for (uint64_t e = (uint64_t)y; e; e >>= 1) {
        p = e & 1u ? p * base : p;
        base *= base;
    }
    return (int64_t)p;
}

/* Whole exponents as integers, so that 3^30 is exact; the rest as C's powf and a cast would have
 * it. */
static int64_t power_i64_f32(int64_t x, float y)
{
    const float limit = 9223372036854775808.0f;
    if (y > -limit && y < limit && (float)(int64_t)y == y)
        return power_i64(x, (int64_t)y);
    float p = pith_power_f32((float)x, y);
    return p > -limit && p < limit ? (int64_t)p : 0;
}

/* The parity of y survives only in integers; the magnitude does not care. Beyond 2^24 f32 has
 * only even numbers, so (float)y would lose the sign of x^y. */
static float power_f32_i64(float x, int64_t y)
{
    const int64_t exact = 1 << 24;
    if (y >= -exact && y <= exact)
        return pith_power_f32(x, (float)y);
    float a = f32_from_bits(f32_bits(x) & 0x7fffffffu);
    float p = pith_power_f32(x != x ? x : a, (float)y);
    return y & 1 && f32_bits(x) >> 31 ? -p : p;
}

/* Every pair of types by name: the table below is indexed by both. */
BROADCAST_ROW(power_i32_i32, int32_t, int32_t, int32_t, power_i64)
BROADCAST_ROW(power_i32_i64, int32_t, int64_t, int32_t, power_i64)
BROADCAST_ROW(power_i32_real, int32_t, float, int32_t, power_i64_f32)
BROADCAST_ROW(power_i64_i32, int64_t, int32_t, int64_t, power_i64)
BROADCAST_ROW(power_i64_i64, int64_t, int64_t, int64_t, power_i64)
BROADCAST_ROW(power_i64_real, int64_t, float, int64_t, power_i64_f32)
BROADCAST_ROW(power_real_i32, float, int32_t, float, power_f32_i64)
BROADCAST_ROW(power_real_i64, float, int64_t, float, power_f32_i64)
BROADCAST_ROW(power_real_real, float, float, float, pith_power_f32)

static inline float square(float x, float two)
{
    (void)two;
    return x * x;
}

static inline float cube(float x, float three)
{
    (void)three;
    return x * x * x;
}

BROADCAST_ROW(square_real, float, float, float, square)
BROADCAST_ROW(cube_real, float, float, float, cube)

/* Squares and cubes, which most exponents are, are products, rounded as pith_power_f32 does. */
static pith_broadcast_row *row_of_floats(const struct op_env *env, const struct tview *y)
{
    const float *exponent = y->data;
    if (shape_elems(&y->shape) == 1 && (*exponent == 2.0f || *exponent == 3.0f))
        return *exponent == 2.0f ? square_real : cube_real;
    const struct elementwise_rows *rows = pith_row_kernels(env->kernels)->elementwise;
    return rows ? rows->binary[BINARY_POWER] : power_real_real;
}

/* Place of a type in the table below. */
static uint32_t power_type(enum pith_type type)
{
    return type == PITH_F32 ? 0 : type == PITH_I32 ? 1 : 2;
}

static void run_power(const struct op_args *args, const struct op_env *env)
{
    static pith_broadcast_row *const rows[3][3] = {
        {NULL, power_real_i32, power_real_i64},
        {power_i32_real, power_i32_i32, power_i32_i64},
        {power_i64_real, power_i64_i32, power_i64_i64},
    };
    const struct tview *a = args->in[0], *b = args->in[1];
    struct broadcast bc = pith_broadcast_plan(&a->shape, &b->shape);
    const uint32_t bytes = pith_type_bytes(a->type);
    const struct broadcast_data data = {
        a->data, b->data, args->out[0]->data, {bytes, pith_type_bytes(b->type), bytes}};
    pith_broadcast_row *row = rows[power_type(a->type)][power_type(b->type)];
    row = row ? row : row_of_floats(env, b);
    pith_broadcast_run(&bc, env, row, &data);
}

const struct op_info pith_op_power = {
    .op = PITH_OP_POWER,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .flags = OP_INPLACE,
    .traits = {.flags = TRAIT_BROADCASTS},
    .shape = shape_power,
    .run = run_power,
};

/* Mod of bools does not exist. */
/* ---- Mod --------------------------------------------------------------------------------- */

static enum pith_status shape_mod(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    const struct tview *a = args->in[0], *b = args->in[1];
    if (a->type != b->type)
        return PITH_ERR_CORRUPT;
    if (row_type_of(a->type) >= ROW_BOOL)
        return PITH_ERR_UNSUPPORTED;
    struct shape s;
    st = pith_broadcast_shape(&a->shape, &b->shape, &s);
    return st ? st : pith_out_set(args->out[0], a->type, &s);
}

/* b == -1 would overflow in the division of the smallest integer. C's % has the sign of the
 * dividend. */
static int64_t mod_dividend(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* One divisor more where signs differ; r and b have different signs then, so r + b cannot
 * overflow. */
static int64_t mod_divisor(int64_t a, int64_t b)
{
    int64_t r = mod_dividend(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Exact, by long division of the significands: one doubling of the remainder for each binary
 * digit of the quotient. fmod is exact by definition: every remainder is a multiple of b's last
 * place. At most 277 binary digits of quotient separate two floats, so the inner loop is
 * bounded. */
static float mod_f32(float a, float b)
{
    float top = f32_from_bits(f32_bits(a) & 0x7fffffffu);
    float bottom = f32_from_bits(f32_bits(b) & 0x7fffffffu), inf = f32_from_bits(0x7f800000u);
    if (!(top < inf) || !(bottom > 0.0f))
        return f32_from_bits(0x7fc00000u);
    double divisor = (double)bottom, rest = (double)top;
    /* Doubles hold b * 2^k and every remainder exactly: 24 bits each. */
    while (bottom < inf && rest >= divisor) {
        double part = divisor;
        while (part * 2.0 <= rest)
            part *= 2.0;
        rest -= part; /* exact: both within a factor of 2 */
        /* A zero keeps the dividend's sign, as C has it. */
    }
    return f32_from_bits(f32_bits((float)rest) | (f32_bits(a) & 0x80000000u));
}

/* a - floor(a / b) * b, of the sign of b: where the remainder's sign is another, one b more,
 * rounded once. Of an infinite b that is b itself. */
static float mod_floor_f32(float a, float b)
{
    float r = mod_f32(a, b);
    if (!(r < 0.0f) && !(r > 0.0f)) /* a zero, or NaN, which stays */
        return r == 0.0f ? f32_from_bits(f32_bits(b) & 0x80000000u) : r;
    return (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

BROADCAST_ROWS(mod_sign_divisor, mod_divisor, mod_floor_f32)
BROADCAST_ROWS(mod_sign_dividend, mod_dividend, mod_f32)

static void run_mod(const struct op_args *args, const struct op_env *env)
{
    static pith_broadcast_row *const rows[2][ROW_TYPES] = {BROADCAST_ROW_TABLE(mod_sign_divisor),
                                                           BROADCAST_ROW_TABLE(mod_sign_dividend)};
    const struct tview *a = args->in[0], *b = args->in[1];
    struct broadcast bc = pith_broadcast_plan(&a->shape, &b->shape);
    const uint32_t bytes = pith_type_bytes(a->type);
    pith_broadcast_run(
        &bc, env, rows[args->attr[ATTR_MOD_FMOD]][row_type_of(a->type)],
        &(struct broadcast_data){a->data, b->data, args->out[0]->data, {bytes, bytes, bytes}});
}

static const struct attr_field mod_fields[] = {{ATTR_INT, ATTR_MOD_FMOD, 0, 0, 1}};

const struct op_info pith_op_mod = {
    .op = PITH_OP_MOD,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = 1,
    .flags = OP_INPLACE,
    .fields = mod_fields,
    .traits = {.flags = TRAIT_BROADCASTS},
    .shape = shape_mod,
    .run = run_mod,
};
