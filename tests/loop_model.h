/* SPDX-License-Identifier: MIT */
/* loop_model.h - a model with a loop, for tests of what watches networks run: x [1,2]; a sum begins
 * as x and grows by x while the sum of its elements is below a bound, `trips` times at most; Relu.
 */
#ifndef LOOP_MODEL_H
#define LOOP_MODEL_H

#include <string.h>
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "pith_model.h"

struct loop_model {
    struct pith_model *m;
    uint32_t x, bound; /* values */
    uint32_t sum;      /* what the body gets */
    uint32_t more, final, out;
};

static inline uint32_t loop_value(struct pith_model *m, const char *name, uint32_t rank,
                                  const uint32_t *dim)
{
    struct pith_value *v = &m->values[m->n_values];
    v->name = pith_model_strdup(m, name);
    v->type = PITH_F32;
    v->rank = rank;
    v->min = 1;
    for (uint32_t i = 0; i < rank; i++)
        v->dim[i] = dim[i];
    return m->n_values++;
}

static inline struct pith_node *loop_node(struct pith_model *m, uint32_t op, const char *name,
                                          uint32_t n_in, const uint32_t *in, uint32_t n_out)
{
    struct pith_node *node = &m->nodes[m->n_nodes++];
    node->name = pith_model_strdup(m, name);
    node->op = op;
    node->attr = pith_model_alloc(m, PITH_OP_MAX_SLOTS, sizeof *node->attr);
    pith_op_attr_defaults(pith_op_get(op), node->attr);
    node->n_in = n_in;
    node->n_out = n_out;
    node->in = pith_model_alloc(m, n_in, sizeof *node->in);
    node->out = pith_model_alloc(m, n_out, sizeof *node->out);
    memcpy(node->in, in, n_in * sizeof *in);
    for (uint32_t i = 0; i < n_out; i++)
        node->out[i] = loop_value(m, "", 0, NULL);
    return node;
}

static inline uint32_t loop_constant(struct pith_model *m, const char *name, float value)
{
    uint32_t v = loop_value(m, name, 0, NULL);
    struct pith_const *c = pith_model_alloc(m, 1, sizeof *c);
    float *data = pith_model_alloc(m, 1, sizeof *data);
    *data = value;
    c->count = 1;
    c->data = data;
    m->values[v].constant = c;
    return v;
}

/* bool []: the sum of v's elements is below bound. */
static inline uint32_t loop_is_below(struct pith_model *m, const char *name, uint32_t v,
                                     uint32_t bound)
{
    struct pith_node *sum = loop_node(m, PITH_OP_REDUCE, "", 1, &v, 1);
    sum->attr[ATTR_KIND] = REDUCE_SUM;
    sum->attr[ATTR_REDUCE_KIND_KEEP] = 0;
    struct pith_node *less =
        loop_node(m, PITH_OP_COMPARE, name, 2, (const uint32_t[]){sum->out[0], bound}, 1);
    less->attr[ATTR_KIND] = COMPARE_LESS;
    return less->out[0];
}

static inline struct loop_model loop_model(int32_t trips, float bound)
{
    struct loop_model l = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_model_new(NULL, &l.m), PITH_OK);
    struct pith_model *m = l.m;
    m->values = pith_model_alloc(m, 32, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 16, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    l.x = m->inputs[m->n_inputs++] = loop_value(m, "x", 2, (const uint32_t[]){1, 2});
    l.bound = loop_constant(m, "bound", bound);
    uint32_t go = loop_is_below(m, "go", l.x, l.bound);
    struct pith_node *loop = loop_node(m, PITH_OP_LOOP, "loop", 2, (const uint32_t[]){go, l.x}, 2);
    loop->attr[ATTR_LOOP_TRIPS] = trips;
    loop->attr[ATTR_LOOP_HAS_COND] = 1;
    l.sum = loop->out[1];
    l.more = loop_node(m, PITH_OP_ADD, "more", 2, (const uint32_t[]){l.sum, l.x}, 1)->out[0];
    go = loop_is_below(m, "again", l.more, l.bound);
    struct pith_node *end =
        loop_node(m, PITH_OP_LOOP_END, "end", 3, (const uint32_t[]){go, l.sum, l.more}, 1);
    end->attr[ATTR_LOOP_TRIPS] = trips;
    end->attr[ATTR_LOOP_HAS_COND] = 1;
    end->attr[ATTR_LOOP_STATES] = 1;
    l.final = end->out[0];
    l.out = loop_node(m, PITH_OP_RELU, "out", 1, end->out, 1)->out[0];
    m->outputs[m->n_outputs++] = l.out;
    SUCCEEDS(pith_model_infer_shapes(m, &err));
    return l;
}

#endif
