/* SPDX-License-Identifier: MIT */
/* Which values share storage, so that nothing is copied that need not be.
 *
 *   view      Reshape and kin hold the bytes of their input; Split and Slice along the outermost
 *             axis that is not 1 give pieces of theirs.
 *   concat    along such an axis the inputs are written straight into their piece of the output.
 *   in place  an elementwise operator writes over its input when nobody reads that again.
 *
 * Storage is a forest: every value points to a parent and a byte offset in it; a root has a place
 * of its own in the arena (or is a constant). Invariant: two values of one tree that overlap in
 * bytes hold the same bytes whenever both are alive, because a piece is written once - by the
 * producer of its smallest member - except by in-place operators, which need every value of the
 * tree to be dead.
 *
 * Graph outputs are never made views of inputs or constants: the caller may write the next input
 * while he reads the outputs of the last run. */
#include "plan.h"

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

/* Attaches root `child` to `parent`: one tree from now on. */
static void attach(struct value_plan *vp, uint32_t child, uint32_t parent, uint64_t offset)
{
    uint64_t unused;
    uint32_t root = pith_plan_root(vp, parent, &unused);
    vp[child].parent = parent;
    vp[child].offset = offset;
    vp[root].is_output |= vp[child].is_output;
    if (vp[child].first < vp[root].first)
        vp[root].first = vp[child].first;
    if (vp[child].last > vp[root].last)
        vp[root].last = vp[child].last;
}

/* The number of elements before `axis` is 1: pieces along it are contiguous. */
static bool is_outermost(const struct shape *s, uint32_t axis)
{
    return axis < s->rank && shape_product(s, 0, axis) == 1;
}

static void alias_view(const struct graph_node *node, struct node_plan *np, struct value_plan *vp)
{
    uint64_t offset;
    uint32_t in = node->in[0], out = node->first_out;
    uint32_t root = pith_plan_root(vp, in, &offset);
    if (vp[in].bytes != vp[out].bytes || (vp[out].is_output && vp[root].kind != VALUE_TEMP))
        return;
    attach(vp, out, in, 0);
    np->action = NODE_GONE;
}

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
        if (out->is_output && vp[root].kind != VALUE_TEMP)
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

/* *elems: first element of the piece of x that the slice y is; false: not one piece. Starts count
 * as in op_slice.c; that the piece is not empty was tested there, so start < dim. */
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

static void alias_slice(const struct graph_node *node, const struct tview *value,
                        struct node_plan *np, struct value_plan *vp)
{
    uint64_t elems, unused;
    uint32_t in = node->in[0], out = node->first_out;
    uint32_t root = pith_plan_root(vp, in, &unused);
    if ((vp[out].is_output && vp[root].kind != VALUE_TEMP) ||
        !slice_start(node->attr, &value[in].shape, &value[out].shape, &elems))
        return;
    attach(vp, out, in, elems * pith_type_bytes(value[in].type));
    np->action = NODE_GONE;
}

/* Input v of a concat can be written where it will lie in the output: it fills its storage (so it
 * does not lie in a larger output yet, be it this one's), and that is not the caller's. */
static bool can_move(struct value_plan *vp, uint32_t v)
{
    uint64_t unused;
    const struct value_plan *root = &vp[pith_plan_root(vp, v, &unused)];
    return root->kind == VALUE_TEMP && !root->is_output && root->bytes == vp[v].bytes;
}

static void alias_concat(const struct graph_node *node, const struct tview *value,
                         struct node_plan *np, struct value_plan *vp)
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
        if (can_move(vp, v)) {
            attach(vp, pith_plan_root(vp, v, &unused), out, at);
            np->action = NODE_PLACED;
        }
        at += vp[v].bytes;
    }
}

/* ---- lifetimes ---------------------------------------------------------------------------- */

static void touch(struct value_plan *vp, uint32_t v, uint32_t time)
{
    uint64_t unused;
    if (v == PITH_NO_VALUE)
        return;
    struct value_plan *root = &vp[pith_plan_root(vp, v, &unused)];
    if (time < root->first)
        root->first = time;
    if (time > root->last)
        root->last = time;
}

static void set_lifetimes(const struct graph *g, const struct node_plan *node,
                          struct value_plan *vp)
{
    for (uint32_t v = 0; v < g->n_values; v++) {
        vp[v].first = UINT32_MAX;
        vp[v].last = 0;
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        touch(vp, i, 0);
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        if (node[n].action == NODE_GONE)
            continue;
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++)
            touch(vp, g->nodes[n].in[i], node_time(n));
        touch(vp, node[n].residual, node_time(n)); /* PLAN_NONE is PITH_NO_VALUE */
        touch(vp, node[n].out, node_time(n));
        for (uint32_t i = 1; i < g->nodes[n].n_out; i++)
            touch(vp, g->nodes[n].first_out + i, node_time(n));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        touch(vp, g->outputs[i], g->n_nodes + 1);
}

/* ---- in place ----------------------------------------------------------------------------- */

/* Writing over value `in` changes no other input of the node: those of the same storage are either
 * the same bytes (read before written, element by element - but only by the first pass: input 1
 * and no later one, since a variadic operator joins one input after the other) or apart. */
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

static void alias_in_place(const struct graph_node *node, const struct tview *value, uint32_t time,
                           struct value_plan *vp)
{
    uint32_t in = node->in[0], out = node->first_out;
    uint64_t in_at, out_at;
    if (value[in].type != value[out].type || !pith_shape_equal(&value[in].shape, &value[out].shape))
        return;
    uint32_t in_root = pith_plan_root(vp, in, &in_at);
    uint32_t out_root = pith_plan_root(vp, out, &out_at);
    if (in_root == out_root || vp[in_root].kind == VALUE_CONST || vp[in_root].last > time ||
        vp[in_root].is_output || !others_apart(node, vp))
        return;
    bool may_meet = vp[in_root].kind != VALUE_INPUT || !vp[out_root].is_output;
    if (out_root == out && vp[out].bytes == vp[in].bytes && may_meet)
        attach(vp, out, in, 0);
    else if (in_root == in && vp[in].kind == VALUE_TEMP)
        attach(vp, in, out, 0); /* out is a piece of a concat: write the input there already */
}

void pith_plan_alias(const struct graph *g, const struct tview *value, struct node_plan *node,
                     struct value_plan *vp, bool share)
{
    for (uint32_t n = 0; share && n < g->n_nodes; n++) {
        if (node[n].action != NODE_RUN)
            continue;
        if (g->nodes[n].info->flags & OP_VIEW)
            alias_view(&g->nodes[n], &node[n], vp);
        else if (g->nodes[n].info->op == PITH_OP_SPLIT)
            alias_split(&g->nodes[n], value, &node[n], vp);
        else if (g->nodes[n].info->op == PITH_OP_SLICE)
            alias_slice(&g->nodes[n], value, &node[n], vp);
        else if (g->nodes[n].info->op == PITH_OP_CONCAT)
            alias_concat(&g->nodes[n], value, &node[n], vp);
    }
    set_lifetimes(g, node, vp);
    for (uint32_t n = 0; share && n < g->n_nodes; n++)
        if (node[n].action == NODE_RUN && (g->nodes[n].info->flags & OP_INPLACE))
            alias_in_place(&g->nodes[n], value, node_time(n), vp);
}
