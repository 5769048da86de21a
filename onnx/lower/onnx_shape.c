/* SPDX-License-Identifier: MIT */
/* onnx_shape.c - the beginnings of shape arithmetic: Shape, Size, ConstantOfShape, Range, EyeLike,
 * and the mask of Dropout, which keeps all. Shapes are known here, so these are constants, and what
 * is computed from them (Gather, Concat, Mul,
 * ... up to a Reshape) is folded like any other constant. What follows an open batch is known twice
 * (struct onnx_value, `varies`), by which Reshape and Expand keep the batch open. */
#include "onnx/graph/onnx.h"

#include <math.h>

/* Output 0 becomes a constant; *data: its zeroed elements. `dims` may hold a 0: it is then empty.
 */
static enum pith_status make_constant(struct onnx_lower *l, enum pith_type type, uint32_t rank,
                                      const int64_t *dims, void **data)
{
    struct onnx_value made = {.type = type, .shape = {.rank = rank}};
    *data = NULL;
    if (rank > PITH_MAX_RANK)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its output has %u dims, at most %u",
                                   rank, PITH_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > INT32_MAX)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "dim %u of its output is %lld", i,
                                       (long long)dims[i]);
        made.shape.dim[i] = (uint32_t)dims[i];
        made.empty |= dims[i] == 0;
    }
    uint64_t count = 0;
    if (!made.empty && pith_shape_count(&made.shape, &count))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its output has too many elements");
    *data = pith_onnx_alloc(&l->im->budget, count + 1, pith_type_bytes(type));
    if (!*data)
        return pith_onnx_no_memory(l->im);
    struct onnx_value *v = &l->im->values[l->first_out];
    v->type = type;
    v->shape = v->other = made.shape;
    v->empty = made.empty;
    v->known = v->constant = true;
    v->data = *data;
    l->done = true;
    return PITH_OK;
}

static enum pith_status need_input(struct onnx_lower *l)
{
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    return pith_onnx_single_output(l);
}

/* Output 0: n numbers (a scalar when rank is 0), which may differ with the batch. */
static enum pith_status put_numbers(struct onnx_lower *l, uint32_t rank, size_t n, const int64_t *v,
                                    const int64_t *other)
{
    const int64_t dims[1] = {(int64_t)n};
    void *data, *other_data;
    enum pith_status status = make_constant(l, PITH_I64, rank, dims, &data);
    if (status || n == 0)
        return status;
    memcpy(data, v, n * sizeof *v);
    if (memcmp(v, other, n * sizeof *v) == 0)
        return PITH_OK;
    other_data = pith_onnx_alloc(&l->im->budget, n, sizeof *other);
    if (!other_data)
        return pith_onnx_no_memory(l->im);
    memcpy(other_data, other, n * sizeof *other);
    l->im->values[l->first_out].varies = true;
    l->im->values[l->first_out].other_data = other_data;
    return PITH_OK;
}

/* start and end, by which opset 15 takes a part of the shape. */
static enum pith_status part_of_shape(struct onnx_lower *l, int64_t rank, int64_t *start,
                                      int64_t *end)
{
    enum pith_status status = pith_onnx_get_int(l, "start", 0, start);
    if (!status)
        status = pith_onnx_get_int(l, "end", rank, end);
    *start += *start < 0 ? rank : 0;
    *end += *end < 0 ? rank : 0;
    *start = *start < 0 ? 0 : *start > rank ? rank : *start;
    *end = *end < *start ? *start : *end > rank ? rank : *end;
    return status;
}

enum pith_status pith_lower_shape(struct onnx_lower *l)
{
    int64_t dims[PITH_MAX_RANK] = {0}, other[PITH_MAX_RANK] = {0}, start, end;
    enum pith_status status = need_input(l);
    if (status)
        return status;
    const struct onnx_value *x = &l->im->values[l->in[0]];
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        dims[i] = x->shape.dim[i];
        other[i] = pith_onnx_other_shape(x)->dim[i];
    }
    status = part_of_shape(l, x->shape.rank, &start, &end);
    return status ? status : put_numbers(l, 1, (size_t)(end - start), dims + start, other + start);
}

enum pith_status pith_lower_size(struct onnx_lower *l)
{
    int64_t count = 1, other = 1; /* <= 2^40: the shape is one of a tensor */
    enum pith_status status = need_input(l);
    if (status)
        return status;
    const struct onnx_value *x = &l->im->values[l->in[0]];
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        count *= x->shape.dim[i];
        other *= pith_onnx_other_shape(x)->dim[i];
    }
    return put_numbers(l, 0, 1, &count, &other);
}

static void fill(void *data, const void *element, size_t n, uint32_t bytes)
{
    for (size_t i = 0; i < n; i++)
        memcpy((uint8_t *)data + i * bytes, element, bytes);
}

/* The only element of attribute `value`; f32 0 without one. */
static enum pith_status fill_value(struct onnx_lower *l, enum pith_type *type, uint8_t element[8])
{
    struct onnx_import *im = l->im;
    const Onnx__AttributeProto *a = pith_onnx_attr(l, "value");
    *type = PITH_F32;
    memset(element, 0, 8);
    if (!a)
        return PITH_OK;
    if (!a->t)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "attribute value is not a tensor");
    uint32_t value = pith_onnx_add_value(im, l->label);
    if (value == ONNX_VALUE_NONE)
        return pith_onnx_no_memory(im);
    im->values[value].tensor = a->t;
    im->values[value].constant = true;
    enum pith_status status = pith_onnx_describe_tensor(im, value);
    if (status)
        return status;
    if (im->values[value].empty || shape_elems(&im->values[value].shape) != 1)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "attribute value has not one element");
    *type = im->values[value].type;
    im->values[l->first_out].wide = im->values[value].wide;
    return pith_onnx_copy(im, value, element);
}

/* Output 0 under the other batch: `dims` of the same element. */
static enum pith_status fill_other(struct onnx_lower *l, const struct onnx_ints *dims,
                                   const uint8_t element[8])
{
    struct onnx_value *v = &l->im->values[l->first_out];
    struct shape other = {.rank = dims->n};
    uint64_t count;
    for (uint32_t i = 0; i < dims->n; i++)
        other.dim[i] = dims->v[i] > 0 && dims->v[i] <= INT32_MAX ? (uint32_t)dims->v[i] : 0;
    if (v->empty || pith_shape_count(&other, &count)) {
        l->im->batch_open = false;
        return PITH_OK;
    }
    v->other_data = pith_onnx_alloc(&l->im->budget, count, pith_type_bytes(v->type));
    if (!v->other_data)
        return pith_onnx_no_memory(l->im);
    fill(v->other_data, element, count, pith_type_bytes(v->type));
    v->other = other;
    v->varies = true;
    return PITH_OK;
}

enum pith_status pith_lower_constant_of_shape(struct onnx_lower *l)
{
    struct onnx_ints dims = {0}, other;
    enum pith_type type;
    uint8_t element[8];
    void *data;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_ints_both(l, 0, "input", &dims, &other);
    if (!status)
        status = fill_value(l, &type, element);
    if (!status)
        status = make_constant(l, type, dims.n, dims.v, &data);
    const struct onnx_value *v = &l->im->values[l->first_out];
    if (!status && !v->empty)
        fill(data, element, shape_elems(&v->shape), pith_type_bytes(type));
    if (!status && l->im->batch_open && memcmp(dims.v, other.v, sizeof dims.v) != 0)
        status = fill_other(l, &other, element);
    return status;
}

static enum pith_status range_count(struct onnx_lower *l, double start, double limit, double delta,
                                    int64_t *n)
{
    double count = delta != 0 ? ceil((limit - start) / delta) : NAN;
    if (!(count <= INT32_MAX))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%g to %g by %g has no number of elements",
                                   start, limit, delta);
    *n = count > 0 ? (int64_t)count : 0;
    return PITH_OK;
}

static enum pith_status float_range(struct onnx_lower *l)
{
    static const char *const names[] = {"start", "limit", "delta"};
    float v[3] = {0};
    bool present = true;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < 3 && !status && present; i++)
        status = pith_onnx_float_input(l, i, names[i], &present, &v[i]);
    if (!status && !present)
        status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it needs start, limit and delta");
    int64_t n = 0;
    void *data;
    if (!status)
        status = range_count(l, (double)v[0], (double)v[1], (double)v[2], &n);
    if (!status)
        status = make_constant(l, PITH_F32, 1, &n, &data);
    for (int64_t i = 0; i < n && !status; i++)
        ((float *)data)[i] = v[0] + (float)i * v[2];
    return status;
}

/* Integers of any kind pith knows a range of: i32, i64. */
static enum pith_status integer_range(struct onnx_lower *l, enum pith_type type)
{
    static const char *const names[] = {"start", "limit", "delta"};
    int64_t v[3] = {0}, n = 0;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < 3 && !status; i++) {
        struct onnx_ints one;
        status = pith_onnx_ints_input(l, i, names[i], &one);
        if (!status && one.n != 1)
            status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s is not one number", names[i]);
        v[i] = one.v[0];
    }
    if (!status)
        status = range_count(l, (double)v[0], (double)v[1], (double)v[2], &n);
    void *data;
    if (!status)
        status = make_constant(l, type, 1, &n, &data);
    for (int64_t i = 0; i < n && !status; i++) { /* unsigned: wild ends wrap */
        int64_t at = (int64_t)((uint64_t)v[0] + (uint64_t)i * (uint64_t)v[2]);
        if (type == PITH_I64)
            ((int64_t *)data)[i] = at;
        else
            ((int32_t *)data)[i] = (int32_t)at;
    }
    return status;
}

enum pith_status pith_lower_range(struct onnx_lower *l)
{
    enum pith_status status = need_input(l);
    if (status)
        return status;
    enum pith_type type = l->im->values[l->in[0]].type;
    if (type == PITH_F32)
        return float_range(l);
    if (type == PITH_I64 || type == PITH_I32)
        return integer_range(l, type);
    return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "a range of this type is not supported");
}

/* 1 as an element of type; false: not a type of numbers that is held here. */
static bool one_of(enum pith_type type, uint8_t element[8])
{
    const float f = 1.0f;
    memset(element, 0, 8);
    if (type == PITH_F32)
        memcpy(element, &f, sizeof f);
    else if (type == PITH_F16 || type == PITH_BF16 || type == PITH_F64)
        return false;
    else
        store_le64(element, 1);
    return true;
}

/* Only the shape of its input matters. */
enum pith_status pith_lower_eye_like(struct onnx_lower *l)
{
    int64_t k, dtype;
    uint8_t one[8];
    void *data;
    enum pith_status status = need_input(l);
    if (!status)
        status = pith_onnx_get_int(l, "k", 0, &k);
    if (!status)
        status = pith_onnx_get_int(l, "dtype", -1, &dtype);
    if (status)
        return status;
    const struct onnx_value *x = &l->im->values[l->in[0]];
    bool is_valid = dtype >= 0 && dtype <= INT32_MAX;
    enum pith_type type = is_valid ? pith_onnx_type((int32_t)dtype) : x->type;
    if (x->shape.rank != 2)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "its input has %u dims, not 2",
                                   x->shape.rank);
    if (!type || !one_of(type, one))
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its output type is not supported");
    if (x->varies)
        l->im->batch_open = false;
    const int64_t dims[2] = {x->shape.dim[0], x->shape.dim[1]};
    uint32_t bytes = pith_type_bytes(type);
    status = make_constant(l, type, 2, dims, &data);
    for (int64_t i = 0; i < dims[0] && !status; i++)
        if (k >= -i && k < dims[1] - i)
            memcpy((uint8_t *)data + (size_t)(i * dims[1] + i + k) * bytes, one, bytes);
    return status;
}

/* Whether elements are dropped: training_mode holds and the ratio is not 0. */
static enum pith_status drops(struct onnx_lower *l, bool *training)
{
    *training = false;
    if (!pith_onnx_has_input(l, 2))
        return PITH_OK;
    bool present;
    float ratio = 0.5f;
    const struct onnx_value *v = &l->im->values[l->in[2]];
    if (!v->constant || v->empty || v->type != PITH_BOOL)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "training_mode is not a constant: freeze it with --set-input");
    enum pith_status status = pith_onnx_load(l->im, l->in[2]);
    if (!status)
        *training = *(const uint8_t *)l->im->values[l->in[2]].data != 0;
    if (!status && *training)
        status = pith_onnx_float_input(l, 1, "ratio", &present, &ratio);
    *training = *training && ratio != 0.0f;
    return status;
}

static enum pith_status keep_all_mask(struct onnx_lower *l)
{
    struct onnx_lower mask = *l;
    const struct onnx_value *x = &l->im->values[l->in[0]];
    int64_t dims[PITH_MAX_RANK];
    void *data;
    uint32_t rank = x->shape.rank;
    mask.first_out++;
    if (x->varies)
        l->im->batch_open = false;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = x->shape.dim[i];
    enum pith_status status = make_constant(&mask, PITH_BOOL, rank, dims, &data);
    if (!status)
        memset(data, 1, shape_elems(&l->im->values[mask.first_out].shape));
    return status;
}

enum pith_status pith_lower_dropout(struct onnx_lower *l)
{
    bool training;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = drops(l, &training);
    if (!status && training)
        status = pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                     "it is in training mode: export the network for inference");
    if (!status && l->n_out > 1 && l->im->values[l->first_out + 1].live)
        status = keep_all_mask(l);
    l->n_out = 1;
    return status ? status : pith_onnx_vanish(l);
}
