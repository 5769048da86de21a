/* SPDX-License-Identifier: MIT */
/* onnx_along_axis.c - operators along one axis: ArgMax, ArgMin, Hardmax, CumSum, LpNormalization.
 */
#include "onnx/graph/onnx.h"
#include "model/operator_kind.h"
#include "op_interface/op_attr.h"

/* The attribute `axis`, made non-negative, into its slot; the kind into its own. */
static enum pith_status take_axis(struct onnx_lower *l, int64_t def, uint32_t slot)
{
    int64_t axis;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    l->attr[ATTR_KIND] = pith_onnx_kind(l->row->op, l->node->op_type);
    enum pith_status status = pith_onnx_get_int(l, "axis", def, &axis);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank, &axis);
    return status ? status : pith_onnx_set_int(l, "axis", slot, axis);
}

enum pith_status pith_lower_arg(struct onnx_lower *l)
{
    enum pith_status status = take_axis(l, 0, ATTR_ARG_AXIS);
    if (!status)
        status = pith_onnx_take_int(l, "keepdims", ATTR_ARG_KEEP);
    return status ? status : pith_onnx_take_int(l, "select_last_index", ATTR_ARG_LAST);
}

/* As Softmax: flattened from `axis` on before opset 13. */
enum pith_status pith_lower_hardmax(struct onnx_lower *l)
{
    bool flat = l->im->opset < 13;
    enum pith_status status = take_axis(l, flat ? 1 : -1, ATTR_ALONG_AXIS);
    if (status)
        return status;
    const struct shape *x = pith_onnx_in_shape(l, 0);
    uint32_t behind = (uint32_t)l->attr[ATTR_ALONG_AXIS] + 1;
    l->attr[ATTR_ALONG_FLAT] = flat && shape_product(x, behind, x->rank) != 1;
    return PITH_OK;
}

enum pith_status pith_lower_cum_sum(struct onnx_lower *l)
{
    struct onnx_ints axis;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    l->attr[ATTR_KIND] = ALONG_CUM_SUM;
    enum pith_status status = pith_onnx_ints_input(l, 1, "axis", &axis);
    if (!status && (!axis.present || axis.n != 1))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 'axis' has %u entries, not one",
                                   axis.present ? axis.n : 0);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank, &axis.v[0]);
    if (!status)
        status = pith_onnx_set_int(l, "axis", ATTR_ALONG_AXIS, axis.v[0]);
    if (!status)
        status = pith_onnx_take_int(l, "exclusive", ATTR_ALONG_EXCLUSIVE);
    if (!status)
        status = pith_onnx_take_int(l, "reverse", ATTR_ALONG_REVERSE);
    l->n_in = 1;
    return status;
}

enum pith_status pith_lower_lp_norm(struct onnx_lower *l)
{
    enum pith_status status = take_axis(l, -1, ATTR_ALONG_AXIS);
    return status ? status : pith_onnx_take_int(l, "p", ATTR_ALONG_P);
}
