/* SPDX-License-Identifier: MIT */
/* op_conv.c - Conv over one to four spatial axes: attributes and shape rule. What runs is in
 * conv_run.c.
 *
 * ONNX Conv-11. The rule is here, apart from everything that computes, because import,
 * quantization and training use it as well; ConvInteger shares it. */
#include "products/conv_run.h"
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define MAX_STEP 65535 /* strides, dilations, groups: so that products stay small */
#define MAX_PAD (1 << 24)

/* Lists begin with their length; 0: ONNX's default for each axis (stride 1, dilation 1, no
 * padding). */
const struct attr_field pith_conv_fields[PITH_CONV_FIELDS] = {
    {ATTR_INT, ATTR_CONV_GROUP, 1, 1, INT32_MAX},
    {ATTR_LIST, ATTR_CONV_STRIDES, 0, 1, MAX_STEP},
    {ATTR_LIST, ATTR_CONV_DILATIONS, 0, 1, MAX_STEP},
    {ATTR_LIST, ATTR_CONV_PADS, 0, 0, MAX_PAD},
};

static bool list_fits(const int32_t *attr, uint32_t slot, uint32_t n)
{
    return attr_count(attr, slot) == 0 || attr_count(attr, slot) == n;
}

/* Outputs along spatial axis `axis` of n_axes; 0: the kernel does not fit the padded input.
 * floor((in + pads - reach) / stride) + 1, reach the dilated kernel. No term exceeds 2^47:
 * kernel and input are below 2^31, steps below 2^16, padding at most 2^24. */
static uint64_t out_dim(const int32_t *attr, uint32_t axis, uint32_t n_axes, uint32_t in,
                        uint32_t kernel)
{
    uint64_t stride = (uint64_t)attr_item(attr, ATTR_CONV_STRIDES, axis, 1);
    uint64_t dil = (uint64_t)attr_item(attr, ATTR_CONV_DILATIONS, axis, 1);
    uint64_t begin = (uint64_t)attr_item(attr, ATTR_CONV_PADS, axis, 0);
    uint64_t end = (uint64_t)attr_item(attr, ATTR_CONV_PADS, axis + n_axes, 0);
    /* kernel >= 1, since no dimension is 0. */
    uint64_t reach = (kernel - 1) * dil + 1, padded = in + begin + end;
    return reach <= padded ? (padded - reach) / stride + 1 : 0;
}

static enum pith_status check_types(const struct op_args *args)
{
    const struct tview *bias = args->n_in > 2 ? args->in[2] : NULL;
    if (!args->in[0] || !args->in[1])
        return PITH_ERR_CORRUPT;
    bool f32 = args->in[0]->type == PITH_F32 && args->in[1]->type == PITH_F32 &&
               (!bias || bias->type == PITH_F32);
    return f32 ? PITH_OK : PITH_ERR_UNSUPPORTED;
}

/* group >= 1 by the schema, so nothing divides by 0. */
static bool channels_fit(const int32_t *attr, const struct shape *x, const struct shape *w,
                         const struct shape *bias)
{
    uint32_t group = (uint32_t)attr[ATTR_CONV_GROUP];
    if (x->dim[1] % group != 0 || x->dim[1] / group != w->dim[1] || w->dim[0] % group != 0)
        return false;
    return !bias || (bias->rank == 1 && bias->dim[0] == w->dim[0]);
}

enum pith_status pith_conv_out_shape(const int32_t *attr, const struct shape *x,
                                     const struct shape *w, const struct shape *bias,
                                     struct shape *out)
{
    if (x->rank != w->rank || x->rank < 3)
        return PITH_ERR_CORRUPT;
    uint32_t n_axes = x->rank - 2;
    if (n_axes > CONV_MAX_AXES)
        return PITH_ERR_UNSUPPORTED;
    uint64_t count;
    if (pith_shape_count(x, &count) != PITH_OK || pith_shape_count(w, &count) != PITH_OK ||
        !channels_fit(attr, x, w, bias) || !list_fits(attr, ATTR_CONV_STRIDES, n_axes) ||
        /* Counting elements here lets kernels multiply dimensions without checks later. */
        !list_fits(attr, ATTR_CONV_DILATIONS, n_axes) ||
        !list_fits(attr, ATTR_CONV_PADS, 2 * n_axes))
        return PITH_ERR_CORRUPT;
    struct shape y = {.rank = x->rank, .dim = {x->dim[0], w->dim[0]}};
    for (uint32_t i = 0; i < n_axes; i++) {
        uint64_t dim = out_dim(attr, i, n_axes, x->dim[2 + i], w->dim[2 + i]);
        if (dim == 0 || dim > INT32_MAX)
            return PITH_ERR_CORRUPT;
        y.dim[2 + i] = (uint32_t)dim;
    }
    *out = y;
    return PITH_OK;
}

static enum pith_status conv_shape(const struct op_args *args)
{
    enum pith_status status = check_types(args);
    if (status != PITH_OK)
        return status;
    const struct tview *bias = args->n_in > 2 ? args->in[2] : NULL;
    struct shape y;
    status = pith_conv_out_shape(args->attr, &args->in[0]->shape, &args->in[1]->shape,
                                 bias ? &bias->shape : NULL, &y);
    return status ? status : pith_out_set(args->out[0], PITH_F32, &y);
}

/* Only weights that are constant are prepared; others go through in[1] at each run. */
const struct op_info pith_op_conv = {
    .op = PITH_OP_CONV,
    .n_in_min = 2,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = PITH_CONV_FIELDS,
    .n_slots = ATTR_CONV_PADS + PITH_LIST_SLOTS,
    .flags = OP_FUSES | OP_WEIGHT,
    .fields = pith_conv_fields,
    .traits = {.flags = TRAIT_CHANNELS_FIRST,
               .weight_input = 1,
               .bias_input = 2,
               .row_axis = 0,
               .trans_slot = OP_NO_SLOT,
               .group_slot = ATTR_CONV_GROUP,
               .integer_op = PITH_OP_CONV_INTEGER,
               .parameters = 1u << 1 | 1u << 2},
    .shape = conv_shape,
    .lowered_most = OP_LOWERED_MAX,
    .lowered_bytes = pith_conv_lowered_bytes,
    .need = pith_conv_need,
    .prepare = pith_conv_prepare,
    .run = pith_conv_run,
};
