/* SPDX-License-Identifier: MIT */
/* cache.c - inputs that grow in memory of the caller: opts.caches.
 *
 *     past [B, H, P, D], new [B, H, S, D] --Concat--> present [B, H, P + S, D]
 *
 * With a cache of B*H rows of `room` elements [D], past and present are the beginnings of its rows:
 * the Concat copies `new` alone. Where there are several rows, their beginnings lie apart, which
 * Attention can read (op_args.room), and no other operator. One row is as dense as any value.
 *
 * Where P is 0 the graph's Concat has no input but `new` (op_empty.h). */
#include "plan/plan_build.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_empty.h"
#include "validate/region.h"

const struct pith_cache *pith_plan_cache_of(const struct pith_plan *plan, uint32_t v)
{
    const struct pith_cache *c = plan->cache;
    while (c->input != v && plan->graph.outputs[c->output] != v)
        c++;
    return c;
}

/* Value v, whose rows lie apart, is read by Attention alone, as keys or values whose number grows.
 */
static bool is_read_by_rows(const struct graph *g, uint32_t v, uint32_t axis)
{
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++) {
            const struct graph_node *node = &g->nodes[n];
            if (node->in[i] != v)
                continue;
            if (node->info->op != PITH_OP_ATTENTION || (i != 1 && i != 2))
                return false;
            const bool rows_first = node->attr[ATTR_ATTENTION_LAYOUT] >> i & 1;
            if (axis != (rows_first ? 1u : 2u))
                return false;
        }
    return true;
}

static bool may_stay(const struct builder *b, const struct pith_cache *c)
{
    const struct graph *g = &b->plan->graph;
    const uint32_t out = g->outputs[c->output], n = pith_graph_producer(g, out);
    const struct value_plan *in = &b->vp[c->input], *vp = &b->vp[out];
    if (n == PITH_NO_NODE || g->nodes[n].info->op != PITH_OP_CONCAT ||
        g->nodes[n].first_out != out || g->nodes[n].region != PITH_NO_NODE ||
        b->node[n].action != NODE_RUN || b->node[n].chain != CHAIN_NONE ||
        (uint32_t)g->nodes[n].attr[ATTR_AXIS] != c->axis)
        return false;
    if (in->kind != VALUE_INPUT || vp->kind != VALUE_TEMP || vp->channels_last)
        return false;
    const struct graph_node *node = &g->nodes[n];
    const bool empty = tensor_is_empty(&b->plan->value[c->input]);
    if (empty ? node->n_in != 1 : node->n_in != 2 || node->in[0] != c->input || in->n_uses != 1)
        return false;
    return shape_product(&b->plan->value[out].shape, 0, c->axis) == 1 ||
           is_read_by_rows(g, out, c->axis);
}

enum pith_status pith_plan_caches(struct builder *b, bool share)
{
    struct pith_plan *plan = b->plan;
    const struct pith_opts *o = &plan->opts;
    const struct graph *g = &plan->graph;
    struct pith_cache *used = pith_block_low(&b->block, o->n_caches, sizeof *used);
    if (!used)
        return PITH_ERR_SPACE;
    plan->cache = used;
    for (uint32_t i = 0; i < o->n_caches; i++) {
        const struct pith_cache *c = &o->caches[i];
        if (c->input >= g->n_inputs || c->output >= g->n_outputs || !c->data ||
            (uintptr_t)c->data % PLAN_ALIGN)
            return PITH_ERR_ARGUMENT;
        const struct tview *out = &plan->value[g->outputs[c->output]];
        struct shape all = out->shape;
        uint64_t bytes;
        if (c->axis >= all.rank || all.dim[c->axis] > c->room)
            return PITH_ERR_ARGUMENT;
        all.dim[c->axis] = c->room;
        if (pith_shape_bytes(&all, out->type, &bytes))
            return PITH_ERR_ARGUMENT;
        if (!share || o->batch != 1 || !may_stay(b, c))
            continue;
        b->vp[c->input].kind = b->vp[g->outputs[c->output]].kind = VALUE_CACHE;
        used[plan->n_caches++] = *c;
    }
    return PITH_OK;
}
