/* SPDX-License-Identifier: MIT */
/* grad_concat.c - Concat and Split along one axis, in either layout: parts of rows. A tensor is
 * [outer, length of the axis, inner] as it lies in memory. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Elements that follow one another in memory for one place on the axes outside of `axis`. */
static size_t run_of(const struct tape_tensor *t, uint32_t axis)
{
    const struct shape *s = &t->shape;
    if (t->layout == TAPE_ROW_MAJOR || s->rank < 3 || axis == 0)
        return shape_product(s, axis, s->rank);
    return axis == 1 ? s->dim[1] : shape_product(s, axis, s->rank) * s->dim[1];
}

/* A part begins at element `at` of each run of the whole. */
static void copy_part(const struct tape_tensor *part, const struct tape_tensor *whole,
                      uint32_t axis, size_t at, bool from_whole)
{
    size_t run = run_of(part, axis), whole_run = run_of(whole, axis);
    size_t outer = shape_elems(&part->shape) / run;
    float *p = part->data, *w = (float *)whole->data + at;
    for (size_t i = 0; i < outer; i++, p += run, w += whole_run)
        memcpy(from_whole ? p : w, from_whole ? w : p, run * sizeof *p);
}

static void grad_part(const struct tape_tensor *part, const struct tape_tensor *whole,
                      uint32_t axis, size_t at, bool from_whole, bool set)
{
    size_t run = run_of(part, axis), whole_run = run_of(whole, axis);
    size_t outer = shape_elems(&part->shape) / run;
    float *p = part->grad, *w = whole->grad + at;
    for (size_t i = 0; i < outer; i++, p += run, w += whole_run)
        grad_put(from_whole ? p : w, from_whole ? w : p, run, set);
}

static bool of_floats(const struct grad_node *n)
{
    return n->out[0]->type == PITH_F32;
}

static void forward_concat(struct grad_node *n)
{
    uint32_t axis = (uint32_t)n->attr[ATTR_AXIS];
    size_t at = 0;
    if (n->out[0]->layout == TAPE_ROW_MAJOR || !of_floats(n)) {
        grad_run(n);
        return;
    }
    for (uint32_t i = 0; i < n->n_in; i++) {
        copy_part(n->in[i], n->out[0], axis, at, false);
        at += run_of(n->in[i], axis);
    }
}

static void backward_concat(struct grad_node *n)
{
    uint32_t axis = (uint32_t)n->attr[ATTR_AXIS];
    size_t at = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i]->grad)
            grad_part(n->in[i], n->out[0], axis, at, true, n->sets[i]);
        at += run_of(n->in[i], axis);
    }
}

static void forward_split(struct grad_node *n)
{
    uint32_t axis = (uint32_t)n->attr[ATTR_AXIS];
    size_t at = 0;
    if (n->out[0]->layout == TAPE_ROW_MAJOR || !of_floats(n)) {
        grad_run(n);
        return;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        copy_part(n->out[i], n->in[0], axis, at, true);
        at += run_of(n->out[i], axis);
    }
}

static void backward_split(struct grad_node *n)
{
    uint32_t axis = (uint32_t)n->attr[ATTR_AXIS];
    size_t at = 0;
    for (uint32_t i = 0; i < n->n_out && n->in[0]->grad; i++) {
        grad_part(n->out[i], n->in[0], axis, at, false, n->sets[0]);
        at += run_of(n->out[i], axis);
    }
}

const struct grad_op pith_grad_concat = {.op = PITH_OP_CONCAT,
                                         .layout = GRAD_EITHER,
                                         .sets = true,
                                         .runs = true,
                                         .forward = forward_concat,
                                         .backward = backward_concat};
const struct grad_op pith_grad_split = {.op = PITH_OP_SPLIT,
                                        .layout = GRAD_EITHER,
                                        .sets = true,
                                        .runs = true,
                                        .forward = forward_split,
                                        .backward = backward_split};
