/* SPDX-License-Identifier: MIT */
/* onnx_order.c - which nodes matter, and in what order they can run.
 *
 * Alive is what an output needs, found by walking back from the outputs. The order is the file's
 * own wherever that is an order of execution (writers are told to sort, not all do): nodes are
 * finished in depth-first order over their producers, taking roots in file order. A node met while
 * it is still open lies on a cycle. Both walks keep their own stack: depth is the file's choice. */
#include "onnx.h"

enum mark { UNSEEN = 0, OPEN = 1, FINISHED = 2 };

struct visit {
    uint32_t node;
    uint32_t next; /* input to look at next */
};

struct walk {
    struct onnx_import *im;
    uint8_t *mark;       /* [n_node] */
    struct visit *stack; /* [n_node] : a node is pushed once, when it is first seen */
    uint32_t depth;
};

static enum pith_status fail_cycle(struct onnx_import *im, uint32_t i)
{
    const Onnx__NodeProto *node = im->graph->node[i];
    return pith_onnx_fail(im, PITH_ERR_CORRUPT, "node '%.100s' (%.40s) depends on its own output",
                          pith_onnx_label(node), node->op_type);
}

/* Finishes node `root` and, before it, all it depends on. */
static enum pith_status finish(struct walk *w, uint32_t root)
{
    struct onnx_import *im = w->im;
    w->mark[root] = OPEN;
    w->stack[0] = (struct visit){root, 0};
    w->depth = 1;
    while (w->depth > 0) {
        struct visit *top = &w->stack[w->depth - 1];
        if (top->next == im->graph->node[top->node]->n_input) {
            w->mark[top->node] = FINISHED;
            im->order[im->n_order++] = top->node;
            w->depth--;
            continue;
        }
        uint32_t value = im->node_in[top->node][top->next++];
        if (value == ONNX_VALUE_NONE)
            continue;
        im->values[value].live = true;
        int64_t producer = im->values[value].producer;
        if (producer == ONNX_NONE || w->mark[producer] == FINISHED)
            continue;
        if (w->mark[producer] == OPEN)
            return fail_cycle(im, (uint32_t)producer);
        w->mark[producer] = OPEN;
        w->stack[w->depth++] = (struct visit){(uint32_t)producer, 0};
    }
    return PITH_OK;
}

/* Marks nodes that an output needs. */
static void mark_alive(struct walk *w, uint8_t *alive)
{
    struct onnx_import *im = w->im;
    for (uint32_t i = 0; i < im->n_outputs; i++) {
        im->values[im->outputs[i]].live = true;
        int64_t producer = im->values[im->outputs[i]].producer;
        if (producer == ONNX_NONE || alive[producer])
            continue;
        alive[producer] = 1;
        w->stack[0].node = (uint32_t)producer;
        w->depth = 1;
        while (w->depth > 0) {
            uint32_t node = w->stack[--w->depth].node;
            for (size_t k = 0; k < im->graph->node[node]->n_input; k++) {
                uint32_t value = im->node_in[node][k];
                int64_t p = value == ONNX_VALUE_NONE ? ONNX_NONE : im->values[value].producer;
                if (p == ONNX_NONE || alive[p])
                    continue;
                alive[p] = 1;
                w->stack[w->depth++].node = (uint32_t)p;
            }
        }
    }
}

enum pith_status pith_onnx_sort(struct onnx_import *im)
{
    size_t n = im->graph->n_node;
    struct walk w = {.im = im};
    w.mark = pith_onnx_alloc(&im->budget, n + 1, sizeof *w.mark);
    w.stack = pith_onnx_alloc(&im->budget, n + 1, sizeof *w.stack);
    uint8_t *alive = pith_onnx_alloc(&im->budget, n + 1, sizeof *alive);
    im->order = pith_onnx_alloc(&im->budget, n + 1, sizeof *im->order);
    enum pith_status status = PITH_OK;
    if (!w.mark || !w.stack || !alive || !im->order) {
        status = pith_onnx_no_memory(im);
    } else {
        mark_alive(&w, alive);
        for (size_t i = 0; i < n && !status; i++)
            if (alive[i] && w.mark[i] == UNSEEN)
                status = finish(&w, (uint32_t)i);
    }
    pith_onnx_free(&im->budget, w.mark);
    pith_onnx_free(&im->budget, w.stack);
    pith_onnx_free(&im->budget, alive);
    return status;
}
