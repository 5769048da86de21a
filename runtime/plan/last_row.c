/* SPDX-License-Identifier: MIT */
/* last_row.c - of output opts.last_row_of - 1, only the last row: a decoder's scores of the next
 * token, where those of a whole prompt would be a large part of its run.
 *
 * The output is a product of rows with a weight, [1, S, K] x [K, N], or elementwise operators with
 * constants behind one. Then the values from the product on have one row, and the product reads the
 * last row of its input (plan_steps.c). Any other output is computed whole. */
#include "plan/plan_build.h"
#include "validate/region.h"

/* Several, along the only axis before the last that is not 1. */
static bool has_rows(const struct shape *s)
{
    return s->rank >= 2 && s->dim[s->rank - 2] > 1 && shape_product(s, 0, s->rank - 2) == 1;
}

static bool is_elementwise(enum pith_op op)
{
    return op == PITH_OP_ADD || op == PITH_OP_SUB || op == PITH_OP_MUL || op == PITH_OP_DIV ||
           op == PITH_OP_TANH || op == PITH_OP_UNARY;
}

/* Nothing but input 0 has rows; of a product, input 1 is the weight. */
static bool is_alone(const struct pith_plan *plan, const struct graph_node *node, bool product)
{
    for (uint32_t i = 1; i < node->n_in; i++) {
        const uint32_t v = node->in[i], most = product && i == 1 ? 2 : 1;
        if (v != PITH_NO_VALUE &&
            (!pith_plan_is_constant(&plan->graph, v) || plan->value[v].shape.rank > most))
            return false;
    }
    return true;
}

static uint32_t count_reads(const struct graph *g, uint32_t v)
{
    uint32_t reads = 0;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++)
            reads += g->nodes[n].in[i] == v;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        reads += g->outputs[i] == v;
    return reads;
}

/* The product that value v comes from; PLAN_NONE: v is made otherwise. */
static uint32_t find_product(const struct pith_plan *plan, uint32_t v)
{
    const struct graph *g = &plan->graph;
    while (v >= g->n_inputs && !pith_plan_is_constant(g, v) && count_reads(g, v) == 1) {
        const uint32_t n = pith_graph_producer(g, v);
        const struct graph_node *node = &g->nodes[n];
        const enum pith_op op = (enum pith_op)node->info->op;
        const uint32_t x = node->in[0];
        if (node->region != PITH_NO_NODE || x == PITH_NO_VALUE || !has_rows(&plan->value[v].shape))
            break;
        if (op == PITH_OP_MATMUL)
            return has_rows(&plan->value[x].shape) && is_alone(plan, node, true) ? n : PLAN_NONE;
        if (!is_elementwise(op) || !is_alone(plan, node, false) ||
            !pith_shape_equal(&plan->value[x].shape, &plan->value[v].shape))
            break;
        v = x;
    }
    return PLAN_NONE;
}

void pith_plan_last_row(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    const struct graph *g = &plan->graph;
    const uint32_t of = plan->opts.last_row_of - 1; /* 0 - 1 is no output */
    b->last_row = of < g->n_outputs ? find_product(plan, g->outputs[of]) : PLAN_NONE;
    if (b->last_row == PLAN_NONE) {
        plan->opts.last_row_of = 0;
        return;
    }
    for (uint32_t v = g->outputs[of];; v = g->nodes[pith_graph_producer(g, v)].in[0]) {
        struct shape *s = &plan->value[v].shape;
        s->dim[s->rank - 2] = 1;
        if (pith_graph_producer(g, v) == b->last_row)
            break;
    }
}
