/* SPDX-License-Identifier: MIT */
/* Which constants keep their struct weight, 216 bytes each: those that an operator reads in file
 * form, and those that are decoded. Scales, zero points, biases lie in the image as they are
 * computed with, so that their place there is all that a plan needs; a network of integers has more
 * of them than of weights. */
#include "plan/plan_build.h"

/* May the node read its input i in file form? (plan_steps.c decides. Tables are read so where they
 * are coded alone.) */
static bool may_be_weight(const struct graph_node *node, uint32_t i)
{
    return i == 1 && (node->info->flags & OP_WEIGHT);
}

/* kept_as[c] = PLAN_NONE where the image is enough. */
static void find_kept(struct builder *b)
{
    const struct graph *g = &b->plan->graph;
    for (uint32_t c = 0; c < g->n_weights; c++)
        b->kept_as[c] = pith_weight_borrow(&g->weights[c]) ? PLAN_NONE : 0;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in && i < 2; i++)
            if (may_be_weight(&g->nodes[n], i) && pith_plan_is_constant(g, g->nodes[n].in[i]))
                b->kept_as[g->nodes[n].in[i] - g->n_inputs] = 0;
}

/* Behind what the graph keeps: where the weights of a graph that was read stand already, so that
 * none is written over before it was read. cpu: kernels that read coded weights at each run choose
 * by these bits. */
static void keep(struct builder *b, struct weight *to)
{
    struct pith_plan *plan = b->plan;
    const struct weight *from = plan->graph.weights;
    plan->weight = to;
    for (uint32_t c = 0; c < plan->graph.n_weights; c++) {
        b->const_at[c] = NOT_STORED;
        if (b->kept_as[c] == PLAN_NONE) {
            b->const_at[c] = IN_IMAGE + (uint64_t)(from[c].index_stream.bytes - plan->image);
            continue;
        }
        b->kept_as[c] = plan->n_kept;
        to[plan->n_kept] = from[c];
        to[plan->n_kept++].cpu = plan->opts.cpu_mask;
    }
}

enum pith_status pith_build_weights(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    struct graph *g = &plan->graph;
    b->kept_as = pith_block_high(&b->block, g->n_weights, sizeof *b->kept_as);
    b->const_at = pith_block_high(&b->block, g->n_weights, sizeof *b->const_at);
    if (!b->kept_as || !b->const_at)
        return PITH_ERR_SPACE;
    find_kept(b);
    uint64_t at = b->graph_at + g->kept_bytes;
    keep(b, (struct weight *)(void *)(b->block.mem + at));
    b->block.low = at + plan->n_kept * sizeof *plan->weight;
    g->weights = NULL;
    plan->weight_value = pith_block_low(&b->block, plan->n_kept, sizeof *plan->weight_value);
    b->prep_of = pith_block_high(&b->block, plan->n_kept, sizeof *b->prep_of);
    if (!plan->weight_value || !b->prep_of)
        return PITH_ERR_SPACE;
    for (uint32_t c = 0; c < g->n_weights; c++)
        if (b->kept_as[c] != PLAN_NONE)
            plan->weight_value[b->kept_as[c]] = g->n_inputs + c;
    return PITH_OK;
}
