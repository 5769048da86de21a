/* SPDX-License-Identifier: MIT */
/* onnx_reduce.c - reductions. ReduceMean is older here and has its own operator. */
#include "onnx/graph/onnx.h"
#include "model/operator_kind.h"
#include "op_interface/op_attr.h"

static enum pith_status become_unary(struct onnx_lower *l, enum unary_kind kind)
{
    l->info = pith_op_get(PITH_OP_UNARY);
    pith_op_attr_defaults(l->info, l->attr);
    l->attr[ATTR_KIND] = (int32_t)kind;
    return PITH_OK;
}

/* noop_with_empty_axes: each element is reduced by itself. */
static enum pith_status reduce_nothing(struct onnx_lower *l)
{
    switch (l->attr[ATTR_KIND]) {
    case REDUCE_L1:
    case REDUCE_L2:
        return become_unary(l, UNARY_ABS);
    case REDUCE_LOG_SUM:
        return become_unary(l, UNARY_LOG);
    case REDUCE_SUM_SQUARE:
        l->info = pith_op_get(PITH_OP_MUL);
        return pith_onnx_input_twice(l);
    default:
        return pith_onnx_vanish(l);
    }
}

/* What all reductions read: axes, an attribute below opset `since`, then input 1; keepdims into
 * keep_slot; *noop: nothing is reduced when there are no axes. */
static enum pith_status read_reduction(struct onnx_lower *l, int64_t since, uint32_t keep_slot,
                                       struct onnx_ints *axes, int64_t *noop)
{
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_ints_either(l, since, 1, "axes", axes);
    if (!status)
        status = pith_onnx_take_int(l, "keepdims", keep_slot);
    if (!status)
        status = pith_onnx_get_int(l, "noop_with_empty_axes", 0, noop);
    if (!status)
        status = pith_onnx_axes(l, "axes", pith_onnx_in_shape(l, 0)->rank, axes);
    l->n_in = status ? l->n_in : 1;
    return status;
}

enum pith_status pith_lower_reduce_mean(struct onnx_lower *l)
{
    struct onnx_ints axes;
    int64_t noop;
    enum pith_status status = read_reduction(l, 18, ATTR_REDUCE_KEEP, &axes, &noop);
    if (status)
        return status;
    if (axes.n == 0 && noop)
        return pith_onnx_vanish(l);
    return pith_onnx_set_ints(l, "axes", ATTR_AXES, axes.v, axes.n);
}

/* Axes became an input with opset 18, ReduceSum's with 13. */
enum pith_status pith_lower_reduce(struct onnx_lower *l)
{
    struct onnx_ints axes;
    int64_t noop;
    l->attr[ATTR_KIND] = pith_onnx_kind(PITH_OP_REDUCE, l->node->op_type);
    int64_t since = l->attr[ATTR_KIND] == REDUCE_SUM ? 13 : 18;
    enum pith_status status = read_reduction(l, since, ATTR_REDUCE_KIND_KEEP, &axes, &noop);
    if (status)
        return status;
    if (axes.n == 0 && noop)
        return reduce_nothing(l);
    status = pith_onnx_set_ints(l, "axes", ATTR_REDUCE_KIND_AXES, axes.v, axes.n);
    enum pith_type type = l->im->values[l->in[0]].type;
    bool is_short = type == PITH_I8 || type == PITH_U8 || type == PITH_BOOL; /* Max, Min */
    return status || !is_short ? status : pith_onnx_widened(l, PITH_I32);
}
