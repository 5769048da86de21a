/* SPDX-License-Identifier: MIT */
/* observed_detail.c - every f32 value that is computed gets a histogram, except what a layer gives
 * to nothing but a Relu, a Clip or a BatchNormalization: integers go through these in one step, so
 * it is never stored. Inputs and outputs of layers with weights also get statistics by channel, for
 * bias correction and for scales by channel. The result of a Concat is not observed: the statistics
 * of its parts, by channel where needed, are merged. */
#include "observed_detail.h"

#include <stdlib.h>
#include <string.h>
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"

/* Layers whose x and y have channels that weights or factors belong to. A Recurrent's weight meets
 * its state alone, so there is nothing to correct by channels of x; a BatchNormalization has
 * factors by channel, which folding makes weights. */
static bool has_weights(uint32_t op)
{
    return (pith_op_has_weight(op) && !pith_op_is(op, TRAIT_RECURS)) || op == PITH_OP_BATCH_NORM;
}

static bool vanishes_into_layer(const struct pith_model *m, const struct pith_node *node,
                                uint32_t input)
{
    (void)m;
    return input == 0 && (pith_op_is(node->op, TRAIT_CLAMPS) || node->op == PITH_OP_BATCH_NORM);
}

static void by_channel(const struct pith_model *m, struct observed_plan *plan, uint32_t v,
                       uint32_t op)
{
    const struct pith_value *value = &m->values[v];
    uint32_t axis = pith_op_channel_axis(op, value->rank);
    if (value->rank >= 2 && value->dim[axis] > 1 && plan[v].axis == PITH_MAX_RANK)
        plan[v].axis = axis;
}

void pith_mark_readers(const struct pith_model *m, reader_test *is, bool *mark)
{
    memset(mark, 0, m->n_values * sizeof *mark);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                mark[m->nodes[i].in[k]] = true;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE && !is(m, &m->nodes[i], k))
                mark[m->nodes[i].in[k]] = false;
    for (uint32_t i = 0; i < m->n_outputs; i++)
        mark[m->outputs[i]] = false;
}

/* Has v been looked at by channels along `axis`, or not at all? */
static bool fits_before(const struct pith_value *v, uint32_t axis)
{
    if (v->n_observed == 0)
        return true;
    return v->stats && v->stats->n_channels == (axis < v->rank ? v->dim[axis] : 0);
}

/* Do the statistics of the parts suffice for the result of `concat`? */
static bool parts_suffice(const struct pith_model *m, const struct observed_plan *plan,
                          const struct pith_node *concat)
{
    const struct observed_plan *whole = &plan[concat->out[0]];
    bool by_channel = whole->axis < PITH_MAX_RANK;
    uint32_t along = (uint32_t)concat->attr[ATTR_AXIS];
    if (whole->detail != OBSERVE_HISTOGRAM || (by_channel && whole->axis != along))
        return false;
    for (uint32_t k = 0; k < concat->n_in; k++) {
        const struct observed_plan *p = &plan[concat->in[k]];
        uint32_t axis = by_channel ? along : p->axis;
        if (p->detail != OBSERVE_HISTOGRAM || p->in_body ||
            (p->axis != axis && (p->axis != PITH_MAX_RANK || p->joins)) ||
            !fits_before(&m->values[concat->in[k]], axis))
            return false;
    }
    return true;
}

/* Not in bodies, where parts may be observed more or less often than the result. */
static void join_parts(const struct pith_model *m, struct observed_plan *plan)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        depth += pith_opens_body(node->op);
        for (uint32_t k = 0; k < node->n_out; k++)
            plan[node->out[k]].in_body = depth > 0;
        depth -= pith_closes_body(node->op);
        if (depth > 0 || node->op != PITH_OP_CONCAT || !parts_suffice(m, plan, node))
            continue;
        struct observed_plan *whole = &plan[node->out[0]];
        whole->joins = node;
        for (uint32_t k = 0; k < node->n_in && whole->axis < PITH_MAX_RANK; k++)
            plan[node->in[k]].axis = whole->axis;
    }
}

enum pith_status pith_observed_plan(const struct pith_model *m, struct observed_plan *plan)
{
    bool *vanishes = malloc(m->n_values + (size_t)1);
    if (!vanishes)
        return PITH_ERR_MEMORY;
    pith_mark_readers(m, vanishes_into_layer, vanishes);
    for (uint32_t v = 0; v < m->n_values; v++) {
        bool observed = m->values[v].type == PITH_F32 && !m->values[v].constant;
        plan[v] = (struct observed_plan){observed ? OBSERVE_HISTOGRAM : OBSERVE_NOTHING,
                                         PITH_MAX_RANK, NULL, false};
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (!has_weights(node->op))
            continue;
        by_channel(m, plan, node->in[0], node->op);
        by_channel(m, plan, node->out[0], node->op);
        uint32_t y = node->out[0];
        if (plan[y].detail == OBSERVE_HISTOGRAM && vanishes[y])
            plan[y].detail = OBSERVE_SUMS;
    }
    free(vanishes);
    join_parts(m, plan);
    return PITH_OK;
}

static bool is_depthwise(const struct pith_model *m, const struct pith_node *node, uint32_t input)
{
    const struct pith_value *x = &m->values[node->in[0]];
    return input == 0 && pith_node_by_rows(node) && x->rank >= 3 && x->dim[1] > 1 &&
           pith_op_groups(node->op, node->attr) == x->dim[1];
}

void pith_mark_depthwise(const struct pith_model *m, bool *mark)
{
    pith_mark_readers(m, is_depthwise, mark);
}
