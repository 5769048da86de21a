/* SPDX-License-Identifier: MIT */
/* op_cast.c - Cast between all element types, with one meaning on every machine:
 *
 *   float -> float    round to nearest even, once; overflow gives inf, NaN stays NaN (quiet)
 *   integer -> float  the same, once
 *   float -> integer  truncated towards 0, then modulo 2^bits; NaN, inf and |x| >= 2^63 give 0
 *   integer -> integer modulo 2^bits
 *   anything -> bool  1 unless equal to 0 (NaN is not); bool -> anything: 0 or 1
 *
 * Elements travel in blocks, widened to int64 or to double, which hold every type exactly (an
 * integer beyond 2^53 goes to double rounded to odd, so that the second rounding is right).
 *
 * Formats are decoded with integers and not with the CPU's conversions: those differ among
 * machines (x86 gives INT_MIN where ARM saturates, F16C follows the denormal mode), and Cortex-M
 * has none. Casts between floats vanish at import. */
#include "core/bytes.h"
#include "core/f64_bits.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define BLOCK 32u

static bool is_float(enum pith_type type)
{
    return type == PITH_F32 || type == PITH_F16 || type == PITH_BF16 || type == PITH_F64;
}

static enum pith_status shape_cast(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    if (pith_type_bytes(args->in[0]->type) == 0)
        return PITH_ERR_UNSUPPORTED;
    return pith_out_set(args->out[0], (enum pith_type)args->attr[ATTR_CAST_TO],
                        &args->in[0]->shape);
}

/* One float format: sign, `exponent` bits, `mantissa` bits; together 16 or 32 bits. IEEE 754
 * binary16, bfloat16 and binary32 as the two numbers that distinguish them, so one pair of
 * functions serves all three. */
struct float_format {
    uint32_t exponent, mantissa;
};

static const struct float_format f16_format = {5, 10}, bf16_format = {8, 7}, f32_format = {8, 23};

/* Exact. A double holds each of them with room to spare (11 and 52 bits), denormals as normal
 * numbers. */
static double widen(uint32_t bits, struct float_format f)
{
    uint32_t all = (1u << f.exponent) - 1u, bias = all >> 1;
    uint32_t e = bits >> f.mantissa & all, m = bits & ((1u << f.mantissa) - 1u);
    uint64_t sign = (uint64_t)(bits >> (f.exponent + f.mantissa) & 1u) << 63;
    uint64_t top = (uint64_t)m << (52 - f.mantissa);
    if (e == all)
        return f64_from_bits(sign | 0x7ff0000000000000u | top);
    /* unit is a power of two between 2^-149 and 2^-24, a normal double, and m * unit is exact. */
    if (e == 0) { /* m units of the smallest denormal, 2^(1 - bias - mantissa) */
        double unit = f64_from_bits((uint64_t)(1023u + 1u - bias - f.mantissa) << 52);
        return f64_from_bits(sign | f64_bits((double)m * unit));
    }
    return f64_from_bits(sign | (uint64_t)(e - bias + 1023u) << 52 | top);
}

/* v / 2^shift to nearest, ties to even; shift 1..63. */
static uint64_t round_shift(uint64_t v, uint32_t shift)
{
    uint64_t half = UINT64_C(1) << (shift - 1), rest = v & (2 * half - 1), q = v >> shift;
    return q + (rest > half || (rest == half && (q & 1u)));
}

/* To nearest even in one step from the double: going by f32 first would round twice. */
static uint32_t narrow(double d, struct float_format f)
{
    uint64_t bits = f64_bits(d), m = bits & 0xfffffffffffffu;
    uint32_t sign = (uint32_t)(bits >> 63) << (f.exponent + f.mantissa);
    uint32_t all = (1u << f.exponent) - 1u, drop = 52 - f.mantissa;
    int32_t e64 = (int32_t)(bits >> 52 & 0x7ffu);
    if (e64 == 0x7ff) { /* inf; or NaN, made quiet */
        /* The quiet bit is set, and the payload's upper bits stay. */
        uint32_t nan = m ? 1u << (f.mantissa - 1) | (uint32_t)(m >> drop) : 0;
        return sign | all << f.mantissa | nan;
    }
    int32_t e = e64 - 1023 + (int32_t)(all >> 1);
    if (e >= (int32_t)all)
        return sign | all << f.mantissa;
    if (e <= 0) { /* denormal result; below half the smallest one, 0 */
        /* The result's last bit weighs 2^(1 - bias - mantissa); the implicit one is put back,
         * and as many bits more are dropped as the exponent lies below 1. From 54 on what is
         * left is below half of that bit: 0. */
        uint32_t shift = drop + 1u - (uint32_t)e;
        return shift > 54 || e64 == 0 ? sign
                                      : sign | (uint32_t)round_shift(m | UINT64_C(1) << 52, shift);
    }
    /* A carry out of the mantissa rightly raises the exponent, up to inf. */
    return sign | (((uint32_t)e << f.mantissa) + (uint32_t)round_shift(m, drop));
}

/* C leaves the conversion of what does not fit undefined, and machines differ: what does not fit
 * in 64 bits is 0 here. A NaN fails both comparisons. */
static int64_t truncate(double d)
{
    const double limit = 9223372036854775808.0;
    return d > -limit && d < limit ? (int64_t)d : 0;
}

/* Keeps 53 significant bits at least; lost ones are or-ed into the last kept (round to odd).
 * Round to odd keeps in the last bit whether anything was lost; with two bits more than the
 * result needs, the second rounding then sees every tie as it is (Boldo and Melquiond 2008). f32
 * needs 24 bits, so 53 are plenty. */
static double f64_from_i64(int64_t v)
{
    uint64_t magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (magnitude >> 53)
        magnitude = (magnitude >> 11 | ((magnitude & 0x7ffu) != 0)) << 11;
    double d = (double)magnitude;
    return v < 0 ? -d : d;
}

static void load_reals(enum pith_type type, const uint8_t *p, double *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (type == PITH_F64)
            to[i] = f64_from_bits(load_le64(p + 8 * i));
        else if (type == PITH_F32)
            to[i] = widen(load_le32(p + 4 * i), f32_format);
        else
            to[i] = widen(load_le16(p + 2 * i), type == PITH_F16 ? f16_format : bf16_format);
    }
}

static void store_reals(enum pith_type type, const double *from, uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (type == PITH_F64)
            store_le64(p + 8 * i, f64_bits(from[i]));
        else if (type == PITH_F32)
            store_le32(p + 4 * i, narrow(from[i], f32_format));
        else
            store_le16(p + 2 * i,
                       (uint16_t)narrow(from[i], type == PITH_F16 ? f16_format : bf16_format));
    }
}

static void load_integers(enum pith_type type, const uint8_t *p, int64_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (type) {
        case PITH_I8:
            to[i] = (int8_t)p[i];
            break;
        case PITH_I16:
            to[i] = (int16_t)load_le16(p + 2 * i);
            break;
        case PITH_U16:
            to[i] = load_le16(p + 2 * i);
            break;
        case PITH_I32:
            to[i] = (int32_t)load_le32(p + 4 * i);
            break;
        case PITH_I64:
            to[i] = (int64_t)load_le64(p + 8 * i);
            break;
        case PITH_BOOL:
            to[i] = p[i] != 0;
            break;
        default: /* PITH_U8 */
            to[i] = p[i];
        }
    }
}

/* The upper bytes are cut off, which is modulo 2^n in two's complement. */
static void store_integers(enum pith_type type, const int64_t *from, uint8_t *p, size_t n)
{
    uint32_t bytes = pith_type_bytes(type);
    for (size_t i = 0; i < n; i++) {
        uint64_t v = type == PITH_BOOL ? from[i] != 0 : (uint64_t)from[i];
        if (bytes == 1)
            p[i] = (uint8_t)v;
        else if (bytes == 2)
            store_le16(p + 2 * i, (uint16_t)v);
        else if (bytes == 4)
            store_le32(p + 4 * i, (uint32_t)v);
        else
            store_le64(p + 8 * i, v);
    }
}

/* The pairs that networks cast tensors between, without a detour. C's conversions are those above:
 * integers to f32 round once, to nearest; f32 is truncated in 64 bits. */
#define CAST_ROW(name, T, U, value)                                                                \
    static void name(const void *px, void *py, size_t n)                                           \
    {                                                                                              \
        const T *x = px;                                                                           \
        U *y = py;                                                                                 \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = (U)(value);                                                                     \
    }

CAST_ROW(real_of_bool, uint8_t, float, x[i] != 0)
CAST_ROW(real_of_u8, uint8_t, float, x[i])
CAST_ROW(real_of_i8, int8_t, float, x[i])
CAST_ROW(real_of_i32, int32_t, float, x[i])
CAST_ROW(real_of_i64, int64_t, float, x[i])
CAST_ROW(bool_of_real, float, uint8_t, x[i] != 0.0f)
CAST_ROW(i32_of_real, float, uint32_t, truncate((double)x[i]))
CAST_ROW(i64_of_real, float, int64_t, truncate((double)x[i]))
CAST_ROW(i64_of_i32, int32_t, int64_t, x[i])
CAST_ROW(i32_of_i64, uint64_t, uint32_t, x[i])

static const struct {
    enum pith_type from, to;
    void (*row)(const void *x, void *y, size_t n);
} direct[] = {
    {PITH_BOOL, PITH_F32, real_of_bool}, {PITH_U8, PITH_F32, real_of_u8},
    {PITH_I8, PITH_F32, real_of_i8},     {PITH_I32, PITH_F32, real_of_i32},
    {PITH_I64, PITH_F32, real_of_i64},   {PITH_F32, PITH_BOOL, bool_of_real},
    {PITH_F32, PITH_I32, i32_of_real},   {PITH_F32, PITH_I64, i64_of_real},
    {PITH_I32, PITH_I64, i64_of_i32},    {PITH_I64, PITH_I32, i32_of_i64},
};

struct cast_job {
    enum pith_type from, to;
    const uint8_t *x;
    uint8_t *y;
};

/* By way of the wider of two types: 10 types need 10 readers and 10 writers instead of 100
 * pairs. */
static void cast_block(const struct cast_job *j, const uint8_t *x, uint8_t *y, size_t n)
{
    int64_t integer[BLOCK];
    double real[BLOCK];
    if (is_float(j->from))
        load_reals(j->from, x, real, n);
    else
        load_integers(j->from, x, integer, n);
    for (size_t i = 0; i < n; i++) {
        if (is_float(j->from) && !is_float(j->to))
            integer[i] = j->to == PITH_BOOL ? real[i] != 0.0 : truncate(real[i]);
        else if (!is_float(j->from) && is_float(j->to))
            real[i] = f64_from_i64(integer[i]);
    }
    if (is_float(j->to))
        store_reals(j->to, real, y, n);
    else
        store_integers(j->to, integer, y, n);
}

static void cast_range(void *arg, size_t begin, size_t end)
{
    const struct cast_job *j = arg;
    size_t from = pith_type_bytes(j->from), to = pith_type_bytes(j->to);
    for (size_t k = 0; k < sizeof direct / sizeof *direct; k++)
        if (direct[k].from == j->from && direct[k].to == j->to) {
            direct[k].row(j->x + begin * from, j->y + begin * to, end - begin);
            return;
        }
    for (size_t i = begin; i < end; i += BLOCK)
        cast_block(j, j->x + i * from, j->y + i * to, end - i < BLOCK ? end - i : BLOCK);
}

static void run_cast(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0], *y = args->out[0];
    size_t n = shape_elems(&x->shape);
    struct cast_job job = {x->type, y->type, x->data, y->data};
    if (x->type == y->type)
        memcpy(y->data, x->data, n * pith_type_bytes(x->type));
    else
        pith_op_range(env, n, 8, cast_range, &job);
}

static const struct attr_field fields[] = {{ATTR_INT, ATTR_CAST_TO, 0, PITH_F32, PITH_BOOL}};

const struct op_info pith_op_cast = {
    .op = PITH_OP_CAST,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = 1,
    .fields = fields,
    .shape = shape_cast,
    .run = run_cast,
};
