/* SPDX-License-Identifier: MIT */
/* onnx_conv_transpose.c - ConvTranspose: auto_pad and output_shape become pads. Where the requested
 * output is larger than what the kernel reaches, the rest is zeros behind the end. */
#include "onnx/graph/onnx.h"
#include "op_interface/op_attr.h"

enum { NOTSET = 0, SAME_UPPER = 1, SAME_LOWER = 2, VALID = 3 };

static enum pith_status check_inputs(struct onnx_lower *l)
{
    for (uint32_t i = 0; i < 2; i++)
        if (!pith_onnx_has_input(l, i))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    const struct shape *x = pith_onnx_in_shape(l, 0), *w = pith_onnx_in_shape(l, 1);
    if (x->rank < 3 || x->rank > 2 + ONNX_MAX_SPATIAL)
        return pith_onnx_node_fail(l, x->rank < 3 ? PITH_ERR_CORRUPT : PITH_ERR_UNSUPPORTED,
                                   "its input has %u dims, only 3 (1-D) to %u are supported",
                                   x->rank, 2 + ONNX_MAX_SPATIAL);
    if (w->rank != x->rank)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "the input has %u dims, the weight %u",
                                   x->rank, w->rank);
    if (w->dim[0] != x->dim[1])
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "the input has %u channels, the weight takes %u", x->dim[1],
                                   w->dim[0]);
    return PITH_OK;
}

/* A list attribute of n entries, into its slot. */
static enum pith_status take_list(struct onnx_lower *l, const char *name, uint32_t slot, uint32_t n)
{
    enum pith_status status = pith_onnx_take_ints(l, name, slot);
    uint32_t have = attr_count(l->attr, slot);
    if (!status && have && have != n)
        status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s has %u entries, %u are needed", name,
                                     have, n);
    return status;
}

/* Pads by which the output gets the sizes `want`. */
static enum pith_status pads_for(struct onnx_lower *l, uint32_t n, const int64_t *want, bool upper)
{
    const struct shape *x = pith_onnx_in_shape(l, 0), *w = pith_onnx_in_shape(l, 1);
    int64_t pads[2 * PITH_MAX_RANK], extra[PITH_MAX_RANK];
    for (uint32_t i = 0; i < n; i++) {
        int64_t stride = attr_item(l->attr, ATTR_CONV_T_STRIDES, i, 1);
        int64_t dilation = attr_item(l->attr, ATTR_CONV_T_DILATIONS, i, 1);
        extra[i] = attr_item(l->attr, ATTR_CONV_T_EXTRA, i, 0);
        int64_t total = stride * ((int64_t)x->dim[2 + i] - 1) + extra[i] +
                        ((int64_t)w->dim[2 + i] - 1) * dilation + 1 - want[i];
        if (total < 0) {
            extra[i] -= total;
            total = 0;
        }
        pads[i] = upper ? total / 2 : total - total / 2;
        pads[n + i] = total - pads[i];
    }
    enum pith_status status =
        pith_onnx_set_ints(l, "pads of output_shape", ATTR_CONV_T_PADS, pads, 2 * (size_t)n);
    return status ? status : pith_onnx_set_ints(l, "output_padding", ATTR_CONV_T_EXTRA, extra, n);
}

static enum pith_status take_pads(struct onnx_lower *l, uint32_t n)
{
    static const char *const modes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
    uint32_t mode;
    struct onnx_ints want;
    enum pith_status status = pith_onnx_get_choice(l, "auto_pad", modes, NOTSET, &mode);
    if (!status)
        status = pith_onnx_ints_attr(l, "output_shape", &want);
    if (status)
        return status;
    if (want.present) { /* some writers give batch and channels, too */
        uint32_t skip = want.n == n + 2 ? 2 : 0;
        if (want.n != n + skip)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                       "output_shape has %u entries, %u are needed", want.n, n);
        for (uint32_t i = 0; i < n; i++)
            if (want.v[skip + i] < 1 || want.v[skip + i] > INT32_MAX)
                return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "output_shape holds %lld",
                                           (long long)want.v[skip + i]);
        return pads_for(l, n, want.v + skip, mode == SAME_UPPER);
    }
    if (mode == NOTSET)
        return take_list(l, "pads", ATTR_CONV_T_PADS, 2 * n);
    if (mode == VALID)
        return PITH_OK;
    for (uint32_t i = 0; i < n; i++)
        want.v[i] = (int64_t)pith_onnx_in_shape(l, 0)->dim[2 + i] *
                    attr_item(l->attr, ATTR_CONV_T_STRIDES, i, 1);
    return pads_for(l, n, want.v, mode == SAME_UPPER);
}

enum pith_status pith_lower_conv_transpose(struct onnx_lower *l)
{
    enum pith_status status = check_inputs(l);
    if (status)
        return status;
    uint32_t n = pith_onnx_in_shape(l, 0)->rank - 2;
    status = pith_onnx_take_int(l, "group", ATTR_CONV_T_GROUP);
    if (!status)
        status = take_list(l, "strides", ATTR_CONV_T_STRIDES, n);
    if (!status)
        status = take_list(l, "dilations", ATTR_CONV_T_DILATIONS, n);
    if (!status)
        status = take_list(l, "output_padding", ATTR_CONV_T_EXTRA, n);
    if (!status)
        status = take_pads(l, n);
    if (status)
        return status;
    pith_onnx_leave_default(l, ATTR_CONV_T_STRIDES, 1);
    pith_onnx_leave_default(l, ATTR_CONV_T_DILATIONS, 1);
    pith_onnx_leave_default(l, ATTR_CONV_T_EXTRA, 0);
    pith_onnx_leave_default(l, ATTR_CONV_T_PADS, 0);
    return PITH_OK;
}
