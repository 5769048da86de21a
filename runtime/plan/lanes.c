/* SPDX-License-Identifier: MIT */
/* lanes.c - operands of steps that run a group of samples at a time (segment.c).
 *
 * Such a step sees of each value with samples one group: a view of its own, which moves from group
 * to group where the value is there for the whole batch, and lies in the lane's memory where it is
 * not. Lanes from 1 on have copies of all views and of the op_args that point to them; what was
 * prepared and lowered is read alone, so all share it. */
#include "plan/plan_build.h"

/* Operands with samples of node n's step: what segment.c found not to be constant. */
static uint32_t count_views(const struct builder *b, uint32_t n)
{
    const struct graph *g = &b->plan->graph;
    const struct node_plan *np = &b->node[n];
    uint32_t count = g->nodes[n].n_out + (np->residual != PLAN_NONE);
    for (uint32_t i = 0; i < pith_step_own_inputs(g, b->node, n); i++) {
        uint32_t v = pith_step_input(g, b->node, n, i);
        count += v != PITH_NO_VALUE && !pith_plan_is_constant(g, v);
    }
    return count;
}

/* A concat that will have no step has room, too. */
enum pith_status pith_lanes_reserve(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    uint32_t n_views = 0, n_operations = 0;
    for (uint32_t n = 0; n < plan->graph.n_nodes; n++)
        if (b->node[n].segment && b->node[n].action != NODE_GONE) {
            n_views += count_views(b, n);
            n_operations++;
        }
    plan->lanes = 1;
    for (uint32_t i = 0; i < plan->n_segments; i++)
        if (plan->segment[i].lanes > plan->lanes)
            plan->lanes = plan->segment[i].lanes;
    plan->view = pith_block_low(&b->block, (uint64_t)plan->lanes * n_views, sizeof *plan->view);
    plan->operation = pith_block_low(&b->block, n_operations, sizeof *plan->operation);
    return plan->view && plan->operation ? PITH_OK : PITH_ERR_SPACE;
}

static struct tview *add_view(struct pith_plan *plan, const struct step *s, uint32_t v)
{
    struct lane_view *x = &plan->view[plan->n_views++];
    x->view = plan->value[v];
    x->view.shape.dim[0] = plan->segment[s->segment - 1].group;
    x->value = v;
    return &x->view;
}

/* Steps come in order, so those of a segment stand side by side. */
void pith_lanes_split(struct builder *b, struct step *s, const struct tview **in,
                      struct tview **out)
{
    struct pith_plan *plan = b->plan;
    const struct graph *g = &plan->graph;
    uint32_t n = (uint32_t)(s->node - g->nodes), at = (uint32_t)(s - plan->step);
    const struct node_plan *np = &b->node[n];
    s->segment = np->segment;
    struct segment *segment = &plan->segment[s->segment - 1];
    if (segment->end == 0) {
        segment->first = at;
        segment->operation = plan->n_operations;
    }
    segment->end = at + 1;
    struct lane_operation *o = &plan->operation[plan->n_operations++];
    o->first_view = plan->n_views;
    for (uint32_t i = 0; i < s->args.n_in; i++) {
        uint32_t v = pith_step_input(g, b->node, n, i);
        if (v != PITH_NO_VALUE && !pith_plan_is_constant(g, v))
            in[i] = add_view(plan, s, v);
    }
    if (np->residual != PLAN_NONE)
        s->args.fuse.residual = add_view(plan, s, np->residual);
    for (uint32_t i = 0; i < s->args.n_out; i++)
        out[i] = add_view(plan, s, i == 0 ? np->out : s->node->first_out + i);
    o->n_views = plan->n_views - o->first_view;
}

/* The same view of another lane; what is none of them is the same for all. */
static const struct tview *view_in_lane(const struct pith_plan *plan, const struct tview *t,
                                        uint32_t lane)
{
    uint32_t i;
    return plan_lane_view(plan, t, &i) ? &plan->view[lane * plan->n_views + i].view : t;
}

static enum pith_status copy_operation(struct builder *b, const struct step *s, uint32_t lane)
{
    struct pith_plan *plan = b->plan;
    uint32_t number = plan_operation(plan, s);
    const struct lane_operation *o = &plan->operation[number];
    struct op_args *to = &plan->copy[(size_t)(lane - 1) * plan->n_operations + number];
    const struct tview **in = pith_block_low(&b->block, s->args.n_in, sizeof *in);
    struct tview **out = pith_block_low(&b->block, s->args.n_out, sizeof *out);
    if (!in || !out)
        return PITH_ERR_SPACE;
    *to = s->args;
    for (uint32_t i = 0; i < s->args.n_in; i++)
        in[i] = s->args.in[i] ? view_in_lane(plan, s->args.in[i], lane) : NULL;
    const struct lane_view *last =
        &plan->view[(size_t)lane * plan->n_views + o->first_view + o->n_views];
    for (uint32_t i = 0; i < s->args.n_out; i++) /* the last views of a step, in order */
        out[i] = &plan->view[last - plan->view - s->args.n_out + i].view;
    if (s->args.fuse.residual)
        to->fuse.residual = view_in_lane(plan, s->args.fuse.residual, lane);
    to->in = in;
    to->out = out;
    return PITH_OK;
}

enum pith_status pith_lanes_copy(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    enum pith_status st = PITH_OK;
    uint64_t n = (uint64_t)(plan->lanes - 1) * plan->n_operations;
    plan->copy = pith_block_low(&b->block, n, sizeof *plan->copy);
    if (!plan->copy)
        return PITH_ERR_SPACE;
    for (uint32_t lane = 1; lane < plan->lanes; lane++) {
        memcpy(plan->view + (size_t)lane * plan->n_views, plan->view,
               plan->n_views * sizeof *plan->view);
        for (uint32_t i = 0; i < plan->n_steps && !st; i++)
            if (plan->step[i].segment)
                st = copy_operation(b, &plan->step[i], lane);
    }
    return st;
}

/* Where a value of the whole batch lies pixel by pixel inside of a larger one, so do its groups. */
static uint64_t stride_of(const struct builder *b, const struct segment *s, uint32_t v)
{
    const struct value_plan *p = &b->vp[v];
    uint64_t bytes = p->bytes / s->n_groups;
    return p->pixel_step ? bytes / b->plan->value[v].shape.dim[1] * p->pixel_step : bytes;
}

static void place_view(const struct builder *b, const struct segment *s, uint32_t lane,
                       struct lane_view *x)
{
    bool own = b->vp[x->value].segment != 0;
    x->base = b->plan->value[x->value].data;
    if (own && lane < s->lanes)
        x->base += lane * s->lane_bytes;
    x->stride = own ? 0 : stride_of(b, s, x->value);
    x->view.data = x->base;
}

void pith_lanes_place(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    for (uint32_t lane = 0; lane < plan->lanes; lane++)
        for (uint32_t i = 0; i < plan->n_steps; i++) {
            const struct step *s = &plan->step[i];
            if (!s->segment)
                continue;
            uint32_t number = plan_operation(plan, s);
            const struct lane_operation *o = &plan->operation[number];
            if (lane)
                plan->copy[(size_t)(lane - 1) * plan->n_operations + number].prep = s->args.prep;
            for (uint32_t k = 0; k < o->n_views; k++)
                place_view(b, &plan->segment[s->segment - 1], lane,
                           &plan->view[(size_t)lane * plan->n_views + o->first_view + k]);
        }
}
