/* SPDX-License-Identifier: MIT */
/* step_inputs.c - what the step of a node reads: the operator's inputs, then scale and zero
 * point of each grid that it took over from nodes that were fused into it (op_args.grid).
 *
 * One numbering of what a step reads, for everything that walks over operands: lifetimes,
 * constants, wiring. Nodes that were fused are looked up in the graph, so nothing is stored
 * twice. */
#include "products/integer_conv.h"
#include "plan/plan.h"
#include "validate/region.h"

static bool is_matmul_integer(const struct graph_node *node)
{
    return node->info->op == PITH_OP_MATMUL_INTEGER;
}

/* A MatMul with a bias has three inputs as a Gemm; a MatMulInteger has its bias where
 * ConvInteger has it. */
uint32_t pith_step_own_inputs(const struct graph *g, const struct node_plan *node, uint32_t n)
{
    const struct node_plan *np = &node[n];
    if (is_byte_table(np))
        return pith_table_inputs(g, node, n);
    if (np->bias == PLAN_NONE)
        return g->nodes[n].n_in;
    return is_matmul_integer(&g->nodes[n]) ? INTEGER_BIAS + 1 : 3;
}

/* A chain has a grid for each input and for its output, CHAIN_WHOLE as well, though empty. */
uint32_t pith_step_grids(const struct graph *g, const struct node_plan *node, uint32_t n)
{
    const struct node_plan *np = &node[n];
    if (is_byte_table(np))
        return 0;
    if (np->chain != CHAIN_NONE)
        return g->nodes[n].n_in + 1;
    if (np->requantize == PLAN_NONE)
        return 0;
    return np->add == PLAN_NONE ? PRODUCT_GRIDS : PRODUCT_ADD_GRIDS;
}

uint32_t pith_step_inputs(const struct graph *g, const struct node_plan *node, uint32_t n)
{
    return pith_step_own_inputs(g, node, n) + 2 * pith_step_grids(g, node, n);
}

/* Optional inputs that the node leaves out. */
static uint32_t own_input(const struct graph_node *node, uint32_t i)
{
    return i < node->n_in ? node->in[i] : PITH_NO_VALUE;
}

/* The DequantizeLinear behind a chain's input: its bytes (0), their scale (1), zero point (2).
 * CHAIN_WHOLE has no DequantizeLinear: its inputs are bytes already. Nor has a row of floats. */
static uint32_t chain_input(const struct graph *g, const struct node_plan *np, uint32_t n,
                            uint32_t in, uint32_t place)
{
    const uint32_t v = g->nodes[n].in[in];
    if (np->chain == CHAIN_WHOLE || pith_plan_is_constant(g, v))
        return place == 0 ? v : PITH_NO_VALUE;
    return own_input(&g->nodes[pith_graph_producer(g, v)], place);
}

/* The node whose inputs 1 and 2 are grid `grid` of an integer product. `first`: which operand of
 * the Add is the residual; the other one is what the product itself gave. */
static const struct graph_node *product_grid_of(const struct graph *g, const struct node_plan *node,
                                                const struct node_plan *np, uint32_t grid)
{
    if (grid == GRID_RESULT)
        return &g->nodes[np->requantize];
    const struct graph_node *add = &g->nodes[np->add];
    if (grid == GRID_SUM)
        return &g->nodes[node[np->add].quantize];
    bool first = g->nodes[pith_graph_producer(g, add->in[0])].in[0] == np->residual;
    return &g->nodes[pith_graph_producer(g, add->in[(grid == GRID_RESIDUAL) != first])];
}

/* place: 0 scale, 1 zero point Behind an operator's values inputs 1 and 2 are scale and zero
 * point, of Quantize, Dequantize and Requantize alike. */
static uint32_t grid_input(const struct graph *g, const struct node_plan *node, uint32_t n,
                           uint32_t grid, uint32_t place)
{
    const struct node_plan *np = &node[n];
    if (np->chain == CHAIN_NONE)
        return own_input(product_grid_of(g, node, np, grid), 1 + place);
    if (grid < g->nodes[n].n_in)
        return chain_input(g, np, n, grid, 1 + place);
    return np->quantize == PLAN_NONE ? PITH_NO_VALUE
                                     : own_input(&g->nodes[np->quantize], 1 + place);
}

/* The residual is not among them, for it may be channels-last and has a lifetime of its own. */
uint32_t pith_step_input(const struct graph *g, const struct node_plan *node, uint32_t n,
                         uint32_t i)
{
    const struct node_plan *np = &node[n];
    if (is_byte_table(np))
        return pith_table_input(g, node, n, i);
    uint32_t own = pith_step_own_inputs(g, node, n);
    if (i >= own)
        return grid_input(g, node, n, (i - own) / 2, (i - own) % 2);
    if (np->chain != CHAIN_NONE)
        return chain_input(g, np, n, i, 0);
    if (np->bias != PLAN_NONE && i == (is_matmul_integer(&g->nodes[n]) ? INTEGER_BIAS : 2u))
        return np->bias;
    return own_input(&g->nodes[n], i);
}
