/* SPDX-License-Identifier: MIT */
/* onnx_elementwise.c - elementwise operators that share one operator here. */
#include "onnx.h"
#include "onnx_kind.h"

enum pith_status pith_lower_kind(struct onnx_lower *l)
{
    l->attr[ATTR_KIND] = pith_onnx_kind(l->row->op, l->node->op_type);
    return PITH_OK;
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
    return status;
}

enum pith_status pith_lower_mod(struct onnx_lower *l)
{
    enum pith_status status = pith_onnx_take_int(l, "fmod", ATTR_MOD_FMOD);
    if (!status && pith_onnx_has_input(l, 0) && l->im->values[l->in[0]].type == PITH_F32 &&
        !l->attr[ATTR_MOD_FMOD])
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "floats need fmod = 1");
    return status;
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
