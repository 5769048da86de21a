/* SPDX-License-Identifier: MIT */
/* onnx_loop.c - Loop and Scan: the begin and the end of a region (onnx_inline.c) become the
 * runtime's Loop and LoopEnd; what stands between them is lowered like any node.
 *
 * A Scan runs as often as its axis is long; each slice is a Gather with the number of the iteration
 * (counted down for the reverse direction), and what is collected along another axis or backwards
 * is brought there behind the loop. A Loop's condition costs nothing where it is constant. A loop
 * that never runs is left out: its results are its initial states. */
#include "validate/graph.h"
#include "onnx/graph/onnx.h"
#include "onnx/lower/onnx_loop_count.h"
#include "op_interface/op_attr.h"

#include <stdio.h>

static struct onnx_region *region_of(const struct onnx_lower *l)
{
    return &l->im->regions[l->flat->region];
}

static uint32_t state_of(const struct onnx_lower *l, uint32_t i)
{
    return l->im->flat[region_of(l)->begin].out + 1 + i;
}

/* Behind iteration and states of a Loop: the condition as its body sees it, which always holds. */
static uint32_t condition_of(const struct onnx_lower *l)
{
    return state_of(l, region_of(l)->n_states);
}

enum pith_status pith_onnx_as_scalar(struct onnx_lower *l, const char *what, enum pith_type type,
                                     uint32_t *value)
{
    const struct onnx_value *v = &l->im->values[*value];
    if (v->type != type || v->empty || shape_elems(&v->shape) != 1) {
        char text[96];
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its %s is %s, not one %s", what,
                                   pith_onnx_shape_text(v, text),
                                   type == PITH_BOOL ? "bool" : "i64");
    }
    if (v->shape.rank == 0 || v->constant)
        return PITH_OK;
    struct onnx_lower step;
    uint32_t in = *value;
    *value = ONNX_VALUE_NONE;
    int64_t axes[PITH_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t rank = v->shape.rank;
    enum pith_status status = pith_onnx_step(l, PITH_OP_SQUEEZE, &step, value);
    step.in = &in;
    if (!status)
        status = pith_onnx_set_ints(&step, "axes", ATTR_AXES, axes, rank);
    return status ? status : pith_onnx_finish(&step);
}

enum pith_status pith_onnx_constant_scalar(struct onnx_lower *l, uint32_t value, bool *constant,
                                           int64_t *number)
{
    *constant = l->im->values[value].constant;
    if (!*constant)
        return PITH_OK;
    enum pith_status status = pith_onnx_load(l->im, value);
    if (status)
        return status;
    const struct onnx_value *v = &l->im->values[value];
    if (v->varies)
        l->im->batch_open = false;
    if (v->type == PITH_BOOL)
        *number = *(const uint8_t *)v->data != 0;
    else
        memcpy(number, v->data, sizeof *number);
    return PITH_OK;
}

/* A constant without dims. */
static enum pith_status make_scalar(struct onnx_lower *l, uint32_t value, enum pith_type type,
                                    int64_t number)
{
    void *data = pith_onnx_alloc(&l->im->budget, 1, sizeof number);
    if (!data)
        return pith_onnx_no_memory(l->im);
    if (type == PITH_BOOL)
        *(uint8_t *)data = number != 0;
    else
        memcpy(data, &number, sizeof number);
    struct onnx_value *v = &l->im->values[value];
    v->type = type;
    v->shape = (struct shape){.rank = 0};
    v->known = v->constant = true;
    v->data = data;
    return PITH_OK;
}

/* Axis 0, of one element, taken off `in` or put before it. */
static enum pith_status one_axis(struct onnx_lower *l, uint32_t op, uint32_t in, uint32_t *value)
{
    const int64_t axis = 0;
    struct onnx_lower step;
    enum pith_status status = pith_onnx_step(l, op, &step, value);
    step.in = &in;
    if (!status)
        status = pith_onnx_set_ints(&step, "axes", ATTR_AXES, &axis, 1);
    return status ? status : pith_onnx_finish(&step);
}

enum pith_status pith_onnx_check_depth(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    uint32_t depth = 1;
    for (uint32_t part = region_of(l)->parent; part != 0;) {
        const struct onnx_region *around = &im->regions[(part - 1) / 2];
        depth += around->emitted != 0;
        part = around->parent;
    }
    if (depth > PITH_MAX_DEPTH)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "loops and branches are nested more than %u deep",
                                   PITH_MAX_DEPTH);
    return PITH_OK;
}

/* ---- begin ----------------------------------------------------------------------------------- */

struct trips {
    int64_t n;
    uint32_t count, condition; /* ONNX_VALUE_NONE: none at run time */
};

/* The node Loop: `states` of the region start as in[first], in[first + 1], ... */
static enum pith_status emit_loop(struct onnx_lower *l, const struct trips *t, uint32_t first)
{
    struct onnx_import *im = l->im;
    struct onnx_region *r = region_of(l);
    struct onnx_lower step;
    uint32_t out = l->first_out, n = 0;
    enum pith_status status = pith_onnx_check_depth(l);
    if (status)
        return status;
    uint32_t *in = pith_onnx_alloc(&im->budget, r->n_states + 2u, sizeof *in);
    if (!in)
        return pith_onnx_no_memory(im);
    if (t->count != ONNX_VALUE_NONE)
        in[n++] = t->count;
    if (t->condition != ONNX_VALUE_NONE)
        in[n++] = t->condition;
    for (uint32_t i = 0; i < r->n_states; i++)
        in[n++] = l->in[first + i];
    status = pith_onnx_step(l, PITH_OP_LOOP, &step, &out);
    step.attr[ATTR_LOOP_TRIPS] = t->n > INT32_MAX ? INT32_MAX : (int32_t)t->n;
    step.attr[ATTR_LOOP_HAS_COUNT] = t->count != ONNX_VALUE_NONE;
    step.attr[ATTR_LOOP_HAS_COND] = t->condition != ONNX_VALUE_NONE;
    step.in = in;
    step.n_in = n;
    step.n_out = 1 + r->n_states;
    if (!status)
        status = pith_onnx_finish(&step);
    r->emitted = status ? 0 : im->n_nodes;
    return status;
}

static enum pith_status read_trips(struct onnx_lower *l, struct trips *t)
{
    bool constant = true;
    int64_t holds = 1;
    enum pith_status status = PITH_OK;
    *t = (struct trips){INT32_MAX, l->in[0], l->in[1]};
    if (t->count != ONNX_VALUE_NONE) {
        status = pith_onnx_as_scalar(l, "trip count", PITH_I64, &t->count);
        if (!status)
            status = pith_onnx_constant_scalar(l, t->count, &constant, &t->n);
        if (!status && constant)
            t->count = ONNX_VALUE_NONE;
    }
    if (!status && t->condition != ONNX_VALUE_NONE) {
        status = pith_onnx_as_scalar(l, "condition", PITH_BOOL, &t->condition);
        if (!status)
            status = pith_onnx_constant_scalar(l, t->condition, &constant, &holds);
        if (!status && constant)
            t->condition = ONNX_VALUE_NONE;
    }
    region_of(l)->never = t->n <= 0 || !holds;
    return status;
}

static enum pith_status begin_loop(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    struct onnx_region *r = region_of(l);
    struct trips t;
    enum pith_status status = read_trips(l, &t);
    for (uint32_t i = 2; i < l->n_in && !status; i++) /* of a loop that never runs the results */
        if (l->in[i] == ONNX_VALUE_NONE)
            status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    if (status || r->never)
        return status;
    uint32_t iteration = l->first_out, wanted = condition_of(l) + 1;
    r->endless = l->in[0] == ONNX_VALUE_NONE && t.condition == ONNX_VALUE_NONE;
    if (t.count == ONNX_VALUE_NONE && t.condition == ONNX_VALUE_NONE)
        status = pith_onnx_count_trips(l, wanted, &t.n, &r->counted);
    if (!status)
        status = emit_loop(l, &t, 2);
    if (!status)
        status = make_scalar(l, condition_of(l), PITH_BOOL, 1);
    if (status || !r->iteration_is_list) {
        im->values[wanted].alias = iteration;
        return status;
    }
    return one_axis(l, PITH_OP_UNSQUEEZE, iteration, &wanted);
}

/* Entry i of an optional list of one number for each of n things. */
static enum pith_status entry(struct onnx_lower *l, const char *name, uint32_t n, uint32_t i,
                              int64_t *v)
{
    struct onnx_ints list;
    enum pith_status status = pith_onnx_ints_attr(l, name, &list);
    if (status)
        return status;
    if (list.present && list.n != n)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s has %u entries, not %u", name, list.n,
                                   n);
    *v = list.present ? list.v[i] : 0;
    return PITH_OK;
}

static enum pith_status direction(struct onnx_lower *l, const char *name, uint32_t n, uint32_t i,
                                  bool *reverse)
{
    int64_t v = 0;
    enum pith_status status = entry(l, name, n, i, &v);
    if (!status && v != 0 && v != 1)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s holds %lld, which is not in 0..1", name,
                                   (long long)v);
    *reverse = !status && v;
    return status;
}

/* The axis along which input i of those scanned is cut. */
static enum pith_status scanned_axis(struct onnx_lower *l, uint32_t i, int64_t *axis)
{
    const struct onnx_region *r = region_of(l);
    const struct onnx_value *x = &l->im->values[l->in[r->n_states + i]];
    enum pith_status status = entry(l, "scan_input_axes", r->n_slices, i, axis);
    if (!status && x->empty)
        status = pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "input %u '%.60s' has no elements",
                                     r->n_states + i, x->name);
    return status ? status : pith_onnx_axis(l, "scan_input_axes", x->shape.rank, axis);
}

static enum pith_status scan_trips(struct onnx_lower *l, struct trips *t)
{
    const struct onnx_region *r = region_of(l);
    *t = (struct trips){0, ONNX_VALUE_NONE, ONNX_VALUE_NONE};
    for (uint32_t i = 0; i < r->n_slices; i++) {
        int64_t axis;
        enum pith_status status = scanned_axis(l, i, &axis);
        if (status)
            return status;
        const struct onnx_value *x = &l->im->values[l->in[r->n_states + i]];
        uint32_t n = x->shape.dim[axis];
        if (i > 0 && n != t->n)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                       "its inputs are scanned %lld and %u times", (long long)t->n,
                                       n);
        t->n = n;
        if (pith_onnx_other_shape(x)->dim[axis] != n)
            l->im->batch_open = false; /* as many iterations as the batch has samples */
    }
    return PITH_OK;
}

/* The number of the iteration, or what is left of them. */
static enum pith_status index_of(struct onnx_lower *l, int64_t trips, bool reverse, uint32_t *index)
{
    struct onnx_lower step;
    uint32_t in[2] = {pith_onnx_add_value(l->im, ""), l->first_out};
    *index = l->first_out;
    if (!reverse)
        return PITH_OK;
    if (in[0] == ONNX_VALUE_NONE)
        return pith_onnx_no_memory(l->im);
    *index = ONNX_VALUE_NONE;
    l->im->values[in[0]].producer = l->im->values[l->first_out].producer;
    enum pith_status status = make_scalar(l, in[0], PITH_I64, trips - 1);
    if (!status)
        status = pith_onnx_step(l, PITH_OP_SUB, &step, index);
    step.in = in;
    step.n_in = 2;
    return status ? status : pith_onnx_finish(&step);
}

static enum pith_status emit_slice(struct onnx_lower *l, uint32_t i, int64_t trips)
{
    const struct onnx_region *r = region_of(l);
    uint32_t in[2] = {l->in[r->n_states + i], 0}, out = l->first_out + 1 + r->n_states + i;
    struct onnx_lower step = {0};
    bool reverse;
    int64_t axis;
    enum pith_status status = scanned_axis(l, i, &axis);
    const char *directions = r->batched ? "directions" : "scan_input_directions";
    if (!status)
        status = direction(l, directions, r->n_slices, i, &reverse);
    if (!status)
        status = index_of(l, trips, reverse, &in[1]);
    if (!status)
        status = pith_onnx_step(l, PITH_OP_GATHER, &step, &out);
    step.in = in;
    step.n_in = 2;
    if (!status)
        status = pith_onnx_set_int(&step, "axis", ATTR_GATHER_AXIS, axis);
    return status ? status : pith_onnx_finish(&step);
}

/* Opset 8 scans each sample of a batch by itself; here there is one. */
static enum pith_status take_batch_off(struct onnx_lower *l)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < l->n_in && !status; i++) {
        const struct shape *s = pith_onnx_in_shape(l, i);
        uint32_t in = l->in[i];
        if (s->rank == 0 || s->dim[0] != 1)
            return pith_onnx_node_fail(
                l, PITH_ERR_UNSUPPORTED,
                "it is of opset 8 and has a batch of %u: convert the file to "
                "opset 9 or newer with onnx.version_converter",
                s->rank ? s->dim[0] : 0);
        l->in[i] = ONNX_VALUE_NONE;
        status = one_axis(l, PITH_OP_SQUEEZE, in, &l->in[i]);
    }
    return status;
}

static enum pith_status begin_scan(struct onnx_lower *l)
{
    struct trips t;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < l->n_in; i++)
        if (l->in[i] == ONNX_VALUE_NONE)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    if (region_of(l)->batched)
        status = take_batch_off(l);
    if (!status)
        status = scan_trips(l, &t);
    if (!status)
        status = emit_loop(l, &t, 0);
    for (uint32_t i = 0; i < region_of(l)->n_slices && !status; i++)
        status = emit_slice(l, i, t.n);
    return status;
}

/* ---- end ------------------------------------------------------------------------------------- */

static enum pith_status check_states(struct onnx_lower *l, const uint32_t *next)
{
    for (uint32_t i = 0; i < region_of(l)->n_states; i++) {
        const struct onnx_value *a = &l->im->values[state_of(l, i)], *b = &l->im->values[next[i]];
        char before[96], after[96];
        if (b->empty || a->type != b->type || !pith_shape_equal(&a->shape, &b->shape))
            return pith_onnx_node_fail(
                l, PITH_ERR_UNSUPPORTED,
                "state '%.60s' is %s before an iteration and %s after it: it "
                "must keep its shape",
                a->name, pith_onnx_shape_text(a, before), pith_onnx_shape_text(b, after));
    }
    return PITH_OK;
}

/* A Loop that so far had no condition gets one: that it starts with "true" is its first input. */
static enum pith_status add_condition(struct onnx_lower *l)
{
    struct onnx_node *loop = &l->im->nodes[region_of(l)->emitted - 1];
    uint32_t at = loop->attr[ATTR_LOOP_HAS_COUNT] != 0;
    uint32_t *in = pith_onnx_alloc(&l->im->budget, loop->n_in + 2u, sizeof *in);
    if (!in)
        return pith_onnx_no_memory(l->im);
    memcpy(in, loop->in, at * sizeof *in);
    in[at] = condition_of(l);
    memcpy(in + at + 1, loop->in + at, (loop->n_in - at) * sizeof *in);
    loop->in = in;
    loop->n_in++;
    loop->attr[ATTR_LOOP_HAS_COND] = 1;
    return PITH_OK;
}

/* *value: LoopEnd's condition for going on; ONNX_VALUE_NONE when there is none. */
static enum pith_status settle_condition(struct onnx_lower *l, uint32_t *value)
{
    bool constant;
    int64_t holds = 1;
    enum pith_status status = pith_onnx_as_scalar(l, "next condition", PITH_BOOL, value);
    if (!status && region_of(l)->counted)
        *value = ONNX_VALUE_NONE;
    if (status || region_of(l)->counted)
        return status;
    status = pith_onnx_constant_scalar(l, *value, &constant, &holds);
    if (status)
        return status;
    struct onnx_node *loop = &l->im->nodes[region_of(l)->emitted - 1];
    if (constant && !holds)
        loop->attr[ATTR_LOOP_TRIPS] = 1;
    else if (constant && region_of(l)->endless)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "it never ends");
    if (constant) {
        *value = loop->attr[ATTR_LOOP_HAS_COND] ? condition_of(l) : ONNX_VALUE_NONE;
        return PITH_OK;
    }
    return loop->attr[ATTR_LOOP_HAS_COND] ? PITH_OK : add_condition(l);
}

/* What is collected needs a number of iterations known at import. */
static enum pith_status check_collected(struct onnx_lower *l, uint32_t n)
{
    const struct onnx_node *loop = &l->im->nodes[region_of(l)->emitted - 1];
    const char *what = loop->attr[ATTR_LOOP_HAS_COUNT] ? "trip count" : "condition";
    for (uint32_t i = 0; i < n; i++) {
        const struct onnx_value *v = &l->im->values[l->first_out + region_of(l)->n_states + i];
        if (v->live)
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                       "the size of its output '%.60s' is known only at run time: "
                                       "freeze its %s '%.60s' with --set-input",
                                       v->name, what,
                                       l->node->input[loop->attr[ATTR_LOOP_HAS_COUNT] ? 0 : 1]);
    }
    return PITH_OK;
}

/* The node LoopEnd; `out`: its first output. */
static enum pith_status emit_end(struct onnx_lower *l, uint32_t condition, const uint32_t *next,
                                 uint32_t n_collected, uint32_t out)
{
    struct onnx_import *im = l->im;
    struct onnx_region *r = region_of(l);
    const struct onnx_node *loop = &im->nodes[r->emitted - 1];
    struct onnx_lower step;
    uint32_t n = 0;
    uint32_t *in = pith_onnx_alloc(&im->budget, 2 * r->n_states + n_collected + 1u, sizeof *in);
    if (!in)
        return pith_onnx_no_memory(im);
    if (condition != ONNX_VALUE_NONE)
        in[n++] = condition;
    for (uint32_t i = 0; i < r->n_states; i++)
        in[n++] = state_of(l, i);
    for (uint32_t i = 0; i < r->n_states + n_collected; i++)
        in[n++] = next[i];
    enum pith_status status = pith_onnx_step(l, PITH_OP_LOOP_END, &step, &out);
    step.in = in;
    step.n_in = n;
    step.n_out = r->n_states + n_collected;
    memcpy(step.attr, loop->attr, loop->info->n_slots * sizeof *step.attr);
    step.attr[ATTR_LOOP_STATES] = (int32_t)r->n_states;
    if (!status)
        status = pith_onnx_finish(&step);
    if (!status)
        im->nodes[im->n_nodes - 1].begin = r->emitted - 1;
    return status;
}

static enum pith_status end_loop(struct onnx_lower *l)
{
    const struct onnx_region *r = region_of(l);
    uint32_t condition = l->in[0], n_collected = l->n_in - 1 - r->n_states;
    enum pith_status status = check_states(l, l->in + 1);
    if (!status)
        status = settle_condition(l, &condition);
    if (status)
        return status;
    const struct onnx_node *loop = &l->im->nodes[r->emitted - 1];
    if (loop->attr[ATTR_LOOP_HAS_COUNT] || loop->attr[ATTR_LOOP_HAS_COND]) {
        status = check_collected(l, n_collected);
        n_collected = 0;
    }
    return status ? status : emit_end(l, condition, l->in + 1, n_collected, l->first_out);
}

static enum pith_status reverse_rows(struct onnx_lower *l, uint32_t *value)
{
    struct onnx_lower step;
    uint32_t in = *value;
    const int64_t axis = 0, start = INT32_MAX, end = INT32_MIN, back = -1;
    *value = ONNX_VALUE_NONE;
    enum pith_status status = pith_onnx_step(l, PITH_OP_SLICE, &step, value);
    step.in = &in;
    if (!status)
        status = pith_onnx_set_ints(&step, "axes", ATTR_SLICE_AXES, &axis, 1);
    if (!status)
        status = pith_onnx_set_ints(&step, "starts", ATTR_SLICE_STARTS, &start, 1);
    if (!status)
        status = pith_onnx_set_ints(&step, "ends", ATTR_SLICE_ENDS, &end, 1);
    if (!status)
        status = pith_onnx_set_ints(&step, "steps", ATTR_SLICE_STEPS, &back, 1);
    return status ? status : pith_onnx_finish(&step);
}

/* Axis 0 to `axis`. */
static enum pith_status move_rows(struct onnx_lower *l, int64_t axis, uint32_t *value)
{
    struct onnx_lower step;
    uint32_t in = *value, rank = l->im->values[in].shape.rank;
    int64_t perm[PITH_MAX_RANK];
    *value = ONNX_VALUE_NONE;
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    enum pith_status status = pith_onnx_step(l, PITH_OP_TRANSPOSE, &step, value);
    step.in = &in;
    if (!status)
        status = pith_onnx_set_ints(&step, "perm", ATTR_PERM, perm, rank);
    return status ? status : pith_onnx_finish(&step);
}

/* Collected value i of n, from where LoopEnd put it. */
static enum pith_status place_collected(struct onnx_lower *l, uint32_t n, uint32_t i, uint32_t raw)
{
    bool reverse;
    int64_t axis;
    enum pith_status status = entry(l, "scan_output_axes", n, i, &axis);
    if (!status)
        status = pith_onnx_axis(l, "scan_output_axes", l->im->values[raw].shape.rank, &axis);
    if (!status)
        status = direction(l, "scan_output_directions", n, i, &reverse);
    if (!status && reverse)
        status = reverse_rows(l, &raw);
    if (!status && axis > 0)
        status = move_rows(l, axis, &raw);
    if (!status)
        l->im->values[l->first_out + region_of(l)->n_states + i].alias = raw;
    return status;
}

static enum pith_status end_scan(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    const struct onnx_region *r = region_of(l);
    uint32_t n = l->n_in - r->n_states, raw = im->n_values;
    enum pith_status status = check_states(l, l->in);
    for (uint32_t i = 0; i < l->n_in && !status; i++) {
        uint32_t value = pith_onnx_add_value(im, im->values[l->first_out + i].name);
        if (value == ONNX_VALUE_NONE)
            return pith_onnx_no_memory(im);
        im->values[value].producer = im->values[l->first_out].producer;
        if (i < r->n_states && !r->batched)
            im->values[l->first_out + i].alias = value;
    }
    if (!status)
        status = emit_end(l, ONNX_VALUE_NONE, l->in, n, raw);
    for (uint32_t i = 0; i < l->n_in && !status && r->batched; i++) {
        uint32_t out = l->first_out + i;
        status = one_axis(l, PITH_OP_UNSQUEEZE, raw + i, &out);
    }
    for (uint32_t i = 0; i < n && !status && !r->batched; i++)
        status = place_collected(l, n, i, raw + r->n_states + i);
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

enum pith_status pith_lower_loop(struct onnx_lower *l)
{
    l->done = true;
    if (l->flat->role == ONNX_BEGIN)
        return begin_loop(l);
    return region_of(l)->emitted ? end_loop(l) : PITH_OK;
}

enum pith_status pith_lower_scan(struct onnx_lower *l)
{
    l->done = true;
    if (l->flat->role == ONNX_PLAIN)
        return pith_onnx_node_fail(
            l, PITH_ERR_UNSUPPORTED,
            "it is of opset 8 and has lengths of sequences: convert the file to "
            "opset 9 or newer with onnx.version_converter");
    if (l->flat->role == ONNX_BEGIN)
        return begin_scan(l);
    return region_of(l)->emitted ? end_scan(l) : PITH_OK;
}
