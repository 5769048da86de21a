/* SPDX-License-Identifier: MIT */
/* infer_shapes.c - types and shapes of all values, recomputed from the inputs by the operators' own
 * rules (runtime/), node by node in their order of execution. */
#include "op_interface/op_empty.h"
#include "op_interface/op_exec.h"
#include "pith_model.h"

#include <stdio.h>
#include <stdlib.h>

struct views {
    struct tview *view; /* inputs, then outputs, of the widest node */
    const struct tview **in;
    struct tview **out;
};

static enum pith_status fail(struct pith_error *err, enum pith_status status, const char *what,
                             const struct pith_node *node)
{
    if (!err)
        return status;
    const struct op_info *info = pith_op_get(node->op);
    err->status = status;
    err->chunk = 0;
    err->offset = 0;
    snprintf(err->text, sizeof err->text, "node '%.100s' (operator %u)%s: %s", node->name, node->op,
             info ? "" : " is not known", what);
    return status;
}

static enum pith_status views_new(const struct pith_model *m, struct views *v)
{
    size_t in = 1, out = 1;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        in = m->nodes[i].n_in > in ? m->nodes[i].n_in : in;
        out = m->nodes[i].n_out > out ? m->nodes[i].n_out : out;
    }
    v->view = calloc(in + out, sizeof *v->view);
    v->in = calloc(in, sizeof *v->in);
    v->out = calloc(out, sizeof *v->out);
    return v->view && v->in && v->out ? PITH_OK : PITH_ERR_MEMORY;
}

static void views_free(struct views *v)
{
    free(v->view);
    free(v->in);
    free(v->out);
}

static struct tview view_of(const struct pith_value *value)
{
    struct tview t = {.type = value->type, .shape = {.rank = value->rank}};
    for (uint32_t i = 0; i < value->rank; i++)
        t.shape.dim[i] = value->dim[i];
    return t;
}

/* A value without elements (op_empty.h) is possible where an open size is 0. */
static enum pith_status shape_node(const struct pith_model *m, struct op_args *args,
                                   const struct tview **in)
{
    const enum op_empty empty = m->n_sizes ? pith_op_empty(args) : OP_HAS_ELEMENTS;
    enum pith_status status = pith_op_check(args->info, args->attr, args->n_in, args->n_out);
    if (status || empty == OP_NEEDS_ELEMENTS)
        return status ? status : PITH_ERR_UNSUPPORTED;
    if (empty == OP_GIVES_EMPTY)
        for (uint32_t i = 0; i < args->n_out; i++)
            *args->out[i] = empty_tensor(args->in[0] ? args->in[0]->type : PITH_F32);
    if (empty == OP_JOINS_OTHERS) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < args->n_in; i++)
            if (!tensor_is_empty(in[i]))
                in[n++] = in[i];
        args->n_in = n;
    }
    return empty == OP_GIVES_EMPTY ? PITH_OK : args->info->shape(args);
}

static enum pith_status infer_node(struct pith_model *m, const struct pith_node *node,
                                   struct views *v)
{
    const struct op_info *info = pith_op_get(node->op);
    if (!info)
        return PITH_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < node->n_in; i++) {
        v->in[i] = NULL;
        if (node->in[i] == PITH_VALUE_NONE)
            continue;
        v->view[i] = view_of(&m->values[node->in[i]]);
        v->in[i] = &v->view[i];
    }
    for (uint32_t i = 0; i < node->n_out; i++) {
        v->out[i] = &v->view[node->n_in + i];
        *v->out[i] = (struct tview){0};
    }
    struct op_args args = {.info = info,
                           .attr = node->attr,
                           .n_in = node->n_in,
                           .n_out = node->n_out,
                           .in = v->in,
                           .out = v->out};
    enum pith_status status = shape_node(m, &args, v->in);
    for (uint32_t i = 0; i < node->n_out && !status; i++) {
        struct pith_value *to = &m->values[node->out[i]];
        to->type = v->out[i]->type;
        to->rank = v->out[i]->shape.rank;
        for (uint32_t k = 0; k < PITH_MAX_RANK; k++)
            to->dim[k] = k < to->rank ? v->out[i]->shape.dim[k] : 0;
    }
    return status;
}

enum pith_status pith_model_infer_shapes(struct pith_model *m, struct pith_error *err)
{
    if (!m)
        return PITH_ERR_ARGUMENT;
    struct views v = {0};
    enum pith_status status = views_new(m, &v);
    if (status && err)
        *err = (struct pith_error){.status = status, .text = "not enough memory"};
    for (uint32_t i = 0; i < m->n_nodes && !status; i++) {
        status = infer_node(m, &m->nodes[i], &v);
        if (status)
            fail(err, status, "its inputs and attributes do not fit", &m->nodes[i]);
    }
    views_free(&v);
    return status;
}
