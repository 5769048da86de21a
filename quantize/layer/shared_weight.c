/* SPDX-License-Identifier: MIT */
/* shared_weight.c - which layers can have the same integers for one float weight.
 *
 * Real weights are q * scale, the same for all who read them, while biases and factors are each
 * layer's own. So it takes one weight and one Gemm's alpha (it is rounded with the weights), and of
 * convolutions as many groups, by which rows are rounded together. A layer whose weights take up
 * what the scales of its input's channels differ by has weights of its own.
 *
 * Bias and factor are 8 bytes an output channel for each reader. Where that is more than a
 * hundredth of the weight, sums become floats first, and are then multiplied by the weight's
 * scales, which all readers (a table, too) have in common, and by the input's one scale, and the
 * float bias is added: slower by some passes over the output, and nothing but nodes is each
 * reader's own. Convolutions have an output for each place, and with the passes take 1.4 times as
 * long; so they are done so only where theirs are more than a hundredth of all weights. */
#include "shared_weight.h"

#include <stdlib.h>

#include "pith_error_fill.h"
#include "integer_layer.h"
#include "pith_op_semantics.h"

#define OWN_BITS 64u /* of an output channel of each reader: bias, factor */

static bool are_alike(const struct integer_plan *p, uint32_t a, uint32_t b)
{
    const struct pith_model *m = p->m;
    struct layer_factor x = pith_weight_factor(p, a), y = pith_weight_factor(p, b);
    bool one_kind =
        pith_op_traits(m->nodes[a].op).integer_op == pith_op_traits(m->nodes[b].op).integer_op;
    return one_kind && x.weight == y.weight && !x.scales_weights && !y.scales_weights &&
           pith_layer_shape(m, &m->nodes[a]).groups == pith_layer_shape(m, &m->nodes[b]).groups;
}

enum pith_status pith_share_weights(struct integer_plan *p, struct pith_error *err)
{
    uint32_t *reader = malloc((p->m->n_values + (size_t)1) * sizeof *reader); /* the first layer */
    if (!reader)
        return pith_error_no_memory(err);
    for (uint32_t v = 0; v < p->m->n_values; v++)
        reader[v] = NODE_NONE;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        p->node[i].weight_of = i;
        if (p->node[i].role != ROLE_LAYER)
            continue;
        uint32_t *first = &reader[p->m->nodes[i].in[1]];
        if (*first == NODE_NONE)
            *first = i;
        else if (are_alike(p, *first, i))
            p->node[i].weight_of = *first;
    }
    free(reader);
    return PITH_OK;
}

void pith_share_widths(struct integer_plan *p)
{
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        struct node_plan *first = &p->node[p->node[i].weight_of];
        if (p->node[i].role != ROLE_LAYER || p->node[i].weight_of == i || first->wide)
            continue;
        first->wide = pith_layer_is_wide(p, i) || pith_layer_is_wide(p, p->node[i].weight_of);
    }
}

/* Fixed point shifts its sums, and sums of 64 bits are more than a float holds. */
static bool may_be_apart(const struct integer_plan *p, uint32_t i, bool convolutions)
{
    const struct pith_node *node = &p->m->nodes[i];
    bool plain_bias = node->op != PITH_OP_GEMM || pith_node_bias(node) == PITH_VALUE_NONE ||
                      attr_f32(node->attr, ATTR_GEMM_BETA) == 1;
    return (convolutions || node->op != PITH_OP_CONV) && plain_bias &&
           pith_plan_grid(p, node->in[0])->n == 1 && !p->opts->as_trained && !p->opts->fixed_bits &&
           !p->node[p->node[i].weight_of].wide && !pith_layer_is_wide(p, i);
}

/* What convolutions have of their own beside the weight of another, of the whole network. */
static bool convolutions_cost_much(const struct integer_plan *p)
{
    uint64_t own_bits = 0, weight_bits = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        if (p->node[i].role != ROLE_LAYER)
            continue;
        struct layer_shape s = pith_layer_shape(p->m, node);
        if (p->node[i].weight_of == i)
            weight_bits += s.rows * s.cols * p->node[i].weight_bits;
        else if (node->op == PITH_OP_CONV)
            own_bits += s.rows * OWN_BITS;
    }
    return own_bits * 100 > weight_bits;
}

/* readers: [n_values] of constants, tables and layers that can be apart; 0: one of them cannot. */
static void count_readers(const struct integer_plan *p, uint32_t *readers)
{
    const struct pith_model *m = p->m;
    bool convolutions = convolutions_cost_much(p);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (p->node[i].table)
            readers[m->nodes[i].in[0]] = 1;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (p->node[i].role == ROLE_LAYER)
            readers[m->nodes[i].in[1]]++;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (p->node[i].role == ROLE_LAYER && !may_be_apart(p, i, convolutions))
            readers[m->nodes[i].in[1]] = 0;
}

/* Is what the others than the first have of their own more than a hundredth of the weight? */
static bool costs_much(const struct integer_plan *p, uint32_t i, uint64_t readers)
{
    struct layer_shape s = pith_layer_shape(p->m, &p->m->nodes[i]);
    return readers > 1 && (readers - 1) * OWN_BITS * 100 > s.cols * p->node[i].weight_bits;
}

enum pith_status pith_set_scales_apart(struct integer_plan *p, struct pith_error *err)
{
    uint32_t *readers = calloc(p->m->n_values + (size_t)1, sizeof *readers);
    if (!readers)
        return pith_error_no_memory(err);
    count_readers(p, readers);
    for (uint32_t i = 0; i < p->m->n_nodes; i++)
        p->node[i].apart =
            p->node[i].role == ROLE_LAYER && costs_much(p, i, readers[p->m->nodes[i].in[1]]);
    free(readers);
    return PITH_OK;
}
