/* SPDX-License-Identifier: MIT */
/* onnx_export_gather.c - Gather and Scatter with their kinds. */
#include "onnx_export.h"
#include "op_interface/op_attr.h"

/* A plan clamps indices as it runs, import refuses constant ones outside of the axis. */
static bool indices_are_read(const struct op_export *e, uint32_t axis)
{
    const struct pith_value *at = &e->x->m->values[e->node->in[1]];
    int64_t dim = e->x->m->values[e->node->in[0]].dim[axis];
    for (uint64_t i = 0; at->constant && i < at->constant->count; i++) {
        int64_t v = at->type == PITH_I64 ? ((const int64_t *)at->constant->data)[i]
                                         : ((const int32_t *)at->constant->data)[i];
        if (v < -dim || v >= dim)
            return false;
    }
    return true;
}

static const char *const outside = "an index outside of its axis";

enum pith_status pith_export_gather(struct op_export *e)
{
    static const char *const names[] = {"Gather", "GatherElements", "GatherND"};
    int32_t kind = e->node->attr[ATTR_GATHER_KIND];
    pith_export_rename(e, names[kind]);
    if (kind != 2 && !indices_are_read(e, (uint32_t)e->node->attr[ATTR_GATHER_AXIS]))
        return pith_export_unsupported(e, outside);
    pith_export_put_int(e, kind == 2 ? "batch_dims" : "axis", ATTR_GATHER_AXIS);
    return PITH_OK;
}

enum pith_status pith_export_scatter(struct op_export *e)
{
    static const char *const reductions[] = {"none", "add", "mul"};
    int32_t reduce = e->node->attr[ATTR_SCATTER_REDUCE];
    if (reduce > 2)
        return pith_export_unsupported(e, "the smaller and the larger came with opset 18");
    if (reduce) {
        pith_export_string(e->x, e->to, "reduction", reductions[reduce]);
        pith_export_opset(e, EXPORT_OPSET_16);
    }
    if (e->node->attr[ATTR_SCATTER_KIND]) {
        pith_export_rename(e, "ScatterND");
        return PITH_OK;
    }
    if (!indices_are_read(e, (uint32_t)e->node->attr[ATTR_SCATTER_AXIS]))
        return pith_export_unsupported(e, outside);
    pith_export_put_int(e, "axis", ATTR_SCATTER_AXIS);
    return PITH_OK;
}
