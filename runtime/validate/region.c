/* SPDX-License-Identifier: MIT */
/* region.c - bodies of loops and branches: runs of nodes that nest like brackets.
 *
 *     Loop ... LoopEnd          Branch ... BranchElse ... BranchEnd
 *
 * The nodes that open and close a region stand in the one around it; so do the values they give,
 * but for Loop's, which its body owns. A value is visible in its region and in those inside it.
 * This is where the brackets of a file are matched, and everything that reads across them is
 * refused.
 *
 * Matching on a stack of fixed depth: no recursion that a file could deepen, and the depth
 * bounds what the executor keeps as well. */
#include "core/build_choice.h"
#include "validate/region.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* open: from the outermost to the innermost. */
struct walk {
    struct graph *g;
    uint32_t open[PITH_MAX_DEPTH]; /* nodes */
    uint32_t depth;
};

static uint32_t innermost(const struct walk *w)
{
    return w->depth ? w->open[w->depth - 1] : PITH_NO_NODE;
}

/* By bisection: outputs are numbered in node order, so first_out rises. Nodes without outputs
 * share theirs with the next; the last of equals is found, which is the one that gives the
 * value. */
uint32_t pith_graph_producer(const struct graph *g, uint32_t value)
{
    uint32_t low = 0, high = g->n_nodes; /* the last node with first_out <= value */
    if (value < g->n_inputs + g->n_weights)
        return PITH_NO_NODE;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (g->nodes[middle].first_out <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A Loop's outputs (iteration, states) belong to its body, unlike those of every other node. */
static uint32_t region_of(const struct graph *g, uint32_t value)
{
    uint32_t n = pith_graph_producer(g, value);
    if (n == PITH_NO_NODE || g->nodes[n].info->op == PITH_OP_LOOP)
        return n;
    return g->nodes[n].region;
}

/* Whether all of value[n] are visible inside `region`. At most PITH_MAX_DEPTH steps outward a
 * value. */
static bool are_visible(const struct graph *g, const uint32_t *value, uint32_t n, uint32_t region)
{
    for (uint32_t i = 0; i < n; i++) {
        if (value[i] == PITH_NO_VALUE)
            continue;
        uint32_t of = region_of(g, value[i]), r = region;
        while (r != of && r != PITH_NO_NODE)
            r = g->nodes[r].region;
        if (r != of)
            return false;
    }
    return true;
}

/* ---- brackets ------------------------------------------------------------------------------- */

static bool open_region(struct walk *w, uint32_t n)
{
    if (w->depth == PITH_MAX_DEPTH)
        return false;
    w->open[w->depth++] = n;
    return true;
}

/* The innermost open node if it is an `op`, which is closed then. Brackets close in the reverse
 * order of opening, or not at all. */
static uint32_t close_region(struct walk *w, enum pith_op op)
{
    uint32_t n = innermost(w);
    if (n == PITH_NO_NODE || w->g->nodes[n].info->op != op)
        return PITH_NO_NODE;
    w->depth--;
    return n;
}

/* What Loop and LoopEnd say twice must agree, so that the executor needs either alone. */
static bool end_loop(struct walk *w, uint32_t n)
{
    struct graph_node *end = &w->g->nodes[n];
    uint32_t opened = close_region(w, PITH_OP_LOOP);
    if (opened == PITH_NO_NODE || !are_visible(w->g, end->in, end->n_in, opened))
        return false;
    struct graph_node *loop = &w->g->nodes[opened];
    uint32_t n_states = loop->n_out - 1, first = end->attr[ATTR_LOOP_HAS_COND] != 0;
    if (loop->attr[ATTR_LOOP_TRIPS] != end->attr[ATTR_LOOP_TRIPS] ||
        loop->attr[ATTR_LOOP_HAS_COND] != end->attr[ATTR_LOOP_HAS_COND] ||
        loop->attr[ATTR_LOOP_HAS_COUNT] != end->attr[ATTR_LOOP_HAS_COUNT] ||
        (uint32_t)end->attr[ATTR_LOOP_STATES] != n_states || end->n_in < first ||
        end->n_in - first < n_states)
        return false;
    for (uint32_t i = 0; i < n_states; i++)
        /* The first states of LoopEnd are Loop's own: their storage is one. */
        if (end->in[first + i] != loop->first_out + 1 + i)
            return false;
    loop->partner = n;
    end->partner = opened;
    return true;
}

/* The condition is handed through, so that BranchEnd finds it (op_branch.c). */
static bool begin_else(struct walk *w, uint32_t n)
{
    uint32_t opened = close_region(w, PITH_OP_BRANCH);
    if (opened == PITH_NO_NODE || w->g->nodes[n].in[0] != w->g->nodes[opened].first_out)
        return false;
    w->g->nodes[opened].partner = n;
    w->g->nodes[n].partner = opened; /* until its end is known */
    return open_region(w, n);
}

/* Each branch sees its own values and those around both. */
static bool end_branch(struct walk *w, uint32_t n)
{
    struct graph_node *end = &w->g->nodes[n];
    uint32_t other = close_region(w, PITH_OP_BRANCH_ELSE), k = end->n_out;
    if (other == PITH_NO_NODE || end->n_in < 1 || (end->n_in - 1) / 2 != k)
        return false;
    uint32_t first = w->g->nodes[other].partner;
    w->g->nodes[other].partner = n;
    return end->in[0] == w->g->nodes[first].first_out && are_visible(w->g, end->in + 1, k, first) &&
           are_visible(w->g, end->in + 1 + k, end->n_in - 1 - k, other);
}

/* region: what the node itself lies in; an ELSE lies beside its Branch, not inside of it. */
static bool visit(struct walk *w, uint32_t n)
{
    struct graph_node *node = &w->g->nodes[n];
    enum pith_op op = node->info->op;
    bool ok = true;
    node->partner = node->region = PITH_NO_NODE;
    if (!BUILT_CONTROL)
        return true;
    if (op == PITH_OP_LOOP_END)
        ok = end_loop(w, n);
    else if (op == PITH_OP_BRANCH_END)
        ok = end_branch(w, n);
    else if (!are_visible(w->g, node->in, node->n_in, innermost(w)))
        return false;
    else if (op == PITH_OP_BRANCH_ELSE)
        ok = begin_else(w, n);
    node->region = innermost(w);
    if (op == PITH_OP_BRANCH_ELSE && ok)
        node->region = w->depth > 1 ? w->open[w->depth - 2] : PITH_NO_NODE;
    if (op == PITH_OP_LOOP || op == PITH_OP_BRANCH)
        ok = open_region(w, n);
    return ok;
}

enum pith_status pith_graph_regions(struct graph *g)
{
    struct walk w = {.g = g, .depth = 0};
    for (uint32_t n = 0; n < g->n_nodes; n++)
        if (!visit(&w, n))
            return PITH_ERR_CORRUPT;
    /* No bracket may stay open, and no output lie in a body that may not run. */
    if (w.depth || !are_visible(g, g->outputs, g->n_outputs, PITH_NO_NODE))
        return PITH_ERR_CORRUPT;
    return PITH_OK;
}
