/* SPDX-License-Identifier: MIT */
/* fuse_chain.c - operators between DequantizeLinear and QuantizeLinear become steps on bytes
 * (integer_chain.h), where scales and zero points are single constants. A DequantizeLinear stays
 * when somebody else reads it, too. An Add that follows an integer product is added by its step.
 *
 * The pattern is what quantizing exporters write around every operator: DequantizeLinear -> op
 * -> QuantizeLinear. Run as three steps it would write two tensors of floats, eight times the
 * bytes it reads and writes. */
#include "products/integer_chain.h"
#include "plan/plan.h"
#include "validate/region.h"
#include "op_interface/op_attr.h"

/* Grids by channel would need a table for each; none of these operators has a channel axis of
 * its own. */
static bool is_one_constant(const struct graph *g, const struct tview *value, uint32_t v)
{
    return pith_plan_is_constant(g, v) && shape_elems(&value[v].shape) == 1;
}

/* Scale and zero point of a Quantize or Dequantize are one constant each; its bytes are `bytes`. */
static bool has_one_grid(const struct graph *g, const struct tview *value,
                         const struct graph_node *node, uint32_t bytes)
{
    bool no_zero = node->n_in < 3 || node->in[2] == PITH_NO_VALUE;
    enum pith_type type = value[bytes].type;
    return (type == PITH_I8 || type == PITH_U8) && is_one_constant(g, value, node->in[1]) &&
           (no_zero || is_one_constant(g, value, node->in[2]));
}

/* The node that makes v, PITH_NO_NODE: none does. Inputs and constants have no maker. */
static uint32_t maker(const struct graph *g, uint32_t v)
{
    return v < g->n_inputs + g->n_weights ? PITH_NO_NODE : pith_graph_producer(g, v);
}

/* In the same region, or the chain would read bytes that an iteration has changed. */
static bool is_dequantized(const struct graph *g, const struct tview *value, uint32_t v,
                           uint32_t region)
{
    uint32_t n = v == PITH_NO_VALUE ? PITH_NO_NODE : maker(g, v);
    if (n == PITH_NO_NODE || g->nodes[n].info->op != PITH_OP_DEQUANTIZE)
        return false;
    const struct graph_node *node = &g->nodes[n];
    return node->region == region && has_one_grid(g, value, node, node->in[0]);
}

/* Input i of an Add or Mul: floats, one for each place of the result's last axis, as exporters
 * write a bias behind a matrix product. */
static bool is_row(const struct graph *g, const struct tview *value, const struct graph_node *node,
                   uint32_t i)
{
    const struct shape *y = &value[node->first_out].shape;
    const struct tview *row = &value[node->in[i]];
    return (node->info->op == PITH_OP_ADD || node->info->op == PITH_OP_MUL) &&
           pith_plan_is_constant(g, node->in[i]) && row->type == PITH_F32 && row->shape.rank > 0 &&
           y->rank >= row->shape.rank && shape_elems(&row->shape) == y->dim[y->rank - 1] &&
           row->shape.dim[row->shape.rank - 1] == y->dim[y->rank - 1] &&
           pith_shape_equal(&value[node->in[1 - i]].shape, y);
}

/* Node n, whose value alone node q quantizes. Every input must be bytes with a grid, or such a row,
 * and the operator one that integer_chain.c has. */
static bool is_chain(const struct graph *g, const struct tview *value,
                     const struct node_plan *plans, uint32_t n, uint32_t q)
{
    const struct graph_node *node = &g->nodes[n];
    const struct shape *y = &value[node->first_out].shape;
    /* A product has its own way to bytes (fuse.c). */
    if (plans[n].action != NODE_RUN || plans[n].out != node->first_out || node->n_out != 1 ||
        node->region != g->nodes[q].region || (node->info->flags & OP_FUSES) || node->n_in == 0)
        return false;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (!is_row(g, value, node, i) &&
            (!is_dequantized(g, value, node->in[i], node->region) ||
             !pith_integer_chain_knows(node->info, node->attr, &value[node->in[i]].shape, y)))
            return false;
    return true;
}

/* Node n is a Relu, alone behind an Add or Mul: that one, else n. The sum is rounded to f32
 * before the Relu either way; the step does both on the tile. */
static uint32_t behind_relu(const struct graph *g, const struct node_plan *plans,
                            const struct value_plan *vp, uint32_t n)
{
    const struct graph_node *relu = &g->nodes[n];
    if (relu->info->op != PITH_OP_RELU || plans[n].action != NODE_RUN ||
        vp[relu->in[0]].n_uses != 1)
        return n;
    uint32_t sum = maker(g, relu->in[0]);
    if (sum == PITH_NO_NODE || g->nodes[sum].region != relu->region ||
        (g->nodes[sum].info->op != PITH_OP_ADD && g->nodes[sum].info->op != PITH_OP_MUL))
        return n;
    return sum;
}

/* The step of an integer product that writes bytes v, for one DequantizeLinear alone. The
 * Add of a bias stands between product and Requantize, on either side of it. */
static uint32_t product_of(const struct graph *g, const struct node_plan *plans,
                           const struct value_plan *vp, uint32_t v)
{
    uint32_t by = maker(g, v);
    if (by == PITH_NO_NODE || g->nodes[by].info->op != PITH_OP_REQUANTIZE || vp[v].n_uses != 1)
        return PITH_NO_NODE;
    uint32_t n = maker(g, g->nodes[by].in[0]);
    if (n != PITH_NO_NODE && g->nodes[n].info->op == PITH_OP_ADD) { /* of a bias, a constant */
        uint32_t first = maker(g, g->nodes[n].in[0]);
        n = first != PITH_NO_NODE ? first : maker(g, g->nodes[n].in[1]);
    }
    return n != PITH_NO_NODE && plans[n].requantize == by ? n : PITH_NO_NODE;
}

/* Chain n adds what a product writes, and nothing else reads, to bytes that are there before it.
 * Then the product's step adds, on the tile that it has in registers: one pass over the sum
 * less. */
static bool give_to_product(const struct graph *g, const struct tview *value,
                            struct node_plan *plans, struct value_plan *vp, uint32_t n, uint32_t in)
{
    const struct graph_node *node = &g->nodes[n];
    uint32_t real = node->in[in], v = g->nodes[maker(g, real)].in[0];
    uint32_t p = product_of(g, plans, vp, v);
    uint32_t other = g->nodes[maker(g, node->in[1 - in])].in[0];
    /* The other operand's bytes must be older than the product; depthwise kernels do not add. */
    if (p == PITH_NO_NODE || vp[real].kind != VALUE_GONE || other >= g->nodes[p].first_out ||
        !pith_shape_equal(&value[v].shape, &value[other].shape) ||
        g->nodes[p].region != node->region ||
        (g->nodes[p].info->op == PITH_OP_CONV_INTEGER && g->nodes[p].attr[ATTR_CONV_GROUP] > 1))
        return false;
    plans[p].add = n;
    plans[p].residual = other;
    plans[p].act = plans[n].act;
    plans[p].out = plans[n].out;
    plans[n].action = NODE_GONE;
    vp[v].kind = VALUE_GONE;
    return true;
}

/* A DequantizeLinear goes once its last reader has become a step on bytes. */
static void take_chain(const struct graph *g, const struct tview *value, struct node_plan *plans,
                       struct value_plan *vp, uint32_t n, uint32_t q)
{
    const struct graph_node *node = &g->nodes[n];
    const struct shape *x = &value[node->in[0]].shape, *y = &value[node->first_out].shape;
    bool row_major = pith_integer_chain_is_row_major(node->info, node->attr, x, y);
    plans[n].chain = row_major ? CHAIN_FLOATS : CHAIN_REAL;
    plans[n].quantize = q;
    plans[n].out = g->nodes[q].first_out;
    plans[q].action = NODE_GONE;
    vp[node->first_out].kind = VALUE_GONE;
    for (uint32_t i = 0; i < node->n_in; i++) {
        uint32_t real = node->in[i];
        if (pith_plan_is_constant(g, real)) {
            plans[n].chain = CHAIN_FLOATS;
            continue;
        }
        if (--vp[real].n_uses == 0) {
            plans[maker(g, real)].action = NODE_GONE;
            vp[real].kind = VALUE_GONE;
        }
    }
}

/* From the QuantizeLinear back: the end of the pattern gives the result's grid. */
void pith_plan_fuse_chains(const struct graph *g, const struct tview *value, struct node_plan *node,
                           struct value_plan *vp)
{
    for (uint32_t q = 0; q < g->n_nodes; q++) {
        const struct graph_node *by = &g->nodes[q];
        if (by->info->op != PITH_OP_QUANTIZE || node[q].action != NODE_RUN ||
            value[by->in[0]].type != PITH_F32 || vp[by->in[0]].n_uses != 1 ||
            !has_one_grid(g, value, by, by->first_out))
            continue;
        uint32_t n = maker(g, by->in[0]);
        if (n == PITH_NO_NODE)
            continue;
        uint32_t sum = behind_relu(g, node, vp, n);
        if (sum != n && is_chain(g, value, node, sum, q)) {
            node[n].action = NODE_GONE;
            node[sum].act = ACT_RELU;
            vp[by->in[0]].kind = VALUE_GONE;
            take_chain(g, value, node, vp, sum, q);
        } else if (is_chain(g, value, node, n, q)) {
            take_chain(g, value, node, vp, n, q);
        }
    }
    /* Afterwards, when it is known which chains there are. */
    for (uint32_t n = 0; n < g->n_nodes; n++)
        if (node[n].chain == CHAIN_REAL && g->nodes[n].info->op == PITH_OP_ADD &&
            !give_to_product(g, value, node, vp, n, 0))
            give_to_product(g, value, node, vp, n, 1);
}
