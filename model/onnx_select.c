/* SPDX-License-Identifier: MIT */
/* onnx_select.c - DepthToSpace, SpaceToDepth, Trilu, OneHot, TopK: numbers that ONNX passes as
 * inputs (k, depth) become attributes. */
#include "onnx.h"

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

enum pith_status pith_lower_space_to_depth(struct onnx_lower *l)
{
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

/* ONNX: indices, depth, values; here: indices, values. */
enum pith_status pith_lower_one_hot(struct onnx_lower *l)
{
    int64_t depth, axis;
    enum pith_status status = need_input(l, 0);
    if (!status)
        status = number_input(l, 1, "depth", &depth);
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
