/* SPDX-License-Identifier: MIT */
/* segment.c - which steps run a group of samples at a time (micro-batches).
 *
 * A layer that runs over a whole batch hands on more than a core's cache holds. So neighbouring
 * steps in which samples do not meet - index i of axis 0 of what they write depends on index i of
 * axis 0 of what they read, and on constants - form a segment: all of its steps run for one group
 * of samples, then for the next. What only they touch needs memory for one group; the rest is read
 * and written a group at a time where it lies. Operators' need() gets the group's
 * shapes, so a group of one gives the bits of a batch of one.
 *
 * Which group: bytes that leave the cache for each sample are counted - weights once a group,
 * activations where they do not fit, what is handed from one segment to the next - and the least
 * sum over all steps is found step by step (Viterbi). The machine's cache and threads do not
 * count: the groups decide kernels, and kernels decide bits. */
#include "plan/plan_build.h"
#include "op_interface/op_attr.h"

/* Caches of today's cores and chips, rounded down: of a core, of which half is left to what is
 * not counted; its share of the one behind. */
#define CORE_CACHE (UINT64_C(1) << 19)
#define CHIP_CACHE (UINT64_C(1) << 23)
/* What a byte costs from the chip's cache (1), and from memory. */
#define MEMORY_COST 4u
/* A call of a step takes as long as so many bytes. */
#define CALL_BYTES (UINT64_C(1) << 15)

#define MAX_OPERANDS 32u

/* ---- which steps ---------------------------------------------------------------------------- */

static bool lacks(const int32_t *attr, uint32_t slot, int32_t axis)
{
    for (uint32_t i = 0; i < attr_count(attr, slot); i++)
        if (attr[slot + 1 + i] == axis)
            return false;
    return true;
}

/* Of what has axis 0 as its input has it, each index is made of the same index. */
static bool keeps_samples_apart(const struct graph_node *node, const struct shape *y)
{
    const uint32_t apart =
        TRAIT_CHANNELS_FIRST | TRAIT_UNARY | TRAIT_BROADCASTS | TRAIT_RECTIFIES | TRAIT_GRID;
    switch (node->info->op) {
    case PITH_OP_CONCAT:
    case PITH_OP_SPLIT:
        return node->attr[ATTR_AXIS] != 0;
    case PITH_OP_SOFTMAX:
    case PITH_OP_LOG_SOFTMAX:
        return node->attr[ATTR_SOFTMAX_AXIS] != 0;
    case PITH_OP_LAYER_NORM:
        return node->attr[ATTR_LAYER_NORM_AXIS] != 0;
    case PITH_OP_TRANSPOSE:
        return attr_item(node->attr, ATTR_PERM, 0, -1) == 0;
    case PITH_OP_SLICE:
        return lacks(node->attr, ATTR_SLICE_AXES, 0);
    case PITH_OP_REDUCE_MEAN:
        return attr_count(node->attr, ATTR_AXES) > 0 && lacks(node->attr, ATTR_AXES, 0);
    case PITH_OP_MATMUL: /* rows of a plain matrix are better multiplied all at once */
        return y->rank > 2;
    case PITH_OP_DEPTH_SPACE:
    case PITH_OP_ATTENTION:
        return true;
    default:
        return node->info->flags & OP_VIEW || node->info->traits.flags & apart;
    }
}

/* Operators of which not input 0 alone may have samples. */
static bool joins(const struct graph_node *node)
{
    enum pith_op op = node->info->op;
    return node->info->traits.flags & (TRAIT_BROADCASTS | TRAIT_RECTIFIES) ||
           op == PITH_OP_CONCAT || op == PITH_OP_MATMUL || op == PITH_OP_ATTENTION;
}

struct choice {
    struct builder *b;
    uint32_t batch;
    uint32_t n_groups, group[SEGMENT_GROUPS]; /* divisors of the batch; the last: all of it */
};

static const struct shape *shape_of(const struct choice *c, uint32_t v)
{
    return &c->b->plan->value[v].shape;
}

static bool has_samples(const struct choice *c, uint32_t v)
{
    return shape_of(c, v)->rank > 0 && shape_of(c, v)->dim[0] == c->batch;
}

/* Input i of node n, as its step reads it, is a sample's part or the same for all of them. Of
 * several inputs that are joined axis 0 must be the same axis. */
static bool input_fits(const struct choice *c, uint32_t n, uint32_t i)
{
    const struct graph *g = &c->b->plan->graph;
    const struct graph_node *node = &g->nodes[n];
    uint32_t v = pith_step_input(g, c->b->node, n, i);
    if (v == PITH_NO_VALUE)
        return true;
    const struct shape *x = shape_of(c, v), *y = shape_of(c, c->b->node[n].out);
    if (pith_plan_is_constant(g, v))
        return i > 0 && (!joins(node) || x->rank < y->rank || x->dim[0] == 1);
    return has_samples(c, v) && (i == 0 || (joins(node) && i < node->n_in)) &&
           (!joins(node) || x->rank == y->rank);
}

/* The operator's own rule gives the same shapes for one sample, but for axis 0. */
static bool shapes_fit(const struct choice *c, uint32_t n)
{
    const struct graph *g = &c->b->plan->graph;
    const struct graph_node *node = &g->nodes[n];
    struct tview view[MAX_OPERANDS], *out[MAX_OPERANDS];
    const struct tview *in[MAX_OPERANDS];
    uint32_t own = pith_step_own_inputs(g, c->b->node, n);
    if (node->n_in + node->n_out > MAX_OPERANDS)
        return false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        uint32_t v = node->in[i];
        in[i] = v == PITH_NO_VALUE ? NULL : &view[i];
        if (!in[i])
            continue;
        view[i] = c->b->plan->value[v];
        uint32_t read = i < own ? pith_step_input(g, c->b->node, n, i) : v;
        if (read != PITH_NO_VALUE && !pith_plan_is_constant(g, read))
            view[i].shape.dim[0] = 1;
    }
    for (uint32_t i = 0; i < node->n_out; i++)
        out[i] = &view[node->n_in + i];
    struct op_args args = node_args(node, in, out);
    if (node->info->shape(&args))
        return false;
    for (uint32_t i = 0; i < node->n_out; i++) {
        struct shape y = *shape_of(c, node->first_out + i);
        bool is_batch = y.rank > 0 && y.dim[0] == c->batch;
        y.dim[0] = 1;
        if (!is_batch || !pith_shape_equal(&y, &out[i]->shape))
            return false;
    }
    return true;
}

/* May node n's step run a group of samples at a time? */
static bool is_divisible(const struct choice *c, uint32_t n)
{
    const struct graph *g = &c->b->plan->graph;
    const struct node_plan *np = &c->b->node[n];
    const struct graph_node *node = &g->nodes[n];
    if (node->info->flags & OP_CONTROL || node->region != PITH_NO_NODE || node->n_in == 0 ||
        !has_samples(c, np->out) || !keeps_samples_apart(node, shape_of(c, np->out)))
        return false;
    for (uint32_t i = 0; i < pith_step_inputs(g, c->b->node, n); i++)
        if (!input_fits(c, n, i))
            return false;
    if (np->residual != PLAN_NONE &&
        (pith_plan_is_constant(g, np->residual) || !has_samples(c, np->residual)))
        return false;
    return shapes_fit(c, n);
}

/* ---- which groups --------------------------------------------------------------------------- */

/* Bytes a step reads and writes for a sample, and of its weights. */
struct traffic {
    uint64_t in, out, weights;
};

static struct traffic traffic_of(const struct choice *c, uint32_t n)
{
    const struct graph *g = &c->b->plan->graph;
    const struct value_plan *vp = c->b->vp;
    struct traffic t = {0};
    for (uint32_t i = 0; i < pith_step_inputs(g, c->b->node, n); i++) {
        uint32_t v = pith_step_input(g, c->b->node, n, i);
        if (v != PITH_NO_VALUE)
            *(pith_plan_is_constant(g, v) ? &t.weights : &t.in) += vp[v].bytes;
    }
    if (c->b->node[n].residual != PLAN_NONE)
        t.in += vp[c->b->node[n].residual].bytes;
    t.out = vp[c->b->node[n].out].bytes;
    for (uint32_t i = 1; i < g->nodes[n].n_out; i++)
        t.out += vp[g->nodes[n].first_out + i].bytes;
    t.in /= c->batch;
    t.out /= c->batch;
    return t;
}

/* Of `bytes` a sample that are written and read by `samples` at a time. */
static uint64_t leaving(uint64_t bytes, uint64_t samples)
{
    if (bytes * samples <= CORE_CACHE)
        return 0;
    return bytes * samples <= CHIP_CACHE ? bytes : MEMORY_COST * bytes;
}

/* A step over the whole batch is cut among threads, so what it reads comes from other cores. */
static uint64_t step_cost(const struct choice *c, const struct traffic *t, uint32_t group)
{
    uint64_t act = t->in + t->out, left = leaving(act, group);
    if (group == c->batch && left == 0)
        left = act;
    return (t->weights + CALL_BYTES) / group + left;
}

/* What lies between steps of different groups is there for the whole batch. */
static uint64_t change_cost(const struct choice *c, const struct traffic *t, uint32_t from,
                            uint32_t to)
{
    return from == to ? 0 : 2 * leaving(t->in, c->batch) + CALL_BYTES / c->batch;
}

static void set_groups(struct choice *c)
{
    for (uint32_t d = 1; d <= c->batch / 2 && d <= UINT16_MAX && c->n_groups + 1 < SEGMENT_GROUPS;
         d++)
        if (c->batch % d == 0)
            c->group[c->n_groups++] = d;
    c->group[c->n_groups++] = c->batch;
}

/* One step of Viterbi: cost[k]: of the best way to node n that ends in group k; from[k]: the group
 * before. Steps that cannot be divided take the last group. */
static void advance(const struct choice *c, uint32_t n, bool divisible, uint64_t *cost,
                    uint8_t *from)
{
    uint64_t before[SEGMENT_GROUPS];
    struct traffic t = traffic_of(c, n);
    memcpy(before, cost, sizeof before);
    for (uint32_t k = 0; k < c->n_groups; k++) {
        cost[k] = UINT64_MAX;
        if (!divisible && k + 1 < c->n_groups)
            continue;
        for (uint32_t j = 0; j < c->n_groups; j++) {
            if (before[j] == UINT64_MAX)
                continue;
            uint64_t sum = before[j] + change_cost(c, &t, c->group[j], c->group[k]);
            if (sum < cost[k]) {
                cost[k] = sum;
                from[k] = (uint8_t)j;
            }
        }
        cost[k] += step_cost(c, &t, c->group[k]);
    }
}

/* Sets node_plan.segment of all steps to their group, 0: the batch. from:
 * [n_nodes][SEGMENT_GROUPS]. */
static void find_groups(const struct choice *c, uint8_t (*from)[SEGMENT_GROUPS])
{
    const struct graph *g = &c->b->plan->graph;
    struct node_plan *node = c->b->node;
    uint64_t cost[SEGMENT_GROUPS] = {0};
    uint32_t best = c->n_groups - 1;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        if (node[n].action == NODE_RUN)
            advance(c, n, is_divisible(c, n), cost, from[n]);
    for (uint32_t k = 0; k < c->n_groups; k++)
        best = cost[k] < cost[best] ? k : best;
    for (uint32_t n = g->n_nodes; n-- > 0;) {
        node[n].segment = 0;
        if (node[n].action != NODE_RUN)
            continue;
        node[n].segment = (uint16_t)(best + 1 < c->n_groups ? c->group[best] : 0);
        best = from[n][best];
    }
}

/* ---- segments ------------------------------------------------------------------------------- */

/* Nodes first .. last have one group. A view at an end moves nothing outside of the segment, and
 * a step alone hands nothing on: they stay out. */
static bool trim(const struct builder *b, uint32_t *first, uint32_t *last)
{
    const struct graph *g = &b->plan->graph;
    const struct node_plan *node = b->node;
    while (*first < *last &&
           (node[*first].action != NODE_RUN || g->nodes[*first].info->flags & OP_VIEW))
        ++*first;
    while (*first < *last &&
           (node[*last].action != NODE_RUN || g->nodes[*last].info->flags & OP_VIEW))
        --*last;
    return *first < *last;
}

/* The next run of steps of one group from node *at on, which goes behind it; false: none. */
static bool next_segment(const struct builder *b, uint32_t *at, struct segment *s)
{
    const struct node_plan *node = b->node;
    uint32_t n_nodes = b->plan->graph.n_nodes;
    while (*at < n_nodes) {
        uint32_t first = *at, last = first;
        for (; *at < n_nodes; ++*at) {
            if (node[*at].action != NODE_RUN)
                continue;
            if (node[*at].segment != node[first].segment)
                break;
            last = *at;
        }
        if (node[first].segment && trim(b, &first, &last)) {
            *s = (struct segment){
                .first_node = first, .last_node = last, .group = node[first].segment};
            return true;
        }
    }
    return false;
}

static void enter_segment(struct builder *b, struct segment *s, uint16_t number)
{
    const struct pith_opts *o = &b->plan->opts;
    const uint32_t threads = plan_threads(o);
    s->n_groups = o->batch / s->group;
    /* Without vectors weights may be read in another form where there are no threads. */
    s->lanes = b->plan->kernels.features && s->n_groups >= threads ? threads : 1;
    for (uint32_t n = s->first_node; n <= s->last_node; n++) {
        struct node_plan *np = &b->node[n];
        if (np->action != NODE_RUN)
            continue;
        np->segment = number;
        b->vp[np->out].segment = number;
        for (uint32_t i = 1; i < b->plan->graph.nodes[n].n_out; i++)
            b->vp[b->plan->graph.nodes[n].first_out + i].segment = number;
    }
}

static void clear(struct builder *b, uint32_t first, uint32_t end)
{
    for (uint32_t n = first; n < end; n++)
        b->node[n].segment = 0;
}

static void leave_segment(struct builder *b, uint32_t v, uint32_t reader)
{
    if (v != PITH_NO_VALUE && b->vp[v].segment != reader)
        b->vp[v].segment = 0;
}

/* What another step reads, or the caller, is there for the whole batch; the rest for a group. */
static void set_values(struct builder *b)
{
    const struct graph *g = &b->plan->graph;
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        const struct node_plan *np = &b->node[n];
        if (np->action != NODE_RUN)
            continue;
        for (uint32_t i = 0; i < pith_step_inputs(g, b->node, n); i++)
            leave_segment(b, pith_step_input(g, b->node, n, i), np->segment);
        leave_segment(b, np->residual, np->segment);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        b->vp[g->outputs[i]].segment = 0;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (b->vp[v].segment) {
            const struct segment *s = &b->plan->segment[b->vp[v].segment - 1];
            b->plan->value[v].shape.dim[0] = s->group;
            b->vp[v].bytes = b->vp[v].bytes / s->n_groups;
        }
}

enum pith_status pith_plan_segments(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    struct choice c = {.b = b, .batch = plan->opts.batch};
    struct segment s;
    set_groups(&c);
    uint8_t(*from)[SEGMENT_GROUPS] = pith_block_high(&b->block, plan->graph.n_nodes, sizeof *from);
    if (!from)
        return PITH_ERR_SPACE;
    find_groups(&c, from);
    for (uint32_t at = 0; plan->n_segments < UINT16_MAX && next_segment(b, &at, &s);)
        plan->n_segments++;
    plan->segment = pith_block_low(&b->block, plan->n_segments, sizeof *plan->segment);
    if (!plan->segment)
        return PITH_ERR_SPACE;
    uint32_t done = 0; /* nodes before it know their segment, not their group */
    for (uint32_t at = 0, i = 0; i < plan->n_segments; i++)
        if (next_segment(b, &at, &plan->segment[i])) {
            clear(b, done, plan->segment[i].first_node);
            enter_segment(b, &plan->segment[i], (uint16_t)(i + 1));
            done = plan->segment[i].last_node + 1;
        }
    clear(b, done, plan->graph.n_nodes);
    set_values(b);
    return PITH_OK;
}
