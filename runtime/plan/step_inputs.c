/* SPDX-License-Identifier: MIT */
/* step_inputs.c - what the step of a node reads: the node's inputs, and what it took over from
 * nodes that were fused into it, at the places where its operator looks for them. */
#include "integer_conv.h"
#include "plan.h"
#include "region.h"

static bool is_matmul_integer(const struct graph_node *node)
{
    return node->info->op == PITH_OP_MATMUL_INTEGER;
}

uint32_t pith_step_inputs(const struct graph *g, const struct node_plan *node, uint32_t n)
{
    const struct node_plan *np = &node[n];
    if (np->chain != CHAIN_NONE)
        return 3 * g->nodes[n].n_in + 2;
    if (np->requantize != PLAN_NONE)
        return np->add == PLAN_NONE ? INTEGER_INPUTS : INTEGER_ADD_INPUTS;
    if (np->bias == PLAN_NONE)
        return g->nodes[n].n_in;
    return is_matmul_integer(&g->nodes[n]) ? INTEGER_BIAS + 1 : 3;
}

static uint32_t own_input(const struct graph_node *node, uint32_t i)
{
    return i < node->n_in ? node->in[i] : PITH_NO_VALUE;
}

/* Bytes, scale, zero point of each input, then of the output (integer_chain.h). */
static uint32_t chain_input(const struct graph *g, const struct node_plan *np, uint32_t n,
                            uint32_t i)
{
    uint32_t in = i / 3, place = i % 3;
    if (in == g->nodes[n].n_in)
        return np->quantize == PLAN_NONE ? PITH_NO_VALUE
                                         : own_input(&g->nodes[np->quantize], 1 + place);
    if (np->chain == CHAIN_WHOLE)
        return place == 0 ? g->nodes[n].in[in] : PITH_NO_VALUE;
    return own_input(&g->nodes[pith_graph_producer(g, g->nodes[n].in[in])], place);
}

/* Scale and zero point of what an integer product wrote, of the residual, of their sum. */
static uint32_t add_input(const struct graph *g, const struct node_plan *node,
                          const struct node_plan *np, uint32_t i)
{
    const struct graph_node *add = &g->nodes[np->add];
    const struct graph_node *by = &g->nodes[node[np->add].quantize];
    if (i < INTEGER_SUM_SCALE) {
        bool first = g->nodes[pith_graph_producer(g, add->in[0])].in[0] == np->residual;
        by = &g->nodes[pith_graph_producer(g, add->in[(i >= INTEGER_RESIDUAL_SCALE) != first])];
    }
    return own_input(by, 1 + (i - INTEGER_VALUE_SCALE) % 2);
}

uint32_t pith_step_input(const struct graph *g, const struct node_plan *node, uint32_t n,
                         uint32_t i)
{
    const struct node_plan *np = &node[n];
    if (np->chain != CHAIN_NONE)
        return chain_input(g, np, n, i);
    if (np->add != PLAN_NONE && i >= INTEGER_VALUE_SCALE)
        return add_input(g, node, np, i);
    if (np->requantize != PLAN_NONE && i >= INTEGER_FACTOR)
        return own_input(&g->nodes[np->requantize], 1 + i - INTEGER_FACTOR);
    if (np->bias != PLAN_NONE && i == (is_matmul_integer(&g->nodes[n]) ? INTEGER_BIAS : 2u))
        return np->bias;
    return own_input(&g->nodes[n], i);
}
