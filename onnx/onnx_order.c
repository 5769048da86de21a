/* SPDX-License-Identifier: MIT */
/* onnx_order.c - which nodes matter, and in what order they can run.
 *
 * Alive is what an output needs, found by walking back from the outputs. The order is the file's
 * own wherever that is an order of execution (ONNX requires a sorted graph, not all writers
 * comply): nodes are finished in depth-first order over their producers, taking roots in file
 * order. A node met while it is still open lies on a cycle. A region (a Loop, Scan or If:
 * onnx_inline.c) is one thing in the part that it stands in, represented by its end, and needs
 * whatever its nodes take from around it; the nodes of its own parts are ordered among themselves,
 * and put in between at last. All walks keep their own stack: depth is the file's choice. */
#include "onnx/graph/onnx.h"

enum mark { UNSEEN = 0, OPEN = 1, FINISHED = 2 };

/* What a region needs from the part it stands in. */
struct need {
    uint32_t producer;
    uint32_t next; /* number of the next one, plus 1 */
};

struct visit {
    uint32_t node;
    uint32_t next; /* input to look at next; of a region: number of a need, plus 1 */
};

struct walk {
    struct onnx_import *im;
    uint8_t *alive, *mark; /* [n_flat] */
    struct visit *stack;   /* [n_flat]: a node is pushed once, when it is first visited */
    uint32_t depth;
    struct need *needs;
    uint32_t n_needs, cap_needs;
    uint32_t *first_need; /* [n_regions], number plus 1 */
    uint32_t *finished;   /* things in the order in which they are finished */
    uint32_t n_finished;
    uint32_t *part_start; /* [parts + 1] into by_part */
    uint32_t *by_part;
};

static enum pith_status fail_cycle(struct onnx_import *im, uint32_t i)
{
    const Onnx__NodeProto *node = im->flat[i].node;
    return pith_onnx_fail(im, PITH_ERR_CORRUPT, "node '%.100s' (%.40s) depends on its own output",
                          pith_onnx_label(node), node->op_type);
}

/* The node that makes a value, other names resolved, or ONNX_NONE. */
static int64_t producer_of(const struct onnx_import *im, uint32_t value)
{
    return value == ONNX_VALUE_NONE ? ONNX_NONE : im->values[pith_onnx_alias(im, value)].producer;
}

/* ---- alive ---------------------------------------------------------------------------------- */

static void revive(struct walk *w, int64_t node)
{
    if (node == ONNX_NONE || w->alive[node])
        return;
    w->alive[node] = 1;
    w->stack[w->depth++].node = (uint32_t)node;
}

static void need_inputs(struct walk *w, const uint32_t *in, uint32_t n)
{
    struct onnx_import *im = w->im;
    for (uint32_t k = 0; k < n; k++) {
        if (in[k] == ONNX_VALUE_NONE)
            continue;
        im->values[in[k]].live = true;
        im->values[pith_onnx_alias(im, in[k])].live = true;
        revive(w, producer_of(im, in[k]));
    }
}

/* Of a branch that is not taken, and of a body that never runs, nothing is needed. */
static void need_end(struct walk *w, const struct onnx_flat *f)
{
    const struct onnx_region *r = &w->im->regions[f->region];
    revive(w, r->begin);
    if (r->kind == ONNX_IF)
        revive(w, r->middle);
    if (r->never)
        return;
    uint32_t half = f->n_in / 2;
    if (r->taken_first)
        need_inputs(w, f->in, half);
    else if (r->taken_second)
        need_inputs(w, f->in + half, half);
    else
        need_inputs(w, f->in, f->n_in);
}

/* Marks nodes that an output needs. */
static void mark_alive(struct walk *w)
{
    struct onnx_import *im = w->im;
    for (uint32_t i = 0; i < im->n_outputs; i++) {
        need_inputs(w, &im->outputs[i], 1);
        while (w->depth > 0) {
            const struct onnx_flat *f = &im->flat[w->stack[--w->depth].node];
            if (f->role == ONNX_END)
                need_end(w, f);
            else
                need_inputs(w, f->in, f->n_in);
        }
    }
}

/* ---- what regions need ----------------------------------------------------------------------- */

static enum pith_status add_need(struct walk *w, uint32_t region, uint32_t producer)
{
    struct onnx_import *im = w->im;
    uint32_t first = w->first_need[region];
    if (first && w->needs[first - 1].producer == producer)
        return PITH_OK;
    if (w->n_needs == w->cap_needs) {
        uint32_t cap = w->cap_needs < 64 ? 64 : 2 * w->cap_needs;
        struct need *grown = pith_onnx_alloc(&im->budget, cap, sizeof *grown);
        if (!grown)
            return pith_onnx_no_memory(im);
        if (w->n_needs)
            memcpy(grown, w->needs, w->n_needs * sizeof *grown);
        pith_onnx_free(&im->budget, w->needs);
        w->needs = grown;
        w->cap_needs = cap;
    }
    w->needs[w->n_needs++] = (struct need){producer, first};
    w->first_need[region] = w->n_needs;
    return PITH_OK;
}

/* Every region between the part that uses a node's output and the part it stands in needs it. */
static enum pith_status take_from_around(struct walk *w, uint32_t part, uint32_t producer)
{
    struct onnx_import *im = w->im;
    uint32_t home = im->flat[producer].part;
    if (im->flat[producer].role == ONNX_BEGIN)
        return PITH_OK; /* what a begin makes is there as soon as the body is entered */
    while (part != home && part != 0) {
        uint32_t region = (part - 1) / 2;
        enum pith_status status = add_need(w, region, producer);
        if (status)
            return status;
        part = im->regions[region].parent;
    }
    return PITH_OK;
}

static enum pith_status list_needs(struct walk *w)
{
    struct onnx_import *im = w->im;
    for (uint32_t i = 0; i < im->n_flat; i++) {
        const struct onnx_flat *f = &im->flat[i];
        if (!w->alive[i] || (f->role == ONNX_PLAIN && f->part == 0))
            continue;
        bool inside = f->role == ONNX_END || f->role == ONNX_BEGIN;
        for (uint32_t k = 0; k < f->n_in; k++) {
            bool second =
                f->role == ONNX_END && im->regions[f->region].kind == ONNX_IF && k >= f->n_in / 2;
            uint32_t part = inside ? pith_onnx_part(f->region, second) : f->part;
            int64_t producer = producer_of(im, f->in[k]);
            if (producer == ONNX_NONE)
                continue;
            enum pith_status status = take_from_around(w, part, (uint32_t)producer);
            if (status)
                return status;
        }
    }
    return PITH_OK;
}

/* ---- the order within each part -------------------------------------------------------------- */

/* What the thing on top of the stack needs next in its own part; false: nothing any more. */
static bool next_need(struct walk *w, uint32_t *producer)
{
    struct onnx_import *im = w->im;
    struct visit *top = &w->stack[w->depth - 1];
    const struct onnx_flat *f = &im->flat[top->node];
    while (f->role == ONNX_END ? top->next != 0 : top->next < f->n_in) {
        int64_t p;
        if (f->role == ONNX_END) {
            p = w->needs[top->next - 1].producer;
            top->next = w->needs[top->next - 1].next;
        } else {
            p = producer_of(im, f->in[top->next++]);
        }
        if (p == ONNX_NONE || im->flat[p].part != f->part || im->flat[p].role == ONNX_BEGIN)
            continue;
        *producer = (uint32_t)p;
        return true;
    }
    return false;
}

static void push(struct walk *w, uint32_t node)
{
    const struct onnx_flat *f = &w->im->flat[node];
    w->mark[node] = OPEN;
    w->stack[w->depth++] = (struct visit){node, f->role == ONNX_END ? w->first_need[f->region] : 0};
}

/* Finishes node `root` and, before it, all it depends on. */
static enum pith_status finish(struct walk *w, uint32_t root)
{
    push(w, root);
    while (w->depth > 0) {
        uint32_t producer;
        if (!next_need(w, &producer)) {
            uint32_t node = w->stack[--w->depth].node;
            w->mark[node] = FINISHED;
            w->finished[w->n_finished++] = node;
            continue;
        }
        if (w->mark[producer] == OPEN)
            return fail_cycle(w->im, producer);
        if (w->mark[producer] == UNSEEN)
            push(w, producer);
    }
    return PITH_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static void group_by_part(struct walk *w)
{
    const struct onnx_import *im = w->im;
    uint32_t parts = 2 * im->n_regions + 1;
    for (uint32_t i = 0; i < w->n_finished; i++)
        w->part_start[im->flat[w->finished[i]].part + 1]++;
    for (uint32_t i = 0; i < parts; i++)
        w->part_start[i + 1] += w->part_start[i];
    for (uint32_t i = w->n_finished; i-- > 0;)
        w->by_part[--w->part_start[im->flat[w->finished[i]].part + 1]] = w->finished[i];
    /* each start has moved from [part + 1] down to where the part begins */
    for (uint32_t i = 0; i < parts; i++)
        w->part_start[i] = w->part_start[i + 1];
    w->part_start[parts] = w->n_finished;
}

static uint32_t put(struct onnx_import *im, uint32_t node)
{
    im->order[im->n_order] = node;
    return im->n_order++;
}

/* visit.node: a part; visit.next: place in by_part. */
static void enter_part(struct walk *w, uint32_t part)
{
    w->stack[w->depth++] = (struct visit){part, w->part_start[part]};
}

static void leave_part(struct walk *w, uint32_t part)
{
    struct onnx_import *im = w->im;
    if (part == 0)
        return;
    struct onnx_region *r = &im->regions[(part - 1) / 2];
    if (r->kind == ONNX_IF && part % 2 == 1) {
        r->at_middle = put(im, r->middle);
        enter_part(w, part + 1);
    } else {
        r->at_end = put(im, r->end);
    }
}

static void put_in_order(struct walk *w)
{
    struct onnx_import *im = w->im;
    enter_part(w, 0);
    while (w->depth > 0) {
        struct visit *top = &w->stack[w->depth - 1];
        if (top->next == w->part_start[top->node + 1]) {
            w->depth--;
            leave_part(w, top->node);
            continue;
        }
        uint32_t node = w->by_part[top->next++];
        const struct onnx_flat *f = &im->flat[node];
        if (f->role == ONNX_END) {
            put(im, im->regions[f->region].begin);
            enter_part(w, pith_onnx_part(f->region, false));
        } else {
            put(im, node);
        }
    }
}

static bool reserve(struct walk *w)
{
    struct onnx_import *im = w->im;
    struct onnx_budget *b = &im->budget;
    uint64_t n = (uint64_t)im->n_flat + 2; /* parts nest no deeper than there are nodes */
    w->alive = pith_onnx_alloc(b, n, sizeof *w->alive);
    w->mark = pith_onnx_alloc(b, n, sizeof *w->mark);
    w->stack = pith_onnx_alloc(b, n, sizeof *w->stack);
    w->finished = pith_onnx_alloc(b, n, sizeof *w->finished);
    w->by_part = pith_onnx_alloc(b, n, sizeof *w->by_part);
    w->first_need = pith_onnx_alloc(b, (uint64_t)im->n_regions + 1, sizeof *w->first_need);
    w->part_start = pith_onnx_alloc(b, 2 * (uint64_t)im->n_regions + 3, sizeof *w->part_start);
    return w->alive && w->mark && w->stack && w->finished && w->by_part && w->first_need &&
           w->part_start;
}

static void release(struct walk *w)
{
    struct onnx_budget *b = &w->im->budget;
    pith_onnx_free(b, w->alive);
    pith_onnx_free(b, w->mark);
    pith_onnx_free(b, w->stack);
    pith_onnx_free(b, w->finished);
    pith_onnx_free(b, w->by_part);
    pith_onnx_free(b, w->first_need);
    pith_onnx_free(b, w->part_start);
    pith_onnx_free(b, w->needs);
}

enum pith_status pith_onnx_sort(struct onnx_import *im)
{
    struct walk w = {.im = im};
    enum pith_status status = PITH_OK;
    im->order = pith_onnx_alloc(&im->budget, (uint64_t)im->n_flat + 1, sizeof *im->order);
    if (!im->order || !reserve(&w))
        status = pith_onnx_no_memory(im);
    if (!status) {
        mark_alive(&w);
        status = list_needs(&w);
    }
    for (uint32_t i = 0; i < im->n_flat && !status; i++) {
        bool thing = im->flat[i].role == ONNX_PLAIN || im->flat[i].role == ONNX_END;
        if (thing && w.alive[i] && w.mark[i] == UNSEEN)
            status = finish(&w, i);
    }
    if (!status) {
        group_by_part(&w);
        put_in_order(&w);
    }
    release(&w);
    return status;
}

enum pith_status pith_onnx_drop_refusals(struct onnx_import *im)
{
    struct walk w = {.im = im};
    if (!reserve(&w)) {
        release(&w);
        return pith_onnx_no_memory(im);
    }
    mark_alive(&w);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < im->n_refusals; i++)
        if (w.alive[im->refusals[i].flat])
            im->refusals[kept++] = im->refusals[i];
    im->n_refusals = kept;
    release(&w);
    return PITH_OK;
}
