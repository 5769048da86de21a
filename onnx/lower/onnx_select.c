/* SPDX-License-Identifier: MIT */
/* onnx_select.c - DepthToSpace, SpaceToDepth, Trilu, OneHot, TopK: numbers that ONNX passes as
 * inputs (k, depth) become attributes. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

enum { MAX_BLOCK = 1 << 15 };

static enum pith_status need_input(struct onnx_lower *l, uint32_t i)
{
    if (!pith_onnx_has_input(l, i))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    return PITH_OK;
}

/* Constant input i, one integer. */
static enum pith_status number_input(struct onnx_lower *l, uint32_t i, const char *name, int64_t *v)
{
    struct onnx_ints list;
    enum pith_status status = need_input(l, i);
    if (!status)
        status = pith_onnx_ints_input(l, i, name, &list);
    if (!status && list.n != 1)
        status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input '%s' has %u entries, not one",
                                     name, list.n);
    if (!status)
        *v = list.v[0];
    return status;
}

/* The same of a float that holds a whole number, as OneHot may have its depth. */
static enum pith_status whole_float_input(struct onnx_lower *l, uint32_t i, const char *name,
                                          int64_t *v)
{
    bool present;
    float f = 0;
    enum pith_status status = pith_onnx_float_input(l, i, name, &present, &f);
    if (!status && !(present && f >= 0 && f <= (float)(1 << 24) && f == (float)(int32_t)f))
        status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input '%s' is not a whole number", name);
    if (!status)
        *v = (int64_t)f;
    return status;
}

enum pith_status pith_lower_depth_to_space(struct onnx_lower *l)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    uint32_t mode;
    enum pith_status status = pith_onnx_get_choice(l, "mode", modes, 0, &mode);
    if (status)
        return status;
    l->attr[ATTR_DEPTH_SPACE_KIND] = (int32_t)mode;
    return pith_onnx_take_int(l, "blocksize", ATTR_DEPTH_SPACE_BLOCK);
}

/* The mode came with opset 28. Column, row, depth are the blocks of depth, column, row with the two
 * axes that make up the channels exchanged: [N, b b, C, H, W] -> [N, C, b b, H, W]. */
static enum pith_status channels_first(struct onnx_lower *l)
{
    static const int32_t perm[] = {0, 2, 1, 3, 4};
    struct onnx_steps s = {l, PITH_OK};
    const struct shape *x = pith_onnx_in_shape(l, 0);
    int64_t block;
    enum pith_status status = pith_onnx_get_int(l, "blocksize", 0, &block);
    if (status)
        return status;
    if (x->rank != 4 || block < 1 || block > MAX_BLOCK || x->dim[2] % block || x->dim[3] % block)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "blocksize %lld does not divide its input",
                                   (long long)block);
    int32_t c = (int32_t)x->dim[1], h = (int32_t)(x->dim[2] / block);
    int32_t w = (int32_t)(x->dim[3] / block), each = (int32_t)(block * block);
    const struct step_attr attr[] = {{ATTR_DEPTH_SPACE_KIND, 2},
                                     {ATTR_DEPTH_SPACE_BLOCK, (int32_t)block}};
    uint32_t y = pith_step(&s, PITH_OP_DEPTH_SPACE, 1, l->in, 2, attr);
    y = pith_step_reshape(&s, y, 5, (const int32_t[]){0, each, c, h, w});
    y = pith_step_transpose(&s, y, 5, perm);
    return pith_step_result(&s, 0, pith_step_reshape(&s, y, 4, (const int32_t[]){0, -1, h, w}));
}

enum pith_status pith_lower_space_to_depth(struct onnx_lower *l)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    uint32_t mode;
    enum pith_status status = pith_onnx_get_choice(l, "mode", modes, 0, &mode);
    if (status || mode == 1)
        return status ? status : channels_first(l);
    l->attr[ATTR_DEPTH_SPACE_KIND] = 2;
    return pith_onnx_take_int(l, "blocksize", ATTR_DEPTH_SPACE_BLOCK);
}

enum pith_status pith_lower_trilu(struct onnx_lower *l)
{
    int64_t k = 0;
    enum pith_status status = pith_onnx_take_int(l, "upper", ATTR_TRILU_UPPER);
    if (!status && pith_onnx_has_input(l, 1))
        status = number_input(l, 1, "k", &k);
    if (status)
        return status;
    k = k > INT32_MAX ? INT32_MAX : k < INT32_MIN ? INT32_MIN : k; /* past every matrix */
    l->n_in = 1;
    return pith_onnx_set_int(l, "k", ATTR_TRILU_K, k);
}

/* Indices given as floats, as OneHot allows, become integers. */
static enum pith_status whole_indices(struct onnx_lower *l)
{
    struct onnx_lower sub;
    uint32_t made, in = l->in[0];
    if (l->im->values[in].type == PITH_I64 || l->im->values[in].type == PITH_I32)
        return PITH_OK;
    enum pith_status status = pith_onnx_open_step(l, PITH_OP_CAST, false, &sub, &made);
    sub.in = &in;
    sub.attr[ATTR_CAST_TO] = PITH_I64;
    if (!status)
        status = pith_onnx_finish(&sub);
    l->in[0] = made;
    return status;
}

/* ONNX: indices, depth, values; here: indices, values. */
enum pith_status pith_lower_one_hot(struct onnx_lower *l)
{
    int64_t depth, axis;
    enum pith_status status = need_input(l, 0);
    if (!status)
        status = need_input(l, 1);
    if (!status)
        status = l->im->values[l->in[1]].type == PITH_F32 ? whole_float_input(l, 1, "depth", &depth)
                                                          : number_input(l, 1, "depth", &depth);
    if (!status)
        status = need_input(l, 2);
    if (!status)
        status = pith_onnx_get_int(l, "axis", -1, &axis);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank + 1, &axis);
    if (!status)
        status = pith_onnx_set_int(l, "depth", ATTR_ONE_HOT_DEPTH, depth);
    if (!status)
        status = pith_onnx_set_int(l, "axis", ATTR_ONE_HOT_AXIS, axis);
    if (!status)
        status = whole_indices(l);
    if (status)
        return status;
    l->in[1] = l->in[2];
    l->n_in = 2;
    return PITH_OK;
}

enum pith_status pith_lower_top_k(struct onnx_lower *l)
{
    int64_t axis, k = 0;
    enum pith_status status = need_input(l, 0);
    if (!status)
        status = pith_onnx_get_int(l, "axis", -1, &axis);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank, &axis);
    if (!status)
        status = l->im->opset < 10 ? pith_onnx_get_int(l, "k", 0, &k) : number_input(l, 1, "k", &k);
    if (!status)
        status = pith_onnx_set_int(l, "k", ATTR_TOP_K_K, k);
    if (!status)
        status = pith_onnx_take_int(l, "largest", ATTR_TOP_K_LARGEST);
    if (status)
        return status;
    l->n_in = 1;
    return pith_onnx_set_int(l, "axis", ATTR_TOP_K_AXIS, axis);
}

/* A threshold: absent, `def`. */
static enum pith_status take_threshold(struct onnx_lower *l, uint32_t i, const char *name,
                                       float def, uint32_t slot)
{
    bool present;
    float v = def;
    enum pith_status status = pith_onnx_float_input(l, i, name, &present, &v);
    if (!status && v != v)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s is not a number", name);
    if (!status)
        pith_onnx_set_float(l, slot, v);
    return status;
}

enum pith_status pith_lower_non_max_suppression(struct onnx_lower *l)
{
    struct onnx_ints top;
    enum pith_status status = pith_onnx_take_int(l, "center_point_box", ATTR_NMS_CENTER);
    if (!status)
        status = pith_onnx_ints_input(l, 2, "max_output_boxes_per_class", &top);
    if (!status)
        status = take_threshold(l, 3, "iou_threshold", 0.0f, ATTR_NMS_IOU);
    if (!status)
        status =
            take_threshold(l, 4, "score_threshold", f32_from_bits(0xff800000u), ATTR_NMS_SCORE);
    if (status)
        return status;
    if (!top.present || top.n != 1 || top.v[0] < 1)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "without max_output_boxes_per_class it selects nothing");
    l->attr[ATTR_NMS_TOP] = (int32_t)(top.v[0] < INT32_MAX ? top.v[0] : INT32_MAX);
    l->n_in = l->n_in > 2 ? 2 : l->n_in;
    status = pith_onnx_finish(l);
    l->im->values[l->first_out].selected = true;
    l->done = true;
    return status;
}
