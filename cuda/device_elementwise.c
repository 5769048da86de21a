/* SPDX-License-Identifier: MIT */
/* device_elementwise.c - functions of one element and of two. */
#include "device_lower.h"
#include "op_interface/broadcast.h"
#include "op_interface/op_attr.h"

/* false, by n 0: there are too many elements. */
static bool launch_map(struct lowering *l, const struct step *s, uint32_t kind, float a, float b)
{
    struct map_args m = {X_AND_Y(l, &s->args), .n = pith_device_count(s->args.out[0]), .kind = kind,
                         .a = a, .b = b};
    return pith_device_launch(l, LAUNCH_map_f32, m.n, &m, sizeof m);
}

/* The kernel's table numbers activations as the epilogues of products do (act_kind.h), so one
 * serves both. */
bool pith_device_map(struct lowering *l, const struct step *s)
{
    struct dense_act act = pith_activation_of(s->args.info, s->args.attr);
    return launch_map(l, s, act.kind, act.a, act.b);
}

/* `known` is a set of bits, by enum unary_kind: the kinds that device_map.cuh has, with the CPU's
 * bits. A kind is below 32, as the operator's schema bounds it. */
bool pith_device_unary(struct lowering *l, const struct step *s)
{
    int32_t kind = s->args.attr[ATTR_KIND];
    const uint32_t known = 1u << UNARY_SQRT | 1u << UNARY_EXP | 1u << UNARY_LOG | 1u << UNARY_NEG |
                           1u << UNARY_ABS | 1u << UNARY_SIGN | 1u << UNARY_FLOOR |
                           1u << UNARY_CEIL | 1u << UNARY_ROUND | 1u << UNARY_RECIPROCAL |
                           1u << UNARY_ERF | 1u << UNARY_GELU | 1u << UNARY_GELU_TANH |
                           1u << UNARY_SOFTSIGN | 1u << UNARY_THRESHOLDED_RELU;
    if (!(known >> kind & 1u) || s->args.in[0]->type != PITH_F32)
        return false;
    return launch_map(l, s, MAP_UNARY + (uint32_t)kind, attr_f32(s->args.attr, ATTR_UNARY_ALPHA),
                      0.0f);
}

/* Types for which kernels have arithmetic; the others stay on the CPU. */
static bool has_arithmetic(enum pith_type type)
{
    return type == PITH_F32 || type == PITH_I8 || type == PITH_U8 || type == PITH_I16 ||
           type == PITH_U16 || type == PITH_I32 || type == PITH_I64;
}

/* Axes are merged by pith_broadcast_plan, so that most operands have one or two; an operand that is
 * repeated along an axis has step 0 there. Steps fit 32 bits, as the elements of y do. */
static struct zip_args zip_of(struct lowering *l, const struct step *s, uint32_t op)
{
    const struct tview *a = s->args.in[0], *b = s->args.in[1], *y = s->args.out[0];
    struct broadcast bc = pith_broadcast_plan(&a->shape, &b->shape);
    struct zip_args z = {.a = pith_device_data(l, a),
                         .b = pith_device_data(l, b),
                         .y = pith_device_data(l, y),
                         .n = pith_device_count(y),
                         .op = op,
                         .type = a->type,
                         .rank = bc.rank,
                         .a_type = pith_device_type(l, a),
                         .b_type = pith_device_type(l, b),
                         .y_type = pith_device_type(l, y)};
    for (uint32_t i = 0; i < bc.rank; i++) {
        z.dim[i] = (uint32_t)bc.dim[i];
        z.a_step[i] = (uint32_t)bc.step[0][i];
        z.b_step[i] = (uint32_t)bc.step[1][i];
    }
    return z;
}

static bool launch_zip(struct lowering *l, const struct step *s, enum zip_op op)
{
    struct zip_args z = zip_of(l, s, op);
    return pith_device_launch(l, LAUNCH_zip, z.n, &z, sizeof z) && z.type == s->args.in[1]->type &&
           has_arithmetic(z.type);
}

/* The kernel numbers comparisons as the format does; the shape rule has checked which are of
 * bools. */
bool pith_device_compare(struct lowering *l, const struct step *s)
{
    const struct zip_args z = zip_of(l, s, (uint32_t)s->args.attr[ATTR_KIND]);
    return pith_device_launch(l, LAUNCH_compare, z.n, &z, sizeof z);
}

/* The types of both operands are the same, as the kernel has one type for all three. */
bool pith_device_zip(struct lowering *l, const struct step *s)
{
    static const uint8_t ops[PITH_OP_END] = {[PITH_OP_ADD] = ZIP_ADD,
                                             [PITH_OP_SUB] = ZIP_SUB,
                                             [PITH_OP_MUL] = ZIP_MUL,
                                             [PITH_OP_DIV] = ZIP_DIV,
                                             [PITH_OP_PRELU] = ZIP_PRELU};
    if (!pith_device_is_op(s, PITH_OP_MOD))
        return launch_zip(l, s, ops[s->args.info->op]);
    return s->args.in[0]->type != PITH_F32 && /* of floats it is a long division */
           launch_zip(l, s, s->args.attr[ATTR_MOD_FMOD] ? ZIP_MOD : ZIP_MOD_FLOOR);
}

/* Squares and cubes, by a constant exponent. x^2 and x^3 are products, with the CPU's bits; other
 * exponents would need a pow() of the device, whose bits may differ. The exponent is read when the
 * plan is made, hence it must not be computed by the network (lie in the arena). */
bool pith_device_power(struct lowering *l, const struct step *s)
{
    const struct tview *b = s->args.in[1];
    if (s->args.in[0]->type != PITH_F32 || b->type != PITH_F32 || shape_elems(&b->shape) != 1 ||
        !pith_device_is_constant(l, b))
        return false;
    float exponent = *(const float *)b->data;
    return (exponent == 2.0f || exponent == 3.0f) && launch_zip(l, s, ZIP_POWER);
}

/* An operand that is repeated along an axis, or has none there, aligned to the right, has step 0.
 */
bool pith_device_where(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    const struct shape *y = &args->out[0]->shape;
    struct where_args w = {.condition = pith_device_data(l, args->in[0]),
                           .a = pith_device_data(l, args->in[1]),
                           .b = pith_device_data(l, args->in[2]),
                           .y = pith_device_data(l, args->out[0]),
                           .n = pith_device_count(args->out[0]),
                           .bytes = pith_device_each(l, args->out[0]),
                           .rank = y->rank};
    for (uint32_t i = 0; i < y->rank; i++) {
        w.dim[i] = y->dim[i];
        for (uint32_t k = 0; k < 3; k++) {
            const struct shape *x = &args->in[k]->shape;
            const uint32_t own = i + x->rank - y->rank; /* of its axes, or beyond them */
            if (own < x->rank && x->dim[own] > 1)
                w.step[k][i] = (uint32_t)shape_product(x, own + 1, x->rank);
        }
    }
    return pith_device_launch(l, LAUNCH_where, w.n, &w, sizeof w);
}

/* f16, bf16 and f64 are converted on the CPU. */
bool pith_device_cast(struct lowering *l, const struct step *s)
{
    const struct tview *x = s->args.in[0], *y = s->args.out[0];
    struct cast_args c = {DATA_X_Y_N(l, &s->args), .from = x->type, .to = y->type};
    if (x->type == y->type)
        return pith_device_view(l, s);
    return pith_device_launch(l, LAUNCH_cast, c.n, &c, sizeof c) &&
           (x->type == PITH_BOOL || has_arithmetic(x->type)) &&
           (y->type == PITH_BOOL || has_arithmetic(y->type));
}

/* A thread searches one row or column. */
bool pith_device_arg(struct lowering *l, const struct step *s)
{
    const struct shape *x = &s->args.in[0]->shape;
    uint32_t axis = (uint32_t)s->args.attr[ATTR_ARG_AXIS];
    struct arg_args a = {DATA_X_Y_N(l, &s->args),
                         .type = s->args.in[0]->type,
                         .count = x->dim[axis],
                         .inner = (uint32_t)shape_product(x, axis + 1, x->rank),
                         .is_min = s->args.attr[ATTR_KIND] == ARG_MIN,
                         .last = s->args.attr[ATTR_ARG_LAST] != 0};
    return pith_device_launch(l, LAUNCH_arg_extreme, a.n, &a, sizeof a);
}

/* Channels are axis 1; `inner` counts the elements of one channel of one image. */
bool pith_device_batch_norm(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    const struct shape *x = &args->in[0]->shape;
    struct batch_norm_args b = {X_AND_Y(l, args),
                                .scale = pith_device_as(l, args->in[1], VALUE_F32),
                                .bias = pith_device_as(l, args->in[2], VALUE_F32),
                                .mean = pith_device_as(l, args->in[3], VALUE_F32),
                                .var = pith_device_as(l, args->in[4], VALUE_F32),
                                .n = pith_device_count(args->out[0]),
                                .channels = x->dim[1],
                                .inner = (uint32_t)shape_product(x, 2, x->rank),
                                .epsilon = attr_f32(args->attr, ATTR_BN_EPSILON)};
    return pith_device_launch(l, LAUNCH_batch_norm_f32, b.n, &b, sizeof b);
}
