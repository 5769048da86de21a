/* SPDX-License-Identifier: MIT */
/* onnx_normalize.c - normalisations by statistics of the input itself. */
#include "onnx.h"

/* InstanceNormalization: a group a channel. GroupNormalization: scale and bias are one a group up
 * to opset 20, one a channel from 21 on. */
enum pith_status pith_lower_group_norm(struct onnx_lower *l)
{
    enum pith_status status = pith_onnx_take_float(l, "epsilon", ATTR_GROUP_NORM_EPSILON);
    if (status || strcmp(l->node->op_type, "InstanceNormalization") == 0)
        return status;
    int64_t groups;
    status = pith_onnx_get_int(l, "num_groups", 0, &groups);
    if (!status && groups < 1)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "num_groups is %lld", (long long)groups);
    l->attr[ATTR_GROUP_NORM_PER_GROUP] = l->im->opset < 21;
    return status ? status : pith_onnx_set_int(l, "num_groups", ATTR_GROUP_NORM_GROUPS, groups);
}

enum pith_status pith_lower_layer_norm(struct onnx_lower *l)
{
    int64_t axis;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_get_int(l, "axis", -1, &axis);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank, &axis);
    if (!status)
        status = pith_onnx_set_int(l, "axis", ATTR_LAYER_NORM_AXIS, axis);
    if (!status)
        status = pith_onnx_take_float(l, "epsilon", ATTR_LAYER_NORM_EPSILON);
    return status ? status : pith_onnx_single_output(l);
}

enum pith_status pith_lower_mean_variance(struct onnx_lower *l)
{
    struct onnx_ints axes;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_ints_attr(l, "axes", &axes);
    if (!status && !axes.present)
        axes = (struct onnx_ints){.n = 3, .v = {0, 2, 3}};
    if (!status)
        status = pith_onnx_axes(l, "axes", pith_onnx_in_shape(l, 0)->rank, &axes);
    return status ? status : pith_onnx_set_ints(l, "axes", ATTR_AXES, axes.v, axes.n);
}
