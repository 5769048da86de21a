/* SPDX-License-Identifier: MIT */
/* onnx_normalize.c - normalisations by statistics of the input itself. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

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

/* The mean over the axes from `axis` on. */
static uint32_t mean_from(struct onnx_steps *s, uint32_t x, uint32_t axis)
{
    struct step_attr attr[PITH_MAX_RANK + 1];
    uint32_t rank = s->status ? 0 : s->l->im->values[x].shape.rank, n = 0;
    for (uint32_t i = axis; i < rank; i++, n++)
        attr[1 + n] = (struct step_attr){ATTR_AXES + 1 + n, (int32_t)i};
    attr[0] = (struct step_attr){ATTR_AXES, (int32_t)n};
    return pith_step(s, PITH_OP_REDUCE_MEAN, 1, &x, n + 1, attr);
}

/* Mean and 1 / sqrt(variance + epsilon), outputs 1 and 2 of LayerNormalization, by nodes of their
 * own as far as they are used: few networks read them. */
static enum pith_status add_statistics(struct onnx_lower *l, uint32_t axis, float epsilon)
{
    struct onnx_steps s = {l, PITH_OK};
    const uint32_t x = l->in[0];
    bool mean_used = l->n_out > 1 && l->im->values[l->first_out + 1].live;
    bool inverse_used = l->n_out > 2 && l->im->values[l->first_out + 2].live;
    if (!mean_used && !inverse_used)
        return PITH_OK;
    uint32_t mean = mean_from(&s, x, axis);
    if (mean_used)
        pith_step_result(&s, 1, mean);
    if (inverse_used) {
        uint32_t d = pith_step_two(&s, PITH_OP_SUB, x, mean);
        uint32_t variance = mean_from(&s, pith_step_two(&s, PITH_OP_MUL, d, d), axis);
        uint32_t sum = pith_step_two(&s, PITH_OP_ADD, variance, pith_step_scalar(&s, epsilon));
        uint32_t deviation = pith_step_unary(&s, UNARY_SQRT, sum);
        pith_step_result(&s, 2, pith_step_unary(&s, UNARY_RECIPROCAL, deviation));
    }
    l->done = false; /* output 0 is still to come */
    return s.status;
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
    if (!status)
        status = add_statistics(l, (uint32_t)axis, attr_f32(l->attr, ATTR_LAYER_NORM_EPSILON));
    l->n_out = 1;
    return status;
}

/* The scale may repeat along axes of 1. */
static enum pith_status spread_scale(struct onnx_lower *l, uint32_t axis)
{
    struct onnx_steps s = {l, PITH_OK};
    struct step_attr attr[PITH_LIST_SLOTS];
    const struct shape *x = pith_onnx_in_shape(l, 0), *scale = pith_onnx_in_shape(l, 1);
    const uint32_t n = x->rank - axis;
    if (scale->rank > n || shape_elems(scale) == shape_product(x, axis, x->rank))
        return PITH_OK;
    attr[0] = (struct step_attr){ATTR_TILE_REPEATS, (int32_t)n};
    for (uint32_t i = 0; i < n; i++) {
        const bool has = i + scale->rank >= n && scale->dim[i + scale->rank - n] != 1;
        attr[1 + i] =
            (struct step_attr){ATTR_TILE_REPEATS + 1 + i, has ? 1 : (int32_t)x->dim[axis + i]};
    }
    l->in[1] = pith_step(&s, PITH_OP_TILE, 1, &l->in[1], 1 + n, attr);
    return s.status;
}

enum pith_status pith_lower_rms_norm(struct onnx_lower *l)
{
    enum pith_status status = pith_onnx_single_output(l);
    if (!status && !pith_onnx_has_input(l, 1))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 1 is missing");
    l->attr[ATTR_LAYER_NORM_ABOUT_ZERO] = 1;
    if (!status)
        status = pith_lower_layer_norm(l);
    return status ? status : spread_scale(l, (uint32_t)l->attr[ATTR_LAYER_NORM_AXIS]);
}

enum pith_status pith_lower_mean_variance(struct onnx_lower *l)
{
    struct onnx_ints axes;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_ints_attr(l, "axes", &axes);
    if (!axes.present)
        axes = (struct onnx_ints){.n = 3, .v = {0, 2, 3}};
    if (!status)
        status = pith_onnx_axes(l, "axes", pith_onnx_in_shape(l, 0)->rank, &axes);
    return status ? status : pith_onnx_set_ints(l, "axes", ATTR_AXES, axes.v, axes.n);
}
