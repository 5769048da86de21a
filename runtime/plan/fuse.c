/* SPDX-License-Identifier: MIT */
/* Vertical fusion: what follows a Conv, Gemm or MatMul is added while its result is still in
 * registers: y = act(acc + bias + residual).
 *
 *     Conv -> Add(constant per channel) -> Add(other branch) -> Relu      one step
 *
 * A node joins the chain when it stands in the same body, and the chain's value has no other reader
 * and is not a graph output. The other branch of an Add must be there before the chain's first node
 * runs: its number is smaller than that node's output. So of two convolutions that meet in an Add
 * the later one takes it, and the step keeps the place of its first node in the order.
 *
 * A Requantize or DequantizeLinear is taken into the integer product before it, and a bias added
 * in between: its step then has them as further inputs (integer_conv.h).
 *
 * Fusing saves a pass over memory for each node: a Relu of its own reads and writes its tensor once
 * more. Values are the same bits either way: a step computes act(sum + bias + residual) in the
 * order in which the nodes would have (docs/arithmetic.md), but for packed products, which begin
 * with the bias. */
#include "core/build_choice.h"
#include "products/integer_conv.h"
#include "plan/plan.h"
#include "validate/region.h"
#include "op_interface/op_attr.h"

#define F32_ONE 0x3f800000

/* A MatMul with a bias is this Gemm: the operator is exchanged, its node stays. */
static const int32_t gemm_attr[2][4] = {
    {[ATTR_GEMM_TRANS_B] = 0, [ATTR_GEMM_ALPHA] = F32_ONE, [ATTR_GEMM_BETA] = F32_ONE},
    {[ATTR_GEMM_TRANS_B] = 1, [ATTR_GEMM_ALPHA] = F32_ONE, [ATTR_GEMM_BETA] = F32_ONE},
};

const int32_t *pith_plan_gemm_attr(const struct graph_node *matmul)
{
    return gemm_attr[matmul->attr[ATTR_MATMUL_TRANS_B] != 0];
}

/* Constants are numbered between inputs and nodes' outputs. */
bool pith_plan_is_constant(const struct graph *g, uint32_t value)
{
    return value >= g->n_inputs && value - g->n_inputs < g->n_weights;
}

static bool has_bias(const struct graph_node *node)
{
    return node->n_in > 2 && node->in[2] != PITH_NO_VALUE;
}

/* Every dim of s is 1, except that the axis which meets axis `channel` of an output of rank
 * out_rank (numpy broadcasting aligns the last axes) has n entries. Axes that the constant lacks
 * are 1. */
static bool is_per_channel(const struct shape *s, uint32_t out_rank, uint32_t channel, uint32_t n)
{
    if (s->rank > out_rank || s->rank < out_rank - channel)
        return false;
    uint32_t axis = channel - (out_rank - s->rank);
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dim[i] != (i == axis ? n : 1))
            return false;
    return true;
}

/* Whether the constant `bias` can be the operator's own bias input. After a residual a bias
 * would be added in another order than the nodes say. */
static bool takes_bias(const struct graph_node *node, const struct tview *value,
                       const struct node_plan *np, const struct tview *bias)
{
    const struct shape *out = &value[node->first_out].shape;
    if (has_bias(node) || np->bias != PLAN_NONE || np->residual != PLAN_NONE)
        return false;
    /* Each operator's own bias input has one shape; a Gemm with beta other than 1 would scale it.
     */
    switch (node->info->op) {
    case PITH_OP_CONV:
        return out->rank >= 2 && is_per_channel(&bias->shape, out->rank, 1, out->dim[1]);
    case PITH_OP_GEMM:
        return attr_f32(node->attr, ATTR_GEMM_BETA) == 1.0f && out->rank == 2 &&
               is_per_channel(&bias->shape, 2, 1, out->dim[1]);
    case PITH_OP_MATMUL:
        return value[node->in[0]].shape.rank >= 2 && value[node->in[1]].shape.rank == 2 &&
               is_per_channel(&bias->shape, out->rank, out->rank - 1, out->dim[out->rank - 1]);
    default:
        return false;
    }
}

/* The Add `add` behind value v of node n's chain: as bias or as residual. Neither is broadcast to
 * more than v. In x + x the other operand is v, which the chain has yet to make. */
static bool fuse_add(const struct graph *g, const struct tview *value, uint32_t n,
                     const struct graph_node *add, uint32_t v, struct node_plan *np)
{
    uint32_t other = add->in[0] == v ? add->in[1] : add->in[0];
    /* As bias first: it costs nothing where a sum begins. */
    const struct graph_node *node = &g->nodes[n];
    if (pith_plan_is_constant(g, other) && takes_bias(node, value, np, &value[other])) {
        np->bias = other;
        np->as_gemm = node->info->op == PITH_OP_MATMUL && value[node->first_out].shape.rank == 2;
        return true;
    }
    /* `other` must be there when the chain's first node runs, for the step keeps its place. */
    if (np->residual != PLAN_NONE || other >= node->first_out ||
        !pith_shape_equal(&value[other].shape, &value[v].shape))
        return false;
    np->residual = other;
    return true;
}

static bool fuse_activation(const struct graph_node *node, struct node_plan *np)
{
    struct dense_act act = pith_activation_of(node->info, node->attr);
    if (act.kind == ACT_NONE)
        return false;
    np->act = act.kind;
    np->a = act.a;
    np->b = act.b;
    return true;
}

/* Value v of node n's chain goes to a Sigmoid and to a Mul by what that gives, and nowhere else:
 * their product is one activation. The step then gives what the Mul gave, and neither v nor the
 * gate comes into being. */
static bool fuse_swish(const struct graph *g, uint32_t n, struct node_plan *plans,
                       struct value_plan *vp)
{
    const uint32_t v = plans[n].out, mul = vp[v].consumer;
    if (!BUILT_OP(PITH_OP_SIGMOID) || !BUILT_OP(PITH_OP_MUL) || vp[v].n_uses != 2 ||
        mul == PLAN_NONE || g->nodes[mul].info->op != PITH_OP_MUL)
        return false;
    const struct graph_node *product = &g->nodes[mul];
    const uint32_t gate = product->in[product->in[0] == v];
    if (gate < g->n_inputs + g->n_weights || vp[gate].n_uses != 1)
        return false;
    const uint32_t by = pith_graph_producer(g, gate);
    if (g->nodes[by].info->op != PITH_OP_SIGMOID || g->nodes[by].in[0] != v ||
        g->nodes[by].region != g->nodes[n].region || product->region != g->nodes[n].region)
        return false;
    plans[by].action = plans[mul].action = NODE_GONE;
    vp[v].kind = vp[gate].kind = VALUE_GONE;
    plans[n].act = ACT_SWISH;
    plans[n].out = product->first_out;
    return true;
}

/* Grows the chain of node n as far as it goes. An activation ends the chain: what comes behind
 * it is no part of y = act(...). */
static void fuse_chain(const struct graph *g, const struct tview *value, uint32_t n,
                       struct node_plan *plans, struct value_plan *vp)
{
    struct node_plan *np = &plans[n];
    while (np->act == ACT_NONE) {
        uint32_t v = np->out;
        uint32_t next = vp[v].consumer;
        if (value[v].type == PITH_F32 && fuse_swish(g, n, plans, vp))
            return;
        if (vp[v].n_uses != 1 || next == PLAN_NONE || value[v].type != PITH_F32)
            return;
        const struct graph_node *node = &g->nodes[next];
        if (node->region != g->nodes[n].region)
            return;
        if (node->info->op == PITH_OP_ADD ? !fuse_add(g, value, n, node, v, np)
                                          : !fuse_activation(node, np))
            return;
        plans[next].action = NODE_GONE;
        vp[v].kind = VALUE_GONE;
        np->out = node->first_out;
    }
}

/* Fused on their own terms: kernels of integers take factors and zero points, not floats. */
static bool is_integer_product(const struct graph_node *node)
{
    return node->info->op == PITH_OP_CONV_INTEGER || node->info->op == PITH_OP_MATMUL_INTEGER;
}

/* The kernels run it, whose weights are constant. The descriptor is made only to test whether it
 * can be; the operator makes its own when steps are built. */
static bool is_packed_product(const struct graph *g, const struct tview *value,
                              const struct graph_node *node)
{
    struct integer_conv c;
    struct tview out = value[node->first_out], *outs[1] = {&out};
    const struct tview *in[INTEGER_BIAS + 1] = {0};
    if (!pith_plan_is_constant(g, node->in[1]) || pith_type_bytes(value[node->in[0]].type) != 1)
        return false;
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = node->in[i] == PITH_NO_VALUE ? NULL : &value[node->in[i]];
    struct op_args args = {.info = node->info,
                           .attr = node->attr,
                           .n_in = node->n_in,
                           .n_out = 1,
                           .in = in,
                           .out = outs};
    return node->info->op == PITH_OP_CONV_INTEGER ? pith_integer_conv_of_conv(&args, &c)
                                                  : pith_integer_conv_of_matmul(&args, &c);
}

/* The scales or factors of node `by` lie along the outputs of the product `node` and are there
 * before it runs; the values are bytes, or real numbers of sums around 0. Values that are
 * computed later than the product begins cannot be handed to it. */
static bool takes_scales(const struct tview *value, const struct graph_node *node,
                         const struct graph_node *by)
{
    if (by->info->op != PITH_OP_REQUANTIZE && by->info->op != PITH_OP_DEQUANTIZE)
        return false;
    uint32_t rank = value[node->first_out].shape.rank, factor = by->in[1];
    uint32_t zero = by->n_in > 2 ? by->in[2] : PITH_NO_VALUE;
    bool conv = node->info->op == PITH_OP_CONV_INTEGER;
    enum pith_type type = value[by->first_out].type;
    if (factor >= node->first_out ||
        (shape_elems(&value[factor].shape) > 1 &&
         (uint32_t)by->attr[ATTR_QUANTIZE_AXIS] != (conv ? 1 : rank - 1)))
        return false;
    if (by->info->op == PITH_OP_REQUANTIZE)
        return (type == PITH_I8 || type == PITH_U8) && zero < node->first_out;
    return zero == PITH_NO_VALUE && by->attr[ATTR_QUANTIZE_BLOCK] == 0 &&
           value[factor].shape.rank <= 1;
}

/* Node *next reads the product's value np->out, alone and in its body. As fuse_chain() requires of
 * a float chain. */
static bool is_followed(const struct graph *g, const struct value_plan *vp, uint32_t n,
                        const struct node_plan *np, uint32_t *next)
{
    *next = vp[np->out].consumer;
    return vp[np->out].n_uses == 1 && *next != PLAN_NONE &&
           g->nodes[*next].region == g->nodes[n].region;
}

/* The product's step now gives what the last node taken gave. */
static void take_next(const struct graph *g, uint32_t next, struct node_plan *plans,
                      struct node_plan *np, struct value_plan *vp)
{
    plans[next].action = NODE_GONE;
    vp[np->out].kind = VALUE_GONE;
    np->out = g->nodes[next].first_out;
}

/* A constant that is added to each row of a matrix product's sums, and then a Requantize. The
 * addition of a constant to sums is what exporters write for a bias of MatMulInteger. */
static void fuse_integer(const struct graph *g, const struct tview *value, uint32_t n,
                         struct node_plan *plans, struct value_plan *vp)
{
    const struct graph_node *node = &g->nodes[n], *by;
    struct node_plan *np = &plans[n];
    const struct shape *y = &value[node->first_out].shape;
    uint32_t next;
    if (!is_followed(g, vp, n, np, &next) || !is_packed_product(g, value, node))
        return;
    by = &g->nodes[next];
    /* Sums wrap modulo 2^32, so the constant may be added at any time. */
    if (by->info->op == PITH_OP_ADD && node->info->op == PITH_OP_MATMUL_INTEGER && y->rank > 0) {
        uint32_t bias = by->in[by->in[0] == np->out];
        if (!pith_plan_is_constant(g, bias) || !pith_shape_equal(&value[by->first_out].shape, y) ||
            !is_per_channel(&value[bias].shape, y->rank, y->rank - 1, y->dim[y->rank - 1]))
            return;
        np->bias = bias;
        take_next(g, next, plans, np, vp);
        if (!is_followed(g, vp, n, np, &next))
            return;
        by = &g->nodes[next];
    }
    /* Not as a scale or zero point, which would not be there before the product. */
    if (!takes_scales(value, node, by))
        return;
    np->requantize = next;
    take_next(g, next, plans, np, vp);
}

/* In the order of the list, so that of two products that could take one Add the later one does:
 * for the earlier one its other operand does not exist yet. */
void pith_plan_fuse(const struct graph *g, const struct tview *value, struct node_plan *node,
                    struct value_plan *vp)
{
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        if (node[n].action == NODE_RUN && (g->nodes[n].info->flags & OP_FUSES))
            fuse_chain(g, value, n, node, vp);
        if (node[n].action == NODE_RUN && is_integer_product(&g->nodes[n]))
            fuse_integer(g, value, n, node, vp);
    }
    if (BUILT_TABLES)
        pith_plan_fuse_tables(g, value, node, vp);
    pith_plan_fuse_chains(g, value, node, vp);
}
