/* SPDX-License-Identifier: MIT */
/* op_view.c - Squeeze, Unsqueeze, Reshape, Flatten, Identity: another shape for the same bytes.
 * The planner lets output and input share memory (OP_VIEW); where it cannot, run() copies.
 *
 * ONNX Squeeze-13, Unsqueeze-13, Reshape-14, Flatten-13, Identity-16. Tensors are row-major and
 * dense, so these never move an element; they copy where an input or constant of the graph is
 * also its output (plan/alias.c). */
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_identity(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    return st ? st : pith_out_set(args->out[0], args->in[0]->type, &args->in[0]->shape);
}

/* No axes: every axis of 1 goes. Naming an axis that is not 1 is an error; without names that is
 * what selects. */
static enum pith_status shape_squeeze(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    uint32_t set;
    st = pith_axes_set(args->attr, ATTR_AXES, x->rank, &set);
    if (st)
        return st;
    bool all_ones = attr_count(args->attr, ATTR_AXES) == 0;
    struct shape s = {.rank = 0};
    for (uint32_t i = 0; i < x->rank; i++) {
        bool named = set >> i & 1u;
        if (named && x->dim[i] != 1)
            return PITH_ERR_CORRUPT;
        if (!named && !(all_ones && x->dim[i] == 1))
            s.dim[s.rank++] = x->dim[i];
    }
    return pith_out_set(args->out[0], args->in[0]->type, &s);
}

/* The list counts axes of the result. */
static enum pith_status shape_unsqueeze(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    struct shape s = {.rank = x->rank + attr_count(args->attr, ATTR_AXES)};
    /* s.dim has room for PITH_MAX_RANK, and the list may be as long. */
    if (s.rank > PITH_MAX_RANK)
        return PITH_ERR_UNSUPPORTED;
    uint32_t set;
    st = pith_axes_set(args->attr, ATTR_AXES, s.rank, &set);
    if (st)
        return st;
    for (uint32_t i = 0, from = 0; i < s.rank; i++)
        s.dim[i] = set >> i & 1u ? 1 : x->dim[from++];
    return pith_out_set(args->out[0], args->in[0]->type, &s);
}

/* Fills dims given outright or copied (0); *left: the axis of -1, or PITH_MAX_RANK. 0 copies x's
 * dim of the same place, as ONNX has it without allowzero; one -1 takes what is left. */
static enum pith_status reshape_dims(const int32_t *attr, const struct shape *x, struct shape *s,
                                     uint32_t *left)
{
    *left = PITH_MAX_RANK;
    s->rank = attr_count(attr, ATTR_RESHAPE_DIMS);
    for (uint32_t i = 0; i < s->rank; i++) {
        int32_t dim = attr[ATTR_RESHAPE_DIMS + 1 + i];
        if (dim == 0 && i >= x->rank)
            return PITH_ERR_CORRUPT;
        if (dim < 0) {
            if (*left != PITH_MAX_RANK)
                return PITH_ERR_CORRUPT;
            *left = i;
        }
        s->dim[i] = dim < 0 ? 1 : dim == 0 ? x->dim[i] : (uint32_t)dim;
    }
    return PITH_OK;
}

static enum pith_status shape_reshape(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    struct shape s = {.rank = 0};
    uint32_t left;
    uint64_t have, known;
    st = reshape_dims(args->attr, &args->in[0]->shape, &s, &left);
    if (st == PITH_OK)
        st = pith_shape_count(&args->in[0]->shape, &have);
    if (st == PITH_OK)
        /* Each given dim is at least 1, so the division below is defined. */
        st = pith_shape_count(&s, &known); /* >= 1 */
    if (st)
        return st;
    if (left != PITH_MAX_RANK) {
        if (have % known != 0 || have / known > INT32_MAX)
            return PITH_ERR_CORRUPT;
        s.dim[left] = (uint32_t)(have / known);
    } else if (have != known) {
        return PITH_ERR_CORRUPT;
    }
    return pith_out_set(args->out[0], args->in[0]->type, &s);
}

/* [d0, ...] -> [product before axis, product from axis on] */
static enum pith_status shape_flatten(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_AXIS];
    uint64_t count;
    if (axis > x->rank)
        return PITH_ERR_CORRUPT;
    st = pith_shape_count(x, &count); /* <= 2^40, so are the two products */
    if (st)
        return st;
    /* Products of parts of a shape whose count is bounded cannot overflow. */
    uint64_t rows = 1;
    for (uint32_t i = 0; i < axis; i++)
        rows *= x->dim[i];
    if (rows > INT32_MAX || count / rows > INT32_MAX)
        return PITH_ERR_CORRUPT;
    struct shape s = {.rank = 2, .dim = {(uint32_t)rows, (uint32_t)(count / rows)}};
    return pith_out_set(args->out[0], args->in[0]->type, &s);
}

/* Runs only where memory could not be shared. */
static void run_view(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    const struct tview *x = args->in[0];
    if (args->out[0]->data != x->data)
        memcpy(args->out[0]->data, x->data, shape_elems(&x->shape) * pith_type_bytes(x->type));
}

static const struct attr_field axes_fields[] = {{ATTR_LIST, ATTR_AXES, 0, 0, 7}};
static const struct attr_field reshape_fields[] = {
    {ATTR_LIST, ATTR_RESHAPE_DIMS, 0, -1, INT32_MAX}};
static const struct attr_field flatten_fields[] = {{ATTR_INT, ATTR_AXIS, 1, 0, 8}};

#define VIEW(name, number, schema, field_count, slot_count, has)                                   \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 1,                                                                             \
        .n_in_max = 1,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .n_fields = field_count,                                                                   \
        .n_slots = slot_count,                                                                     \
        .flags = OP_VIEW,                                                                          \
        .fields = schema,                                                                          \
        .traits = {.flags = has},                                                                  \
        .shape = shape_##name,                                                                     \
        .run = run_view,                                                                           \
    };

VIEW(squeeze, PITH_OP_SQUEEZE, axes_fields, 1, PITH_LIST_SLOTS, TRAIT_MOVES)
VIEW(unsqueeze, PITH_OP_UNSQUEEZE, axes_fields, 1, PITH_LIST_SLOTS, TRAIT_MOVES)
VIEW(reshape, PITH_OP_RESHAPE, reshape_fields, 1, PITH_LIST_SLOTS, TRAIT_MOVES)
VIEW(flatten, PITH_OP_FLATTEN, flatten_fields, 1, 1, TRAIT_MOVES)
VIEW(identity, PITH_OP_IDENTITY, NULL, 0, 0, TRAIT_MOVES)
