/* SPDX-License-Identifier: MIT */
/* onnx_export_op.c - each operator of pith in the words of ONNX opset 13: one row and, where
 * attributes differ, one function. Three say in several nodes what opset 13 has no single one for:
 * HardSwish, a Softmax over flattened axes, and a transposed right side that is not constant. */
#include "onnx_export.h"
#include "base/error_fill.h"
#include "model/operator_kind.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

static const struct pith_value *value_in(const struct op_export *e, uint32_t i)
{
    return &e->x->m->values[e->node->in[i]];
}

static const struct pith_value *value_out(const struct op_export *e)
{
    return &e->x->m->values[e->node->out[0]];
}

static void put_float(struct op_export *e, const char *name, uint32_t slot)
{
    pith_export_float(e->x, e->to, name, attr_f32(e->node->attr, slot));
}

static void put_list_input(struct op_export *e, uint32_t slot)
{
    int64_t v[2 * PITH_MAX_RANK];
    uint32_t n = pith_export_list(e, slot, v);
    pith_export_input(e->to, pith_export_ints_tensor(e->x, v, n));
}

static enum pith_status gemm(struct op_export *e)
{
    pith_export_put_int(e, "transA", ATTR_GEMM_TRANS_A);
    pith_export_put_int(e, "transB", ATTR_GEMM_TRANS_B);
    put_float(e, "alpha", ATTR_GEMM_ALPHA);
    put_float(e, "beta", ATTR_GEMM_BETA);
    return PITH_OK;
}

/* The constant [N, K] as an initializer [K, N], under the constant's name; once for all readers. */
static const char *transposed(struct op_export *e)
{
    struct onnx_export *x = e->x;
    uint32_t value = e->node->in[1];
    if (x->replaced[value])
        return x->names[value];
    x->replaced[value] = true;
    return pith_export_weight(x, x->names[value], value, EXPORT_TRANSPOSED);
}

const char *pith_export_swapped(struct onnx_export *x, const char *name)
{
    static const int64_t swap[] = {1, 0};
    Onnx__NodeProto *t = pith_export_node(x, "Transpose", "");
    const char *to = pith_export_name(x, "transposed");
    pith_export_input(t, name);
    pith_export_output(t, to);
    pith_export_ints(x, t, "perm", swap, 2);
    return to;
}

void pith_export_swap_input(struct op_export *e, uint32_t i)
{
    struct onnx_export *x = e->x;
    const char *name = x->failed ? NULL : pith_export_swapped(x, e->to->input[i]);
    if (x->failed)
        return;
    x->graph.node[x->graph.n_node - 2] = x->graph.node[x->graph.n_node - 1];
    x->graph.node[x->graph.n_node - 1] = e->to;
    e->to->input[i] = (char *)(uintptr_t)name;
}

/* A constant that somebody reads as it lies stays the one that there is. */
static enum pith_status matmul(struct op_export *e)
{
    if (!e->node->attr[ATTR_MATMUL_TRANS_B])
        return PITH_OK;
    uint32_t value = e->node->in[1];
    const struct pith_value *v = value_in(e, 1);
    bool turns = v->constant && v->type == PITH_F32 && v->rank == 2 &&
                 e->x->turned_uses[value] == e->x->uses[value];
    const char *name = turns ? transposed(e) : NULL;
    if (name)
        e->to->input[1] = (char *)(uintptr_t)name;
    else if (!turns)
        pith_export_swap_input(e, 1);
    return PITH_OK;
}

static enum pith_status alpha(struct op_export *e)
{
    put_float(e, "alpha", ATTR_ALPHA);
    return PITH_OK;
}

static enum pith_status alpha_beta(struct op_export *e)
{
    put_float(e, "alpha", ATTR_ALPHA);
    put_float(e, "beta", ATTR_BETA);
    return PITH_OK;
}

/* Left out where it is `none`, which bounds nothing. */
static void put_bound(struct op_export *e, uint32_t slot, float none)
{
    float v = attr_f32(e->node->attr, slot);
    bool bounds = v < none || v > none;
    pith_export_input(e->to, bounds ? pith_export_float_tensor(e->x, &v, 1, true) : "");
}

static enum pith_status clip(struct op_export *e)
{
    put_bound(e, ATTR_CLIP_MIN, -INFINITY);
    put_bound(e, ATTR_CLIP_MAX, INFINITY);
    return PITH_OK;
}

/* x * max(0, min(1, x / 6 + 0.5)) */
static enum pith_status hard_swish(struct op_export *e)
{
    char *gate = pith_export_name(e->x, "gate");
    const char *in = e->x->names[e->node->in[0]];
    e->to->n_output = 0;
    pith_export_output(e->to, gate);
    pith_export_float(e->x, e->to, "alpha", 1.0f / 6.0f);
    pith_export_float(e->x, e->to, "beta", 0.5f);
    Onnx__NodeProto *mul = pith_export_node(e->x, "Mul", "");
    pith_export_input(mul, in);
    pith_export_input(mul, gate);
    pith_export_output(mul, e->x->names[e->node->out[0]]);
    return PITH_OK;
}

/* The two axes that a Flatten makes of the shape are dims, too. */
static bool flattens(const struct pith_value *v, uint32_t axis)
{
    uint64_t n[2] = {1, 1};
    for (uint32_t i = 0; i < v->rank; i++)
        n[i >= axis] *= v->dim[i];
    return n[0] <= INT32_MAX && n[1] <= INT32_MAX;
}

/* Flatten to two axes before, softmax over the second, Reshape to the old shape behind. */
static enum pith_status flat_softmax(struct op_export *e)
{
    struct onnx_export *x = e->x;
    const struct pith_value *v = value_out(e);
    if (!flattens(v, (uint32_t)e->node->attr[ATTR_SOFTMAX_AXIS]))
        return pith_export_unsupported(e, "flattened axes of more than 2147483647 elements");
    char *flat = pith_export_name(x, "flat"), *soft = pith_export_name(x, "soft");
    Onnx__NodeProto *before = pith_export_node(x, "Flatten", "");
    Onnx__NodeProto *after = pith_export_node(x, "Reshape", "");
    if (x->failed)
        return PITH_OK;
    x->graph.node[x->graph.n_node - 3] = before;
    x->graph.node[x->graph.n_node - 2] = e->to;
    pith_export_input(before, x->names[e->node->in[0]]);
    pith_export_output(before, flat);
    pith_export_int(x, before, "axis", e->node->attr[ATTR_SOFTMAX_AXIS]);
    e->to->n_input = e->to->n_output = 0;
    pith_export_input(e->to, flat);
    pith_export_output(e->to, soft);
    pith_export_int(x, e->to, "axis", 1);
    int64_t dims[PITH_MAX_RANK];
    for (uint32_t i = 0; i < v->rank; i++)
        dims[i] = i == 0 && x->m->batch_open ? -1 : (int64_t)v->dim[i];
    pith_export_input(after, soft);
    pith_export_input(after, pith_export_ints_tensor(x, dims, v->rank));
    pith_export_output(after, x->names[e->node->out[0]]);
    return PITH_OK;
}

static enum pith_status softmax(struct op_export *e)
{
    if (e->node->attr[ATTR_SOFTMAX_FLAT])
        return flat_softmax(e);
    pith_export_put_int(e, "axis", ATTR_SOFTMAX_AXIS);
    return PITH_OK;
}

static enum pith_status pool(struct op_export *e)
{
    bool average = e->row->op == PITH_OP_AVERAGE_POOL;
    int64_t dilations[2 * PITH_MAX_RANK];
    uint32_t n = pith_export_list(e, ATTR_POOL_DILATIONS, dilations);
    for (uint32_t i = 0; i < n && average; i++)
        if (dilations[i] != 1)
            return pith_export_unsupported(e, "dilation");
    pith_export_put_list(e, "kernel_shape", ATTR_POOL_KERNEL);
    pith_export_put_list(e, "strides", ATTR_POOL_STRIDES);
    pith_export_put_list(e, "pads", ATTR_POOL_PADS);
    pith_export_put_int(e, "ceil_mode", ATTR_POOL_CEIL);
    if (average)
        pith_export_put_int(e, "count_include_pad", ATTR_POOL_INCLUDE_PAD);
    else
        pith_export_put_list(e, "dilations", ATTR_POOL_DILATIONS);
    return PITH_OK;
}

static enum pith_status lp_pool(struct op_export *e)
{
    pith_export_put_int(e, "p", ATTR_POOL_P);
    if (attr_count(e->node->attr, ATTR_POOL_KERNEL) == 0) {
        pith_export_rename(e, "GlobalLpPool");
        return PITH_OK;
    }
    int64_t dilations[2 * PITH_MAX_RANK];
    uint32_t n = pith_export_list(e, ATTR_POOL_DILATIONS, dilations);
    for (uint32_t i = 0; i < n; i++)
        if (dilations[i] != 1)
            return pith_export_unsupported(e, "dilation");
    if (e->node->attr[ATTR_POOL_CEIL])
        return pith_export_unsupported(e, "ceil_mode");
    pith_export_put_list(e, "kernel_shape", ATTR_POOL_KERNEL);
    pith_export_put_list(e, "strides", ATTR_POOL_STRIDES);
    pith_export_put_list(e, "pads", ATTR_POOL_PADS);
    return PITH_OK;
}

static enum pith_status batch_norm(struct op_export *e)
{
    put_float(e, "epsilon", ATTR_BN_EPSILON);
    return PITH_OK;
}

static enum pith_status lrn(struct op_export *e)
{
    pith_export_put_int(e, "size", ATTR_LRN_SIZE);
    put_float(e, "alpha", ATTR_LRN_ALPHA);
    put_float(e, "beta", ATTR_LRN_BETA);
    put_float(e, "bias", ATTR_LRN_BIAS);
    return PITH_OK;
}

static enum pith_status axis(struct op_export *e)
{
    pith_export_put_int(e, "axis", ATTR_AXIS);
    return PITH_OK;
}

static enum pith_status split(struct op_export *e)
{
    int64_t *sizes = pith_export_alloc(e->x, e->node->n_out, sizeof *sizes);
    pith_export_put_int(e, "axis", ATTR_AXIS);
    if (!sizes)
        return PITH_OK; /* x->failed says so */
    for (uint32_t i = 0; i < e->node->n_out; i++)
        sizes[i] = e->x->m->values[e->node->out[i]].dim[e->node->attr[ATTR_AXIS]];
    pith_export_input(e->to, pith_export_ints_tensor(e->x, sizes, e->node->n_out));
    return PITH_OK;
}

static enum pith_status slice(struct op_export *e)
{
    put_list_input(e, ATTR_SLICE_STARTS);
    put_list_input(e, ATTR_SLICE_ENDS);
    put_list_input(e, ATTR_SLICE_AXES);
    if (attr_count(e->node->attr, ATTR_SLICE_STEPS))
        put_list_input(e, ATTR_SLICE_STEPS);
    return PITH_OK;
}

static enum pith_status axes_input(struct op_export *e)
{
    if (attr_count(e->node->attr, ATTR_AXES))
        put_list_input(e, ATTR_AXES);
    return PITH_OK;
}

static enum pith_status reshape(struct op_export *e)
{
    put_list_input(e, ATTR_RESHAPE_DIMS);
    return PITH_OK;
}

static enum pith_status transpose(struct op_export *e)
{
    pith_export_put_list(e, "perm", ATTR_PERM);
    return PITH_OK;
}

static enum pith_status pad(struct op_export *e)
{
    static const char *const modes[] = {"constant", "reflect", "edge"};
    int64_t v[2 * PITH_MAX_RANK];
    uint32_t n = pith_export_list(e, ATTR_PAD_BEGIN, v);
    for (uint32_t i = 0; i < n; i++)
        v[n + i] = e->node->attr[ATTR_PAD_END + 1 + i];
    float value = attr_f32(e->node->attr, ATTR_PAD_VALUE);
    pith_export_string(e->x, e->to, "mode", modes[e->node->attr[ATTR_PAD_MODE]]);
    pith_export_input(e->to, pith_export_ints_tensor(e->x, v, 2 * n));
    /* of other types the value is 0, which is ONNX's default */
    bool is_f32 = e->x->m->values[e->node->in[0]].type == PITH_F32;
    if (e->node->attr[ATTR_PAD_MODE] == 0 && is_f32)
        pith_export_input(e->to, pith_export_float_tensor(e->x, &value, 1, true));
    return PITH_OK;
}

static enum pith_status cast(struct op_export *e)
{
    static const int32_t onnx_type[] = {0, 1, 10, 16, 11, 3, 2, 5, 4, 6, 7, 9}; /* by pith_type */
    pith_export_int(e->x, e->to, "to", onnx_type[e->node->attr[ATTR_CAST_TO]]);
    return PITH_OK;
}

/* Opset 13 has ReduceSum's axes as an input, the others' as an attribute. */
static void put_axes(struct op_export *e, uint32_t slot, bool as_input)
{
    if (!as_input)
        pith_export_put_list(e, "axes", slot);
    else if (attr_count(e->node->attr, slot))
        put_list_input(e, slot);
}

static enum pith_status reduce_mean(struct op_export *e)
{
    put_axes(e, ATTR_AXES, e->x->opset >= EXPORT_OPSET_18);
    pith_export_put_int(e, "keepdims", ATTR_REDUCE_KEEP);
    return PITH_OK;
}

/* The name of the kind; refused where opset 13 has none. */
static enum pith_status kind(struct op_export *e)
{
    const char *name = pith_onnx_kind_name(e->row->op, e->node->attr[ATTR_KIND]);
    if (!name)
        return pith_export_unsupported(e, "the operator is newer");
    e->to->op_type = pith_model_strdup(e->x->arena, name);
    e->x->failed = e->x->failed || !e->to->op_type;
    return PITH_OK;
}

static enum pith_status unary(struct op_export *e)
{
    switch (e->node->attr[ATTR_KIND]) {
    case UNARY_GELU:
    case UNARY_GELU_TANH:
        return pith_export_gelu(e);
    case UNARY_MISH:
        return pith_export_mish(e);
    case UNARY_SELU:
        put_float(e, "gamma", ATTR_UNARY_GAMMA);
        put_float(e, "alpha", ATTR_UNARY_ALPHA);
        break;
    case UNARY_ELU:
    case UNARY_CELU:
    case UNARY_THRESHOLDED_RELU:
        put_float(e, "alpha", ATTR_UNARY_ALPHA);
        break;
    default:
        break;
    }
    return kind(e);
}

static enum pith_status mod(struct op_export *e)
{
    pith_export_put_int(e, "fmod", ATTR_MOD_FMOD);
    return PITH_OK;
}

/* Opset 13 has no "not equal" but of bools (Xor) and of a number with itself (IsNaN). */
static enum pith_status compare(struct op_export *e)
{
    if (e->node->attr[ATTR_KIND] != COMPARE_NOT_EQUAL)
        return kind(e);
    bool is_bool = value_in(e, 0)->type == PITH_BOOL;
    if (!is_bool && e->node->in[0] != e->node->in[1])
        return pith_export_unsupported(e, "not equal");
    e->to->op_type = pith_model_strdup(e->x->arena, is_bool ? "Xor" : "IsNaN");
    e->to->n_input = is_bool ? 2 : 1;
    e->x->failed = e->x->failed || !e->to->op_type;
    return PITH_OK;
}

static enum pith_status depth_space(struct op_export *e)
{
    int32_t kind = e->node->attr[ATTR_DEPTH_SPACE_KIND];
    if (kind == 2)
        pith_export_rename(e, "SpaceToDepth");
    else
        pith_export_string(e->x, e->to, "mode", kind ? "CRD" : "DCR");
    pith_export_put_int(e, "blocksize", ATTR_DEPTH_SPACE_BLOCK);
    return PITH_OK;
}

static enum pith_status trilu(struct op_export *e)
{
    const int64_t k = e->node->attr[ATTR_TRILU_K];
    pith_export_int(e->x, e->to, "upper", e->node->attr[ATTR_TRILU_UPPER] != 0);
    if (k != 0)
        pith_export_input(e->to, pith_export_ints_tensor(e->x, &k, 1));
    pith_export_opset(e, EXPORT_OPSET_TRILU);
    return PITH_OK;
}

/* indices, depth, values */
static enum pith_status one_hot(struct op_export *e)
{
    int64_t depth = e->node->attr[ATTR_ONE_HOT_DEPTH];
    e->to->n_input = 1;
    pith_export_input(e->to, pith_export_ints_tensor(e->x, &depth, 1));
    pith_export_input(e->to, e->x->names[e->node->in[1]]);
    pith_export_put_int(e, "axis", ATTR_ONE_HOT_AXIS);
    return PITH_OK;
}

static enum pith_status top_k(struct op_export *e)
{
    int64_t k = e->node->attr[ATTR_TOP_K_K];
    pith_export_input(e->to, pith_export_ints_tensor(e->x, &k, 1));
    pith_export_put_int(e, "axis", ATTR_TOP_K_AXIS);
    pith_export_put_int(e, "largest", ATTR_TOP_K_LARGEST);
    return PITH_OK;
}

static enum pith_status reduce(struct op_export *e)
{
    put_axes(e, ATTR_REDUCE_KIND_AXES,
             e->node->attr[ATTR_KIND] == REDUCE_SUM || e->x->opset >= EXPORT_OPSET_18);
    pith_export_put_int(e, "keepdims", ATTR_REDUCE_KIND_KEEP);
    return kind(e);
}

static enum pith_status conv_transpose(struct op_export *e)
{
    pith_export_put_int(e, "group", ATTR_CONV_T_GROUP);
    pith_export_put_list(e, "strides", ATTR_CONV_T_STRIDES);
    pith_export_put_list(e, "dilations", ATTR_CONV_T_DILATIONS);
    pith_export_put_list(e, "pads", ATTR_CONV_T_PADS);
    pith_export_put_list(e, "output_padding", ATTR_CONV_T_EXTRA);
    return PITH_OK;
}

static enum pith_status arg(struct op_export *e)
{
    pith_export_put_int(e, "axis", ATTR_ARG_AXIS);
    pith_export_put_int(e, "keepdims", ATTR_ARG_KEEP);
    pith_export_put_int(e, "select_last_index", ATTR_ARG_LAST);
    return kind(e);
}

static enum pith_status along_axis(struct op_export *e)
{
    const int32_t *attr = e->node->attr;
    if (attr[ATTR_ALONG_FLAT])
        return pith_export_unsupported(e, "flattened axes");
    if (attr[ATTR_KIND] != ALONG_CUM_SUM) {
        pith_export_put_int(e, "axis", ATTR_ALONG_AXIS);
        if (attr[ATTR_KIND] == ALONG_LP_NORMALIZATION)
            pith_export_put_int(e, "p", ATTR_ALONG_P);
        return kind(e);
    }
    int64_t at = attr[ATTR_ALONG_AXIS];
    pith_export_input(e->to, pith_export_ints_tensor(e->x, &at, 1));
    pith_export_put_int(e, "exclusive", ATTR_ALONG_EXCLUSIVE);
    pith_export_put_int(e, "reverse", ATTR_ALONG_REVERSE);
    return kind(e);
}

static enum pith_status group_norm(struct op_export *e)
{
    if (e->node->attr[ATTR_GROUP_NORM_GROUPS])
        return pith_export_unsupported(e, "GroupNormalization is newer");
    put_float(e, "epsilon", ATTR_GROUP_NORM_EPSILON);
    return PITH_OK;
}

/* No axes are all axes here, but its own default there. */
static enum pith_status mean_variance(struct op_export *e)
{
    int64_t v[2 * PITH_MAX_RANK];
    uint32_t n = pith_export_list(e, ATTR_AXES, v), rank = value_in(e, 0)->rank;
    if (n == 0)
        for (; n < rank; n++)
            v[n] = n;
    pith_export_ints(e->x, e->to, "axes", v, n);
    return PITH_OK;
}

static enum pith_status non_max_suppression(struct op_export *e)
{
    int64_t top = e->node->attr[ATTR_NMS_TOP];
    float iou = attr_f32(e->node->attr, ATTR_NMS_IOU);
    pith_export_input(e->to, pith_export_ints_tensor(e->x, &top, 1));
    pith_export_input(e->to, pith_export_float_tensor(e->x, &iou, 1, true));
    put_bound(e, ATTR_NMS_SCORE, -INFINITY);
    pith_export_put_int(e, "center_point_box", ATTR_NMS_CENTER);
    return PITH_OK;
}

static const struct export_row rows[] = {
    {PITH_OP_CONV, "Conv", pith_export_conv},
    {PITH_OP_GEMM, "Gemm", gemm},
    {PITH_OP_MATMUL, "MatMul", matmul},
    {PITH_OP_ADD, "Add", NULL},
    {PITH_OP_SUB, "Sub", NULL},
    {PITH_OP_MUL, "Mul", NULL},
    {PITH_OP_DIV, "Div", NULL},
    {PITH_OP_RELU, "Relu", NULL},
    {PITH_OP_LEAKY_RELU, "LeakyRelu", alpha},
    {PITH_OP_PRELU, "PRelu", NULL},
    {PITH_OP_CLIP, "Clip", clip},
    {PITH_OP_SIGMOID, "Sigmoid", NULL},
    {PITH_OP_TANH, "Tanh", NULL},
    {PITH_OP_HARD_SIGMOID, "HardSigmoid", alpha_beta},
    {PITH_OP_HARD_SWISH, "HardSigmoid", hard_swish},
    {PITH_OP_SOFTMAX, "Softmax", softmax},
    {PITH_OP_LOG_SOFTMAX, "LogSoftmax", softmax},
    {PITH_OP_MAX_POOL, "MaxPool", pool},
    {PITH_OP_AVERAGE_POOL, "AveragePool", pool},
    {PITH_OP_GLOBAL_MAX_POOL, "GlobalMaxPool", NULL},
    {PITH_OP_GLOBAL_AVERAGE_POOL, "GlobalAveragePool", NULL},
    {PITH_OP_LP_POOL, "LpPool", lp_pool},
    {PITH_OP_BATCH_NORM, "BatchNormalization", batch_norm},
    {PITH_OP_LRN, "LRN", lrn},
    {PITH_OP_CONCAT, "Concat", axis},
    {PITH_OP_SPLIT, "Split", split},
    {PITH_OP_SLICE, "Slice", slice},
    {PITH_OP_SQUEEZE, "Squeeze", axes_input},
    {PITH_OP_UNSQUEEZE, "Unsqueeze", axes_input},
    {PITH_OP_RESHAPE, "Reshape", reshape},
    {PITH_OP_FLATTEN, "Flatten", axis},
    {PITH_OP_TRANSPOSE, "Transpose", transpose},
    {PITH_OP_PAD, "Pad", pad},
    {PITH_OP_CAST, "Cast", cast},
    {PITH_OP_REDUCE_MEAN, "ReduceMean", reduce_mean},
    {PITH_OP_RESIZE, "Resize", pith_export_resize},
    {PITH_OP_GRID_SAMPLE, "GridSample", pith_export_grid_sample},
    {PITH_OP_IDENTITY, "Identity", NULL},
    {PITH_OP_UNARY, "Unary", unary},
    {PITH_OP_GATHER, "Gather", pith_export_gather},
    {PITH_OP_SCATTER, "ScatterElements", pith_export_scatter},
    {PITH_OP_TILE, "Tile", pith_export_tile},
    {PITH_OP_DEPTH_SPACE, "DepthToSpace", depth_space},
    {PITH_OP_TRILU, "Trilu", trilu},
    {PITH_OP_ONE_HOT, "OneHot", one_hot},
    {PITH_OP_TOP_K, "TopK", top_k},
    {PITH_OP_CONV_TRANSPOSE, "ConvTranspose", conv_transpose},
    {PITH_OP_POWER, "Pow", NULL},
    {PITH_OP_MOD, "Mod", mod},
    {PITH_OP_COMPARE, "Compare", compare},
    {PITH_OP_WHERE, "Where", NULL},
    {PITH_OP_VARIADIC, "Variadic", kind},
    {PITH_OP_REDUCE, "Reduce", reduce},
    {PITH_OP_ARG, "Arg", arg},
    {PITH_OP_ALONG_AXIS, "AlongAxis", along_axis},
    {PITH_OP_GROUP_NORM, "InstanceNormalization", group_norm},
    {PITH_OP_ATTENTION, "Attention", pith_export_attention},
    {PITH_OP_LAYER_NORM, "LayerNormalization", pith_export_layer_norm},
    {PITH_OP_MEAN_VARIANCE, "MeanVarianceNormalization", mean_variance},
    {PITH_OP_RECURRENT, "LSTM", pith_export_recurrent},
    {PITH_OP_NON_MAX_SUPPRESSION, "NonMaxSuppression", non_max_suppression},
    {PITH_OP_QUANTIZE, "QuantizeLinear", pith_export_quantize},
    {PITH_OP_DEQUANTIZE, "DequantizeLinear", pith_export_dequantize},
    {PITH_OP_DYNAMIC_QUANTIZE, "DynamicQuantizeLinear", NULL},
    {PITH_OP_REQUANTIZE, "Requantize", pith_export_requantize},
    {PITH_OP_MATMUL_INTEGER, "MatMulInteger", pith_export_matmul_integer},
    {PITH_OP_CONV_INTEGER, "ConvInteger", pith_export_conv_integer},
};

enum pith_status pith_export_op(struct onnx_export *x, const struct pith_node *node)
{
    const struct export_row *row = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !row; i++)
        if (rows[i].op == node->op)
            row = &rows[i];
    if (!row)
        return pith_error_fill(x->err, PITH_ERR_UNSUPPORTED,
                               "cannot write node '%.100s': operator %u has no ONNX form",
                               node->name, node->op);
    const char *name = x->node_name[node - x->m->nodes];
    struct op_export e = {x, node, row, pith_export_node(x, row->op_type, name)};
    if (!e.to)
        return PITH_OK; /* x->failed says so */
    for (uint32_t i = 0; i < node->n_in; i++)
        pith_export_input(e.to, node->in[i] == PITH_VALUE_NONE ? "" : x->names[node->in[i]]);
    for (uint32_t i = 0; i < node->n_out; i++)
        pith_export_output(e.to, x->names[node->out[i]]);
    return row->attributes ? row->attributes(&e) : PITH_OK;
}
