/* SPDX-License-Identifier: MIT */
/* onnx_formula.c - functions that are a short formula of others and rare in networks: each becomes
 * the nodes of its formula. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

static uint32_t scaled(struct onnx_steps *s, float factor, uint32_t x)
{
    return pith_step_two(s, PITH_OP_MUL, x, pith_step_scalar(s, factor));
}

static uint32_t plus(struct onnx_steps *s, uint32_t x, float term)
{
    return pith_step_two(s, PITH_OP_ADD, x, pith_step_scalar(s, term));
}

static uint32_t one_minus(struct onnx_steps *s, uint32_t x)
{
    return pith_step_two(s, PITH_OP_SUB, pith_step_scalar(s, 1), x);
}

static uint32_t divided(struct onnx_steps *s, uint32_t a, uint32_t b)
{
    return pith_step_two(s, PITH_OP_DIV, a, b);
}

static uint32_t tangent(struct onnx_steps *s, uint32_t x)
{
    return divided(s, pith_step_unary(s, UNARY_SIN, x), pith_step_unary(s, UNARY_COS, x));
}

/* x / sqrt((1 - x) (1 + x)) is the tangent. */
static uint32_t arc_sine(struct onnx_steps *s, uint32_t x)
{
    uint32_t square = pith_step_two(s, PITH_OP_MUL, one_minus(s, x), plus(s, x, 1));
    return pith_step_unary(s, UNARY_ATAN, divided(s, x, pith_step_unary(s, UNARY_SQRT, square)));
}

/* sqrt((1 - x) / (1 + x)) is the tangent of half of it. */
static uint32_t arc_cosine(struct onnx_steps *s, uint32_t x)
{
    uint32_t ratio = divided(s, one_minus(s, x), plus(s, x, 1));
    return scaled(s, 2, pith_step_unary(s, UNARY_ATAN, pith_step_unary(s, UNARY_SQRT, ratio)));
}

static uint32_t hyperbolic_cosine(struct onnx_steps *s, uint32_t x)
{
    uint32_t up = pith_step_unary(s, UNARY_EXP, x);
    uint32_t down = pith_step_unary(s, UNARY_EXP, pith_step_unary(s, UNARY_NEG, x));
    return scaled(s, 0.5f, pith_step_two(s, PITH_OP_ADD, up, down));
}

/* tanh x cosh x: keeps its digits near 0, where the exponentials cancel. */
static uint32_t hyperbolic_sine(struct onnx_steps *s, uint32_t x)
{
    uint32_t tanh = pith_step(s, PITH_OP_TANH, 1, &x, 0, NULL);
    return pith_step_two(s, PITH_OP_MUL, tanh, hyperbolic_cosine(s, x));
}

/* log(x + sqrt((x - 1) (x + 1))) */
static uint32_t area_cosine(struct onnx_steps *s, uint32_t x)
{
    uint32_t square = pith_step_two(s, PITH_OP_MUL, plus(s, x, -1), plus(s, x, 1));
    return pith_step_unary(
        s, UNARY_LOG, pith_step_two(s, PITH_OP_ADD, x, pith_step_unary(s, UNARY_SQRT, square)));
}

static uint32_t chosen(struct onnx_steps *s, uint32_t condition, uint32_t yes, uint32_t no)
{
    const uint32_t in[3] = {condition, yes, no};
    return pith_step(s, PITH_OP_WHERE, 3, in, 0, NULL);
}

static uint32_t compared(struct onnx_steps *s, enum compare_kind kind, uint32_t x, float with)
{
    const struct step_attr attr = {ATTR_KIND, (int32_t)kind};
    const uint32_t in[2] = {x, pith_step_scalar(s, with)};
    return pith_step(s, PITH_OP_COMPARE, 2, in, 1, &attr);
}

/* x + bias below -lambd, x - bias above lambd, 0 between. */
static uint32_t shrink(struct onnx_steps *s, uint32_t x)
{
    float bias = 0, lambd = 0.5f;
    s->status = pith_onnx_get_float(s->l, "bias", 0, &bias);
    if (!s->status)
        s->status = pith_onnx_get_float(s->l, "lambd", 0.5f, &lambd);
    uint32_t inner = chosen(s, compared(s, COMPARE_GREATER, x, lambd), plus(s, x, -bias),
                            pith_step_scalar(s, 0));
    return chosen(s, compared(s, COMPARE_LESS, x, -lambd), plus(s, x, bias), inner);
}

static const struct formula {
    const char *op_type;
    uint32_t (*build)(struct onnx_steps *s, uint32_t x);
} formulas[] = {
    {"Acos", arc_cosine}, {"Acosh", area_cosine},
    {"Asin", arc_sine},   {"Cosh", hyperbolic_cosine},
    {"Shrink", shrink},   {"Sinh", hyperbolic_sine},
    {"Tan", tangent},
};

enum pith_status pith_lower_formula(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    uint32_t y = ONNX_VALUE_NONE;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    if (l->im->values[l->in[0]].type != PITH_F32)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its input is not of floats");
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (strcmp(formulas[i].op_type, l->node->op_type) == 0)
            y = formulas[i].build(&s, l->in[0]);
    return pith_step_result(&s, 0, y);
}
