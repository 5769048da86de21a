/* SPDX-License-Identifier: MIT */
/* alias.c - which values share storage, so that nothing is copied that need not be.
 *
 * view: Reshape and kin hold the bytes of their input; Split and Slice along the outermost axis
 * that is not 1 give pieces of theirs.
 *
 * concat: along such an axis the inputs are written straight into their piece of the output; of an
 * observed plan those that nothing else reads, since observers may change the output. Channels-last
 * pixels lie in those of the output, so what is written there must be written with the output's
 * step and have no other reader: integer convolutions can.
 *
 * branch: both sides write what they give where BranchEnd's output will lie.
 *
 * in place: an elementwise operator writes over its input when nothing reads that again.
 *
 * Storage is a forest: every value points to a parent and a byte offset in it; a root has a place
 * of its own in the arena (or is a constant). Invariant: two values of one tree that overlap in
 * bytes hold the same bytes whenever both are alive, because a piece is written once - by the
 * producer of its smallest member - except by in-place operators, which need every value of the
 * tree to be dead. (Of values on two sides of a branch only one is ever alive.)
 *
 * Graph outputs are never made views of inputs or constants: the caller may write the next input
 * while he reads the outputs of the last run.
 *
 * Order matters: views and pieces are joined before lifetimes are set, since a lifetime is that of
 * a whole tree; only then is it known what is dead, which in-place operators need. */
#include "plan/plan_build.h"
#include "validate/region.h"
#include "op_interface/op_attr.h"

/* Union-find with offsets. Without ranks: trees follow the graph, and flattening on the way
 * keeps a walk over a chain of n views linear in n over all calls (Tarjan 1975). */
uint32_t pith_plan_root(struct value_plan *vp, uint32_t v, uint64_t *offset)
{
    uint64_t at = 0;
    uint32_t root = v;
    while (vp[root].parent != root) {
        at += vp[root].offset; /* < bytes of the root: every member lies inside its parent */
        root = vp[root].parent;
    }
    *offset = at;
    while (v != root) { /* point all on the way to the root, so that long chains stay cheap */
        uint32_t up = vp[v].parent;
        uint64_t step = vp[v].offset;
        vp[v].parent = root;
        vp[v].offset = at;
        at -= step;
        v = up;
    }
    return root;
}

/* Attaches root `child` to `parent`: one tree from now on. The root's lifetime and output flag
 * cover all members. */
static void attach(struct value_plan *vp, uint32_t child, uint32_t parent, uint64_t offset)
{
    uint64_t unused;
    uint32_t root = pith_plan_root(vp, parent, &unused);
    vp[root].is_output |= vp[child].is_output;
    if (vp[child].first < vp[root].first)
        vp[root].first = vp[child].first;
    if (vp[child].last > vp[root].last)
        vp[root].last = vp[child].last;
    vp[child].parent = parent;
    vp[child].offset = offset; /* where its lifetime was */
}

/* Both are there for one group of samples of one segment, or both for the whole batch: then an
 * offset in one storage is right for every group. */
static bool lie_alike(const struct value_plan *vp, uint32_t a, uint32_t b)
{
    return !PLAN_SEGMENTS || vp[a].segment == vp[b].segment;
}

/* The number of elements before `axis` is 1: pieces along it are contiguous. Then what is before
 * an index of `axis` is nothing, and what is behind it is one run. */
static bool is_outermost(const struct shape *s, uint32_t axis)
{
    return axis < s->rank && shape_product(s, 0, axis) == 1;
}

/* A view of an input or constant stays a copy where it is an output of the graph. */
static void alias_view(const struct graph_node *node, struct node_plan *np, struct value_plan *vp)
{
    uint64_t offset;
    uint32_t in = node->in[0], out = node->first_out;
    uint32_t root = pith_plan_root(vp, in, &offset);
    if (vp[in].bytes != vp[out].bytes || !lie_alike(vp, in, out) ||
        (vp[out].is_output && vp[root].kind != VALUE_TEMP))
        return;
    attach(vp, out, in, 0);
    np->action = NODE_GONE;
}

/* Parts must cover the input exactly, in order. That is what Split's shape rule says; the sum is
 * formed again because the offsets rest on it. */
static void alias_split(const struct graph_node *node, const struct tview *value,
                        struct node_plan *np, struct value_plan *vp)
{
    uint64_t at = 0, unused;
    uint32_t in = node->in[0];
    uint32_t root = pith_plan_root(vp, in, &unused);
    if (!is_outermost(&value[in].shape, (uint32_t)node->attr[ATTR_AXIS]))
        return;
    for (uint32_t i = 0; i < node->n_out; i++) {
        const struct value_plan *out = &vp[node->first_out + i];
        if ((out->is_output && vp[root].kind != VALUE_TEMP) ||
            !lie_alike(vp, in, node->first_out + i))
            return;
        at += out->bytes;
    }
    if (at != vp[in].bytes)
        return;
    at = 0;
    for (uint32_t i = 0; i < node->n_out; i++) {
        attach(vp, node->first_out + i, in, at);
        at += vp[node->first_out + i].bytes;
    }
    np->action = NODE_GONE;
}

/* *elems: first element of the piece of x that the slice y is; false: not one piece. Starts
 * count as in op_slice.c; that the piece is not empty was tested there, so start < dim. Steps of
 * 1 and one cut axis: the piece is a run of the input. */
static bool slice_start(const int32_t *attr, const struct shape *x, const struct shape *y,
                        uint64_t *elems)
{
    *elems = 0;
    for (uint32_t i = 0; i < attr_count(attr, ATTR_SLICE_AXES); i++) {
        uint32_t axis = (uint32_t)attr[ATTR_SLICE_AXES + 1 + i];
        int64_t start = attr[ATTR_SLICE_STARTS + 1 + i];
        if (attr_item(attr, ATTR_SLICE_STEPS, i, 1) != 1)
            return false;
        if (y->dim[axis] == x->dim[axis])
            continue;
        if (!is_outermost(x, axis)) /* so at most one axis is cut */
            return false;
        start += start < 0 ? x->dim[axis] : 0;
        *elems = start > 0 ? (uint64_t)start * shape_product(x, axis + 1, x->rank) : 0;
    }
    return true;
}

/* The offset is in bytes of the input's type; pieces may overlap, since they are never written. */
static void alias_slice(const struct graph_node *node, const struct tview *value,
                        struct node_plan *np, struct value_plan *vp)
{
    uint64_t elems, unused;
    uint32_t in = node->in[0], out = node->first_out;
    uint32_t root = pith_plan_root(vp, in, &unused);
    if ((vp[out].is_output && vp[root].kind != VALUE_TEMP) || !lie_alike(vp, in, out) ||
        !slice_start(node->attr, &value[in].shape, &value[out].shape, &elems))
        return;
    attach(vp, out, in, elems * pith_type_bytes(value[in].type));
    np->action = NODE_GONE;
}

/* Input v of a concat or a BranchEnd can be written where it will lie in the output: it fills
 * its storage (so it does not lie in a larger output yet, be it this one's), that is not the
 * caller's, and it is written in `region`: when the output is needed and as often. A value of a
 * deeper body is written each iteration, perhaps never. */
static bool can_move(const struct graph *g, uint32_t region, struct value_plan *vp, uint32_t v)
{
    uint64_t unused;
    uint32_t r = pith_plan_root(vp, v, &unused);
    return vp[r].kind == VALUE_TEMP && vp[r].bytes == vp[v].bytes &&
           g->nodes[pith_graph_producer(g, r)].region == region;
}

uint64_t pith_plan_piece_bytes(const struct tview *value, const struct value_plan *vp, uint32_t v,
                               uint32_t out)
{
    if (lie_alike(vp, v, out)) /* axis 0 may be the concat's then */
        return vp[v].bytes;
    return vp[v].bytes / value[v].shape.dim[0] * value[out].shape.dim[0];
}

/* An input that stands twice in the list moves once: after that it fills only part of the
 * output's storage, and can_move() says no. */
static void alias_concat(const struct graph *g, const struct graph_node *node,
                         const struct tview *value, struct node_plan *np, struct value_plan *vp,
                         bool share)
{
    uint32_t out = node->first_out;
    if (!is_outermost(&value[out].shape, (uint32_t)node->attr[ATTR_AXIS]))
        return;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i] == PITH_NO_VALUE)
            return;
    uint64_t at = 0, unused;
    for (uint32_t i = 0; i < node->n_in; i++) {
        uint32_t v = node->in[i];
        if ((share || vp[v].n_uses == 1) && lie_alike(vp, v, out) &&
            can_move(g, node->region, vp, v)) {
            attach(vp, pith_plan_root(vp, v, &unused), out, at);
            np->action = NODE_PLACED;
        }
        at += pith_plan_piece_bytes(value, vp, v, out);
    }
}

/* v is what an integer convolution writes, and only a concat reads. The Requantize has
 * become part of the convolution's step, which writes pixels with a step. */
static bool is_written_by_pixel(const struct graph *g, const struct node_plan *node,
                                const struct value_plan *vp, uint32_t v)
{
    uint32_t last = pith_graph_producer(g, v);
    const struct graph_node *by = &g->nodes[last];
    if (by->info->op != PITH_OP_REQUANTIZE || node[last].action != NODE_GONE || vp[v].n_uses != 1)
        return false;
    uint32_t n = pith_graph_producer(g, by->in[0]);
    return g->nodes[n].info->op == PITH_OP_CONV_INTEGER && node[n].requantize == last;
}

/* Offsets are in bytes of one pixel: channels of the inputs lie behind one another in each. */
static void alias_pixels(const struct graph *g, const struct graph_node *concat,
                         const struct tview *value, const struct node_plan *node,
                         struct value_plan *vp)
{
    uint32_t out = concat->first_out;
    uint64_t at = 0;
    for (uint32_t i = 0; i < concat->n_in; i++) {
        uint32_t v = concat->in[i];
        if (vp[v].kind == VALUE_TEMP && lie_alike(vp, v, out) &&
            is_written_by_pixel(g, node, vp, v) && can_move(g, concat->region, vp, v)) {
            attach(vp, v, out, at);
            vp[v].pixel_step = value[out].shape.dim[1];
        }
        at += value[v].shape.dim[1]; /* bytes */
    }
}

/* The two sides write one place, of which only one side is ever run. */
static void alias_branch_end(const struct graph *g, const struct graph_node *node,
                             struct value_plan *vp)
{
    uint64_t unused;
    uint32_t side = pith_graph_producer(g, node->in[0]), i = 1; /* Branch, then its BranchElse */
    for (; i < node->n_in; i++) {
        if (i == 1 + node->n_out)
            side = g->nodes[side].partner;
        if (can_move(g, side, vp, node->in[i]))
            attach(vp, pith_plan_root(vp, node->in[i], &unused),
                   node->first_out + (i - 1) % node->n_out, 0);
    }
}

/* Times are node numbers (plan.h), so a lifetime is an interval and bodies need no second clock. */
/* ---- lifetimes ---------------------------------------------------------------------------- */

static void touch_root(struct value_plan *root, uint32_t time)
{
    if (time < root->first)
        root->first = time;
    if (time > root->last)
        root->last = time;
}

/* Nodes of a body stand between its Loop and its LoopEnd in the list. */
static bool is_inside(const struct graph *g, uint32_t node, uint32_t loop)
{
    return node != PITH_NO_NODE && node >= loop && node < g->nodes[loop].partner;
}

struct lives {
    const struct graph *g;
    const struct node_plan *node;
    const struct segment *segment;
    struct value_plan *vp;
};

/* Node n reads or writes v. What is older than a loop around n is there for the next iteration
 * too: until the end of the outermost such loop. What the body itself makes anew each time is
 * dead at its end. */
static void touch(const struct lives *w, uint32_t v, uint32_t n)
{
    const struct graph *g = w->g;
    struct value_plan *vp = w->vp;
    uint64_t unused;
    if (v == PITH_NO_VALUE)
        return;
    uint32_t r = pith_plan_root(vp, v, &unused);
    touch_root(&vp[r], node_time(n));
    if (PLAN_SEGMENTS && w->node[n].segment && !vp[r].segment) { /* every group does */
        const struct segment *s = &w->segment[w->node[n].segment - 1];
        touch_root(&vp[r], node_time(s->first_node));
        touch_root(&vp[r], node_time(s->last_node));
    }
    if (g->nodes[n].region == PITH_NO_NODE)
        return;
    uint32_t producer = pith_graph_producer(g, r);
    for (uint32_t o = g->nodes[n].region; o != PITH_NO_NODE; o = g->nodes[o].region)
        if (g->nodes[o].info->op == PITH_OP_LOOP && !is_inside(g, producer, o))
            touch_root(&vp[r], node_time(g->nodes[o].partner));
}

/* The count and what a loop gives are there until its end; what it collects, from its beginning.
 * LoopEnd copies into its outputs during all iterations. */
static void touch_loop(const struct lives *w, uint32_t n)
{
    const struct graph_node *loop = &w->g->nodes[n], *end = &w->g->nodes[loop->partner];
    if (loop->attr[ATTR_LOOP_HAS_COUNT])
        touch(w, loop->in[0], loop->partner);
    for (uint32_t i = 0; i < loop->n_out; i++)
        touch(w, loop->first_out + i, loop->partner);
    for (uint32_t i = loop->n_out - 1; i < end->n_out; i++)
        touch(w, end->first_out + i, n);
}

/* Values that no step touches keep first > last and get no place. */
static void set_lifetimes(const struct lives *w)
{
    const struct graph *g = w->g;
    const struct node_plan *node = w->node;
    struct value_plan *vp = w->vp;
    uint64_t unused;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (vp[v].parent == v) {
            vp[v].first = UINT32_MAX;
            vp[v].last = 0;
        }
    /* Inputs are written before the first step; outputs are read behind the last one. */
    for (uint32_t i = 0; i < g->n_inputs; i++)
        touch_root(&vp[i], 0);
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        if (node[n].action == NODE_GONE)
            continue;
        for (uint32_t i = 0; i < pith_step_inputs(g, node, n); i++)
            touch(w, pith_step_input(g, node, n, i), n);
        touch(w, node[n].residual, n); /* PLAN_NONE is PITH_NO_VALUE */
        touch(w, node[n].out, n);
        for (uint32_t i = 1; i < g->nodes[n].n_out; i++)
            touch(w, g->nodes[n].first_out + i, n);
        if (g->nodes[n].info->op == PITH_OP_LOOP)
            touch_loop(w, n);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        touch_root(&vp[pith_plan_root(vp, g->outputs[i], &unused)], g->n_nodes + 1);
}

/* ---- in place ----------------------------------------------------------------------------- */

/* Writing over value `in` changes no other input of the node: those of the same storage are
 * either the same bytes (read before written, element by element - but only by the first pass:
 * input 1 and no later one, since a variadic operator joins one input after the other) or apart.
 * Input 0 and 1 of x + x may be one place: each element is read before it is written. */
static bool others_apart(const struct graph_node *node, struct value_plan *vp)
{
    uint64_t at, other_at;
    uint32_t in = node->in[0];
    uint32_t root = pith_plan_root(vp, in, &at);
    for (uint32_t i = 1; i < node->n_in; i++) {
        uint32_t v = node->in[i];
        if (v == PITH_NO_VALUE || pith_plan_root(vp, v, &other_at) != root)
            continue;
        bool same = i == 1 && other_at == at && vp[v].bytes == vp[in].bytes;
        if (!same && other_at < at + vp[in].bytes && at < other_at + vp[v].bytes)
            return false;
    }
    return true;
}

/* out is written over in; or, where out already lies inside of a larger output, the input's
 * producer writes there. */
static void alias_in_place(const struct graph *g, uint32_t n, const struct tview *value,
                           struct value_plan *vp)
{
    const struct graph_node *node = &g->nodes[n];
    uint32_t in = node->in[0], out = node->first_out, time = node_time(n);
    uint64_t in_at, out_at;
    if (value[in].type != value[out].type || !lie_alike(vp, in, out) ||
        !pith_shape_equal(&value[in].shape, &value[out].shape))
        return;
    uint32_t in_root = pith_plan_root(vp, in, &in_at);
    uint32_t out_root = pith_plan_root(vp, out, &out_at);
    /* The last reader of the input's whole tree must be this node, else a later step would read
     * what was written over. */
    if (in_root == out_root || vp[in_root].kind == VALUE_CONST || vp[in_root].last > time ||
        !others_apart(node, vp))
        return;
    /* The caller writes inputs while he reads outputs, so those two never share. */
    bool may_meet = vp[in_root].kind != VALUE_INPUT || !vp[out_root].is_output;
    if (out_root == out && vp[out].bytes == vp[in].bytes && may_meet)
        attach(vp, out, in, 0);
    else if (in_root == in && vp[in].kind == VALUE_TEMP &&
             g->nodes[pith_graph_producer(g, in)].region == node->region)
        attach(vp, in, out, 0); /* out lies in another output: write the input there already */
}

/* Two passes over the nodes, with lifetimes between: see the head of this file. */
void pith_plan_alias(const struct builder *b, bool share, bool in_place)
{
    const struct graph *g = &b->plan->graph;
    const struct tview *value = b->plan->value;
    struct node_plan *node = b->node;
    struct value_plan *vp = b->vp;
    for (uint32_t v = 0; v < g->n_values; v++)
        vp[v].pixel_step = 0;
    for (uint32_t n = 0; in_place && n < g->n_nodes; n++) {
        bool whole = node[n].action == NODE_RUN && node[n].chain == CHAIN_WHOLE;
        if (whole && g->nodes[n].info->op == PITH_OP_CONCAT)
            alias_pixels(g, &g->nodes[n], value, node, vp);
        if (node[n].action != NODE_RUN || node[n].chain != CHAIN_NONE)
            continue;
        if (g->nodes[n].info->op == PITH_OP_CONCAT)
            alias_concat(g, &g->nodes[n], value, &node[n], vp, share);
        else if (!share)
            continue;
        else if (g->nodes[n].info->flags & OP_VIEW)
            alias_view(&g->nodes[n], &node[n], vp);
        else if (g->nodes[n].info->op == PITH_OP_SPLIT)
            alias_split(&g->nodes[n], value, &node[n], vp);
        else if (g->nodes[n].info->op == PITH_OP_SLICE)
            alias_slice(&g->nodes[n], value, &node[n], vp);
        else if (g->nodes[n].info->op == PITH_OP_BRANCH_END)
            alias_branch_end(g, &g->nodes[n], vp);
    }
    set_lifetimes(&(struct lives){g, node, b->plan->segment, vp});
    for (uint32_t n = 0; in_place && n < g->n_nodes; n++)
        if (node[n].action == NODE_RUN && node[n].chain == CHAIN_NONE &&
            (g->nodes[n].info->flags & OP_INPLACE))
            alias_in_place(g, n, value, vp);
}
