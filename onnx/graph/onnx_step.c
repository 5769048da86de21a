/* SPDX-License-Identifier: MIT */
/* onnx_step.c - see onnx_step.h. */
#include "onnx_step.h"
#include "op_interface/op_attr.h"

/* Emits what pith_onnx_open_step began. */
static void finish(struct onnx_steps *s, struct onnx_lower *sub, uint32_t n_in, const uint32_t *in,
                   uint32_t n_attr, const struct step_attr *attr)
{
    uint32_t operands[2] = {0};
    for (uint32_t i = 0; i < n_attr; i++)
        sub->attr[attr[i].slot] = attr[i].value;
    uint32_t *copy = n_in <= 2 ? operands : pith_onnx_alloc(&s->l->im->budget, n_in, sizeof *copy);
    if (!copy) {
        s->status = pith_onnx_no_memory(s->l->im);
        return;
    }
    for (uint32_t i = 0; i < n_in; i++)
        copy[i] = in[i];
    sub->in = copy;
    sub->n_in = n_in;
    s->status = pith_onnx_finish(sub);
    if (copy != operands)
        pith_onnx_free(&s->l->im->budget, copy);
}

uint32_t pith_step(struct onnx_steps *s, enum pith_op op, uint32_t n_in, const uint32_t *in,
                   uint32_t n_attr, const struct step_attr *attr)
{
    struct onnx_lower sub;
    uint32_t out = ONNX_VALUE_NONE;
    if (!s->status)
        s->status = pith_onnx_open_step(s->l, op, false, &sub, &out);
    if (!s->status)
        finish(s, &sub, n_in, in, n_attr, attr);
    return s->status ? ONNX_VALUE_NONE : out;
}

enum pith_status pith_step_last(struct onnx_steps *s, enum pith_op op, uint32_t n_in,
                                const uint32_t *in, uint32_t n_attr, const struct step_attr *attr)
{
    struct onnx_lower sub;
    uint32_t out;
    if (!s->status)
        s->status = pith_onnx_open_step(s->l, op, true, &sub, &out);
    if (!s->status)
        finish(s, &sub, n_in, in, n_attr, attr);
    s->l->done = true;
    return s->status;
}

uint32_t pith_step_two(struct onnx_steps *s, enum pith_op op, uint32_t a, uint32_t b)
{
    const uint32_t in[2] = {a, b};
    return pith_step(s, op, 2, in, 0, NULL);
}

uint32_t pith_step_unary(struct onnx_steps *s, int32_t kind, uint32_t x)
{
    const struct step_attr attr = {ATTR_KIND, kind};
    return pith_step(s, PITH_OP_UNARY, 1, &x, 1, &attr);
}

/* A node whose only attribute is a list in slot 0. */
static uint32_t listed(struct onnx_steps *s, enum pith_op op, uint32_t x, uint32_t n,
                       const int32_t *list)
{
    struct step_attr attr[PITH_LIST_SLOTS] = {{0, (int32_t)n}};
    for (uint32_t i = 0; i < n; i++)
        attr[1 + i] = (struct step_attr){1 + i, list[i]};
    return pith_step(s, op, 1, &x, 1 + n, attr);
}

uint32_t pith_step_reshape(struct onnx_steps *s, uint32_t x, uint32_t rank, const int32_t *dims)
{
    return listed(s, PITH_OP_RESHAPE, x, rank, dims);
}

uint32_t pith_step_transpose(struct onnx_steps *s, uint32_t x, uint32_t rank, const int32_t *perm)
{
    return listed(s, PITH_OP_TRANSPOSE, x, rank, perm);
}

uint32_t pith_step_concat(struct onnx_steps *s, int32_t axis, uint32_t a, uint32_t b)
{
    const uint32_t in[2] = {a, b};
    const struct step_attr attr = {ATTR_AXIS, axis};
    return pith_step(s, PITH_OP_CONCAT, 2, in, 1, &attr);
}

uint32_t pith_step_slice(struct onnx_steps *s, uint32_t x, int32_t axis, int32_t start, int32_t end,
                         int32_t step)
{
    const struct step_attr attr[] = {{ATTR_SLICE_AXES, 1},   {ATTR_SLICE_AXES + 1, axis},
                                     {ATTR_SLICE_STARTS, 1}, {ATTR_SLICE_STARTS + 1, start},
                                     {ATTR_SLICE_ENDS, 1},   {ATTR_SLICE_ENDS + 1, end},
                                     {ATTR_SLICE_STEPS, 1},  {ATTR_SLICE_STEPS + 1, step}};
    return pith_step(s, PITH_OP_SLICE, 1, &x, sizeof attr / sizeof *attr, attr);
}

uint32_t pith_step_constant(struct onnx_steps *s, enum pith_type type, uint32_t rank,
                            const uint32_t *dims, void **data)
{
    struct onnx_import *im = s->l->im;
    struct shape shape = {.rank = rank};
    uint64_t count;
    *data = NULL;
    if (s->status)
        return ONNX_VALUE_NONE;
    for (uint32_t i = 0; i < rank; i++)
        shape.dim[i] = dims[i];
    s->status = pith_shape_count(&shape, &count);
    uint32_t value = s->status ? ONNX_VALUE_NONE : pith_onnx_add_value(im, s->l->label);
    if (value != ONNX_VALUE_NONE)
        *data = pith_onnx_alloc(&im->budget, count, pith_type_bytes(type));
    if (!*data) {
        s->status = s->status ? s->status : pith_onnx_no_memory(im);
        return ONNX_VALUE_NONE;
    }
    struct onnx_value *v = &im->values[value];
    v->type = type;
    v->shape = v->other = shape;
    v->known = v->constant = true;
    v->data = *data;
    return value;
}

uint32_t pith_step_scalar(struct onnx_steps *s, float v)
{
    void *data;
    uint32_t value = pith_step_constant(s, PITH_F32, 0, NULL, &data);
    if (value != ONNX_VALUE_NONE)
        memcpy(data, &v, sizeof v);
    return value;
}

enum pith_status pith_step_result(struct onnx_steps *s, uint32_t i, uint32_t value)
{
    s->l->done = true;
    if (!s->status && i < s->l->n_out)
        s->l->im->values[s->l->first_out + i].alias = value;
    return s->status;
}
