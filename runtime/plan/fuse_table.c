/* SPDX-License-Identifier: MIT */
/* fuse_table.c - operators that make one tensor of bytes of another, element by element, become a
 * table of 256 bytes (byte_table.h).
 *
 *     x -> DequantizeLinear -+-> Sigmoid -> QuantizeLinear -> DequantizeLinear -+
 *                            +--------------------------------------------------+-> Mul ->
 * QuantizeLinear
 *
 * From a QuantizeLinear back: values that are still to be explained are taken from the last to the
 * first, so when one's turn comes all that read it inside of the table are known, and it can be
 * inside as well if nothing else does. Where a single tensor of bytes is left to be explained, what
 * was walked through is a function of its bytes. The walk goes on from there, for a longer way to
 * an earlier tensor is a step less.
 *
 * Nodes inside are linked by node_plan.before, from the QuantizeLinear, whose step the table is,
 * downwards; DequantizeLinears are not, for one may serve others, too. */
#include "products/byte_table.h"
#include "products/integer_chain.h"
#include "plan/plan.h"
#include "validate/region.h"
#include "op_interface/op_attr.h"

/* The last one is the QuantizeLinear. A node reads up to three values. */
#define MAX_NODES 16u
#define MAX_OPEN (1 + MAX_NODES * (TABLE_OPERANDS - 1)) /* a node closes one value */
/* Of each node three inputs, each with a scale and a zero point, and the bytes. */
_Static_assert(1 + (MAX_NODES + 1) * TABLE_OPERANDS * 2 <= TABLE_RESULT, "operands have numbers");
_Static_assert((MAX_NODES + 1) * (TABLE_OPERANDS + 1) <= TABLE_NONE - TABLE_RESULT, "and results");

struct open_value {
    uint32_t value, uses; /* readers inside of the table */
};

/* A node inside, and how many inside read what it gives. */
struct taken_node {
    uint32_t node, uses;
};

/* The walk from one QuantizeLinear back. What it reads of plans and values is how earlier passes
 * left them: nodes that these fused, or that read a value in another place, are not taken. */
struct table_walk {
    const struct graph *g;
    const struct tview *value;
    const struct node_plan *plans;
    const struct value_plan *vp;
    uint32_t end; /* the QuantizeLinear */
    uint32_t n_open, n_taken;
    struct open_value open[MAX_OPEN];
    struct taken_node taken[MAX_NODES]; /* the last: a sanitizer notices one too many */
};

/* Known when a plan is made, and the same for all elements. */
static bool is_constant_number(const struct table_walk *w, uint32_t v)
{
    return pith_plan_is_constant(w->g, v) && shape_elems(&w->value[v].shape) == 1;
}

/* Element i of v then goes into element i of the table's result and no other. */
static bool has_shape(const struct table_walk *w, uint32_t v)
{
    return pith_shape_equal(&w->value[v].shape, &w->value[w->g->nodes[w->end].first_out].shape);
}

/* One scale and one zero point for all bytes. */
static bool has_one_grid(const struct table_walk *w, const struct graph_node *node, uint32_t bytes)
{
    return pith_type_bytes(w->value[bytes].type) == 1 && node->attr[ATTR_QUANTIZE_BLOCK] == 0 &&
           is_constant_number(w, node->in[1]) &&
           (node->n_in < 3 || node->in[2] == PITH_NO_VALUE || is_constant_number(w, node->in[2]));
}

/* A float operator that works element by element, on one thread and without memory of its own. */
static bool is_elementwise(const struct table_walk *w, const struct graph_node *node)
{
    const struct op_info *info = node->info;
    if (!((info->traits.flags & (TRAIT_UNARY | TRAIT_BROADCASTS)) || info->op == PITH_OP_PRELU) ||
        info->need || info->lowered_bytes || node->n_in > TABLE_OPERANDS || node->n_out != 1 ||
        w->value[node->first_out].type != PITH_F32)
        return false;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i] == PITH_NO_VALUE || w->value[node->in[i]].type != PITH_F32)
            return false;
    return true;
}

/* Value v, which one more node inside reads; one that is there with no reader inside stays. */
static bool open(struct table_walk *w, uint32_t v, uint32_t uses)
{
    if (pith_plan_is_constant(w->g, v))
        return is_constant_number(w, v);
    uint32_t i = 0;
    while (i < w->n_open && w->open[i].value != v)
        i++;
    if (!has_shape(w, v))
        return false;
    if (i == w->n_open)
        w->open[w->n_open++] = (struct open_value){v, 0};
    w->open[i].uses += uses;
    return true;
}

/* Values have numbers in the order in which they are made, so the readers of the last one have
 * been visited already. */
static struct open_value take_last_open(struct table_walk *w)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < w->n_open; i++)
        last = w->open[i].value > w->open[last].value ? i : last;
    struct open_value o = w->open[last];
    w->open[last] = w->open[--w->n_open];
    return o;
}

/* Takes the node that makes the last open value. false: it cannot be inside. */
static bool step_back(struct table_walk *w)
{
    const struct open_value o = take_last_open(w);
    const struct graph *g = w->g;
    if (o.value < g->n_inputs || w->n_taken == MAX_NODES)
        return false;
    const uint32_t n = pith_graph_producer(g, o.value);
    const struct graph_node *node = &g->nodes[n];
    const bool alone = w->vp[o.value].n_uses == o.uses;
    if (w->plans[n].action != NODE_RUN || w->plans[n].chain != CHAIN_NONE ||
        w->plans[n].out != node->first_out || node->region != g->nodes[w->end].region)
        return false;
    w->taken[w->n_taken++] = (struct taken_node){n, o.uses};
    /* Read outside, too, it stays, and so do its bytes: they are where the table begins. */
    if (node->info->op == PITH_OP_DEQUANTIZE)
        return has_one_grid(w, node, node->in[0]) && open(w, node->in[0], alone);
    if (!alone)
        return false;
    if (node->info->op == PITH_OP_QUANTIZE)
        return w->value[node->in[0]].type == PITH_F32 && has_one_grid(w, node, o.value) &&
               open(w, node->in[0], 1);
    if (!is_elementwise(w, node))
        return false;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (!open(w, node->in[i], 1))
            return false;
    return true;
}

/* One operator of one input is a table as a chain, too, which has its name. */
static bool is_plain_chain(const struct table_walk *w, uint32_t n_taken)
{
    const struct graph_node *only = NULL;
    for (uint32_t i = 0; i < n_taken; i++) {
        const struct graph_node *node = &w->g->nodes[w->taken[i].node];
        if (node->info->op == PITH_OP_DEQUANTIZE)
            continue;
        if (only)
            return false;
        only = node;
    }
    return only && only->n_in == 1;
}

/* What a table of 256 can be of. */
static bool is_bytes(const struct tview *t)
{
    return t->type == PITH_I8 || t->type == PITH_U8;
}

/* How many of the taken nodes make up the longest table; *source: the bytes that it reads. */
static uint32_t longest(struct table_walk *w, uint32_t *source)
{
    const struct graph_node *end = &w->g->nodes[w->end];
    uint32_t best = 0;
    *source = PLAN_NONE;
    if (!open(w, end->in[0], 1))
        return 0;
    while (step_back(w))
        if (w->n_open == 1 && is_bytes(&w->value[w->open[0].value])) {
            *source = w->open[0].value;
            best = w->n_taken;
        }
    return best;
}

/* Nodes inside go, and DequantizeLinears that nothing else reads. */
static void take_table(const struct table_walk *w, uint32_t n_taken, uint32_t source,
                       struct node_plan *plans, struct value_plan *vp)
{
    uint32_t *link = &plans[w->end].before;
    plans[w->end].chain = CHAIN_TABLE;
    plans[w->end].source = source;
    vp[source].n_uses++;
    for (uint32_t i = 0; i < n_taken; i++) {
        const uint32_t n = w->taken[i].node;
        const struct graph_node *node = &w->g->nodes[n];
        const bool real = node->info->op == PITH_OP_DEQUANTIZE;
        if (!real) {
            *link = n;
            link = &plans[n].before;
        }
        vp[node->first_out].n_uses -= w->taken[i].uses;
        if (vp[node->first_out].n_uses)
            continue;
        plans[n].action = NODE_GONE;
        vp[node->first_out].kind = VALUE_GONE;
        vp[source].n_uses -= real && node->in[0] == source;
    }
}

/* From the last node to the first, for a table may end in what was to be the middle of a longer
 * one. */
void pith_plan_fuse_tables(const struct graph *g, const struct tview *value,
                           struct node_plan *plans, struct value_plan *vp)
{
    for (uint32_t n = g->n_nodes; n-- > 0;) {
        struct table_walk w = {.g = g, .value = value, .plans = plans, .vp = vp, .end = n};
        const struct graph_node *node = &g->nodes[n];
        uint32_t source;
        if (node->info->op != PITH_OP_QUANTIZE || plans[n].action != NODE_RUN ||
            value[node->in[0]].type != PITH_F32 || !has_one_grid(&w, node, node->first_out))
            continue;
        uint32_t n_taken = longest(&w, &source);
        if (n_taken && !is_plain_chain(&w, n_taken))
            take_table(&w, n_taken, source, plans, vp);
    }
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* A walk over the operations of a table: its nodes from the QuantizeLinear down, behind each the
 * DequantizeLinears that it reads. */
struct table_list {
    const struct graph *g;
    const struct node_plan *plans;
    uint32_t end;
    struct table_op *op; /* NULL: they are counted alone */
    uint32_t n_op, n_in;
    uint32_t wanted, found; /* a number of an input, and its value */
};

/* The DequantizeLinear that makes v, or NULL. */
static const struct graph_node *dequantize_of(const struct graph *g, uint32_t v)
{
    if (v == PITH_NO_VALUE || v < g->n_inputs + g->n_weights)
        return NULL;
    const struct graph_node *node = &g->nodes[pith_graph_producer(g, v)];
    return node->info->op == PITH_OP_DEQUANTIZE ? node : NULL;
}

/* The number of the operation that makes v. */
static uint32_t number_of(const struct table_list *l, uint32_t v)
{
    uint32_t number = 0;
    for (uint32_t n = l->end; l->g->nodes[n].first_out != v; n = l->plans[n].before) {
        number++;
        for (uint32_t i = 0; i < l->g->nodes[n].n_in; i++)
            number += dequantize_of(l->g, l->g->nodes[n].in[i]) != NULL;
    }
    return number;
}

/* The operation of a node, its inputs numbered as table_op has them, and those of the
 * DequantizeLinears that it reads: each reader has its own, so that one which serves several needs
 * no place in the order. */
static void list_node(struct table_list *l, const struct graph_node *node)
{
    const uint32_t at = l->n_op++;
    uint8_t in[TABLE_OPERANDS] = {TABLE_NONE, TABLE_NONE, TABLE_NONE};
    for (uint32_t i = 0; i < node->n_in; i++) {
        const uint32_t v = node->in[i];
        const struct graph_node *real = dequantize_of(l->g, v);
        if (v == PITH_NO_VALUE)
            continue;
        if (pith_plan_is_constant(l->g, v)) {
            l->found = l->n_in == l->wanted ? v : l->found;
            in[i] = (uint8_t)l->n_in++;
        } else if (real) {
            in[i] = (uint8_t)(TABLE_RESULT + l->n_op);
            list_node(l, real);
        } else {
            in[i] = v == l->plans[l->end].source ? 0 : (uint8_t)(TABLE_RESULT + number_of(l, v));
        }
    }
    if (l->op) {
        l->op[at] =
            (struct table_op){.info = node->info, .attr = node->attr, .n_in = (uint8_t)node->n_in};
        memcpy(l->op[at].in, in, sizeof in);
    }
}

/* Input 0 is the bytes; constants are numbered as they are met. */
static void list_all(struct table_list *l)
{
    l->n_in = 1;
    l->found = l->wanted ? PITH_NO_VALUE : l->plans[l->end].source;
    for (uint32_t n = l->end; n != PLAN_NONE; n = l->plans[n].before)
        list_node(l, &l->g->nodes[n]);
}

uint32_t pith_table_inputs(const struct graph *g, const struct node_plan *plans, uint32_t n)
{
    struct table_list l = {.g = g, .plans = plans, .end = n};
    list_all(&l);
    return l.n_in;
}

uint32_t pith_table_input(const struct graph *g, const struct node_plan *plans, uint32_t n,
                          uint32_t i)
{
    struct table_list l = {.g = g, .plans = plans, .end = n, .wanted = i};
    list_all(&l);
    return l.found;
}

uint32_t pith_table_ops(const struct graph *g, const struct node_plan *plans, uint32_t n,
                        struct table_op *op)
{
    struct table_list l = {.g = g, .plans = plans, .end = n, .op = op};
    list_all(&l);
    return l.n_op;
}
