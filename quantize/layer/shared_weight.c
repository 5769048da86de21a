/* SPDX-License-Identifier: MIT */
/* shared_weight.c - which layers can have the same integers for one float weight.
 *
 * Real weights are q * scale, the same for all who read them, while biases and factors are each
 * layer's own. So it takes one weight and one Gemm's alpha (it is rounded with the weights), and of
 * convolutions as many groups, by which rows are rounded together. A layer whose weights take up
 * what the scales of its input's channels differ by has weights of its own. */
#include "shared_weight.h"

#include <stdlib.h>

#include "pith_error_fill.h"
#include "integer_layer.h"
#include "pith_op_semantics.h"

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
