/* SPDX-License-Identifier: MIT */
/* onnx_export_resize.c - Resize: by sizes where nothing else is said, by scales where the network
 * has some or its batch alone is open. */
#include "onnx_export.h"
#include "op_interface/op_attr.h"

#include <math.h>

/* Readers compute floor(dim * scale) in f32 or in f64: both must give the size. */
static bool makes_size(float scale, uint32_t dim, uint32_t size)
{
    return scale > 0 && floor((double)dim * (double)scale) == size &&
           floorf((float)dim * scale) == (float)size;
}

/* Scales as they are, or output / input: nudged until floor(input * scale) is the output, for
 * readers that compute it in f32 and for those that compute it in f64 (3 * 1.6666666f is 5 or less
 * than 5). false: some scale makes another size, as those of a .pith may. */
static bool resize_scales(const struct op_export *e, float scale[PITH_MAX_RANK])
{
    const struct pith_value *in = &e->x->m->values[e->node->in[0]];
    const struct pith_value *out = &e->x->m->values[e->node->out[0]];
    bool given = attr_count(e->node->attr, ATTR_RESIZE_SCALES) != 0;
    for (uint32_t i = 0; i < in->rank; i++) {
        scale[i] = (float)out->dim[i] / (float)in->dim[i];
        if (given)
            scale[i] = attr_f32(e->node->attr, ATTR_RESIZE_SCALES + 1 + i);
        for (uint32_t k = 0; k < 4 && floor((double)in->dim[i] * (double)scale[i]) < out->dim[i];
             k++)
            scale[i] = nextafterf(scale[i], INFINITY);
        if (!makes_size(scale[i], in->dim[i], out->dim[i]))
            return false;
    }
    return true;
}

static Onnx__NodeProto *node_before(struct op_export *e, const char *op, const char *a,
                                    const char *b, const char *to)
{
    struct onnx_export *x = e->x;
    Onnx__NodeProto *node = pith_export_node(x, op, "");
    if (!node)
        return NULL;
    pith_export_input(node, a);
    pith_export_input(node, b);
    pith_export_output(node, to);
    x->graph.node[x->graph.n_node - 2] = node;
    x->graph.node[x->graph.n_node - 1] = e->to;
    return node;
}

/* Behind the open batch of the input: scales of open sizes are no numbers. */
static const char *sizes_of_batch(struct op_export *e, const int64_t *sizes, uint32_t n)
{
    struct onnx_export *x = e->x;
    static const int64_t first = 0;
    const char *shape = pith_export_name(x, "shape"), *batch = pith_export_name(x, "batch"),
               *all = pith_export_name(x, "sizes"), *rest = pith_export_ints_tensor(x, sizes, n);
    node_before(e, "Shape", x->names[e->node->in[0]], NULL, shape);
    Onnx__NodeProto *gather =
        node_before(e, "Gather", shape, pith_export_ints_tensor(x, &first, 1), batch);
    pith_export_int(x, gather, "axis", 0);
    pith_export_int(x, node_before(e, "Concat", batch, rest, all), "axis", 0);
    return all;
}

static enum pith_status put_target(struct op_export *e)
{
    const struct pith_value *out = &e->x->m->values[e->node->out[0]];
    float scale[PITH_MAX_RANK];
    int64_t sizes[PITH_MAX_RANK];
    pith_export_input(e->to, ""); /* roi */
    const bool scales = attr_count(e->node->attr, ATTR_RESIZE_SCALES) != 0;
    if (scales || (e->x->m->batch_open && !e->x->sizes)) {
        if (!resize_scales(e, scale))
            return pith_export_unsupported(e, "scales that make other sizes");
        pith_export_input(e->to, pith_export_float_tensor(e->x, scale, out->rank, false));
        return PITH_OK;
    }
    for (uint32_t i = 0; i < out->rank; i++)
        sizes[i] = out->dim[i];
    pith_export_input(e->to, "");
    pith_export_input(e->to, e->x->m->batch_open ? sizes_of_batch(e, sizes + 1, out->rank - 1)
                                                 : pith_export_ints_tensor(e->x, sizes, out->rank));
    return PITH_OK;
}

/* ONNX has no Resize without axes: of a scalar there is nothing to resize. */
enum pith_status pith_export_resize(struct op_export *e)
{
    static const char *const coords[] = {"half_pixel", "asymmetric", "align_corners",
                                         "pytorch_half_pixel"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    const int32_t *attr = e->node->attr;
    if (e->x->m->values[e->node->in[0]].rank == 0) {
        pith_export_rename(e, "Identity");
        return PITH_OK;
    }
    if (attr[ATTR_RESIZE_COORD] > 3)
        return pith_export_unsupported(e, "half_pixel_symmetric");
    pith_export_string(e->x, e->to, "mode", modes[attr[ATTR_RESIZE_MODE]]);
    pith_export_string(e->x, e->to, "coordinate_transformation_mode",
                       coords[attr[ATTR_RESIZE_COORD]]);
    pith_export_string(e->x, e->to, "nearest_mode", nearest[attr[ATTR_RESIZE_NEAREST]]);
    if (attr[ATTR_RESIZE_MODE] == 2) {
        pith_export_float(e->x, e->to, "cubic_coeff_a", attr_f32(attr, ATTR_RESIZE_CUBIC_A));
        pith_export_put_int(e, "exclude_outside", ATTR_RESIZE_EXCLUDE);
    }
    return put_target(e);
}

enum pith_status pith_export_grid_sample(struct op_export *e)
{
    static const char *const modes[] = {"bilinear", "nearest", "bicubic"}, *const new_modes[] = {
                                                                               "linear", "nearest",
                                                                               "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    const int32_t *attr = e->node->attr;
    if (e->x->m->values[e->node->in[0]].rank != 4)
        return pith_export_unsupported(e, "lines and volumes came with opset 20");
    const char *const *names = e->x->opset >= EXPORT_OPSET_20 ? new_modes : modes;
    pith_export_string(e->x, e->to, "mode", names[attr[ATTR_GRID_SAMPLE_MODE]]);
    pith_export_string(e->x, e->to, "padding_mode", paddings[attr[ATTR_GRID_SAMPLE_PADDING]]);
    pith_export_put_int(e, "align_corners", ATTR_GRID_SAMPLE_ALIGN);
    pith_export_opset(e, EXPORT_OPSET_16);
    return PITH_OK;
}
