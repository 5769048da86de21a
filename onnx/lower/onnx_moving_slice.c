/* SPDX-License-Identifier: MIT */
/* onnx_moving_slice.c - x[i + a : i + b], where i is known only when the network runs: what a body
 * takes by the number of its iteration. Its length, b - a, is known; so it is a Gather of the
 * indices i + a, i + a + 1, ... Start and end are traced back to the one value both are made of,
 * through what only changes their shape and the addition of constants. (Beyond the end of x, ONNX
 * would give fewer elements; shapes here are numbers, so the last element stands for those.) */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

enum { MAX_STEPS_BACK = 16 };

static bool is_one_of(const char *op_type, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(op_type, *names) == 0)
            return true;
    return false;
}

/* The one number a constant holds. */
static bool constant_number(struct onnx_lower *l, uint32_t value, int64_t *number)
{
    const struct onnx_value *v = &l->im->values[value];
    bool integer = v->type == PITH_I64 || v->type == PITH_I32;
    if (!v->known || !v->constant || v->empty || v->varies || !integer ||
        shape_elems(&v->shape) != 1 || pith_onnx_load(l->im, value))
        return false;
    const void *data = l->im->values[value].data;
    *number = v->type == PITH_I64 ? *(const int64_t *)data : *(const int32_t *)data;
    return *number > -INT32_MAX && *number < INT32_MAX;
}

/* value = *base + *offset, as far back as that can be traced. */
static void trace(struct onnx_lower *l, uint32_t value, uint32_t *base, int64_t *offset)
{
    static const char *const shaping[] = {"Unsqueeze", "Squeeze", "Reshape", "Identity", NULL};
    *offset = 0;
    for (int i = 0; i < MAX_STEPS_BACK; i++) {
        value = pith_onnx_alias(l->im, value);
        *base = value;
        int64_t producer = l->im->values[value].producer, k;
        const struct onnx_flat *f = producer == ONNX_NONE ? NULL : &l->im->flat[producer];
        if (!f || f->role != ONNX_PLAIN || f->n_in == 0 || f->in[0] == ONNX_VALUE_NONE ||
            !pith_onnx_row(l->im, f->node)) /* another domain's operator of that name */
            return;
        const char *op = f->node->op_type;
        bool two = f->n_in == 2 && f->in[1] != ONNX_VALUE_NONE;
        if (is_one_of(op, shaping)) {
            value = f->in[0];
        } else if (two && strcmp(op, "Add") == 0 && constant_number(l, f->in[1], &k)) {
            value = f->in[0];
            *offset += k;
        } else if (two && strcmp(op, "Add") == 0 && constant_number(l, f->in[0], &k)) {
            value = f->in[1];
            *offset += k;
        } else if (two && strcmp(op, "Sub") == 0 && constant_number(l, f->in[1], &k)) {
            value = f->in[0];
            *offset -= k;
        } else {
            return;
        }
    }
}

/* `start`, [1], and what follows it: [length]. */
static uint32_t indices(struct onnx_steps *s, uint32_t start, uint32_t length)
{
    enum pith_type type = s->l->im->values[start].type;
    void *data;
    if (length == 1)
        return start;
    uint32_t steps = pith_step_constant(s, type, 1, &length, &data);
    for (uint32_t i = 0; i < length && data; i++)
        if (type == PITH_I64)
            ((int64_t *)data)[i] = i;
        else
            ((int32_t *)data)[i] = (int32_t)i;
    return pith_step_two(s, PITH_OP_ADD, start, steps);
}

/* One axis, taken in steps of 1. */
static bool one_axis(struct onnx_lower *l, int64_t *axis)
{
    struct onnx_ints axes, steps;
    if (pith_onnx_ints_input(l, 3, "axes", &axes) || pith_onnx_ints_input(l, 4, "steps", &steps))
        return false;
    *axis = axes.present ? axes.v[0] : 0;
    return (!axes.present || axes.n == 1) && (!steps.present || (steps.n == 1 && steps.v[0] == 1));
}

enum pith_status pith_onnx_moving_slice(struct onnx_lower *l, bool *done)
{
    *done = false;
    if (l->im->opset < 10 || !pith_onnx_has_input(l, 1) || !pith_onnx_has_input(l, 2))
        return PITH_OK;
    const struct onnx_value *start = &l->im->values[l->in[1]];
    bool integer = start->type == PITH_I64 || start->type == PITH_I32;
    uint32_t base, other_base;
    int64_t from, to, axis;
    if (start->constant || !integer || start->shape.rank != 1 || start->shape.dim[0] != 1)
        return PITH_OK;
    const bool one = one_axis(l, &axis);
    trace(l, l->in[1], &base, &from);
    trace(l, l->in[2], &other_base, &to);
    if (l->im->budget.failed) /* what could not be loaded may fit all the same */
        return pith_onnx_no_memory(l->im);
    if (!one)
        return PITH_OK;
    enum pith_status status = pith_onnx_axis(l, "axes", pith_onnx_in_shape(l, 0)->rank, &axis);
    /* a start before i may be below 0, where ONNX counts from the end of x and finds nothing */
    if (status || base != other_base || from < 0 || to <= from ||
        to - from > pith_onnx_in_shape(l, 0)->dim[axis])
        return status;
    struct onnx_steps s = {l, PITH_OK};
    l->in[1] = indices(&s, l->in[1], (uint32_t)(to - from));
    if (s.status)
        return s.status;
    l->n_in = 2;
    l->info = pith_op_get(PITH_OP_GATHER);
    pith_op_attr_defaults(l->info, l->attr);
    *done = true;
    return pith_onnx_set_int(l, "axes", ATTR_GATHER_AXIS, axis);
}
