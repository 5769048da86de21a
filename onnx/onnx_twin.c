/* SPDX-License-Identifier: MIT */
/* onnx_twin.c - constants that open sizes make: a mask of S by S, positions 0..S-1, the first S
 * rows of a table. Lowered with one size they fold; with open sizes a node that takes one as data
 * is given its twin, which is computed when the network runs:
 *
 *     Shape, Size, Range, ConstantOfShape   Tile, CumSum and Slice of a constant of one element
 *     any other node                        lowered once more, on the twins of its inputs
 *
 * What a lowering reads as numbers (the shape of a Reshape, the ends of a Slice) stays constant:
 * it becomes an attribute, and onnx_open.c finds how that follows the sizes. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

/* Inputs from `first` on that lowerings read as numbers. */
struct number_inputs {
    const char *op_type;
    uint32_t first;
};

static const struct number_inputs number_inputs[] = {
    {"CenterCropPad", 1}, {"ConstantOfShape", 0}, {"CumSum", 1},
    {"Expand", 1},        {"OneHot", 1},          {"Pad", 1},
    {"Range", 0},         {"ReduceL1", 1},        {"ReduceL2", 1},
    {"ReduceLogSum", 1},  {"ReduceLogSumExp", 1}, {"ReduceMax", 1},
    {"ReduceMean", 1},    {"ReduceMin", 1},       {"ReduceProd", 1},
    {"ReduceSum", 1},     {"ReduceSumSquare", 1}, {"Reshape", 1},
    {"Resize", 1},        {"ReverseSequence", 1}, {"Slice", 1},
    {"Split", 1},         {"Squeeze", 1},         {"Tile", 1},
    {"TopK", 1},          {"Trilu", 1},           {"Unsqueeze", 1},
    {"Upsample", 1},
};

static bool is_number(const Onnx__NodeProto *node, uint32_t input)
{
    for (size_t i = 0; i < sizeof number_inputs / sizeof *number_inputs; i++)
        if (strcmp(node->op_type, number_inputs[i].op_type) == 0)
            return input >= number_inputs[i].first;
    return false;
}

/* The value of the file that this constant is; ONNX_VALUE_NONE: it is the same with all sizes. */
static uint32_t sized_value(const struct onnx_import *im, uint32_t value)
{
    if (value == ONNX_VALUE_NONE || !im->values[value].constant)
        return ONNX_VALUE_NONE;
    if (value < im->n_sized)
        return im->sized[value] ? value : ONNX_VALUE_NONE;
    return im->values[value].known_as - 1; /* 0 - 1 is ONNX_VALUE_NONE */
}

void pith_onnx_note_sized(struct onnx_import *im, const struct onnx_flat *flat)
{
    for (uint32_t i = 0; i < flat->n_out; i++) {
        uint32_t value = flat->out + i, same = pith_onnx_alias(im, value);
        if (value < im->n_sized && im->sized[value] && same != ONNX_VALUE_NONE &&
            same >= im->n_sized)
            im->values[same].known_as = value + 1;
    }
}

/* ---- the leaves ------------------------------------------------------------------------------ */

/* [delta] of `type`, as often as `n`; summed up, each element without itself: 0, delta, 2 delta. */
static uint32_t count_up(struct onnx_steps *s, enum pith_type type, const void *delta, int64_t n)
{
    const uint32_t one = 1;
    void *data;
    uint32_t x = pith_step_constant(s, type, 1, &one, &data);
    if (data)
        memcpy(data, delta, pith_type_bytes(type));
    if (n < 1 || n > INT32_MAX)
        s->status = pith_onnx_node_fail(s->l, PITH_ERR_UNSUPPORTED, "it has no elements");
    const struct step_attr repeats[] = {{ATTR_TILE_REPEATS, 1},
                                        {ATTR_TILE_REPEATS + 1, (int32_t)n}};
    const struct step_attr sum[] = {
        {ATTR_KIND, ALONG_CUM_SUM}, {ATTR_ALONG_AXIS, 0}, {ATTR_ALONG_EXCLUSIVE, true}};
    x = pith_step(s, PITH_OP_TILE, 1, &x, 2, repeats);
    return pith_step(s, PITH_OP_ALONG_AXIS, 1, &x, 3, sum);
}

/* The number n as a list of one: the last of 0, 1, ... n, which is there for an n of 0, too. */
static uint32_t number_of(struct onnx_steps *s, int64_t n)
{
    const int64_t one = 1;
    uint32_t sums = count_up(s, PITH_I64, &one, n + 1);
    return pith_step_slice(s, sums, 0, -1, INT32_MAX, 1);
}

static uint32_t shape_twin(struct onnx_steps *s, uint32_t value)
{
    const struct onnx_value *v = &s->l->im->values[value];
    const int64_t *dims = v->data;
    uint32_t rank = v->shape.rank, all = ONNX_VALUE_NONE;
    size_t n = shape_elems(&v->shape);
    for (size_t i = 0; i < n; i++) {
        dims = s->l->im->values[value].data;
        uint32_t one = number_of(s, dims[i]);
        all = i ? pith_step_concat(s, 0, all, one) : one;
    }
    return rank ? all : pith_step_reshape(s, all, 0, NULL);
}

static uint32_t range_twin(struct onnx_steps *s, uint32_t value)
{
    struct onnx_lower *l = s->l;
    const struct onnx_value *v = &l->im->values[value];
    const enum pith_type type = v->type;
    const bool moves = sized_value(l->im, l->in[0]) != ONNX_VALUE_NONE;
    double start[3];
    const size_t n = shape_elems(&v->shape);
    for (uint32_t i = 0; i < 3 && !s->status; i++) {
        if (!s->status)
            s->status = pith_onnx_load(l->im, l->in[i]);
        if (s->status)
            return ONNX_VALUE_NONE;
        const void *data = l->im->values[l->in[i]].data;
        start[i] = type == PITH_F32   ? (double)*(const float *)data
                   : type == PITH_I64 ? (double)*(const int64_t *)data
                                      : (double)*(const int32_t *)data;
    }
    uint8_t delta[8], first[8];
    memcpy(delta, l->im->values[l->in[2]].data, pith_type_bytes(type));
    memcpy(first, l->im->values[l->in[0]].data, pith_type_bytes(type));
    if (moves) { /* the end of a longer range that begins at 0 */
        const double skipped = start[2] != 0 ? start[0] / start[2] : -1;
        if (skipped < 1 || skipped != (double)(int32_t)skipped)
            s->status = pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its start follows sizes");
        uint32_t all = count_up(s, type, delta, (int64_t)skipped + (int64_t)n);
        return pith_step_slice(s, all, 0, (int32_t)skipped, INT32_MAX, 1);
    }
    uint32_t x = count_up(s, type, delta, (int64_t)n);
    if (start[0] == 0)
        return x;
    void *data;
    uint32_t from = pith_step_constant(s, type, 0, NULL, &data);
    if (data)
        memcpy(data, first, pith_type_bytes(type));
    return pith_step_two(s, PITH_OP_ADD, x, from);
}

/* One element, repeated along each axis; along the batch as often as the input has samples. */
static uint32_t filled_twin(struct onnx_steps *s, uint32_t value)
{
    struct onnx_import *im = s->l->im;
    const struct onnx_value *v = &im->values[value];
    const enum pith_type type = v->type;
    const struct shape shape = v->shape, other = v->varies ? v->other : v->shape;
    struct step_attr attr[PITH_LIST_SLOTS] = {{ATTR_TILE_REPEATS, (int32_t)shape.rank}};
    uint32_t ones[PITH_MAX_RANK], n_in = 1, in[2];
    uint8_t element[8];
    void *data;
    memcpy(element, v->data, pith_type_bytes(type));
    for (uint32_t i = 0; i < shape.rank; i++) {
        ones[i] = 1;
        bool batch = im->batch_open && other.dim[i] != shape.dim[i];
        n_in = batch ? 2 : n_in;
        attr[1 + i] =
            (struct step_attr){ATTR_TILE_REPEATS + 1 + i, batch ? 0 : (int32_t)shape.dim[i]};
    }
    in[0] = pith_step_constant(s, type, shape.rank, ones, &data);
    in[1] = im->inputs[0];
    if (data)
        memcpy(data, element, pith_type_bytes(type));
    return pith_step(s, PITH_OP_TILE, n_in, in, 1 + shape.rank, attr);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* l: a Gather whose input 1 is such a constant. The runtime keeps indices inside the table, so who
 * chooses sizes must know how far they go. */
static enum pith_status note_bound(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    int64_t axis, needs = 0;
    const struct onnx_value *x = &im->values[l->in[0]], *at = &im->values[l->in[1]];
    if (strcmp(l->node->op_type, "Gather") != 0 || at->empty || !at->data || !x->known ||
        (at->type != PITH_I64 && at->type != PITH_I32))
        return PITH_OK;
    enum pith_status status = pith_onnx_get_int(l, "axis", 0, &axis);
    if (!status)
        status = pith_onnx_axis(l, "axis", x->shape.rank, &axis);
    if (status)
        return status;
    for (size_t i = 0; i < shape_elems(&at->shape); i++) {
        int64_t v =
            at->type == PITH_I64 ? ((const int64_t *)at->data)[i] : ((const int32_t *)at->data)[i];
        needs = v >= needs ? v + 1 : needs;
    }
    if (im->n_bounds == im->cap_bounds) {
        uint32_t cap = im->cap_bounds ? 2 * im->cap_bounds : 8;
        struct onnx_bound *grown = pith_onnx_alloc(&im->budget, cap, sizeof *grown);
        if (!grown)
            return pith_onnx_no_memory(im);
        if (im->n_bounds)
            memcpy(grown, im->bounds, im->n_bounds * sizeof *grown);
        pith_onnx_free(&im->budget, im->bounds);
        im->bounds = grown;
        im->cap_bounds = cap;
    }
    im->bounds[im->n_bounds++] =
        (struct onnx_bound){needs > INT32_MAX ? INT32_MAX : (uint32_t)needs, x->shape.dim[axis]};
    return PITH_OK;
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Inputs of the node that makes the value, in memory of its own: twins where they have one. */
static enum pith_status bind_twin(struct onnx_lower *t)
{
    struct onnx_import *im = t->im;
    uint32_t *in = pith_onnx_alloc(&im->budget, t->flat->n_in + 1u, sizeof *in);
    enum pith_status status = in ? PITH_OK : pith_onnx_no_memory(im);
    t->in = in;
    t->n_in = t->flat->n_in;
    for (uint32_t i = 0; i < t->n_in && !status; i++) {
        in[i] = pith_onnx_alias(im, t->flat->in[i]);
        if (in[i] != ONNX_VALUE_NONE && im->values[in[i]].constant && !im->values[in[i]].data &&
            !im->values[in[i]].known)
            status = pith_onnx_describe_tensor(im, in[i]);
        if (!status && i == 1 && sized_value(im, in[i]) != ONNX_VALUE_NONE)
            status = note_bound(t);
        if (!status && !is_number(t->node, i))
            status = pith_onnx_twin(t, &in[i]);
    }
    return status;
}

static uint32_t leaf_twin(struct onnx_steps *s, uint32_t value, bool *leaf)
{
    const char *op = s->l->node->op_type;
    *leaf = true;
    if (strcmp(op, "Shape") == 0 || strcmp(op, "Size") == 0)
        return shape_twin(s, value);
    if (strcmp(op, "Range") == 0)
        return range_twin(s, value);
    if (strcmp(op, "ConstantOfShape") == 0)
        return filled_twin(s, value);
    *leaf = false;
    return ONNX_VALUE_NONE;
}

/* value: the constant; sized: what the file calls it. */
static enum pith_status make_twin(struct onnx_import *im, uint32_t value, uint32_t sized,
                                  uint32_t *twin)
{
    struct onnx_lower t = {.im = im, .flat = &im->flat[im->values[sized].producer]};
    const uint32_t output = sized - t.flat->out;
    const bool folds = !im->no_fold;
    bool leaf = false;
    t.node = t.flat->node;
    t.label = pith_onnx_label(t.node);
    t.row = pith_onnx_row(im, t.node);
    t.n_out = t.flat->n_out;
    t.info = t.row ? pith_op_get(t.row->op) : NULL;
    if (!t.info || t.flat->role != ONNX_PLAIN || output >= t.n_out)
        return pith_onnx_node_fail(&t, PITH_ERR_UNSUPPORTED, "its result follows open sizes");
    for (uint32_t i = 0; i < t.n_out; i++) {
        uint32_t made = pith_onnx_add_value(im, im->values[t.flat->out + i].name);
        if (made == ONNX_VALUE_NONE)
            return pith_onnx_no_memory(im);
        im->values[made].producer = im->values[t.flat->out + i].producer;
        t.first_out = i ? t.first_out : made;
    }
    enum pith_status status = bind_twin(&t);
    im->no_fold = true;
    if (!status) {
        struct onnx_steps s = {&t, PITH_OK};
        uint32_t made = leaf_twin(&s, value, &leaf);
        status = leaf ? s.status : pith_onnx_lower_bound(&t);
        *twin = leaf ? made : pith_onnx_alias(im, t.first_out + output);
    }
    im->no_fold = !folds;
    return status;
}

enum pith_status pith_onnx_twin(struct onnx_lower *l, uint32_t *value)
{
    struct onnx_import *im = l->im;
    uint32_t twin = ONNX_VALUE_NONE, sized = sized_value(im, *value);
    if (sized == ONNX_VALUE_NONE || im->values[*value].empty) /* of none: the node decides */
        return PITH_OK;
    enum pith_status status = PITH_OK;
    const bool outside = !l->flat || l->flat->part == 0;
    if (outside && im->values[*value].twin)
        twin = im->values[*value].twin - 1;
    else
        status = make_twin(im, *value, sized, &twin);
    if (!status && outside) /* what is made in a body is there alone */
        im->values[*value].twin = twin + 1;
    if (!status)
        *value = twin;
    return status;
}

enum pith_status pith_onnx_follow_sizes(struct onnx_lower *l)
{
    struct onnx_import *im = l->im;
    bool runs = false;
    for (uint32_t i = 0; i < l->n_in; i++)
        runs = runs || (l->in[i] != ONNX_VALUE_NONE && !im->values[l->in[i]].constant);
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < l->n_in && runs && !status; i++) {
        if (i == 1 && sized_value(im, l->in[i]) != ONNX_VALUE_NONE)
            status = note_bound(l);
        if (!status && !is_number(l->node, i))
            status = pith_onnx_twin(l, &l->in[i]);
    }
    return status;
}
