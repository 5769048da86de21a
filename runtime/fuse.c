/* SPDX-License-Identifier: MIT */
/* Vertical fusion: what follows a Conv, Gemm or MatMul is added while its result is still in
 * registers: y = act(acc + bias + residual).
 *
 *     Conv -> Add(constant per channel) -> Add(other branch) -> Relu      one step
 *
 * A node joins the chain when it stands in the same body, and the chain's value has no other reader
 * and is not a graph output. The other branch of an Add must be there before the chain's first node
 * runs: its number is smaller than that node's output. So of two convolutions that meet in an Add
 * the later one takes it, and the step keeps the place of its first node in the order. */
#include "plan.h"

#define F32_ONE 0x3f800000

static const int32_t gemm_attr[2][4] = {
    {[ATTR_GEMM_TRANS_B] = 0, [ATTR_GEMM_ALPHA] = F32_ONE, [ATTR_GEMM_BETA] = F32_ONE},
    {[ATTR_GEMM_TRANS_B] = 1, [ATTR_GEMM_ALPHA] = F32_ONE, [ATTR_GEMM_BETA] = F32_ONE},
};

const int32_t *pith_plan_gemm_attr(const struct graph_node *matmul)
{
    return gemm_attr[matmul->attr[ATTR_MATMUL_TRANS_B] != 0];
}

bool pith_plan_is_constant(const struct graph *g, uint32_t value)
{
    return value >= g->n_inputs && value - g->n_inputs < g->n_weights;
}

static bool has_bias(const struct graph_node *node)
{
    return node->n_in > 2 && node->in[2] != PITH_NO_VALUE;
}

/* Every dim of s is 1, except that the axis which meets axis `channel` of an output of rank
 * out_rank (numpy broadcasting aligns the last axes) has n entries. */
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

/* Whether the constant `bias` can be the operator's own bias input. */
static bool takes_bias(const struct graph_node *node, const struct tview *value,
                       const struct node_plan *np, const struct tview *bias)
{
    const struct shape *out = &value[node->first_out].shape;
    if (has_bias(node) || np->bias != PLAN_NONE || np->residual != PLAN_NONE)
        return false;
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

/* The Add `add` behind value v of node n's chain: as bias or as residual. */
static bool fuse_add(const struct graph *g, const struct tview *value, uint32_t n,
                     const struct graph_node *add, uint32_t v, struct node_plan *np)
{
    uint32_t other = add->in[0] == v ? add->in[1] : add->in[0];
    if (other == v || value[other].type != PITH_F32 ||
        !pith_shape_equal(&value[add->first_out].shape, &value[v].shape))
        return false;
    const struct graph_node *node = &g->nodes[n];
    if (pith_plan_is_constant(g, other) && takes_bias(node, value, np, &value[other])) {
        np->bias = other;
        np->as_gemm = node->info->op == PITH_OP_MATMUL && value[node->first_out].shape.rank == 2;
        return true;
    }
    if (np->residual != PLAN_NONE || other >= node->first_out ||
        !pith_shape_equal(&value[other].shape, &value[v].shape))
        return false;
    np->residual = other;
    return true;
}

/* false: not an activation that an epilogue knows. */
static bool fuse_activation(const struct graph_node *node, struct node_plan *np)
{
    switch (node->info->op) {
    case PITH_OP_RELU:
        np->act = ACT_RELU;
        return true;
    case PITH_OP_CLIP:
        np->act = ACT_CLIP;
        np->a = attr_f32(node->attr, ATTR_CLIP_MIN);
        np->b = attr_f32(node->attr, ATTR_CLIP_MAX);
        return true;
    case PITH_OP_LEAKY_RELU:
        np->act = ACT_LEAKY;
        np->a = attr_f32(node->attr, ATTR_ALPHA);
        return true;
    case PITH_OP_SIGMOID:
        np->act = ACT_SIGMOID;
        return true;
    case PITH_OP_TANH:
        np->act = ACT_TANH;
        return true;
    case PITH_OP_HARD_SIGMOID:
        np->act = ACT_HARD_SIGMOID;
        np->a = attr_f32(node->attr, ATTR_ALPHA);
        np->b = attr_f32(node->attr, ATTR_BETA);
        return true;
    case PITH_OP_HARD_SWISH:
        np->act = ACT_HARD_SWISH;
        return true;
    case PITH_OP_UNARY:
        if (node->attr[ATTR_KIND] != UNARY_GELU && node->attr[ATTR_KIND] != UNARY_GELU_TANH)
            return false;
        np->act = node->attr[ATTR_KIND] == UNARY_GELU ? ACT_GELU : ACT_GELU_TANH;
        return true;
    default:
        return false;
    }
}

/* Grows the chain of node n as far as it goes. */
static void fuse_chain(const struct graph *g, const struct tview *value, uint32_t n,
                       struct node_plan *plans, struct value_plan *vp)
{
    struct node_plan *np = &plans[n];
    while (np->act == ACT_NONE) {
        uint32_t v = np->out;
        uint32_t next = vp[v].consumer;
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

void pith_plan_fuse(const struct graph *g, const struct tview *value, struct node_plan *node,
                    struct value_plan *vp)
{
    for (uint32_t n = 0; n < g->n_nodes; n++)
        if (node[n].action == NODE_RUN && (g->nodes[n].info->flags & OP_FUSES))
            fuse_chain(g, value, n, node, vp);
}
