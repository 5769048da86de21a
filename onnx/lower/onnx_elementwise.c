/* SPDX-License-Identifier: MIT */
/* onnx_elementwise.c - elementwise operators that share one operator here. */
#include "onnx/graph/onnx.h"
#include "model/operator_kind.h"
#include "op_interface/op_attr.h"

enum pith_status pith_lower_kind(struct onnx_lower *l)
{
    l->attr[ATTR_KIND] = pith_onnx_kind(l->row->op, l->node->op_type);
    return PITH_OK;
}

static enum pith_type type_in(const struct onnx_lower *l, uint32_t i)
{
    return pith_onnx_has_input(l, i) ? l->im->values[l->in[i]].type : PITH_F32;
}

static bool is_short(enum pith_type type)
{
    return type == PITH_I8 || type == PITH_U8 || type == PITH_I16 || type == PITH_U16;
}

/* A new constant without dims; bytes: one element of `type`. */
static enum pith_status scalar(struct onnx_lower *l, enum pith_type type, const void *bytes,
                               uint32_t *value)
{
    uint32_t n = pith_type_bytes(type), made = pith_onnx_add_value(l->im, "constant");
    void *data = made == ONNX_VALUE_NONE ? NULL : pith_onnx_alloc(&l->im->budget, n, 1);
    if (!data)
        return pith_onnx_no_memory(l->im);
    memcpy(data, bytes, n);
    struct onnx_value *v = &l->im->values[made];
    v->type = type;
    v->known = v->constant = true;
    v->data = data;
    *value = made;
    return PITH_OK;
}

static enum pith_status cast_step(struct onnx_lower *l, uint32_t from, enum pith_type to, bool last,
                                  uint32_t *out)
{
    struct onnx_lower sub;
    enum pith_status status = pith_onnx_open_step(l, PITH_OP_CAST, last, &sub, out);
    sub.in = &from;
    sub.attr[ATTR_CAST_TO] = (int32_t)to;
    return status ? status : pith_onnx_finish(&sub);
}

enum pith_status pith_onnx_widened(struct onnx_lower *l, enum pith_type type)
{
    enum pith_type narrow = type_in(l, 0);
    struct onnx_lower sub;
    uint32_t in, out, result;
    if (l->n_in != 1)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has %u inputs, not one", l->n_in);
    enum pith_status status = cast_step(l, l->in[0], type, false, &in);
    if (!status)
        status = pith_onnx_open_step(l, l->info->op, false, &sub, &out);
    if (status)
        return status;
    memcpy(sub.attr, l->attr, sizeof sub.attr);
    sub.in = &in;
    status = pith_onnx_finish(&sub);
    l->done = true;
    return status ? status : cast_step(l, out, narrow, true, &result);
}

/* alpha and gamma have other defaults from kind to kind. */
enum pith_status pith_lower_unary(struct onnx_lower *l)
{
    static const struct unary_default {
        enum unary_kind kind;
        float alpha, gamma;
    } defaults[] = {
        {UNARY_ELU, 1.0f, 1.0f},
        {UNARY_SELU, 1.67326319217681884765625f, 1.05070102214813232421875f},
        {UNARY_CELU, 1.0f, 1.0f},
        {UNARY_THRESHOLDED_RELU, 1.0f, 1.0f},
    };
    static const char *const approximations[] = {"none", "tanh", NULL};
    enum pith_status status = pith_lower_kind(l);
    int32_t kind = l->attr[ATTR_KIND];
    if (!status && kind == UNARY_GELU) {
        uint32_t index;
        status = pith_onnx_get_choice(l, "approximate", approximations, 0, &index);
        if (!status && index == 1)
            l->attr[ATTR_KIND] = UNARY_GELU_TANH;
    }
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && !status; i++) {
        if ((int32_t)defaults[i].kind != kind)
            continue;
        pith_onnx_set_float(l, ATTR_UNARY_ALPHA, defaults[i].alpha);
        pith_onnx_set_float(l, ATTR_UNARY_GAMMA, defaults[i].gamma);
        status = pith_onnx_take_float(l, "alpha", ATTR_UNARY_ALPHA);
        if (!status && kind == UNARY_SELU)
            status = pith_onnx_take_float(l, "gamma", ATTR_UNARY_GAMMA);
    }
    bool of_integers = kind == UNARY_NEG || kind == UNARY_ABS || kind == UNARY_SIGN;
    if (!status && of_integers && is_short(type_in(l, 0)))
        return pith_onnx_widened(l, PITH_I32);
    return status;
}

/* Floats without fmod are defined since opset 28. Older files that have them mean the same: ONNX's
 * own checker lets them pass, and its reference takes the remainder of the floor. */
enum pith_status pith_lower_mod(struct onnx_lower *l)
{
    return pith_onnx_take_int(l, "fmod", ATTR_MOD_FMOD);
}

enum pith_status pith_onnx_input_twice(struct onnx_lower *l)
{
    uint32_t *twice = pith_onnx_alloc(&l->im->budget, 2, sizeof *twice);
    if (!twice)
        return pith_onnx_no_memory(l->im);
    twice[0] = twice[1] = l->in[0];
    l->in = twice;
    l->n_in = 2;
    return PITH_OK;
}

/* NaN alone is unequal to itself. */
enum pith_status pith_lower_is_nan(struct onnx_lower *l)
{
    if (l->n_in != 1 || !pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    l->attr[ATTR_KIND] = COMPARE_NOT_EQUAL;
    return pith_onnx_input_twice(l);
}

/* Of integers it is the larger of each element and 0. */
enum pith_status pith_lower_relu(struct onnx_lower *l)
{
    static const uint8_t zeros[8] = {0};
    enum pith_status status = pith_onnx_single_output(l);
    if (status || type_in(l, 0) == PITH_F32 || !pith_onnx_has_input(l, 0))
        return status;
    uint32_t zero;
    status = scalar(l, type_in(l, 0), zeros, &zero);
    if (!status)
        status = pith_onnx_input_twice(l);
    if (status)
        return status;
    l->in[1] = zero;
    l->info = pith_op_get(PITH_OP_VARIADIC);
    pith_op_attr_defaults(l->info, l->attr);
    l->attr[ATTR_KIND] = VARIADIC_MAX;
    return PITH_OK;
}

/* Exponents of 8 and 16 bits are cast to 32. */
enum pith_status pith_lower_pow(struct onnx_lower *l)
{
    enum pith_status status = pith_onnx_single_output(l);
    if (status || !is_short(type_in(l, 1)))
        return status;
    uint32_t exponent;
    status = cast_step(l, l->in[1], PITH_I32, false, &exponent);
    if (!status)
        status = pith_onnx_input_twice(l);
    if (!status)
        l->in[1] = exponent;
    return status;
}

/* x == inf, x == -inf, |x| == inf, or x < x, which nothing is. */
enum pith_status pith_lower_is_inf(struct onnx_lower *l)
{
    int64_t positive, negative;
    if (l->n_in != 1 || !pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_get_int(l, "detect_positive", 1, &positive);
    if (!status)
        status = pith_onnx_get_int(l, "detect_negative", 1, &negative);
    if (!status)
        status = pith_onnx_input_twice(l);
    if (status)
        return status;
    l->attr[ATTR_KIND] = positive || negative ? COMPARE_EQUAL : COMPARE_LESS;
    if (!positive && !negative)
        return PITH_OK;
    if (positive && negative) {
        struct onnx_lower sub;
        uint32_t magnitude;
        status = pith_onnx_open_step(l, PITH_OP_UNARY, false, &sub, &magnitude);
        sub.in = l->in;
        sub.attr[ATTR_KIND] = UNARY_ABS;
        if (!status)
            status = pith_onnx_finish(&sub);
        if (status)
            return status;
        l->in[0] = magnitude;
    }
    float inf = f32_from_bits(positive ? 0x7f800000u : 0xff800000u);
    return scalar(l, PITH_F32, &inf, &l->in[1]);
}
