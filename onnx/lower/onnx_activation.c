/* SPDX-License-Identifier: MIT */
/* onnx_activation.c - activations with parameters, Softmax of both ages. */
#include "onnx/graph/onnx.h"
#include "op_interface/op_attr.h"

#include <math.h>

/* LeakyRelu (alpha), HardSigmoid (alpha, beta). */
enum pith_status pith_lower_alpha(struct onnx_lower *l)
{
    enum pith_status status = pith_onnx_take_float(l, "alpha", ATTR_ALPHA);
    if (status || l->row->op != PITH_OP_HARD_SIGMOID)
        return status;
    return pith_onnx_take_float(l, "beta", ATTR_BETA);
}

/* One of Min and Max of two values. */
static enum pith_status bound_step(struct onnx_lower *l, enum variadic_kind kind, uint32_t bound,
                                   bool last, uint32_t *x)
{
    struct onnx_lower sub;
    uint32_t in[2] = {*x, bound};
    enum pith_status status = pith_onnx_open_step(l, PITH_OP_VARIADIC, last, &sub, x);
    sub.in = in;
    sub.n_in = 2;
    sub.attr[ATTR_KIND] = (int32_t)kind;
    return status ? status : pith_onnx_finish(&sub);
}

/* Bounds of integers do not fit floats, and those computed at run time no attribute: Max with the
 * lower bound, then Min with the upper one. */
static enum pith_status clip_by_values(struct onnx_lower *l)
{
    uint32_t x = l->in[0];
    bool low = pith_onnx_has_input(l, 1), high = pith_onnx_has_input(l, 2);
    if (!low && !high)
        return pith_onnx_vanish(l);
    enum pith_status status = PITH_OK;
    if (low)
        status = bound_step(l, VARIADIC_MAX, l->in[1], !high, &x);
    if (!status && high)
        status = bound_step(l, VARIADIC_MIN, l->in[2], true, &x);
    l->done = true;
    return status;
}

static bool is_constant(const struct onnx_lower *l, uint32_t i)
{
    return !pith_onnx_has_input(l, i) || l->im->values[l->in[i]].constant;
}

/* Bounds are attributes up to opset 10, scalar inputs from 11 on. */
enum pith_status pith_lower_clip(struct onnx_lower *l)
{
    float min = -INFINITY, max = INFINITY;
    bool present;
    enum pith_status status;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    bool is_float = l->im->values[l->in[0]].type == PITH_F32;
    if (l->im->opset >= 11 && (!is_float || !is_constant(l, 1) || !is_constant(l, 2)))
        return clip_by_values(l);
    if (l->im->opset < 11) {
        status = pith_onnx_get_float(l, "min", min, &min);
        if (!status)
            status = pith_onnx_get_float(l, "max", max, &max);
    } else {
        status = pith_onnx_float_input(l, 1, "min", &present, &min);
        if (!status)
            status = pith_onnx_float_input(l, 2, "max", &present, &max);
    }
    if (status)
        return status;
    if (isnan(min) || isnan(max))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "a bound is not a number");
    pith_onnx_set_float(l, ATTR_CLIP_MIN, min);
    pith_onnx_set_float(l, ATTR_CLIP_MAX, max);
    l->n_in = l->n_in > 1 ? 1 : l->n_in;
    return PITH_OK;
}

/* Before opset 13 the softmax runs over all axes from `axis` on, flattened; since then over `axis`
 * alone. Where the later axes have one element each, the two are the same. */
enum pith_status pith_lower_softmax(struct onnx_lower *l)
{
    bool flat = l->im->opset < 13;
    int64_t axis;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    const struct shape *x = pith_onnx_in_shape(l, 0);
    enum pith_status status = pith_onnx_get_int(l, "axis", flat ? 1 : -1, &axis);
    if (!status && !(flat && axis == (int64_t)x->rank)) /* flat over nothing: every element is 1 */
        status = pith_onnx_axis(l, "axis", x->rank, &axis);
    if (!status)
        status = pith_onnx_set_int(l, "axis", ATTR_SOFTMAX_AXIS, axis);
    if (status)
        return status;
    flat = flat && (axis == (int64_t)x->rank || shape_product(x, (uint32_t)axis + 1, x->rank) != 1);
    l->attr[ATTR_SOFTMAX_FLAT] = flat;
    return PITH_OK;
}
