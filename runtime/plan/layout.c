/* SPDX-License-Identifier: MIT */
/* layout.c - which values lie channels-last: [N, axes, C] in memory where their shape says [N, C,
 * axes]. It is internal to a plan: a value is channels-last when the step that writes it and all
 * that read it can, and no output of the graph does.
 *
 *     integer convolutions with their Requantize     read and write either order, each on its own
 *                                                    (a residual in planes: an output in planes)
 *     chains on bytes, and Concat along axis 1,      one order for all they read and write
 *         Slice, Pad and Resize of bytes
 *     everything else                                row-major
 *
 * Where C or the product of the axes is 1 both orders are the same: such values bind no step.
 *
 * Kernels of integers take four neighbouring channels at once (VNNI's dot product of four
 * bytes), so channels-last is their order; a value that goes from one such step to the next is
 * not turned. Orders are found by elimination: all values that could are taken to be
 * channels-last, then what cannot is cleared until nothing changes. Clearing only ever removes,
 * so it ends; the bound on sweeps is for files made to be slow. */
#include "plan/plan.h"
#include "op_interface/op_attr.h"

#define SWEEPS 64u /* of nodes; what does not come to rest by then stays row-major */

/* Floats stay row-major: their kernels read planes. */
static bool is_bytes(const struct tview *t)
{
    return t->type == PITH_I8 || t->type == PITH_U8;
}

/* One pixel, or one channel: the bytes are the same. */
bool pith_layout_is_one(const struct shape *s)
{
    return s->rank < 3 || s->dim[1] == 1 || shape_product(s, 2, s->rank) == 1;
}

/* They repack their input into panels and write pixels anyway. */
static bool converts(const struct graph *g, const struct node_plan *np, uint32_t n)
{
    return np[n].requantize != PLAN_NONE && g->nodes[n].info->op == PITH_OP_CONV_INTEGER;
}

/* Bytes are moved with any steps, so these run in whatever order they are given. */
static bool is_move(const struct graph *g, const struct tview *value, uint32_t n)
{
    const struct graph_node *node = &g->nodes[n];
    return (node->info->op == PITH_OP_SLICE || node->info->op == PITH_OP_PAD ||
            node->info->op == PITH_OP_RESIZE) &&
           is_bytes(&value[node->first_out]);
}

/* Keeps an order, whichever. Row-major chains (CHAIN_FLOATS) compute on lines of axes. */
static bool follows(const struct graph *g, const struct tview *value, const struct node_plan *np,
                    uint32_t n)
{
    if (np[n].chain == CHAIN_FLOATS)
        return false;
    /* Along channels the pieces of a pixel lie behind one another. */
    if (g->nodes[n].info->op == PITH_OP_CONCAT)
        return g->nodes[n].attr[ATTR_AXIS] == 1 &&
               (np[n].chain != CHAIN_NONE || is_bytes(&value[g->nodes[n].first_out]));
    return np[n].chain != CHAIN_NONE || is_move(g, value, n);
}

/* Tensors that node n reads; what else a table has is numbers. */
static uint32_t n_read(const struct graph *g, const struct node_plan *np, uint32_t n)
{
    return is_byte_table(&np[n]) ? 1 : g->nodes[n].n_in;
}

/* The values whose order node n follows: its bytes, then its output, which so comes last. */
static uint32_t followed(const struct graph *g, const struct node_plan *np, uint32_t n, uint32_t i)
{
    if (i == n_read(g, np, n))
        return np[n].out;
    return np[n].chain == CHAIN_NONE ? g->nodes[n].in[i] : pith_step_input(g, np, n, i);
}

/* Whether something was taken away. */
static bool clear(struct value_plan *vp, uint32_t v)
{
    bool was = v != PITH_NO_VALUE && vp[v].channels_last;
    if (was)
        vp[v].channels_last = false;
    return was;
}

/* An integer convolution that writes planes adds bytes in either order: to the tile that it turns,
 * or to what it has turned. One that writes pixels adds pixels. */
static bool settle_residual(const struct graph *g, const struct tview *value,
                            const struct node_plan *np, struct value_plan *vp, uint32_t n)
{
    uint32_t residual = np[n].residual, y = np[n].out;
    if (residual == PLAN_NONE || !converts(g, np, n))
        return clear(vp, residual);
    if (pith_layout_is_one(&value[y].shape) || vp[residual].channels_last)
        return false;
    return clear(vp, y);
}

/* true: something changed. A step that has no order of its own binds all its values together:
 * one that cannot clears the others. */
static bool settle(const struct graph *g, const struct tview *value, const struct node_plan *np,
                   struct value_plan *vp, uint32_t n)
{
    bool any = false, changed = false;
    if (!follows(g, value, np, n)) {
        /* A convolution turns its input itself; what else it reads (grids) has no layout. */
        uint32_t first = converts(g, np, n) ? 1 : 0;
        for (uint32_t i = first; i < pith_step_inputs(g, np, n); i++)
            changed |= clear(vp, pith_step_input(g, np, n, i));
        return settle_residual(g, value, np, vp, n) || changed;
    }
    for (uint32_t i = 0; i <= n_read(g, np, n); i++) {
        uint32_t v = followed(g, np, n, i);
        any |= !vp[v].channels_last && !pith_layout_is_one(&value[v].shape);
    }
    for (uint32_t i = 0; any && i <= n_read(g, np, n); i++)
        changed |= clear(vp, followed(g, np, n, i));
    return changed;
}

/* Values of steps that can write them so. Outputs of the graph are the caller's, inputs come
 * from him. */
static void begin(const struct graph *g, const struct tview *value, const struct node_plan *np,
                  struct value_plan *vp)
{
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        uint32_t v = np[n].out;
        if (np[n].action == NODE_GONE || !(converts(g, np, n) || follows(g, value, np, n)))
            continue;
        vp[v].channels_last = is_bytes(&value[v]) && !pith_layout_is_one(&value[v].shape) &&
                              vp[v].kind == VALUE_TEMP && !vp[v].is_output;
    }
}

void pith_plan_layout(const struct graph *g, const struct tview *value, struct node_plan *node,
                      struct value_plan *vp)
{
    bool changed = true;
    begin(g, value, node, vp);
    for (uint32_t sweep = 0; sweep < SWEEPS && changed; sweep++) {
        changed = false;
        /* A chain of steps is cleared in one sweep whichever way it runs. */
        for (uint32_t i = 0; i < g->n_nodes; i++) { /* forth and back in turn */
            uint32_t n = sweep % 2 ? g->n_nodes - 1 - i : i;
            if (node[n].action != NODE_GONE)
                changed |= settle(g, value, node, vp, n);
        }
    }
    /* Not at rest after SWEEPS: nothing is. */
    for (uint32_t v = 0; v < g->n_values && changed; v++)
        vp[v].channels_last = false;
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        if (node[n].action != NODE_RUN || node[n].chain != CHAIN_NONE)
            continue;
        bool last = vp[node[n].out].channels_last;
        /* Operators on bytes run as chains where they must know of the order. */
        if ((g->nodes[n].info->op == PITH_OP_CONCAT && last) ||
            (is_move(g, value, n) && (last || vp[g->nodes[n].in[0]].channels_last)))
            node[n].chain = CHAIN_WHOLE;
    }
}
