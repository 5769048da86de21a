/* SPDX-License-Identifier: MIT */
/* onnx_export_conv.c - attributes of Conv and all with the same slots, how attributes go from
 * slots to a node, and how a node is refused. */
#include "onnx_export.h"
#include "base/error_fill.h"
#include "op_interface/op_attr.h"

enum pith_status pith_export_unsupported(struct op_export *e, const char *what)
{
    return pith_error_fill(e->x->err, PITH_ERR_UNSUPPORTED,
                           "cannot write node '%.100s' (%s) as ONNX opset 13: %s", e->node->name,
                           e->row->op_type, what);
}

void pith_export_opset(struct op_export *e, uint32_t opset)
{
    if (e->x->opset < opset)
        e->x->opset = opset;
}

void pith_export_rename(struct op_export *e, const char *op_type)
{
    e->to->op_type = (char *)(uintptr_t)op_type;
}

uint32_t pith_export_list(const struct op_export *e, uint32_t slot, int64_t v[2 * PITH_MAX_RANK])
{
    uint32_t n = attr_count(e->node->attr, slot);
    for (uint32_t i = 0; i < n; i++)
        v[i] = e->node->attr[slot + 1 + i];
    return n;
}

void pith_export_put_list(struct op_export *e, const char *name, uint32_t slot)
{
    int64_t v[2 * PITH_MAX_RANK];
    uint32_t n = pith_export_list(e, slot, v);
    if (n)
        pith_export_ints(e->x, e->to, name, v, n);
}

void pith_export_put_int(struct op_export *e, const char *name, uint32_t slot)
{
    pith_export_int(e->x, e->to, name, e->node->attr[slot]);
}

enum pith_status pith_export_conv(struct op_export *e)
{
    pith_export_put_int(e, "group", ATTR_CONV_GROUP);
    pith_export_put_list(e, "strides", ATTR_CONV_STRIDES);
    pith_export_put_list(e, "dilations", ATTR_CONV_DILATIONS);
    pith_export_put_list(e, "pads", ATTR_CONV_PADS);
    return PITH_OK;
}
