/* SPDX-License-Identifier: MIT */
/* onnx_resize.c - Resize of opsets 10, 11, 13, 18, 19 and its elder Upsample (7, 9).
 *
 * All become output dims and, where the file gives them, scales: the coordinate rule of ONNX uses
 * the scale as given, not output / input. Upsample and the first Resize know one rule, which later
 * opsets call asymmetric; its nearest neighbour is floor when enlarging and, as onnxruntime
 * computes it, ceil when reducing. */
#include "onnx_resample.h"
#include "op_interface/op_attr.h"

#include <math.h>

enum keep_policy { STRETCH, NOT_LARGER, NOT_SMALLER };

struct target {
    uint32_t n_scales, n_sizes;
    float scale[PITH_MAX_RANK];
    struct onnx_ints sizes;
    bool scaled;                  /* sizes come with a scale of their own, one for all axes */
    float roi[2 * PITH_MAX_RANK]; /* starts, then ends */
};

static enum pith_status scales_attr(struct onnx_lower *l, struct target *t)
{
    const Onnx__AttributeProto *a = pith_onnx_attr(l, "scales");
    if (!a || a->n_floats > PITH_MAX_RANK)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "scales are missing or too many");
    t->n_scales = (uint32_t)a->n_floats;
    if (a->n_floats)
        memcpy(t->scale, a->floats, a->n_floats * sizeof *t->scale);
    return PITH_OK;
}

/* An entry that follows the open batch may only repeat the input's dim: it is then left alone. */
static enum pith_status read_sizes(struct onnx_lower *l, struct onnx_ints *sizes)
{
    struct onnx_ints other;
    enum pith_status status = pith_onnx_ints_both(l, 3, "sizes", sizes, &other);
    const struct onnx_value *x = &l->im->values[l->in[0]];
    for (uint32_t i = 0; i < sizes->n && !status; i++) {
        bool copied = i < x->shape.rank && sizes->v[i] == (int64_t)x->shape.dim[i] &&
                      other.v[i] == (int64_t)pith_onnx_other_shape(x)->dim[i];
        if (sizes->v[i] != other.v[i] && !copied)
            l->im->batch_open = false;
    }
    return status;
}

static enum pith_status read_target(struct onnx_lower *l, struct target *t)
{
    *t = (struct target){0};
    enum pith_status status;
    if (l->im->opset < 9)
        status = scales_attr(l, t);
    else
        status =
            pith_onnx_floats_input(l, l->im->opset < 11 ? 1 : 2, "scales", &t->n_scales, t->scale);
    if (!status && l->im->opset >= 11)
        status = read_sizes(l, &t->sizes);
    t->n_sizes = t->sizes.n;
    if (status)
        return status;
    if ((t->n_scales == 0) == (t->n_sizes == 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "it needs either scales or sizes, %u and %u are given",
                                   t->n_scales, t->n_sizes);
    return PITH_OK;
}

/* The cut-out of tf_crop_and_resize, n starts and n ends. */
static enum pith_status read_roi(struct onnx_lower *l, uint32_t n, struct target *t)
{
    uint32_t given = 0;
    const struct onnx_value *v = pith_onnx_has_input(l, 1) ? &l->im->values[l->in[1]] : NULL;
    if (!v || !v->constant || v->empty || v->type != PITH_F32 || shape_elems(&v->shape) != 2 * n)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "roi is not a constant of %u floats: freeze it with --set-input",
                                   2 * n);
    enum pith_status status = pith_onnx_load(l->im, l->in[1]);
    for (const float *roi = l->im->values[l->in[1]].data; !status && given < 2 * n; given++) {
        if (!isfinite(roi[given]))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "roi is not finite");
        t->roi[given] = roi[given];
    }
    return status;
}

/* keep_aspect_ratio_policy: one scale for the n axes given, the sizes follow from it. */
static enum pith_status keep_aspect(struct onnx_lower *l, const struct shape *x,
                                    const struct onnx_ints *axes, uint32_t policy, struct target *t)
{
    float scale = 0;
    for (uint32_t i = 0; i < t->n_sizes; i++) {
        int64_t axis = axes->present ? axes->v[i] + (axes->v[i] < 0 ? x->rank : 0) : i;
        float own = (float)t->sizes.v[i] / (float)x->dim[axis];
        bool chosen = i == 0 || (policy == NOT_LARGER ? own < scale : own > scale);
        scale = chosen ? own : scale;
    }
    for (uint32_t i = 0; i < t->n_sizes; i++) {
        int64_t axis = axes->present ? axes->v[i] + (axes->v[i] < 0 ? x->rank : 0) : i;
        float size = floorf(scale * (float)x->dim[axis] + 0.5f);
        if (!(scale > 0) || !(size >= 1 && size < 2147483648.0f))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "scale %g of axis %lld makes no size",
                                       (double)scale, (long long)axis);
        t->sizes.v[i] = (int64_t)size;
        t->scale[i] = scale;
    }
    t->scaled = true;
    return PITH_OK;
}

/* Opset 18 may give the target for some axes only: spreads it over all. */
static enum pith_status spread(struct onnx_lower *l, const struct shape *x, uint32_t policy,
                               bool crop, struct target *t)
{
    struct onnx_ints axes = {0};
    enum pith_status status = PITH_OK;
    uint32_t n = t->n_scales + t->n_sizes;
    if (l->im->opset >= 18)
        status = pith_onnx_ints_attr(l, "axes", &axes);
    struct onnx_ints sorted = axes;
    if (!status)
        status = pith_onnx_axes(l, "axes", x->rank, &sorted);
    if (status)
        return status;
    if (n != (axes.present ? axes.n : x->rank))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it gives %u numbers for %u axes", n,
                                   axes.present ? axes.n : x->rank);
    if (policy != STRETCH && t->n_sizes)
        status = keep_aspect(l, x, &axes, policy, t);
    if (!status && crop)
        status = read_roi(l, n, t);
    if (status || !axes.present)
        return status;
    struct target whole = {.n_scales = t->n_scales ? x->rank : 0,
                           .n_sizes = t->n_sizes ? x->rank : 0,
                           .scaled = t->scaled};
    for (uint32_t i = 0; i < x->rank; i++) {
        whole.scale[i] = 1;
        whole.sizes.v[i] = x->dim[i];
        whole.roi[x->rank + i] = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = axes.v[i] + (axes.v[i] < 0 ? x->rank : 0);
        whole.scale[axis] = t->scale[i];
        whole.sizes.v[axis] = t->sizes.v[i];
        whole.roi[axis] = t->roi[i];
        whole.roi[x->rank + axis] = t->roi[n + i];
    }
    *t = whole;
    return PITH_OK;
}

/* floor(dim * scale), as ONNX computes it in f32. */
static enum pith_status set_target(struct onnx_lower *l, const struct shape *x,
                                   const struct target *t)
{
    int64_t dims[PITH_MAX_RANK];
    bool has_scales = t->n_scales > 0 || t->scaled;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (t->n_sizes) {
            dims[i] = t->sizes.v[i];
        } else {
            float out = floorf((float)x->dim[i] * t->scale[i]);
            if (!(t->scale[i] > 0) || !(out >= 1 && out < 2147483648.0f))
                return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                           "scale %g of axis %u makes no size from %u",
                                           (double)t->scale[i], i, x->dim[i]);
            dims[i] = (int64_t)out;
        }
        if (has_scales)
            pith_onnx_set_float(l, ATTR_RESIZE_SCALES + 1 + i, t->scale[i]);
        if (dims[i] == (int64_t)x->dim[i] && (!has_scales || t->scale[i] == 1))
            dims[i] = 0; /* as the input: keeps an open batch open */
        else if (dims[i] < 1)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "size %lld of axis %u",
                                       (long long)dims[i], i);
    }
    if (has_scales)
        l->attr[ATTR_RESIZE_SCALES] = (int32_t)x->rank;
    return pith_onnx_set_ints(l, "sizes", ATTR_RESIZE_DIMS, dims, x->rank);
}

/* The one rule of Upsample and of Resize 10. */
static enum pith_status old_rule(struct onnx_lower *l, const struct shape *x,
                                 const struct target *t)
{
    bool up = false, down = false;
    for (uint32_t i = 0; i < x->rank; i++) {
        up |= t->scale[i] > 1;
        down |= t->scale[i] < 1;
    }
    bool nearest = l->attr[ATTR_RESIZE_MODE] == RESIZE_NEAREST;
    if (up && down && nearest)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "it enlarges one axis and reduces another");
    l->attr[ATTR_RESIZE_COORD] = COORD_ASYMMETRIC;
    l->attr[ATTR_RESIZE_NEAREST] = down ? ROUND_CEIL : ROUND_FLOOR;
    return PITH_OK;
}

/* Other modes ignore these two, but for exclude_outside, which needs antialiased linear. */
static enum pith_status take_cubic(struct onnx_lower *l)
{
    int64_t exclude;
    if (l->attr[ATTR_RESIZE_MODE] == RESIZE_CUBIC) {
        enum pith_status status = pith_onnx_take_float(l, "cubic_coeff_a", ATTR_RESIZE_CUBIC_A);
        return status ? status : pith_onnx_take_int(l, "exclude_outside", ATTR_RESIZE_EXCLUDE);
    }
    enum pith_status status = pith_onnx_get_int(l, "exclude_outside", 0, &exclude);
    if (!status && exclude)
        status = pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                     "exclude_outside is for mode cubic or antialias");
    return status;
}

/* What Resize has had since opset 11, and what needs onnx_resample.c. */
static enum pith_status new_rule(struct onnx_lower *l, struct resample_rule *r, uint32_t *policy)
{
    static const char *const coords[] = {"half_pixel",
                                         "asymmetric",
                                         "align_corners",
                                         "pytorch_half_pixel",
                                         "half_pixel_symmetric",
                                         "tf_crop_and_resize",
                                         NULL};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    int64_t antialias, exclude;
    enum pith_status status =
        pith_onnx_get_choice(l, "coordinate_transformation_mode", coords, 0, &r->coord);
    if (!status)
        status = pith_onnx_get_choice(l, "nearest_mode", nearest, 0, &r->nearest);
    if (!status)
        status = pith_onnx_get_choice(l, "keep_aspect_ratio_policy", policies, 0, policy);
    if (!status)
        status = pith_onnx_get_int(l, "antialias", 0, &antialias);
    if (!status)
        status = pith_onnx_get_int(l, "exclude_outside", 0, &exclude);
    if (!status)
        status = pith_onnx_get_float(l, "cubic_coeff_a", -0.75f, &r->cubic_a);
    if (!status)
        status = pith_onnx_get_float(l, "extrapolation_value", 0.0f, &r->extrapolation);
    if (status)
        return status;
    r->antialias = antialias != 0 && r->mode != RESIZE_NEAREST;
    r->exclude_outside = exclude != 0;
    if (!isfinite(r->cubic_a) || !isfinite(r->extrapolation))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "an attribute is not finite");
    return PITH_OK;
}

static enum pith_status resample(struct onnx_lower *l, const struct resample_rule *rule,
                                 const struct shape *x, const struct target *t)
{
    struct resample_axis axis[PITH_MAX_RANK];
    bool scaled = t->n_scales > 0 || t->scaled;
    enum pith_status status = set_target(l, x, t);
    if (rule->coord == COORD_CROP && t->n_scales)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "tf_crop_and_resize needs sizes, not scales");
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t out = (uint32_t)l->attr[ATTR_RESIZE_DIMS + 1 + i];
        axis[i].in = x->dim[i];
        axis[i].out = out ? out : x->dim[i];
        axis[i].scale = scaled ? (double)t->scale[i] : (double)axis[i].out / axis[i].in;
        axis[i].start = (double)t->roi[i];
        axis[i].end = (double)t->roi[x->rank + i];
    }
    return status ? status : pith_onnx_resample(l, rule, axis);
}

enum pith_status pith_lower_resize(struct onnx_lower *l)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    struct target t;
    struct resample_rule rule = {0};
    uint32_t policy = STRETCH;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    struct shape x = *pith_onnx_in_shape(l, 0);
    enum pith_status status = pith_onnx_get_choice(l, "mode", modes, RESIZE_NEAREST, &rule.mode);
    if (!status && rule.mode == RESIZE_CUBIC && l->im->opset < 11)
        status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "mode 'cubic' came with opset 11");
    if (!status && l->im->opset >= 11)
        status = new_rule(l, &rule, &policy);
    if (!status)
        status = read_target(l, &t);
    if (!status)
        status = spread(l, &x, policy, rule.coord == COORD_CROP, &t);
    if (status)
        return status;
    l->attr[ATTR_RESIZE_MODE] = (int32_t)rule.mode;
    if (rule.antialias || rule.coord == COORD_CROP)
        return resample(l, &rule, &x, &t);
    l->attr[ATTR_RESIZE_COORD] = (int32_t)rule.coord;
    l->attr[ATTR_RESIZE_NEAREST] = (int32_t)rule.nearest;
    status = l->im->opset < 11 ? old_rule(l, &x, &t) : take_cubic(l);
    l->n_in = 1;
    return status ? status : set_target(l, &x, &t);
}

/* Opset 20 has other words for the same modes, and volumes. */
enum pith_status pith_lower_grid_sample(struct onnx_lower *l)
{
    static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    static const int32_t mode_of[] = {0, 1, 2, 0, 2};
    uint32_t mode, padding;
    enum pith_status status = pith_onnx_get_choice(l, "mode", modes, 0, &mode);
    if (!status)
        status = pith_onnx_get_choice(l, "padding_mode", paddings, 0, &padding);
    if (status)
        return status;
    l->attr[ATTR_GRID_SAMPLE_MODE] = mode_of[mode];
    l->attr[ATTR_GRID_SAMPLE_PADDING] = (int32_t)padding;
    return pith_onnx_take_int(l, "align_corners", ATTR_GRID_SAMPLE_ALIGN);
}
