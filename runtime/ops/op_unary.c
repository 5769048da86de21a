/* SPDX-License-Identifier: MIT */
/* op_unary.c - elementwise functions of one input, distinguished by `kind`. f32 for all; Neg, Abs
 * and Sign also for i32 and i64 (wrapping: the smallest integer is its own negative), Not for
 * bool.
 *
 * One operator in the format for all functions of one input, since they differ in a row function
 * alone. None calls libm: results are the same bits on every machine (docs/arithmetic.md), and
 * microcontrollers link no libm. */
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/kernels.h"
#include "kernels/ref/math_f32.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* The functions that mean something for counts and indices. */
static bool for_integers(int32_t kind)
{
    return kind == UNARY_NEG || kind == UNARY_ABS || kind == UNARY_SIGN;
}

static enum pith_status shape_unary(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    int32_t kind = args->attr[ATTR_KIND];
    enum pith_type type = args->in[0]->type;
    bool is_integer = type == PITH_I32 || type == PITH_I64;
    bool fits = kind == UNARY_NOT ? type == PITH_BOOL
                                  : type == PITH_F32 || (is_integer && for_integers(kind));
    if (!fits)
        return PITH_ERR_UNSUPPORTED;
    if (kind == UNARY_CELU && !(attr_f32(args->attr, ATTR_UNARY_ALPHA) > 0.0f))
        return PITH_ERR_CORRUPT; /* it divides */
    return pith_out_set(args->out[0], type, &args->in[0]->shape);
}

/* Those that a function makes of a row. */
static row_f32_fn *row_of(const struct row_kernels *row, int32_t kind)
{
    switch ((enum unary_kind)kind) {
    case UNARY_ERF:
        return row->erf;
    case UNARY_GELU:
        return row->gelu;
    case UNARY_GELU_TANH:
        return row->gelu_tanh;
    default:
        return NULL;
    }
}

typedef float number_f32_fn(float x);

/* Those that a function makes of a number. */
static number_f32_fn *number_of(int32_t kind)
{
    switch ((enum unary_kind)kind) {
    case UNARY_SIN:
        return pith_sin_f32;
    case UNARY_COS:
        return pith_cos_f32;
    case UNARY_ATAN:
        return pith_atan_f32;
    case UNARY_ASINH:
        return pith_asinh_f32;
    case UNARY_ATANH:
        return pith_atanh_f32;
    default:
        return NULL;
    }
}

/* Ranges of any cut: elements are independent. */
struct unary_job {
    const struct row_kernels *row;
    int32_t kind;
    float alpha, gamma;
    const struct tview *x;
    void *y;
};

/* The kind is tested outside of the loops: one test a run of elements, not one an element. */
static void unary_f32(const struct unary_job *j, const float *x, float *y, size_t n)
{
    const struct row_kernels *row = j->row;
    const int32_t kind = j->kind;
    row_f32_fn *of_row = row_of(row, kind);
    number_f32_fn *of_number = number_of(kind);
    const bool sine = kind == UNARY_SIN || kind == UNARY_COS; /* of which there are rows, too */
    if (of_row)
        of_row(x, y, n);
    else if (of_number && !(sine && row->elementwise))
        EACH(of_number(x[i]));
    else if (kind == UNARY_EXP)
        row->exp(x, 0.0f, y, n);
    else if (row->elementwise)
        row->elementwise->unary(kind, j->alpha, j->gamma, x, y, n);
    else
        unary_rows(kind, j->alpha, j->gamma, x, y, n);
}

/* Unsigned arithmetic, in which negating the smallest integer is defined and gives itself. */
#define UNARY_INTEGER(T, U)                                                                        \
    static void unary_##T(int32_t kind, const T *x, T *y, size_t n)                                \
    {                                                                                              \
        if (kind == UNARY_NEG)                                                                     \
            EACH((T)(0 - (U)x[i]));                                                                \
        else if (kind == UNARY_ABS)                                                                \
            EACH(x[i] < 0 ? (T)(0 - (U)x[i]) : x[i]);                                              \
        else                                                                                       \
            EACH((x[i] > 0) - (x[i] < 0));                                                         \
    }

UNARY_INTEGER(int32_t, uint32_t)
UNARY_INTEGER(int64_t, uint64_t)

static void unary_range(void *arg, size_t begin, size_t end)
{
    const struct unary_job *j = arg;
    size_t n = end - begin, at = begin * pith_type_bytes(j->x->type);
    const void *px = (const uint8_t *)j->x->data + at;
    void *py = (uint8_t *)j->y + at;
    if (j->x->type == PITH_F32) {
        unary_f32(j, px, py, n);
    } else if (j->x->type == PITH_I32) {
        unary_int32_t(j->kind, px, py, n);
    } else if (j->x->type == PITH_I64) {
        unary_int64_t(j->kind, px, py, n);
    } else {
        const uint8_t *x = px;
        uint8_t *y = py;
        /* A bool is any byte but 0; the result is 0 or 1. */
        EACH(x[i] == 0);
    }
}

static void run_unary(const struct op_args *args, const struct op_env *env)
{
    struct unary_job job = {
        .row = pith_row_kernels(env->kernels),
        .kind = args->attr[ATTR_KIND],
        .alpha = attr_f32(args->attr, ATTR_UNARY_ALPHA),
        .gamma = attr_f32(args->attr, ATTR_UNARY_GAMMA),
        .x = args->in[0],
        .y = args->out[0]->data,
    };
    /* Work of 4 an element: between a copy and an exponential. */
    pith_op_range(env, shape_elems(&args->in[0]->shape), 4, unary_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_KIND, -1, 0, UNARY_END - 1},
    {ATTR_FLOAT, ATTR_UNARY_ALPHA, 0x3f800000 /* 1 */, 0, 0},
    {ATTR_FLOAT, ATTR_UNARY_GAMMA, 0x3f800000 /* 1 */, 0, 0},
};

const struct op_info pith_op_unary = {
    .op = PITH_OP_UNARY,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 3,
    .n_slots = 3,
    .flags = OP_INPLACE,
    .fields = fields,
    .traits = {.flags = TRAIT_UNARY},
    .shape = shape_unary,
    .run = run_unary,
};
