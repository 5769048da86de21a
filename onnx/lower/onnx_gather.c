/* SPDX-License-Identifier: MIT */
/* onnx_gather.c - operators that pick, put or repeat elements: Gather, GatherElements, GatherND,
 * ScatterElements (Scatter), ScatterND, Tile, Expand. */
#include "onnx/graph/onnx.h"
#include "op_interface/op_attr.h"

enum { ALONG_AXIS = 0, ELEMENTS = 1, ND = 2 };

static enum pith_status need_inputs(struct onnx_lower *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!pith_onnx_has_input(l, i))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    return PITH_OK;
}

/* Constant indices are tested here; those of the run are clamped. */
static enum pith_status check_indices(struct onnx_lower *l, uint32_t dim)
{
    if (!l->im->values[l->in[1]].constant || l->im->values[l->in[1]].empty)
        return PITH_OK;
    enum pith_status status = pith_onnx_load(l->im, l->in[1]);
    const struct onnx_value *v = &l->im->values[l->in[1]];
    size_t n = shape_elems(&v->shape);
    for (size_t i = 0; i < n && !status; i++) {
        if (v->type != PITH_I64 && v->type != PITH_I32)
            break;
        int64_t at =
            v->type == PITH_I64 ? ((const int64_t *)v->data)[i] : ((const int32_t *)v->data)[i];
        if (at < -(int64_t)dim || at >= (int64_t)dim)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                       "index %lld is outside an axis of %u elements",
                                       (long long)at, dim);
    }
    return status;
}

static enum pith_status along_axis(struct onnx_lower *l, int32_t kind)
{
    int64_t axis;
    enum pith_status status = need_inputs(l, 2);
    if (!status)
        status = pith_onnx_get_int(l, "axis", 0, &axis);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank, &axis);
    if (!status)
        status = pith_onnx_set_int(l, "axis", ATTR_GATHER_AXIS, axis);
    l->attr[ATTR_GATHER_KIND] = kind;
    return status ? status : check_indices(l, pith_onnx_in_shape(l, 0)->dim[axis]);
}

enum pith_status pith_lower_gather(struct onnx_lower *l)
{
    return along_axis(l, ALONG_AXIS);
}

enum pith_status pith_lower_gather_elements(struct onnx_lower *l)
{
    return along_axis(l, ELEMENTS);
}

enum pith_status pith_lower_gather_nd(struct onnx_lower *l)
{
    enum pith_status status = need_inputs(l, 2);
    l->attr[ATTR_GATHER_KIND] = ND;
    return status ? status : pith_onnx_take_int(l, "batch_dims", ATTR_GATHER_AXIS);
}

static enum pith_status reduction(struct onnx_lower *l)
{
    static const char *const names[] = {"none", "add", "mul", "min", "max", NULL};
    uint32_t reduce = 0;
    enum pith_status status = need_inputs(l, 3);
    if (!status)
        status = pith_onnx_get_choice(l, "reduction", names, 0, &reduce);
    l->attr[ATTR_SCATTER_REDUCE] = (int32_t)reduce;
    return status;
}

enum pith_status pith_lower_scatter_elements(struct onnx_lower *l)
{
    int64_t axis;
    enum pith_status status = reduction(l);
    if (!status)
        status = pith_onnx_get_int(l, "axis", 0, &axis);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank, &axis);
    if (!status)
        status = pith_onnx_set_int(l, "axis", ATTR_SCATTER_AXIS, axis);
    return status ? status : check_indices(l, pith_onnx_in_shape(l, 0)->dim[axis]);
}

enum pith_status pith_lower_scatter_nd(struct onnx_lower *l)
{
    bool sliced;
    l->attr[ATTR_SCATTER_KIND] = 1;
    enum pith_status status = reduction(l);
    if (!status && l->attr[ATTR_SCATTER_REDUCE] == 0)
        status = pith_onnx_scatter_slice(l, &sliced);
    return status;
}

/* Repeats, or nothing to do. */
static enum pith_status set_repeats(struct onnx_lower *l, const struct onnx_ints *repeats)
{
    bool ones = repeats->n <= pith_onnx_in_shape(l, 0)->rank;
    for (uint32_t i = 0; i < repeats->n; i++) {
        ones = ones && repeats->v[i] == 1;
        if (repeats->v[i] == 0)
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its output has no elements");
    }
    l->n_in = 1;
    return ones ? pith_onnx_vanish(l)
                : pith_onnx_set_ints(l, "repeats", ATTR_TILE_REPEATS, repeats->v, repeats->n);
}

/* The one axis that is repeated once a sample: repeats->n when none is, more when it is not so. */
static uint32_t axis_of_samples(const struct onnx_ints *repeats, const struct onnx_ints *other)
{
    uint32_t axis = repeats->n;
    for (uint32_t i = 0; i < repeats->n; i++) {
        if (repeats->v[i] == other->v[i])
            continue;
        if (axis != repeats->n || repeats->v[i] != 1 || other->v[i] != ONNX_OTHER_BATCH)
            return UINT32_MAX;
        axis = i;
    }
    return axis;
}

/* A constant repeated by `repeats` and, under the other batch, by `other`, is one, known for both:
 * shapes may yet be computed from it. */
static enum pith_status tile_constant(struct onnx_lower *l, const struct onnx_ints *repeats,
                                      const struct onnx_ints *other)
{
    struct onnx_import *im = l->im;
    struct onnx_lower sub;
    uint32_t in = l->in[0], with_other;
    enum pith_status status = pith_onnx_open_step(l, PITH_OP_TILE, false, &sub, &with_other);
    sub.in = &in;
    if (!status)
        status = pith_onnx_set_ints(&sub, "repeats", ATTR_TILE_REPEATS, other->v, other->n);
    if (!status)
        status = pith_onnx_finish(&sub);
    sub.first_out = l->first_out;
    if (!status)
        status = pith_onnx_set_ints(&sub, "repeats", ATTR_TILE_REPEATS, repeats->v, repeats->n);
    if (!status)
        status = pith_onnx_finish(&sub);
    struct onnx_value *y = &im->values[l->first_out];
    l->done = true;
    if (status || !y->constant || !im->values[with_other].constant)
        return status;
    y->other = im->values[with_other].shape;
    y->other_data = im->values[with_other].data;
    y->varies = true;
    return PITH_OK;
}

/* Repeats that follow an open batch where `other`, those of the other one, say so. */
static enum pith_status follow_repeats(struct onnx_lower *l, struct onnx_ints *repeats,
                                       const struct onnx_ints *other)
{
    const struct onnx_value *x = &l->im->values[l->in[0]];
    uint32_t axis = axis_of_samples(repeats, other);
    bool none = false;
    for (uint32_t i = 0; i < repeats->n; i++)
        none = none || repeats->v[i] == 0;
    if (!l->im->batch_open || axis == repeats->n || none)
        return set_repeats(l, repeats);
    if (x->constant && !x->varies && !x->empty && axis != UINT32_MAX)
        return tile_constant(l, repeats, other);
    if (axis == UINT32_MAX || l->n_in < 2 || l->im->n_inputs == 0) {
        l->im->batch_open = false;
        return set_repeats(l, repeats);
    }
    repeats->v[axis] = 0; /* as often as the input has rows */
    l->in[1] = l->im->inputs[0];
    l->n_in = 2;
    return pith_onnx_set_ints(l, "repeats", ATTR_TILE_REPEATS, repeats->v, repeats->n);
}

enum pith_status pith_lower_tile(struct onnx_lower *l)
{
    struct onnx_ints repeats, other;
    enum pith_status status = need_inputs(l, 2);
    if (!status)
        status = pith_onnx_ints_both(l, 1, "repeats", &repeats, &other);
    if (status)
        return status;
    uint32_t rank = pith_onnx_in_shape(l, 0)->rank;
    if (repeats.n != rank)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%u repeats for a tensor of %u dims",
                                   repeats.n, rank);
    return follow_repeats(l, &repeats, &other);
}

/* How often each axis of x is repeated to be broadcast together with `target`. */
static enum pith_status repeats_of(struct onnx_lower *l, const struct shape *x,
                                   const struct onnx_ints *target, struct onnx_ints *repeats)
{
    *repeats = *target;
    for (uint32_t i = 0; i < target->n; i++) {
        int64_t dim = i + x->rank < target->n ? 1 : x->dim[i + x->rank - target->n];
        int64_t want = target->v[i];
        if (want < 0 || (want != 1 && want != dim && dim != 1))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                       "dim %u of the new shape is %lld, the input has %lld", i,
                                       (long long)want, (long long)dim);
        repeats->v[i] = dim == 1 ? want : 1;
    }
    return PITH_OK;
}

enum pith_status pith_lower_expand(struct onnx_lower *l)
{
    struct onnx_ints target, other, repeats, other_repeats;
    enum pith_status status = need_inputs(l, 2);
    if (!status)
        status = pith_onnx_ints_both(l, 1, "shape", &target, &other);
    if (!status && target.n > PITH_MAX_RANK)
        status = pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its output has %u dims, at most %u",
                                     target.n, PITH_MAX_RANK);
    if (!status)
        status = repeats_of(l, pith_onnx_in_shape(l, 0), &target, &repeats);
    if (status)
        return status;
    if (!l->im->batch_open)
        return set_repeats(l, &repeats);
    if (repeats_of(l, pith_onnx_other_shape(&l->im->values[l->in[0]]), &other, &other_repeats))
        l->im->batch_open = false;
    return follow_repeats(l, &repeats, &other_repeats);
}
