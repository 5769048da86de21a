/* SPDX-License-Identifier: MIT */
/* onnx_export_loop.c - loops and branches as ONNX has them: Loop and If, whose bodies are graphs.
 *
 * Nodes are written one after another. Where a body begins, the list of the graph is put aside and
 * an empty one takes its place; where it ends, what has gathered there is the body, and the node
 * goes into the list put aside. What a body takes from around it has a name there, which is all
 * that ONNX requires. What it gives goes through an Identity each: an output of a body must be made
 * in it, under a name of its own. Initializers all stand in the outermost graph. */
#include "onnx_export.h"
#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"

enum { EXPORT_MAX_NESTED = 8 }; /* readers of protobuf bound how deep messages nest */

struct export_region {
    const struct pith_node *begin;
    uint32_t n_nodes;       /* up to its end */
    Onnx__NodeProto **node; /* of the graph around it */
    size_t n_node;
    Onnx__GraphProto *first; /* of a branch */
    const char *go_on;       /* of a loop: the condition that its body is given */
};

struct export_regions {
    struct export_region stack[EXPORT_MAX_NESTED];
    uint32_t depth;
};

bool pith_export_is_region(uint32_t op)
{
    const struct op_info *info = pith_op_get(op);
    return info && info->flags & OP_CONTROL;
}

static void identity(struct onnx_export *x, const char *from, const char *to)
{
    Onnx__NodeProto *node = pith_export_node(x, "Identity", "");
    pith_export_input(node, from);
    pith_export_output(node, to);
}

/* A list of its own for what follows. */
static void open_list(struct onnx_export *x, uint32_t n_nodes)
{
    x->graph.node =
        pith_export_alloc(x, (uint64_t)n_nodes * EXPORT_MAX_NODES + 2, sizeof *x->graph.node);
    x->graph.n_node = 0;
}

/* The list as a body. Its outputs: room for n. */
static Onnx__GraphProto *close_list(struct onnx_export *x, const char *name, uint32_t n)
{
    Onnx__GraphProto *g = pith_export_alloc(x, 1, sizeof *g);
    if (!g)
        return NULL;
    pith_onnx__graph_proto__init(g);
    g->name = (char *)(uintptr_t)name;
    g->node = x->graph.node;
    g->n_node = x->graph.n_node;
    g->output = pith_export_alloc(x, (uint64_t)n + 1, sizeof *g->output);
    return g->output ? g : NULL;
}

/* Value `like`, which is called `from`, as an output of the body. */
static void give(struct onnx_export *x, Onnx__GraphProto *g, const char *from, uint32_t like)
{
    const char *name = pith_export_name(x, "result");
    Onnx__ValueInfoProto *info = pith_export_info(x, like, name, EXPORT_DIMS_INNER);
    identity(x, from, name);
    if (g && info)
        g->output[g->n_output++] = info;
}

static enum pith_status begin(struct onnx_export *x, const struct pith_node *node)
{
    const struct pith_model *m = x->m;
    uint32_t at = (uint32_t)(node - m->nodes), end = at + 1, nested = 1, widest = 1;
    if (!x->regions)
        x->regions = pith_export_alloc(x, 1, sizeof *x->regions);
    if (!x->regions)
        return PITH_OK;
    if (x->regions->depth == EXPORT_MAX_NESTED)
        return pith_error_fill(x->err, PITH_ERR_UNSUPPORTED,
                               "cannot write node '%.100s' as ONNX: loops and branches are nested "
                               "more than %d deep",
                               node->name, EXPORT_MAX_NESTED);
    for (; end < m->n_nodes && nested > 0; end++) {
        uint32_t op = m->nodes[end].op;
        nested += pith_opens_body(op);
        nested -= pith_closes_body(op);
        if (nested == 0)
            widest = m->nodes[end].n_out + m->nodes[end].n_in;
    }
    struct export_region *r = &x->regions->stack[x->regions->depth++];
    *r = (struct export_region){.begin = node, .n_nodes = end - at + widest};
    r->node = x->graph.node;
    r->n_node = x->graph.n_node;
    return PITH_OK;
}

static enum pith_status begin_loop(struct onnx_export *x, const struct pith_node *node)
{
    enum pith_status status = begin(x, node);
    if (status || x->failed)
        return status;
    struct export_region *r = &x->regions->stack[x->regions->depth - 1];
    r->go_on = pith_export_name(x, "go_on");
    open_list(x, r->n_nodes);
    return PITH_OK;
}

/* onnxruntime refuses two nodes of one name where one has a body: then that one has none. What a
 * loop begins with may be computed by nodes that import called as the loop. */
static const char *own_name(const struct onnx_export *x, const struct pith_node *region)
{
    for (uint32_t i = 0; i < x->m->n_nodes; i++) {
        const struct pith_node *node = &x->m->nodes[i];
        if (!(pith_op_get(node->op)->flags & OP_CONTROL) && strcmp(node->name, region->name) == 0)
            return "";
    }
    return region->name;
}

/* How often at most: a constant, the count, or the smaller of both. */
static const char *trip_count(struct onnx_export *x, const struct pith_node *loop)
{
    int64_t trips = loop->attr[ATTR_LOOP_TRIPS];
    bool counted = loop->attr[ATTR_LOOP_HAS_COUNT];
    const char *count = counted ? x->names[loop->in[0]] : NULL;
    if (trips == INT32_MAX)
        return counted ? count : "";
    const char *limit = pith_export_ints_tensor(x, &trips, 1);
    if (!counted)
        return limit;
    const char *least = pith_export_name(x, "trips");
    Onnx__NodeProto *min = pith_export_node(x, "Min", "");
    pith_export_input(min, count);
    pith_export_input(min, limit);
    pith_export_output(min, least);
    return least;
}

/* What the body is given: iteration, condition, states. */
static void loop_inputs(struct onnx_export *x, const struct export_region *r,
                        Onnx__GraphProto *body)
{
    const struct pith_node *loop = r->begin;
    body->input = pith_export_alloc(x, loop->n_out + 2u, sizeof *body->input);
    if (!body->input)
        return;
    for (uint32_t i = 0; i < loop->n_out; i++) {
        body->input[body->n_input++] =
            pith_export_info(x, loop->out[i], x->names[loop->out[i]], EXPORT_DIMS_INNER);
        if (i == 0)
            body->input[body->n_input++] = pith_export_bool_info(x, r->go_on);
    }
}

/* What it gives: whether to go on, next states, what is collected. */
static Onnx__GraphProto *loop_body(struct onnx_export *x, const struct export_region *r,
                                   const struct pith_node *end)
{
    uint32_t n = (uint32_t)end->attr[ATTR_LOOP_STATES], cond = end->attr[ATTR_LOOP_HAS_COND] != 0;
    const char *go_on = pith_export_name(x, "result");
    identity(x, cond ? x->names[end->in[0]] : r->go_on, go_on);
    Onnx__GraphProto *body = close_list(x, "body", 1 + end->n_out);
    Onnx__ValueInfoProto *info = pith_export_bool_info(x, go_on);
    if (!body || !info)
        return NULL;
    body->output[body->n_output++] = info;
    for (uint32_t i = cond + n; i < end->n_in; i++)
        give(x, body, x->names[end->in[i]], end->in[i]);
    body->node = x->graph.node;
    body->n_node = x->graph.n_node;
    loop_inputs(x, r, body);
    return body;
}

static enum pith_status end_loop(struct onnx_export *x, const struct pith_node *end)
{
    struct export_region *r = &x->regions->stack[--x->regions->depth];
    const struct pith_node *loop = r->begin;
    uint32_t count = loop->attr[ATTR_LOOP_HAS_COUNT] != 0;
    uint32_t cond = loop->attr[ATTR_LOOP_HAS_COND] != 0;
    Onnx__GraphProto *body = loop_body(x, r, end);
    x->graph.node = r->node;
    x->graph.n_node = r->n_node;
    if (x->failed)
        return PITH_OK;
    const char *trips = trip_count(x, loop);
    Onnx__NodeProto *node = pith_export_node(x, "Loop", own_name(x, loop));
    pith_export_input(node, trips);
    pith_export_input(node, cond ? x->names[loop->in[count]] : "");
    for (uint32_t i = count + cond; i < loop->n_in; i++)
        pith_export_input(node, x->names[loop->in[i]]);
    for (uint32_t i = 0; i < end->n_out; i++)
        pith_export_output(node, x->names[end->out[i]]);
    pith_export_graph(x, node, "body", body);
    return PITH_OK;
}

static enum pith_status begin_branch(struct onnx_export *x, const struct pith_node *node)
{
    uint32_t by_region = 2; /* BranchElse and BranchEnd */
    if (x->uses[node->out[0]] > by_region)
        identity(x, x->names[node->in[0]], x->names[node->out[0]]);
    enum pith_status status = begin(x, node);
    if (!status && !x->failed)
        open_list(x, x->regions->stack[x->regions->depth - 1].n_nodes);
    return status;
}

static enum pith_status middle_branch(struct onnx_export *x, const struct pith_node *node)
{
    struct export_region *r = &x->regions->stack[x->regions->depth - 1];
    r->first = close_list(x, "first", x->widest);
    /* What BranchElse gives is the condition once more, and belongs outside: to the list before
     * the If. */
    if (x->uses[node->out[0]] > 0 && !x->failed) {
        x->graph.node = r->node;
        x->graph.n_node = r->n_node;
        identity(x, x->names[r->begin->in[0]], x->names[node->out[0]]);
        r->n_node = x->graph.n_node;
    }
    open_list(x, r->n_nodes);
    return PITH_OK;
}

/* The outputs of a branch whose nodes are all written: k values from `in` on. */
static void branch_outputs(struct onnx_export *x, Onnx__GraphProto *g, const uint32_t *in,
                           uint32_t k)
{
    x->graph.node = g->node;
    x->graph.n_node = g->n_node;
    for (uint32_t i = 0; i < k; i++)
        give(x, g, x->names[in[i]], in[i]);
    g->n_node = x->graph.n_node;
}

static enum pith_status end_branch(struct onnx_export *x, const struct pith_node *end)
{
    struct export_region *r = &x->regions->stack[--x->regions->depth];
    Onnx__GraphProto *second = close_list(x, "second", end->n_out);
    if (!second || !r->first)
        return PITH_OK;
    branch_outputs(x, r->first, end->in + 1, end->n_out);
    branch_outputs(x, second, end->in + 1 + end->n_out, end->n_out);
    x->graph.node = r->node;
    x->graph.n_node = r->n_node;
    if (x->failed)
        return PITH_OK;
    Onnx__NodeProto *node = pith_export_node(x, "If", own_name(x, r->begin));
    pith_export_input(node, x->names[r->begin->in[0]]);
    for (uint32_t i = 0; i < end->n_out; i++)
        pith_export_output(node, x->names[end->out[i]]);
    pith_export_graph(x, node, "then_branch", r->first);
    pith_export_graph(x, node, "else_branch", second);
    return PITH_OK;
}

static enum pith_status unbalanced(struct onnx_export *x, const struct pith_node *node)
{
    return pith_error_fill(x->err, PITH_ERR_CORRUPT, "node '%.100s' ends what has not begun",
                           node->name);
}

enum pith_status pith_export_region(struct onnx_export *x, const struct pith_node *node)
{
    if (node->op == PITH_OP_LOOP)
        return begin_loop(x, node);
    if (node->op == PITH_OP_BRANCH)
        return begin_branch(x, node);
    if (!x->regions || x->regions->depth == 0)
        return unbalanced(x, node);
    const struct export_region *r = &x->regions->stack[x->regions->depth - 1];
    bool of_loop = r->begin->op == PITH_OP_LOOP, divided = r->first != NULL;
    if (of_loop != (node->op == PITH_OP_LOOP_END))
        return unbalanced(x, node);
    if (of_loop)
        return end_loop(x, node);
    if (divided != (node->op == PITH_OP_BRANCH_END))
        return unbalanced(x, node);
    return divided ? end_branch(x, node) : middle_branch(x, node);
}
