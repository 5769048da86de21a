/* SPDX-License-Identifier: MIT */
/* onnx_reshape.c - operators that rename axes or elements without computing, and those that vanish:
 * Identity, Dropout (inference), a Cast between types that are one type here, Constant. */
#include "onnx/graph/onnx.h"
#include "op_interface/op_attr.h"

static enum pith_status need_input(struct onnx_lower *l)
{
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    return PITH_OK;
}

/* What -1 stands for: the elements of x that the other entries leave; 0 when that is none. */
static int64_t what_is_left(const struct shape *x, const struct onnx_ints *dims)
{
    uint64_t rest = shape_elems(x), given = 1;
    for (uint32_t i = 0; i < dims->n; i++) {
        int64_t v = dims->v[i];
        uint64_t dim = v == 0 && i < x->rank ? x->dim[i] : v > 0 ? (uint64_t)v : v == -1 ? 1 : 0;
        if (dim == 0 || given > rest / dim)
            return 0;
        given *= dim;
    }
    return rest % given == 0 && rest / given <= INT32_MAX ? (int64_t)(rest / given) : 0;
}

/* A -1 that stands for the same number with every batch becomes that number: another entry may need
 * it.
 */
static bool free_left(struct onnx_lower *l, struct onnx_ints *dims, struct onnx_ints *other)
{
    const struct onnx_value *x = &l->im->values[l->in[0]];
    int64_t left = what_is_left(&x->shape, dims);
    if (left == 0 || left != what_is_left(pith_onnx_other_shape(x), other))
        return false;
    for (uint32_t i = 0; i < dims->n; i++)
        if (dims->v[i] == -1)
            dims->v[i] = other->v[i] = left;
    return true;
}

static bool is_copied(const struct onnx_value *x, const struct onnx_ints *dims,
                      const struct onnx_ints *other, uint32_t i)
{
    return i < x->shape.rank && dims->v[i] == (int64_t)x->shape.dim[i] &&
           other->v[i] == (int64_t)pith_onnx_other_shape(x)->dim[i];
}

/* Entries that follow the open batch (dims: with a batch of 1; other: with another) become 0, "as
 * the input's", or else -1, "what is left". Where neither can be, the batch is closed. */
static void follow_batch(struct onnx_lower *l, struct onnx_ints *dims, struct onnx_ints *other)
{
    const struct onnx_value *x = &l->im->values[l->in[0]];
    bool left_used = false, left_wanted = false;
    for (uint32_t i = 0; i < dims->n; i++) {
        left_used = left_used || dims->v[i] == -1;
        left_wanted = left_wanted || (dims->v[i] != other->v[i] && !is_copied(x, dims, other, i));
    }
    if (left_wanted && left_used)
        left_used = !free_left(l, dims, other);
    for (uint32_t i = 0; i < dims->n && l->im->batch_open; i++) {
        if (dims->v[i] == other->v[i])
            continue;
        bool copied = is_copied(x, dims, other, i);
        l->im->batch_open = copied || !left_used;
        left_used = left_used || !copied;
        if (l->im->batch_open)
            dims->v[i] = copied ? 0 : -1;
    }
}

enum pith_status pith_lower_reshape(struct onnx_lower *l)
{
    struct onnx_ints dims, other;
    int64_t allow_zero;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_ints_both(l, 1, "shape", &dims, &other);
    if (!status)
        status = pith_onnx_get_int(l, "allowzero", 0, &allow_zero);
    if (status)
        return status;
    if (!dims.present)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 'shape' is missing");
    for (uint32_t i = 0; i < dims.n && allow_zero; i++)
        if (dims.v[i] == 0)
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                       "dim %u of the new shape is 0 and allowzero is set", i);
    follow_batch(l, &dims, &other);
    l->n_in = 1;
    return pith_onnx_set_ints(l, "shape", ATTR_RESHAPE_DIMS, dims.v, dims.n);
}

enum pith_status pith_lower_flatten(struct onnx_lower *l)
{
    int64_t axis;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_get_int(l, "axis", 1, &axis);
    if (status)
        return status;
    uint32_t rank = pith_onnx_in_shape(l, 0)->rank;
    if (axis != (int64_t)rank) /* which is allowed: all axes before, none after */
        status = pith_onnx_axis(l, "axis", rank, &axis);
    return status ? status : pith_onnx_set_int(l, "axis", ATTR_AXIS, axis);
}

enum pith_status pith_lower_squeeze(struct onnx_lower *l)
{
    struct onnx_ints axes;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_ints_either(l, 13, 1, "axes", &axes);
    if (status)
        return status;
    const struct shape *x = pith_onnx_in_shape(l, 0);
    l->n_in = 1;
    /* All axes of one element, which may be others with other sizes: the runtime finds them. */
    if ((!axes.present || axes.n == 0) && l->im->sized)
        return PITH_OK;
    if (!axes.present || axes.n == 0)
        for (uint32_t i = 0; i < x->rank; i++)
            if (x->dim[i] == 1)
                axes.v[axes.n++] = i;
    if (axes.n == 0)
        return pith_onnx_vanish(l);
    status = pith_onnx_axes(l, "axes", x->rank, &axes);
    return status ? status : pith_onnx_set_ints(l, "axes", ATTR_AXES, axes.v, axes.n);
}

enum pith_status pith_lower_unsqueeze(struct onnx_lower *l)
{
    struct onnx_ints axes;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_ints_either(l, 13, 1, "axes", &axes);
    if (status)
        return status;
    l->n_in = 1;
    if (axes.n == 0)
        return pith_onnx_vanish(l);
    uint32_t rank = pith_onnx_in_shape(l, 0)->rank + axes.n;
    if (rank > PITH_MAX_RANK)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its output has %u dims, at most %u",
                                   rank, PITH_MAX_RANK);
    status = pith_onnx_axes(l, "axes", rank, &axes);
    return status ? status : pith_onnx_set_ints(l, "axes", ATTR_AXES, axes.v, axes.n);
}

enum pith_status pith_lower_transpose(struct onnx_lower *l)
{
    struct onnx_ints perm;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_ints_attr(l, "perm", &perm);
    if (status)
        return status;
    uint32_t rank = pith_onnx_in_shape(l, 0)->rank;
    if (!perm.present) {
        perm.n = rank;
        for (uint32_t i = 0; i < rank; i++)
            perm.v[i] = rank - 1 - i;
    }
    struct onnx_ints sorted = perm;
    status = pith_onnx_axes(l, "perm", rank, &sorted); /* in range and no axis twice */
    if (status)
        return status;
    if (perm.n != rank)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "perm has %u entries, the input %u dims",
                                   perm.n, rank);
    for (uint32_t i = 0; i < rank; i++)
        perm.v[i] += perm.v[i] < 0 ? rank : 0;
    if (rank == 0)
        return pith_onnx_vanish(l);
    return pith_onnx_set_ints(l, "perm", ATTR_PERM, perm.v, perm.n);
}

enum pith_status pith_lower_identity(struct onnx_lower *l)
{
    return pith_onnx_vanish(l);
}

/* Output 0 becomes a copy of the constant input 0 that is f64, or is not, in the file. */
static enum pith_status copy_constant(struct onnx_lower *l, bool wide)
{
    struct onnx_import *im = l->im;
    enum pith_status status = pith_onnx_load(im, l->in[0]);
    if (status)
        return status;
    const struct onnx_value *x = &im->values[l->in[0]];
    struct onnx_value *v = &im->values[l->first_out];
    size_t bytes = x->empty ? 0 : shape_elems(&x->shape) * sizeof(float);
    size_t other = x->other_data ? shape_elems(&x->other) * sizeof(float) : 0;
    v->type = x->type;
    v->shape = x->shape;
    v->other = x->other;
    v->varies = x->varies;
    v->empty = x->empty;
    v->known = v->constant = true;
    v->wide = wide;
    v->data = pith_onnx_alloc(&im->budget, bytes + 1, 1);
    v->other_data = other ? pith_onnx_alloc(&im->budget, other, 1) : NULL;
    if (!v->data || (other && !v->other_data))
        return pith_onnx_no_memory(im);
    if (bytes)
        memcpy(v->data, x->data, bytes);
    if (other)
        memcpy(v->other_data, x->other_data, other);
    l->done = true;
    return PITH_OK;
}

/* To a type of this runtime; wide: to f64 in the file. */
static enum pith_status cast_to(struct onnx_lower *l, enum pith_type type, bool wide)
{
    const struct onnx_value *x = &l->im->values[l->in[0]];
    if (wide && !x->constant)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "it casts what is computed at run time to double (f64): export "
                                   "the network in float32");
    if (type == PITH_F32 && x->type == PITH_F32 && x->wide != wide && x->constant)
        return copy_constant(l, wide);
    if (type == x->type)
        return pith_onnx_vanish(l);
    l->im->values[l->first_out].wide = wide;
    return pith_onnx_set_int(l, "to", ATTR_CAST_TO, type);
}

enum pith_status pith_lower_cast(struct onnx_lower *l)
{
    int64_t to;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_get_int(l, "to", 0, &to);
    if (status)
        return status;
    enum pith_type type = to < 0 || to > INT32_MAX ? 0 : pith_onnx_type((int32_t)to);
    if (!type)
        return pith_onnx_node_fail(
            l, PITH_ERR_UNSUPPORTED, "a cast to type %s (%lld) is not supported",
            to < 0 || to > INT32_MAX ? "unknown" : pith_onnx_type_name((int32_t)to), (long long)to);
    return cast_to(l, type, to == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE);
}

/* Cast to the type of input 1, of which nothing else matters. */
enum pith_status pith_lower_cast_like(struct onnx_lower *l)
{
    enum pith_status status = need_input(l);
    if (status)
        return status;
    if (!pith_onnx_has_input(l, 1))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 1 is missing");
    l->n_in = 1;
    return cast_to(l, l->im->values[l->in[1]].type, l->im->values[l->in[1]].wide);
}

/* A tensor of n elements from the list forms of the attribute. */
static enum pith_status from_list(struct onnx_lower *l, enum pith_type type, const void *list,
                                  size_t n, bool scalar)
{
    struct onnx_value *v = &l->im->values[l->first_out];
    v->type = type;
    v->shape = (struct shape){.rank = scalar ? 0 : 1};
    v->empty = n == 0;
    if (n > INT32_MAX)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "it has %zu elements", n);
    if (!scalar)
        v->shape.dim[0] = (uint32_t)n;
    v->known = v->constant = true;
    v->data = pith_onnx_alloc(&l->im->budget, n, pith_type_bytes(type));
    if (!v->data)
        return pith_onnx_no_memory(l->im);
    if (n)
        memcpy(v->data, list, n * pith_type_bytes(type));
    return PITH_OK;
}

enum pith_status pith_lower_constant(struct onnx_lower *l)
{
    if (l->n_out != 1 || l->node->n_attribute != 1)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it needs one output and one attribute");
    l->done = true;
    const Onnx__AttributeProto *a = l->node->attribute[0];
    const char *name = a->name ? a->name : "";
    if (strcmp(name, "value") == 0 && a->t) {
        l->im->values[l->first_out].tensor = a->t;
        l->im->values[l->first_out].constant = true;
        return pith_onnx_describe_tensor(l->im, l->first_out);
    }
    if (strcmp(name, "value_float") == 0)
        return from_list(l, PITH_F32, &a->f, 1, true);
    if (strcmp(name, "value_int") == 0)
        return from_list(l, PITH_I64, &a->i, 1, true);
    if (strcmp(name, "value_floats") == 0)
        return from_list(l, PITH_F32, a->floats, a->n_floats, false);
    if (strcmp(name, "value_ints") == 0)
        return from_list(l, PITH_I64, a->ints, a->n_ints, false);
    return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "attribute %.40s is not supported", name);
}
