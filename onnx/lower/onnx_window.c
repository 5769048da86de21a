/* SPDX-License-Identifier: MIT */
/* onnx_window.c - Conv, ConvInteger, MaxPool, AveragePool, LpPool (auto_pad resolved to numbers),
 * BatchNormalization and LRN. */
#include "onnx/graph/onnx.h"
#include "base/number_text.h"
#include "op_interface/op_attr.h"

enum auto_pad { NOTSET = 0, SAME_UPPER = 1, SAME_LOWER = 2, VALID = 3 };

static const char *const auto_pad_names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};

/* Where a window operator keeps its lists. */
struct window {
    uint32_t n; /* spatial axes */
    const uint32_t *in, *kernel;
    uint32_t strides, dilations, pads; /* slots */
};

/* Output size ceil(in / stride); what the windows then need beyond the input is split between both
 * ends, the odd one at the end (UPPER) or the beginning (LOWER). */
static enum pith_status resolve_same(struct onnx_lower *l, const struct window *w, bool lower)
{
    int64_t pads[ONNX_MAX_INTS];
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t stride = attr_item(l->attr, w->strides, i, 1);
        int64_t dilation = attr_item(l->attr, w->dilations, i, 1);
        int64_t out = (w->in[i] + stride - 1) / stride;
        int64_t reach = ((int64_t)w->kernel[i] - 1) * dilation + 1;
        int64_t total = (out - 1) * stride + reach - w->in[i];
        total = total < 0 ? 0 : total;
        pads[i] = lower ? total - total / 2 : total / 2;
        pads[w->n + i] = total - pads[i];
    }
    return pith_onnx_set_ints(l, "pads of auto_pad", w->pads, pads, 2 * (size_t)w->n);
}

static enum pith_status check_count(struct onnx_lower *l, const char *name, uint32_t slot,
                                    uint32_t n)
{
    uint32_t have = attr_count(l->attr, slot);
    if (have == 0 || have == n)
        return PITH_OK;
    return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s has %u entries, %u spatial dims need %u",
                               name, have, l->im->values[l->in[0]].shape.rank - 2, n);
}

static enum pith_status take_lists(struct onnx_lower *l, const struct window *w)
{
    uint32_t mode = NOTSET;
    enum pith_status status = pith_onnx_take_ints(l, "strides", w->strides);
    if (!status)
        status = pith_onnx_take_ints(l, "dilations", w->dilations);
    if (!status)
        status = check_count(l, "strides", w->strides, w->n);
    if (!status)
        status = check_count(l, "dilations", w->dilations, w->n);
    if (!status)
        status = pith_onnx_get_choice(l, "auto_pad", auto_pad_names, NOTSET, &mode);
    if (status || mode == VALID)
        return status;
    if (mode != NOTSET)
        return resolve_same(l, w, mode == SAME_LOWER);
    status = pith_onnx_take_ints(l, "pads", w->pads);
    return status ? status : check_count(l, "pads", w->pads, 2 * w->n);
}

static enum pith_status take_window(struct onnx_lower *l, const struct window *w)
{
    enum pith_status status = take_lists(l, w);
    if (status)
        return status;
    pith_onnx_leave_default(l, w->strides, 1);
    pith_onnx_leave_default(l, w->dilations, 1);
    pith_onnx_leave_default(l, w->pads, 0);
    return PITH_OK;
}

/* x: [N, C, ..., W]; *n: how many spatial axes it has. */
static enum pith_status spatial_rank(struct onnx_lower *l, uint32_t *n)
{
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    uint32_t rank = pith_onnx_in_shape(l, 0)->rank;
    if (rank < 3 || rank > 2 + ONNX_MAX_SPATIAL)
        return pith_onnx_node_fail(l, rank < 3 ? PITH_ERR_CORRUPT : PITH_ERR_UNSUPPORTED,
                                   "its input has %u dims, only 3 (1-D) to %u are supported", rank,
                                   2 + ONNX_MAX_SPATIAL);
    *n = rank - 2;
    return PITH_OK;
}

/* kernel_shape repeats what the weight's shape says; where it is given it must agree. */
static enum pith_status check_kernel(struct onnx_lower *l, const struct shape *w, uint32_t n)
{
    struct onnx_ints given;
    enum pith_status status = pith_onnx_ints_attr(l, "kernel_shape", &given);
    if (status || !given.present)
        return status;
    bool same = given.n == n;
    uint32_t dims[ONNX_MAX_INTS];
    for (uint32_t i = 0; i < given.n; i++) {
        dims[i] = given.v[i] < 0 || given.v[i] > INT32_MAX ? 0 : (uint32_t)given.v[i];
        same = same && dims[i] == w->dim[2 + i];
    }
    if (same)
        return PITH_OK;
    char a[PITH_SHAPE_TEXT], b[PITH_SHAPE_TEXT];
    return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "kernel %s does not match weight %s",
                               pith_shape_text(dims, given.n, a),
                               pith_shape_text(w->dim + 2, n, b));
}

static enum pith_status check_channels(struct onnx_lower *l, const struct shape *x,
                                       const struct shape *w)
{
    uint64_t group = (uint64_t)l->attr[ATTR_CONV_GROUP];
    if (w->dim[0] % group)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "%u output channels do not divide into %llu groups", w->dim[0],
                                   (unsigned long long)group);
    if (w->dim[1] * group != x->dim[1])
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "the input has %u channels, the weight takes %u in %llu groups",
                                   x->dim[1], w->dim[1], (unsigned long long)group);
    if (l->info->op != PITH_OP_CONV || !pith_onnx_has_input(l, 2))
        return PITH_OK;
    const struct shape *b = pith_onnx_in_shape(l, 2);
    if (b->rank != 1 || b->dim[0] != w->dim[0])
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "the bias has %zu elements, the weight %u output channels",
                                   shape_elems(b), w->dim[0]);
    return PITH_OK;
}

enum pith_status pith_lower_conv(struct onnx_lower *l)
{
    uint32_t n;
    enum pith_status status = spatial_rank(l, &n);
    if (status)
        return status;
    if (!pith_onnx_has_input(l, 1))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its weight is missing");
    const struct shape *x = pith_onnx_in_shape(l, 0), *w = pith_onnx_in_shape(l, 1);
    if (w->rank != x->rank)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "the input has %u dims, the weight %u",
                                   x->rank, w->rank);
    status = check_kernel(l, w, n);
    if (!status)
        status = pith_onnx_take_int(l, "group", ATTR_CONV_GROUP);
    if (!status)
        status = check_channels(l, x, w);
    if (status)
        return status;
    struct window win = {
        n, x->dim + 2, w->dim + 2, ATTR_CONV_STRIDES, ATTR_CONV_DILATIONS, ATTR_CONV_PADS};
    status = take_window(l, &win);
    return status || l->info->op != PITH_OP_CONV ? status : pith_onnx_dilate(l);
}

/* p of LpPool and GlobalLpPool: a float at opset 1. */
static enum pith_status take_p(struct onnx_lower *l)
{
    if (l->im->opset >= 2)
        return pith_onnx_take_int(l, "p", ATTR_POOL_P);
    float p;
    enum pith_status status = pith_onnx_get_float(l, "p", 2.0f, &p);
    if (status)
        return status;
    if (!(p >= 1.0f && p < 2147483648.0f && (float)(int32_t)p == p))
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "p %g is not a whole number from 1 on",
                                   (double)p);
    return pith_onnx_set_int(l, "p", ATTR_POOL_P, (int64_t)p);
}

enum pith_status pith_lower_global_lp_pool(struct onnx_lower *l)
{
    return take_p(l);
}

enum pith_status pith_lower_pool(struct onnx_lower *l)
{
    uint32_t n;
    enum pith_status status = spatial_rank(l, &n);
    bool indices = l->n_out == 2 && l->im->values[l->first_out + 1].live;
    if (!status && !indices)
        status = pith_onnx_single_output(l);
    if (!status)
        status = pith_onnx_take_ints(l, "kernel_shape", ATTR_POOL_KERNEL);
    if (status)
        return status;
    if (attr_count(l->attr, ATTR_POOL_KERNEL) != n)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "kernel_shape has %u entries, %u spatial dims need %u",
                                   attr_count(l->attr, ATTR_POOL_KERNEL), n, n);
    uint32_t kernel[PITH_MAX_RANK];
    for (uint32_t i = 0; i < n; i++)
        kernel[i] = (uint32_t)l->attr[ATTR_POOL_KERNEL + 1 + i];
    struct window win = {n,
                         pith_onnx_in_shape(l, 0)->dim + 2,
                         kernel,
                         ATTR_POOL_STRIDES,
                         ATTR_POOL_DILATIONS,
                         ATTR_POOL_PADS};
    status = take_window(l, &win);
    if (!status)
        status = pith_onnx_take_int(l, "ceil_mode", ATTR_POOL_CEIL);
    if (!status && l->row->op == PITH_OP_AVERAGE_POOL)
        status = pith_onnx_take_int(l, "count_include_pad", ATTR_POOL_INCLUDE_PAD);
    if (!status && l->row->op == PITH_OP_LP_POOL)
        status = take_p(l);
    enum pith_type type = l->im->values[l->in[0]].type;
    if (!status && indices && l->row->op == PITH_OP_MAX_POOL)
        return pith_onnx_pool_indices(l);
    if (!status && (type == PITH_I8 || type == PITH_U8)) /* MaxPool: floats hold bytes exactly */
        return pith_onnx_widened(l, PITH_F32);
    return status;
}

/* The first output beside the normalised one; NULL: there is none. Empty names are no outputs. */
static const char *batch_statistics_of(const Onnx__NodeProto *node)
{
    for (size_t i = 1; i < node->n_output; i++)
        if (node->output[i][0])
            return node->output[i];
    return NULL;
}

/* From opset 14 on training_mode holds whether it trains; from 7 to 13 the outputs that only
 * training has; before 7 is_test, which onnx_early.c reads. */
static enum pith_status refuse_training(struct onnx_lower *l)
{
    const char *statistics = batch_statistics_of(l->node);
    int64_t training;
    enum pith_status status = pith_onnx_get_int(l, "training_mode", 0, &training);
    if (!status && training != 0)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "training_mode is on: export the network for inference");
    if (!status && l->im->opset >= ONNX_OPSET_MIN && l->im->opset < 14 && statistics)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "it is in training mode (it has the output '%.60s'): export "
                                   "the network for inference",
                                   statistics);
    return status;
}

enum pith_status pith_lower_batch_norm(struct onnx_lower *l)
{
    int64_t spatial;
    enum pith_status status = refuse_training(l);
    if (!status)
        status = pith_onnx_get_int(l, "spatial", 1, &spatial);
    if (status)
        return status;
    if (l->im->opset < 9 && spatial != 1)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "spatial %lld is not supported",
                                   (long long)spatial);
    status = pith_onnx_take_float(l, "epsilon", ATTR_BN_EPSILON);
    return status ? status : pith_onnx_single_output(l);
}

enum pith_status pith_lower_lrn(struct onnx_lower *l)
{
    enum pith_status status = pith_onnx_take_int(l, "size", ATTR_LRN_SIZE);
    if (!status)
        status = pith_onnx_take_float(l, "alpha", ATTR_LRN_ALPHA);
    if (!status)
        status = pith_onnx_take_float(l, "beta", ATTR_LRN_BETA);
    return status ? status : pith_onnx_take_float(l, "bias", ATTR_LRN_BIAS);
}
