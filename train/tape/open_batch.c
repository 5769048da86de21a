/* SPDX-License-Identifier: MIT */
/* open_batch.c - n samples through a network whose file says one.
 *
 * Most operators take any number of samples as they are. Two do not. A Reshape whose dims are
 * written out gets another for its batch; where it has moved the axis of the batch, which a Reshape
 * can while that axis is 1, it becomes a Reshape and a Transpose. And what is the same for all
 * samples, a constant first state for instance, is repeated where it meets what differs.
 *
 * An axis of 1 may mean the batch or not: check_batch.c compares what comes out. */
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "pith_host.h"
#include "model/operator_kind.h"
#include "core/tensor.h"
#include "training_graph.h"

#include <string.h>

enum { NO_AXIS = PITH_MAX_RANK };
enum { RECURRENT_H0 = 4, RECURRENT_C0 = 5 }; /* inputs [N, H] */

struct opening {
    struct training_graph *g;
    uint32_t samples;
    struct shape *one; /* [most values] with one sample */
};

static struct shape shape_now(const struct opening *o, uint32_t value)
{
    const struct pith_value *v = &o->g->m->values[value];
    struct shape s = {.rank = v->rank};
    memcpy(s.dim, v->dim, v->rank * sizeof *v->dim);
    return s;
}

/* The axis that grew with the batch, or NO_AXIS. */
static uint32_t batch_axis(const struct opening *o, uint32_t value)
{
    if (value == PITH_VALUE_NONE)
        return NO_AXIS;
    struct shape now = shape_now(o, value);
    for (uint32_t i = 0; i < now.rank; i++)
        if (now.dim[i] != o->one[value].dim[i])
            return i;
    return NO_AXIS;
}

static enum pith_status infer_last(const struct opening *o)
{
    return pith_graph_infer(o->g, o->g->m->n_nodes - 1, NULL);
}

static enum pith_status not_following(const struct opening *o, const struct pith_node *node)
{
    return pith_error_set(o->g->err, PITH_ERR_UNSUPPORTED,
                          "node '%.100s' (%s) does not follow a batch of %u: train with a batch "
                          "of 8, or import the network with its batch open",
                          node->name, pith_node_text(node), o->samples);
}

static uint32_t new_value(const struct opening *o, uint32_t like, const struct shape *one)
{
    uint32_t v = pith_graph_value(o->g, like);
    if (v != PITH_VALUE_NONE)
        o->one[v] = *one;
    return v;
}

/* ---- Reshape --------------------------------------------------------------------------------- */

/* Where the batch goes: its own axis, in its place or moved, or multiplied into another. */
struct new_batch {
    uint32_t axis;
    bool moved; /* from the front */
};

static struct new_batch place_batch(const struct shape *in, uint32_t in_axis,
                                    const struct shape *out)
{
    size_t before = shape_product(in, 0, in_axis);
    struct new_batch first = {NO_AXIS, false};
    for (uint32_t i = 0; i < out->rank; i++)
        if (shape_product(out, 0, i) == before) {
            if (out->dim[i] == in->dim[in_axis])
                return (struct new_batch){i, false};
            first.axis = first.axis == NO_AXIS ? i : first.axis;
        }
    for (uint32_t i = 0; i < out->rank && before == 1 && in->dim[in_axis] == 1; i++)
        if (out->dim[i] == 1)
            return (struct new_batch){i, true};
    return first;
}

static void set_dims(struct pith_node *node, const struct shape *s, uint32_t left)
{
    node->attr[ATTR_RESHAPE_DIMS] = (int32_t)s->rank;
    for (uint32_t i = 0; i < s->rank; i++)
        node->attr[ATTR_RESHAPE_DIMS + 1 + i] = i == left ? -1 : (int32_t)s->dim[i];
}

/* [n, others] to [.., n, ..] */
static bool add_transpose(const struct opening *o, const struct pith_node *like, uint32_t from,
                          uint32_t rank, uint32_t axis)
{
    struct pith_node *node =
        pith_graph_node(o->g, PITH_OP_TRANSPOSE, like->name, 1, &from, like->out[0]);
    if (!node)
        return false;
    node->attr[ATTR_PERM] = (int32_t)rank;
    for (uint32_t i = 0; i < rank; i++)
        node->attr[ATTR_PERM + 1 + i] = (int32_t)(i == axis ? 0 : i < axis ? i + 1 : i);
    return true;
}

static enum pith_status add_reshape(const struct opening *o, const struct pith_node *node)
{
    uint32_t in = node->in[0], out = node->out[0];
    struct shape to = o->one[out];
    struct new_batch b = place_batch(&o->one[in], batch_axis(o, in), &to);
    if (b.axis == NO_AXIS)
        return not_following(o, node);
    if (b.moved) {
        for (uint32_t i = b.axis; i > 0; i--)
            to.dim[i] = to.dim[i - 1];
        to.dim[0] = 1;
        out = new_value(o, out, &to);
    }
    struct pith_node *made = out == PITH_VALUE_NONE
                                 ? NULL
                                 : pith_graph_node(o->g, PITH_OP_RESHAPE, node->name, 1, &in, out);
    if (!made)
        return pith_tape_no_memory(o->g->err);
    set_dims(made, &to, b.moved ? 0 : b.axis);
    if (infer_last(o))
        return not_following(o, node);
    if (!b.moved)
        return PITH_OK;
    if (!add_transpose(o, node, out, to.rank, b.axis))
        return pith_tape_no_memory(o->g->err);
    return infer_last(o) ? not_following(o, node) : PITH_OK;
}

/* ---- others ---------------------------------------------------------------------------------- */

/* Input i's axis of 1 that others have the batch in, or NO_AXIS. */
static uint32_t axis_to_repeat(const struct opening *o, const struct pith_node *node, uint32_t i)
{
    uint32_t value = node->in[i];
    if (value == PITH_VALUE_NONE || batch_axis(o, value) != NO_AXIS)
        return NO_AXIS;
    const struct shape *own = &o->one[value];
    uint32_t found = NO_AXIS;
    if (node->op == PITH_OP_RECURRENT)
        found = i == RECURRENT_H0 || i == RECURRENT_C0 ? 0 : NO_AXIS;
    for (uint32_t k = 0; k < node->n_in && node->op != PITH_OP_RECURRENT; k++) {
        uint32_t axis = batch_axis(o, node->in[k]);
        if (axis != NO_AXIS && o->one[node->in[k]].rank == own->rank)
            found = axis;
    }
    return found < own->rank && own->dim[found] == 1 ? found : NO_AXIS;
}

static uint32_t repeated(const struct opening *o, const struct pith_node *node, uint32_t value,
                         uint32_t axis)
{
    uint32_t rank = o->one[value].rank, to = new_value(o, value, &o->one[value]);
    struct pith_node *tile = to == PITH_VALUE_NONE
                                 ? NULL
                                 : pith_graph_node(o->g, PITH_OP_TILE, node->name, 1, &value, to);
    if (!tile)
        return PITH_VALUE_NONE;
    tile->attr[ATTR_TILE_REPEATS] = (int32_t)rank;
    for (uint32_t i = 0; i < rank; i++)
        tile->attr[ATTR_TILE_REPEATS + 1 + i] = i == axis ? (int32_t)o->samples : 1;
    return infer_last(o) ? PITH_VALUE_NONE : to;
}

/* The node again, with what is the same for all samples repeated. */
static enum pith_status add_with_repeats(const struct opening *o, struct pith_node node)
{
    uint32_t *in = pith_model_alloc(o->g->m, node.n_in + 1u, sizeof *in);
    if (!in)
        return pith_tape_no_memory(o->g->err);
    for (uint32_t i = 0; i < node.n_in; i++) {
        uint32_t axis = axis_to_repeat(o, &node, i);
        in[i] = axis == NO_AXIS ? node.in[i] : repeated(o, &node, node.in[i], axis);
        if (in[i] == PITH_VALUE_NONE && node.in[i] != PITH_VALUE_NONE)
            return pith_tape_no_memory(o->g->err);
    }
    node.in = in;
    if (!pith_graph_append(o->g, &node))
        return pith_tape_no_memory(o->g->err);
    return infer_last(o) ? not_following(o, &node) : PITH_OK;
}

/* Resize to fixed dims keeps the batch that comes. */
static bool free_resize(const struct opening *o, struct pith_node *node)
{
    int32_t *attr = pith_model_alloc(o->g->m, pith_op_get(node->op)->n_slots + 1u, sizeof *attr);
    if (!attr)
        return false;
    memcpy(attr, node->attr, pith_op_get(node->op)->n_slots * sizeof *attr);
    attr[ATTR_RESIZE_DIMS + 1] = 0;
    node->attr = attr;
    return true;
}

static enum pith_status add_opened(const struct opening *o, struct pith_node node)
{
    uint32_t axis = node.n_in ? batch_axis(o, node.in[0]) : NO_AXIS;
    if (node.op == PITH_OP_RESHAPE && axis != NO_AXIS)
        return add_reshape(o, &node);
    if (node.op == PITH_OP_RESIZE && axis == 0 && attr_count(node.attr, ATTR_RESIZE_DIMS) &&
        !free_resize(o, &node))
        return pith_tape_no_memory(o->g->err);
    if (!pith_graph_append(o->g, &node))
        return pith_tape_no_memory(o->g->err);
    if (!infer_last(o))
        return PITH_OK;
    o->g->m->n_nodes--;
    return add_with_repeats(o, node);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status set_inputs(const struct opening *o)
{
    struct pith_model *m = o->g->m;
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        struct pith_value *x = &m->values[m->inputs[i]];
        if (x->rank == 0 || x->dim[0] != 1)
            return pith_error_set(o->g->err, PITH_ERR_UNSUPPORTED,
                                  "input '%.100s' has a fixed batch of %u: import the network with "
                                  "its batch open",
                                  x->name, x->rank ? x->dim[0] : 0);
        x->dim[0] = o->samples;
    }
    return PITH_OK;
}

static enum pith_status check_outputs(const struct opening *o)
{
    const struct pith_model *m = o->g->m;
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        const struct pith_value *y = &m->values[m->outputs[i]];
        if (y->rank == 0 || y->dim[0] != o->samples || o->one[m->outputs[i]].dim[0] != 1)
            return pith_error_set(o->g->err, PITH_ERR_UNSUPPORTED,
                                  "output '%.100s' does not follow a batch of %u: train with a "
                                  "batch of 8, or import the network with its batch open",
                                  y->name, o->samples);
    }
    return PITH_OK;
}

enum pith_status pith_open_batch(struct training_graph *g, uint32_t samples)
{
    struct opening o = {.g = g, .samples = samples};
    uint32_t n;
    uint64_t most = g->m->n_values + (uint64_t)g->m->n_nodes;
    for (uint32_t i = 0; i < g->m->n_nodes; i++)
        most += g->m->nodes[i].n_in;
    o.one = pith_model_alloc(g->m, most + 1, sizeof *o.one);
    if (!o.one)
        return pith_tape_no_memory(g->err);
    for (uint32_t v = 0; v < g->m->n_values; v++)
        o.one[v] = shape_now(&o, v);
    const struct pith_node *old = pith_graph_take_nodes(g, &n);
    enum pith_status status = set_inputs(&o);
    for (uint32_t i = 0; i < n && !status; i++)
        status = add_opened(&o, old[i]);
    return status ? status : check_outputs(&o);
}
