/* SPDX-License-Identifier: MIT */
/* onnx_slice.c - operators that cut and join along axes: Concat, Split, Slice, Pad. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

static enum pith_status need_input(struct onnx_lower *l)
{
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    return PITH_OK;
}

/* Attribute `axis` of input 0, into slot ATTR_AXIS. */
static enum pith_status take_axis(struct onnx_lower *l, int64_t def, uint32_t *axis)
{
    int64_t v;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_get_int(l, "axis", def, &v);
    if (!status)
        status = pith_onnx_axis(l, "axis", pith_onnx_in_shape(l, 0)->rank, &v);
    if (status)
        return status;
    *axis = (uint32_t)v;
    return pith_onnx_set_int(l, "axis", ATTR_AXIS, v);
}

/* Empty constants are left out: they add nothing. */
static void drop_empty_inputs(struct onnx_lower *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_in; i++)
        if (l->in[i] == ONNX_VALUE_NONE || !l->im->values[l->in[i]].empty)
            l->in[n++] = l->in[i];
    if (n > 0)
        l->n_in = n;
}

enum pith_status pith_lower_concat(struct onnx_lower *l)
{
    uint32_t axis;
    drop_empty_inputs(l);
    enum pith_status status = take_axis(l, 1, &axis);
    if (status || l->n_in != 1)
        return status;
    return pith_onnx_vanish(l);
}

/* Are the sizes what pith's Split does without a list: equal parts, the last one maybe smaller? */
static bool are_equal_parts(const struct onnx_ints *sizes, uint32_t dim)
{
    int64_t each = ((int64_t)dim + sizes->n - 1) / sizes->n;
    for (uint32_t i = 0; i + 1 < sizes->n; i++)
        if (sizes->v[i] != each)
            return false;
    return sizes->v[sizes->n - 1] == dim - each * (sizes->n - 1);
}

/* Sizes from the file, or none for equal parts, of which the last may be smaller from opset 18. */
static enum pith_status split_sizes(struct onnx_lower *l, uint32_t dim, struct onnx_ints *sizes)
{
    int64_t parts = l->n_out;
    enum pith_status status = pith_onnx_ints_either(l, 13, 1, "split", sizes);
    if (status)
        return status;
    if (sizes->present) {
        if (sizes->n != l->n_out)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%u sizes for %u outputs", sizes->n,
                                       l->n_out);
        if (sizes->n > PITH_MAX_RANK && are_equal_parts(sizes, dim))
            sizes->n = 0; /* more than a list holds, and not needed */
        return PITH_OK;
    }
    status = pith_onnx_get_int(l, "num_outputs", parts, &parts);
    if (status)
        return status;
    if (parts != l->n_out)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "num_outputs is %lld, it has %u outputs",
                                   (long long)parts, l->n_out);
    int64_t each = (dim + parts - 1) / parts;
    if ((dim % parts && l->im->opset < 18) || each * (parts - 1) >= dim)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%u elements do not split into %lld parts",
                                   dim, (long long)parts);
    return PITH_OK;
}

/* A part of no elements, as output i: a Concat goes on without it; what computes something of it is
 * refused. */
static enum pith_status take_nothing(struct onnx_lower *l, uint32_t i, const struct shape *s)
{
    struct onnx_value *v = &l->im->values[l->first_out + i];
    v->data = pith_onnx_alloc(&l->im->budget, 1, 1);
    if (!v->data)
        return pith_onnx_no_memory(l->im);
    v->type = l->im->values[l->in[0]].type;
    v->shape = v->other = *s;
    v->known = v->constant = v->empty = true;
    l->done = true;
    return PITH_OK;
}

/* Some parts are empty: the others are slices. */
static enum pith_status split_apart(struct onnx_lower *l, uint32_t axis,
                                    const struct onnx_ints *sizes)
{
    struct onnx_steps s = {.l = l};
    const struct shape whole = *pith_onnx_in_shape(l, 0);
    struct shape nothing = whole;
    const uint32_t dim = whole.dim[axis];
    const bool empty = l->im->values[l->in[0]].empty; /* its shape says nothing */
    int64_t at = 0;
    for (uint32_t i = 0; i < sizes->n && !empty; i++) {
        if (sizes->v[i] < 0 || sizes->v[i] > dim - at)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "part %u has %lld of %u elements", i,
                                       (long long)sizes->v[i], dim);
        at += sizes->v[i];
    }
    if (at == 0 && !empty)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "all its parts are empty");
    if (at != dim && !empty)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its parts have %lld of %u elements",
                                   (long long)at, dim);
    nothing.dim[axis] = 0;
    at = 0;
    for (uint32_t i = 0; i < sizes->n && !s.status; at += sizes->v[i++]) {
        const int64_t n = sizes->v[i];
        if (n == 0 || empty)
            s.status = take_nothing(l, i, &nothing);
        else
            pith_step_result(&s, i,
                             n == dim ? l->in[0]
                                      : pith_step_slice(&s, l->in[0], (int32_t)axis, (int32_t)at,
                                                        (int32_t)(at + n), 1));
    }
    return s.status;
}

enum pith_status pith_lower_split(struct onnx_lower *l)
{
    uint32_t axis;
    struct onnx_ints sizes;
    enum pith_status status = take_axis(l, 0, &axis);
    if (status)
        return status;
    status = split_sizes(l, pith_onnx_in_shape(l, 0)->dim[axis], &sizes);
    if (status)
        return status;
    for (uint32_t i = 0; i < sizes.n; i++)
        if (sizes.v[i] == 0)
            return split_apart(l, axis, &sizes);
    l->n_in = 1;
    return pith_onnx_set_ints(l, "split", ATTR_SPLIT_SIZES, sizes.v, sizes.n);
}

static int64_t clamp32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

static enum pith_status slice_lists(struct onnx_lower *l, struct onnx_ints *starts,
                                    struct onnx_ints *ends, struct onnx_ints *axes,
                                    struct onnx_ints *steps)
{
    *steps = (struct onnx_ints){0};
    enum pith_status status = pith_onnx_ints_either(l, 10, 1, "starts", starts);
    if (!status)
        status = pith_onnx_ints_either(l, 10, 2, "ends", ends);
    if (!status)
        status = pith_onnx_ints_either(l, 10, 3, "axes", axes);
    if (!status && l->im->opset >= 10)
        status = pith_onnx_ints_input(l, 4, "steps", steps);
    if (status)
        return status;
    uint32_t n = starts->n;
    for (uint32_t i = 0; !axes->present && i < n; i++)
        axes->v[axes->n++] = i;
    if (!starts->present || !ends->present || ends->n != n || axes->n != n ||
        (steps->present && steps->n != n))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "it has %u starts, %u ends, %u axes, %u steps", n, ends->n,
                                   axes->n, steps->n);
    return PITH_OK;
}

/* Elements that Slice takes of an axis; the runtime's rule, for outputs it refuses. */
static int64_t slice_count(int64_t start, int64_t end, int64_t step, int64_t dim)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
    if (dim == 0)
        return 0;
    start += start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    start = start < 0 ? 0 : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    int64_t count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    return count > 0 ? count : 0;
}

enum pith_status pith_lower_slice(struct onnx_lower *l)
{
    struct onnx_ints starts, ends, axes, steps;
    bool moving = false;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_moving_slice(l, &moving);
    if (!status && !moving)
        status = slice_lists(l, &starts, &ends, &axes, &steps);
    if (status || moving)
        return status;
    struct shape shape = *pith_onnx_in_shape(l, 0);
    uint32_t n = starts.n, rank = shape.rank;
    bool empty = l->im->values[l->in[0]].empty;
    struct onnx_ints sorted = axes;
    status = pith_onnx_axes(l, "axes", rank, &sorted); /* in range and no axis twice */
    l->n_in = 1;
    if (status || n == 0)
        return status ? status : pith_onnx_vanish(l);
    for (uint32_t i = 0; i < n; i++) {
        axes.v[i] += axes.v[i] < 0 ? rank : 0;
        starts.v[i] = clamp32(starts.v[i]);
        ends.v[i] = clamp32(ends.v[i]);
        if (steps.present && steps.v[i] == 0)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "steps[%u] is 0", i);
        steps.v[i] = steps.present ? clamp32(steps.v[i]) : 1;
        int64_t dim = shape.dim[axes.v[i]];
        shape.dim[axes.v[i]] = (uint32_t)slice_count(starts.v[i], ends.v[i], steps.v[i], dim);
        empty = empty || shape.dim[axes.v[i]] == 0;
    }
    if (empty)
        return take_nothing(l, 0, &shape);
    status = pith_onnx_set_ints(l, "axes", ATTR_SLICE_AXES, axes.v, n);
    if (!status)
        status = pith_onnx_set_ints(l, "starts", ATTR_SLICE_STARTS, starts.v, n);
    if (!status)
        status = pith_onnx_set_ints(l, "ends", ATTR_SLICE_ENDS, ends.v, n);
    if (!status && steps.present)
        status = pith_onnx_set_ints(l, "steps", ATTR_SLICE_STEPS, steps.v, n);
    return status;
}

static int64_t length_of(const struct onnx_value *v, const void *data, uint64_t i)
{
    return v->type == PITH_I64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
}

/* All n sequences are `dim` long; data: their lengths. */
static bool are_whole(const struct onnx_value *v, const void *data, uint64_t n, int64_t dim)
{
    bool whole = data != NULL;
    for (uint64_t i = 0; i < n && whole; i++)
        whole = length_of(v, data, i) == dim;
    return whole;
}

/* Each sequence backwards as far as it is long: rows of both axes as one are gathered. */
static enum pith_status reverse_parts(struct onnx_lower *l, uint32_t time)
{
    struct onnx_steps s = {.l = l};
    const struct onnx_value *lengths = &l->im->values[l->in[1]];
    const struct shape x = *pith_onnx_in_shape(l, 0);
    int32_t dims[PITH_MAX_RANK];
    for (uint32_t i = 0; i < x.rank; i++)
        dims[i] = (int32_t)x.dim[i];
    const uint32_t n = x.dim[0] * x.dim[1];
    void *data;
    uint32_t rows[2] = {0, pith_step_constant(&s, PITH_I64, 1, &n, &data)};
    lengths = &l->im->values[l->in[1]];
    for (uint32_t i = 0; i < n && data; i++) {
        const uint32_t at[2] = {i / x.dim[1], i % x.dim[1]}; /* of axis 0 and 1 */
        const int64_t length = length_of(lengths, lengths->data, at[1 - time]);
        const int64_t t = at[time] < length ? length - 1 - at[time] : at[time];
        ((int64_t *)data)[i] = time == 0 ? t * x.dim[1] + at[1] : at[0] * (int64_t)x.dim[1] + t;
    }
    const struct step_attr axis = {ATTR_GATHER_AXIS, 0};
    dims[1] = (int32_t)n;
    rows[0] = pith_step_reshape(&s, l->in[0], x.rank - 1, dims + 1);
    dims[1] = (int32_t)x.dim[1];
    const uint32_t gathered = pith_step(&s, PITH_OP_GATHER, 2, rows, 1, &axis);
    l->im->batch_open = false;
    return pith_step_result(&s, 0, pith_step_reshape(&s, gathered, x.rank, dims));
}

/* Sequences as long as the time axis, as those of Keras' layers, are that axis backwards. */
enum pith_status pith_lower_reverse_sequence(struct onnx_lower *l)
{
    int64_t time = 0, batch = 1;
    if (l->n_in != 2 || !pith_onnx_has_input(l, 0) || !pith_onnx_has_input(l, 1))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has %u inputs, 2 are allowed", l->n_in);
    enum pith_status status = pith_onnx_get_int(l, "time_axis", 0, &time);
    if (!status)
        status = pith_onnx_get_int(l, "batch_axis", 1, &batch);
    const struct shape s = *pith_onnx_in_shape(l, 0);
    if (!status && (s.rank < 2 || time < 0 || time > 1 || batch != 1 - time))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its axes are %lld and %lld of %u",
                                   (long long)time, (long long)batch, s.rank);
    const struct onnx_value *v = &l->im->values[l->in[1]];
    if (!status && (!v->constant || v->empty || (v->type != PITH_I64 && v->type != PITH_I32)))
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "the lengths of its sequences are no constant");
    if (!status)
        status = pith_onnx_load(l->im, l->in[1]);
    if (status)
        return status;
    v = &l->im->values[l->in[1]];
    const int64_t dim = s.dim[time];
    const uint64_t n = shape_elems(&v->shape);
    bool fits = n == s.dim[batch];
    for (uint64_t i = 0; i < n && fits; i++)
        fits = length_of(v, v->data, i) >= 0 && length_of(v, v->data, i) <= dim;
    if (!fits)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its lengths are not %u of up to %lld",
                                   s.dim[batch], (long long)dim);
    if (!are_whole(v, v->data, n, dim))
        return reverse_parts(l, (uint32_t)time);
    const struct onnx_value *x = &l->im->values[l->in[0]];
    if ((x->varies && x->other.dim[time] != dim) ||
        (v->varies && !are_whole(v, v->other_data, shape_elems(&v->other), dim)))
        l->im->batch_open = false;
    struct onnx_steps steps = {.l = l};
    return pith_step_result(
        &steps, 0, pith_step_slice(&steps, l->in[0], (int32_t)time, INT32_MAX, INT32_MIN, -1));
}

/* pads: begins then ends, of `axes` or of all axes in order. */
static enum pith_status set_pads(struct onnx_lower *l, const struct onnx_ints *pads,
                                 const struct onnx_ints *axes)
{
    uint32_t rank = pith_onnx_in_shape(l, 0)->rank, n = axes->present ? axes->n : rank;
    if (pads->n != 2 * n)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "pads has %u entries, %u axes need %u",
                                   pads->n, n, 2 * n);
    int64_t begin[PITH_MAX_RANK] = {0}, end[PITH_MAX_RANK] = {0};
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = axes->present ? axes->v[i] : i;
        axis += axis < 0 ? rank : 0;
        begin[axis] = pads->v[i];
        end[axis] = pads->v[n + i];
    }
    enum pith_status status = pith_onnx_set_ints(l, "pads", ATTR_PAD_BEGIN, begin, rank);
    return status ? status : pith_onnx_set_ints(l, "pads", ATTR_PAD_END, end, rank);
}

static enum pith_status pad_value(struct onnx_lower *l)
{
    if (l->im->opset < 11)
        return pith_onnx_take_float(l, "value", ATTR_PAD_VALUE);
    bool present;
    float v = 0;
    enum pith_status status = pith_onnx_float_input(l, 2, "constant_value", &present, &v);
    if (!status && present)
        pith_onnx_set_float(l, ATTR_PAD_VALUE, v);
    return status;
}

/* The end of an axis before its beginning, its beginning behind its end. */
static uint32_t wrap_axis(struct onnx_steps *s, int32_t axis, int32_t begin, int32_t end,
                          uint32_t x)
{
    int64_t dim = s->status ? 0 : s->l->im->values[x].shape.dim[axis];
    uint32_t y = x;
    if (!s->status && (begin < 0 || end < 0 || begin > dim || end > dim))
        s->status =
            pith_onnx_node_fail(s->l, PITH_ERR_UNSUPPORTED,
                                "mode 'wrap' with pads %d and %d of an axis of %lld: from 0 to "
                                "the length of the axis are supported",
                                begin, end, (long long)dim);
    if (begin > 0)
        y = pith_step_concat(s, axis, pith_step_slice(s, x, axis, -begin, INT32_MAX, 1), y);
    if (end > 0)
        y = pith_step_concat(s, axis, y, pith_step_slice(s, x, axis, 0, end, 1));
    return y;
}

/* Mode wrap, pads in their slots: Slices and Concats. */
static enum pith_status wrap(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    uint32_t x = l->in[0], rank = pith_onnx_in_shape(l, 0)->rank;
    for (uint32_t i = 0; i < rank; i++)
        x = wrap_axis(&s, (int32_t)i, l->attr[ATTR_PAD_BEGIN + 1 + i],
                      l->attr[ATTR_PAD_END + 1 + i], x);
    return pith_step_result(&s, 0, x);
}

enum pith_status pith_lower_pad(struct onnx_lower *l)
{
    enum { WRAP = 3 };
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap", NULL};
    struct onnx_ints pads, axes = {0};
    uint32_t mode;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_get_choice(l, "mode", modes, 0, &mode);
    if (!status)
        status = pith_onnx_ints_either(l, 11, 1, "pads", &pads);
    if (!status && l->im->opset >= 18)
        status = pith_onnx_ints_input(l, 3, "axes", &axes);
    if (!status)
        status = pad_value(l);
    if (status)
        return status;
    if (!pads.present)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "pads are missing");
    struct onnx_ints sorted = axes;
    status = pith_onnx_axes(l, "axes", pith_onnx_in_shape(l, 0)->rank, &sorted);
    l->attr[ATTR_PAD_MODE] = mode == WRAP ? 0 : (int32_t)mode;
    l->n_in = 1;
    if (!status)
        status = set_pads(l, &pads, &axes);
    return status || mode != WRAP ? status : wrap(l);
}
