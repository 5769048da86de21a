/* SPDX-License-Identifier: MIT */
/* onnx_dead.c - folding has made nodes useless: those that an output needs are kept.
 *
 * The walk goes back from the outputs, value by value. A result of a loop needs the state it is the
 * end of, that state its first and its next value, and so on round the loop; a state that only
 * feeds itself is never met, and is taken out of the loop. Of a branch, likewise, only the results
 * that are used are kept. Every value is met once. */
#include "onnx/graph/onnx.h"
#include "op_interface/op_attr.h"

struct dead {
    struct onnx_import *im;
    uint32_t *made_by; /* [n_values]: node, plus 1 */
    uint32_t *stack;   /* [n_values] */
    uint32_t depth;
    bool *kept;       /* [n_nodes] */
    uint32_t *end_of; /* [n_nodes]: of a Loop, its LoopEnd */
};

static void need(struct dead *d, uint32_t value)
{
    if (value == ONNX_VALUE_NONE || d->im->values[value].live)
        return;
    d->im->values[value].live = true;
    d->stack[d->depth++] = value;
}

static uint32_t first_state(const struct onnx_node *loop)
{
    return (uint32_t)(loop->attr[ATTR_LOOP_HAS_COUNT] + loop->attr[ATTR_LOOP_HAS_COND]);
}

/* The loop itself: whether it goes on. */
static void need_loop(struct dead *d, uint32_t end)
{
    const struct onnx_node *e = &d->im->nodes[end], *loop = &d->im->nodes[e->begin];
    if (d->kept[end])
        return;
    d->kept[end] = d->kept[e->begin] = true;
    for (uint32_t i = 0; i < first_state(loop); i++)
        need(d, loop->in[i]);
    if (e->attr[ATTR_LOOP_HAS_COND])
        need(d, e->in[0]);
}

static void need_state(struct dead *d, uint32_t end, uint32_t i)
{
    const struct onnx_node *e = &d->im->nodes[end], *loop = &d->im->nodes[e->begin];
    uint32_t n = (uint32_t)e->attr[ATTR_LOOP_STATES], at = e->attr[ATTR_LOOP_HAS_COND] != 0;
    need(d, loop->in[first_state(loop) + i]);
    need(d, e->in[at + i]);
    need(d, e->in[at + n + i]);
}

static uint32_t place_of(const struct onnx_node *node, uint32_t value)
{
    uint32_t i = 0;
    while (i + 1 < node->n_out && node->out[i] != value)
        i++;
    return i;
}

static void need_result(struct dead *d, uint32_t at, uint32_t value)
{
    const struct onnx_node *node = &d->im->nodes[at];
    uint32_t i = node->info->flags & OP_CONTROL ? place_of(node, value) : 0;
    switch (node->info->op) {
    case PITH_OP_LOOP_END:
        need_loop(d, at);
        if (i < (uint32_t)node->attr[ATTR_LOOP_STATES])
            need_state(d, at, i);
        else
            need(d, node->in[node->n_in - node->n_out + i]); /* what is collected stands last */
        return;
    case PITH_OP_LOOP:
        need_loop(d, d->end_of[at]);
        if (i > 0)
            need_state(d, d->end_of[at], i - 1);
        return;
    case PITH_OP_BRANCH_END:
        d->kept[at] = d->kept[node->begin] = d->kept[node->middle] = true;
        need(d, node->in[0]);
        need(d, d->im->nodes[node->begin].in[0]);
        need(d, d->im->nodes[node->middle].in[0]);
        need(d, node->in[1 + i]);
        need(d, node->in[1 + node->n_out + i]);
        return;
    default:
        if (d->kept[at])
            return;
        d->kept[at] = true;
        for (uint32_t k = 0; k < node->n_in; k++)
            need(d, node->in[k]);
    }
}

/* Entries [from, from + n) of a list of `total`, those whose value of `by` lives: kept in place. */
static uint32_t keep_living(const struct dead *d, uint32_t *list, uint32_t to, uint32_t from,
                            uint32_t n, const uint32_t *by)
{
    for (uint32_t i = 0; i < n; i++)
        if (d->im->values[by[i]].live)
            list[to++] = list[from + i];
    return to;
}

/* A LoopEnd and its Loop without the states and the collected values that are dead. A state lives
 * when what Loop gives of it does. */
static void prune_loop(const struct dead *d, struct onnx_node *e)
{
    struct onnx_node *loop = &d->im->nodes[e->begin];
    uint32_t n = (uint32_t)e->attr[ATTR_LOOP_STATES], at = e->attr[ATTR_LOOP_HAS_COND] != 0;
    uint32_t collected = e->n_out - n, first = first_state(loop);
    const uint32_t *states = loop->out + 1;
    uint32_t kept_in = keep_living(d, e->in, at, at, n, states);
    kept_in = keep_living(d, e->in, kept_in, at + n, n, states);
    kept_in = keep_living(d, e->in, kept_in, at + 2 * n, collected, e->out + n);
    uint32_t kept_out = keep_living(d, e->out, 0, 0, n, states);
    e->attr[ATTR_LOOP_STATES] = (int32_t)kept_out;
    uint32_t out = kept_out;
    for (uint32_t i = n; i < e->n_out; i++)
        if (d->im->values[e->out[i]].live)
            e->out[out++] = e->out[i];
    loop->n_in = keep_living(d, loop->in, first, first, n, states);
    loop->n_out = 1 + keep_living(d, loop->out + 1, 0, 0, n, states);
    e->n_in = kept_in;
    e->n_out = out;
}

static void prune_branch(const struct dead *d, struct onnx_node *e)
{
    uint32_t n = e->n_out;
    uint32_t kept = keep_living(d, e->in, 1, 1, n, e->out);
    e->n_in = keep_living(d, e->in, kept, 1 + n, n, e->out);
    e->n_out = kept - 1;
    uint32_t out = 0;
    for (uint32_t i = 0; i < n; i++)
        if (d->im->values[e->out[i]].live)
            e->out[out++] = e->out[i];
}

static void prune(struct dead *d)
{
    struct onnx_import *im = d->im;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < im->n_nodes; i++) { /* while begins still are where ends say */
        if (d->kept[i] && im->nodes[i].info->op == PITH_OP_LOOP_END)
            prune_loop(d, &im->nodes[i]);
        if (d->kept[i] && im->nodes[i].info->op == PITH_OP_BRANCH_END)
            prune_branch(d, &im->nodes[i]);
    }
    for (uint32_t i = 0; i < im->n_nodes; i++)
        if (d->kept[i])
            im->nodes[kept++] = im->nodes[i];
    im->n_nodes = kept;
}

static bool reserve(struct dead *d)
{
    struct onnx_import *im = d->im;
    struct onnx_budget *b = &im->budget;
    d->made_by = pith_onnx_alloc(b, (uint64_t)im->n_values + 1, sizeof *d->made_by);
    d->stack = pith_onnx_alloc(b, (uint64_t)im->n_values + 1, sizeof *d->stack);
    d->kept = pith_onnx_alloc(b, (uint64_t)im->n_nodes + 1, sizeof *d->kept);
    d->end_of = pith_onnx_alloc(b, (uint64_t)im->n_nodes + 1, sizeof *d->end_of);
    return d->made_by && d->stack && d->kept && d->end_of;
}

static void release(struct dead *d)
{
    pith_onnx_free(&d->im->budget, d->made_by);
    pith_onnx_free(&d->im->budget, d->stack);
    pith_onnx_free(&d->im->budget, d->kept);
    pith_onnx_free(&d->im->budget, d->end_of);
}

enum pith_status pith_onnx_drop_dead(struct onnx_import *im)
{
    struct dead d = {.im = im};
    if (!reserve(&d)) {
        release(&d);
        return pith_onnx_no_memory(im);
    }
    for (uint32_t i = 0; i < im->n_values; i++)
        im->values[i].live = false;
    for (uint32_t i = 0; i < im->n_nodes; i++) {
        for (uint32_t k = 0; k < im->nodes[i].n_out; k++)
            d.made_by[im->nodes[i].out[k]] = i + 1;
        if (im->nodes[i].info->op == PITH_OP_LOOP_END)
            d.end_of[im->nodes[i].begin] = i;
    }
    for (uint32_t i = 0; i < im->n_outputs; i++)
        need(&d, im->outputs[i]);
    while (d.depth > 0) {
        uint32_t value = d.stack[--d.depth];
        if (d.made_by[value])
            need_result(&d, d.made_by[value] - 1, value);
    }
    prune(&d);
    release(&d);
    return PITH_OK;
}
