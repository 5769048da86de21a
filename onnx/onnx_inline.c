/* SPDX-License-Identifier: MIT */
/* onnx_inline.c - a graph with functions and bodies becomes one list of nodes.
 *
 * Calls of local functions are replaced by the function's nodes. A Loop, Scan or If is kept as a
 * region: a begin, the nodes of its body, an end (an If: begin, first branch, else, second branch,
 * end), all in the one list; what a body takes from around it is linked to directly.
 *
 *     Loop  begin  in: trip count, condition, states      out: iteration, states, condition, and
 *                                                              the iteration as the body wants it
 *           end    in: condition, next states, collected  out: the node's own
 *     Scan  begin  in: states, what is scanned            out: iteration, states, slices
 *           end    in: next states, collected             out: the node's own
 *     If    begin  in: condition                          out: the condition
 *           else   in: -                                  out: -
 *           end    in: k values, k of the other branch    out: the node's own, k
 *
 * The walk keeps its own stack, of bounded depth; functions that call themselves are refused, and
 * what calls multiply is counted (ONNX_MAX_STEPS, ONNX_MAX_NODES). */
#include "onnx/graph/onnx.h"

#include <stdio.h>

enum frame_kind { FRAME_MAIN, FRAME_FUNCTION, FRAME_BODY, FRAME_THEN, FRAME_ELSE };

struct frame {
    enum frame_kind kind;
    struct onnx_scope scope;
    Onnx__NodeProto *const *nodes;
    size_t n_nodes, next;
    uint32_t *first_out;           /* of each node */
    const Onnx__GraphProto *graph; /* of a body */
    const struct onnx_call *call;  /* the function that all this is part of; NULL: none */
    struct onnx_call called;       /* of a function: its call */
    uint32_t called_out;           /* the first output of the call */
    uint32_t part, region;
    int64_t opset;
};

struct inliner {
    struct onnx_import *im;
    struct frame *stack; /* [ONNX_MAX_FRAMES] */
    uint32_t depth;
};

static enum pith_status node_fail(struct onnx_import *im, const Onnx__NodeProto *node,
                                  enum pith_status status, const char *what)
{
    return pith_onnx_fail(im, status, "node '%.100s' (%.40s): %s", pith_onnx_label(node),
                          node->op_type, what);
}

static void *room_for_one(struct onnx_import *im, void *old, uint32_t n, uint32_t *cap, size_t each)
{
    if (n < *cap)
        return old;
    uint32_t more = *cap < 64 ? 64 : *cap * 2;
    void *grown = pith_onnx_alloc(&im->budget, more, each);
    if (!grown)
        return NULL;
    if (n)
        memcpy(grown, old, n * each);
    pith_onnx_free(&im->budget, old);
    *cap = more;
    return grown;
}

/* ---- the list -------------------------------------------------------------------------------- */

static enum pith_status append(struct onnx_import *im, const struct onnx_flat *flat)
{
    if (im->n_flat == ONNX_MAX_NODES)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "more than %d nodes once its functions are expanded", ONNX_MAX_NODES);
    struct onnx_flat *grown = room_for_one(im, im->flat, im->n_flat, &im->cap_flat, sizeof *grown);
    if (!grown)
        return pith_onnx_no_memory(im);
    im->flat = grown;
    im->flat[im->n_flat] = *flat;
    for (uint32_t i = 0; i < flat->n_out; i++)
        im->values[flat->out + i].producer = im->n_flat;
    im->n_flat++;
    return PITH_OK;
}

static enum pith_status find_input(struct onnx_import *im, const struct frame *f,
                                   const Onnx__NodeProto *node, size_t k, uint32_t *value)
{
    const char *name = node->input[k];
    *value = ONNX_VALUE_NONE;
    if (*name && !pith_onnx_scope_find(&f->scope, name, value))
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "node '%.100s' (%.40s): nothing produces its input '%.100s'",
                              pith_onnx_label(node), node->op_type, name);
    return PITH_OK;
}

static enum pith_status link_inputs(struct onnx_import *im, const struct frame *f,
                                    const Onnx__NodeProto *node, struct onnx_flat *flat)
{
    if (node->n_input > ONNX_MAX_NODE_INPUTS)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "node '%.100s' (%.40s) has %zu inputs",
                              pith_onnx_label(node), node->op_type, node->n_input);
    flat->n_in = (uint32_t)node->n_input;
    flat->in = pith_onnx_alloc(&im->budget, node->n_input + 1, sizeof *flat->in);
    if (!flat->in)
        return pith_onnx_no_memory(im);
    enum pith_status status = PITH_OK;
    for (size_t k = 0; k < node->n_input && !status; k++)
        status = find_input(im, f, node, k, &flat->in[k]);
    return status;
}

/* n values more, named like the inputs of the body that will see them. */
static enum pith_status add_block(struct onnx_import *im, uint32_t n, uint32_t *first)
{
    *first = im->n_values;
    for (uint32_t i = 0; i < n; i++)
        if (pith_onnx_add_value(im, "") == ONNX_VALUE_NONE)
            return pith_onnx_no_memory(im);
    return PITH_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static enum pith_status push(struct inliner *w, const Onnx__NodeProto *node, struct frame **f)
{
    if (w->depth == ONNX_MAX_FRAMES)
        return node_fail(w->im, node, PITH_ERR_UNSUPPORTED,
                         "functions and bodies are nested more than 64 deep");
    *f = &w->stack[w->depth++];
    **f = (struct frame){0};
    return PITH_OK;
}

/* The opset of a function's own nodes: what it imports, else the file's. */
static enum pith_status function_opset(struct onnx_import *im, const Onnx__FunctionProto *f,
                                       int64_t *opset)
{
    for (size_t i = 0; i < f->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = f->opset_import[i];
        if (!set->domain || !*set->domain || strcmp(set->domain, "ai.onnx") == 0)
            *opset = set->has_version ? set->version : 1;
    }
    if (*opset == im->opset) /* the file's own opset has been checked */
        return PITH_OK;
    char what[140];
    snprintf(what, sizeof what, "function '%.100s' is of ", f->name ? f->name : "");
    return pith_onnx_check_opset(im, what, *opset);
}

static enum pith_status check_call(struct inliner *w, const Onnx__NodeProto *node,
                                   const struct onnx_function *f)
{
    for (uint32_t i = 0; i < w->depth; i++)
        if (w->stack[i].kind == FRAME_FUNCTION && w->stack[i].called.function == f)
            return node_fail(w->im, node, PITH_ERR_CORRUPT, "a function calls itself");
    if (node->n_input > f->proto->n_input)
        return node_fail(w->im, node, PITH_ERR_CORRUPT, "it has more inputs than its function");
    if (node->n_output > f->proto->n_output)
        return node_fail(w->im, node, PITH_ERR_CORRUPT, "it has more outputs than its function");
    return PITH_OK;
}

static enum pith_status open_function(struct inliner *w, const struct onnx_flat *flat,
                                      const struct onnx_function *function)
{
    struct onnx_import *im = w->im;
    const Onnx__FunctionProto *proto = function->proto;
    struct frame *f = NULL;
    int64_t opset = im->opset;
    enum pith_status status = check_call(w, flat->node, function);
    if (!status)
        status = function_opset(im, proto, &opset);
    if (!status)
        status = push(w, flat->node, &f);
    if (status)
        return status;
    uint32_t *bound = pith_onnx_alloc(&im->budget, (uint64_t)proto->n_input + 1, sizeof *bound);
    if (!bound)
        return pith_onnx_no_memory(im);
    for (size_t i = 0; i < proto->n_input; i++)
        bound[i] = i < flat->n_in ? flat->in[i] : ONNX_VALUE_NONE;
    f->kind = FRAME_FUNCTION;
    f->nodes = proto->node;
    f->n_nodes = proto->n_node;
    f->called = (struct onnx_call){function, flat->node};
    f->call = &f->called;
    f->called_out = flat->out;
    f->part = flat->part;
    f->opset = opset;
    return pith_onnx_scope_function(im, &f->scope, proto, bound, &f->first_out);
}

/* The outputs of the call are other names for the values of the body. */
static enum pith_status close_function(struct onnx_import *im, const struct frame *f)
{
    const Onnx__NodeProto *node = f->called.node;
    for (size_t i = 0; i < node->n_output; i++) {
        const char *name = f->called.function->proto->output[i];
        uint32_t call = f->called_out + (uint32_t)i, inner;
        if (!*node->output[i])
            continue;
        if (!pith_onnx_scope_find(&f->scope, name, &inner) || inner == ONNX_VALUE_NONE)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                                  "node '%.100s' (%.40s): nothing in its function produces output "
                                  "'%.100s'",
                                  pith_onnx_label(node), node->op_type, name);
        inner = pith_onnx_alias(im, inner);
        if (inner == call) /* handed in again by a cycle through the caller */
            return node_fail(im, node, PITH_ERR_CORRUPT, "it depends on its own output");
        im->values[call].alias = inner;
        if (im->values[inner].producer != ONNX_NONE)
            im->values[inner].name = im->values[call].name;
    }
    return PITH_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static const Onnx__GraphProto *body_of(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i]->g;
    return NULL;
}

static enum pith_status open_body(struct inliner *w, const struct onnx_flat *flat,
                                  enum frame_kind kind, const Onnx__GraphProto *graph)
{
    struct onnx_import *im = w->im;
    const struct frame *around = &w->stack[w->depth - 1];
    struct frame *f = NULL;
    enum pith_status status = push(w, flat->node, &f);
    if (status)
        return status;
    f->kind = kind;
    f->graph = graph;
    f->nodes = graph->node;
    f->n_nodes = graph->n_node;
    f->scope.parent = &around->scope;
    f->call = around->call;
    f->opset = flat->opset;
    f->region = flat->region;
    f->part = pith_onnx_part(flat->region, kind == FRAME_ELSE);
    uint32_t *bound = pith_onnx_alloc(&im->budget, (uint64_t)graph->n_input + 1, sizeof *bound);
    if (!bound)
        return pith_onnx_no_memory(im);
    const struct onnx_region *r = &im->regions[flat->region];
    uint32_t first = im->flat[r->begin].out;
    for (uint32_t i = 0; i < graph->n_input; i++) {
        bound[i] = first + i;
        if (r->kind == ONNX_LOOP) /* iteration, condition, states */
            bound[i] = i == 0   ? first + r->n_states + 2
                       : i == 1 ? first + r->n_states + 1
                                : first + i - 1;
        else if (r->kind == ONNX_SCAN)
            bound[i] = first + 1 + i;
        im->values[bound[i]].name = graph->input[i]->name ? graph->input[i]->name : "";
    }
    return pith_onnx_scope_body(im, &f->scope, graph, bound, &f->first_out);
}

static enum pith_status new_region(struct onnx_import *im, struct onnx_flat *flat,
                                   enum onnx_region_kind kind, struct onnx_region **r)
{
    struct onnx_region *grown =
        room_for_one(im, im->regions, im->n_regions, &im->cap_regions, sizeof *grown);
    if (!grown)
        return pith_onnx_no_memory(im);
    im->regions = grown;
    flat->region = im->n_regions++;
    *r = &im->regions[flat->region];
    **r = (struct onnx_region){.kind = kind, .parent = flat->part, .node = flat->node};
    (*r)->begin = im->n_flat;
    (*r)->first_out = flat->out;
    return PITH_OK;
}

/* The node's outputs as the region makes them: those the node leaves out at the end included. */
static enum pith_status block_of_outputs(struct onnx_import *im, struct onnx_region *r, uint64_t n)
{
    const Onnx__NodeProto *node = r->node;
    if (n < node->n_output)
        return node_fail(im, node, PITH_ERR_CORRUPT, "it has more outputs than its body");
    if (n > ONNX_MAX_NODE_INPUTS)
        return node_fail(im, node, PITH_ERR_UNSUPPORTED, "its body has too many outputs");
    if (n == 0)
        return node_fail(im, node, PITH_ERR_CORRUPT, "it has no outputs");
    r->n_out = (uint32_t)n;
    if (n == node->n_output)
        return PITH_OK;
    uint32_t first;
    enum pith_status status = add_block(im, r->n_out, &first);
    for (uint32_t i = 0; i < node->n_output && !status; i++) {
        im->values[first + i].name = node->output[i];
        im->values[r->first_out + i].alias = first + i;
    }
    r->first_out = first;
    return status;
}

static enum pith_status begin_region(struct inliner *w, struct onnx_flat *flat, uint32_t n_out)
{
    flat->role = ONNX_BEGIN;
    flat->n_out = n_out;
    enum pith_status status = add_block(w->im, n_out, &flat->out);
    return status ? status : append(w->im, flat);
}

static enum pith_status open_loop(struct inliner *w, struct onnx_flat *flat)
{
    struct onnx_import *im = w->im;
    const Onnx__GraphProto *body = body_of(flat->node, "body");
    struct onnx_region *r;
    if (!body)
        return node_fail(im, flat->node, PITH_ERR_CORRUPT, "attribute body is missing");
    if (flat->n_in < 2 || body->n_input != flat->n_in || body->n_output < body->n_input - 1)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "node '%.100s' (Loop): %u inputs do not fit a body of %zu inputs and "
                              "%zu outputs",
                              pith_onnx_label(flat->node), flat->n_in, body->n_input,
                              body->n_output);
    enum pith_status status = new_region(im, flat, ONNX_LOOP, &r);
    if (status)
        return status;
    r->n_states = flat->n_in - 2;
    const Onnx__TypeProto *type = body->input[0]->type;
    r->iteration_is_list = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                           type->tensor_type->shape && type->tensor_type->shape->n_dim == 1;
    status = block_of_outputs(im, r, body->n_output - 1);
    if (!status)
        status = begin_region(w, flat, r->n_states + 3);
    return status ? status : open_body(w, flat, FRAME_BODY, body);
}

static enum pith_status open_scan(struct inliner *w, struct onnx_flat *flat)
{
    struct onnx_import *im = w->im;
    const Onnx__GraphProto *body = body_of(flat->node, "body");
    int64_t scanned = 0;
    struct onnx_region *r;
    for (size_t i = 0; i < flat->node->n_attribute; i++) {
        const Onnx__AttributeProto *a = flat->node->attribute[i];
        if (a->name && strcmp(a->name, "num_scan_inputs") == 0)
            scanned = a->i;
    }
    if (!body)
        return node_fail(im, flat->node, PITH_ERR_CORRUPT, "attribute body is missing");
    if (flat->opset < 9) { /* the first input is the lengths of the sequences */
        flat->in++;
        flat->n_in--;
    }
    if (scanned < 1 || scanned > flat->n_in || body->n_input != flat->n_in ||
        body->n_output < flat->n_in - (uint64_t)scanned)
        return pith_onnx_fail(
            im, PITH_ERR_CORRUPT,
            "node '%.100s' (Scan): %u inputs of which %lld are scanned do not fit "
            "a body of %zu inputs and %zu outputs",
            pith_onnx_label(flat->node), flat->n_in, (long long)scanned, body->n_input,
            body->n_output);
    enum pith_status status = new_region(im, flat, ONNX_SCAN, &r);
    if (status)
        return status;
    r->n_states = flat->n_in - (uint32_t)scanned;
    r->n_slices = (uint32_t)scanned;
    r->batched = flat->opset < 9;
    status = block_of_outputs(im, r, body->n_output);
    if (!status)
        status = begin_region(w, flat, 1 + flat->n_in);
    return status ? status : open_body(w, flat, FRAME_BODY, body);
}

static enum pith_status open_if(struct inliner *w, struct onnx_flat *flat)
{
    struct onnx_import *im = w->im;
    const Onnx__GraphProto *yes = body_of(flat->node, "then_branch");
    const Onnx__GraphProto *no = body_of(flat->node, "else_branch");
    struct onnx_region *r;
    if (!yes || !no)
        return node_fail(im, flat->node, PITH_ERR_CORRUPT, "a branch is missing");
    if (flat->n_in != 1 || yes->n_input || no->n_input || yes->n_output != no->n_output)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "node '%.100s' (If): it has %u inputs, its branches take %zu and %zu "
                              "and give %zu and %zu",
                              pith_onnx_label(flat->node), flat->n_in, yes->n_input, no->n_input,
                              yes->n_output, no->n_output);
    enum pith_status status = new_region(im, flat, ONNX_IF, &r);
    if (status)
        return status;
    r->second = no;
    status = block_of_outputs(im, r, yes->n_output);
    if (!status)
        r->end_in = pith_onnx_alloc(&im->budget, 2 * (uint64_t)r->n_out, sizeof *r->end_in);
    if (!status && !r->end_in)
        status = pith_onnx_no_memory(im);
    if (!status)
        status = begin_region(w, flat, 1);
    return status ? status : open_body(w, flat, FRAME_THEN, yes);
}

/* The values that a body gives, by name. */
static enum pith_status body_outputs(struct onnx_import *im, const struct frame *f, uint32_t *to)
{
    const Onnx__NodeProto *node = im->regions[f->region].node;
    for (size_t i = 0; i < f->graph->n_output; i++) {
        const char *name = f->graph->output[i]->name;
        if (!name || !pith_onnx_scope_find(&f->scope, name, &to[i]) || to[i] == ONNX_VALUE_NONE)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                                  "node '%.100s' (%.40s): nothing produces output '%.100s' of its "
                                  "body",
                                  pith_onnx_label(node), node->op_type, name ? name : "");
    }
    return PITH_OK;
}

static enum pith_status end_region(struct onnx_import *im, const struct frame *f, uint32_t n_in)
{
    struct onnx_region *r = &im->regions[f->region];
    struct onnx_flat end = {.node = r->node, .role = ONNX_END, .region = f->region};
    end.part = r->parent;
    end.opset = f->opset;
    end.n_in = n_in;
    end.in = r->end_in;
    end.n_out = r->n_out;
    end.out = r->first_out;
    r->end = im->n_flat;
    return append(im, &end);
}

/* A state that every iteration hands on as it is, is no state: the body reads what it begins as, a
 * weight, say. The state itself then feeds nothing, and is dropped with what is dead. */
static void link_constant_states(struct onnx_import *im, const struct onnx_region *r)
{
    const struct onnx_flat *begin = &im->flat[r->begin];
    const uint32_t skipped = r->kind == ONNX_LOOP; /* the condition, in front of the states */
    for (uint32_t i = 0; i < r->n_states; i++) {
        const uint32_t state = begin->out + 1 + i, first = begin->in[2 * skipped + i];
        uint32_t next = r->end_in[skipped + i];
        const int64_t producer = im->values[next].producer;
        const struct onnx_flat *flat = producer == ONNX_NONE ? NULL : &im->flat[producer];
        if (next != state && flat && flat->role == ONNX_PLAIN && flat->n_in == 1 &&
            strcmp(flat->node->op_type, "Identity") == 0)
            next = flat->in[0];
        if (next == state && first != ONNX_VALUE_NONE && !r->batched)
            im->values[state].alias = first;
    }
}

static enum pith_status close_body(struct inliner *w, struct frame *f)
{
    struct onnx_import *im = w->im;
    struct onnx_region *r = &im->regions[f->region];
    uint32_t n = (uint32_t)f->graph->n_output;
    r->end_in = pith_onnx_alloc(&im->budget, (uint64_t)n + 1, sizeof *r->end_in);
    if (!r->end_in)
        return pith_onnx_no_memory(im);
    enum pith_status status = body_outputs(im, f, r->end_in);
    w->depth--;
    if (status)
        return status;
    link_constant_states(im, r);
    return end_region(im, f, n);
}

static enum pith_status close_branch(struct inliner *w, struct frame *f)
{
    struct onnx_import *im = w->im;
    struct onnx_region *r = &im->regions[f->region];
    bool first = f->kind == FRAME_THEN;
    enum pith_status status = body_outputs(im, f, r->end_in + (first ? 0 : r->n_out));
    w->depth--;
    if (status)
        return status;
    if (!first)
        return end_region(im, f, 2 * r->n_out);
    struct onnx_flat middle = {.node = r->node, .role = ONNX_ELSE, .region = f->region};
    middle.part = r->parent;
    middle.opset = f->opset;
    r->middle = im->n_flat;
    status = append(im, &middle);
    return status ? status : open_body(w, &middle, FRAME_ELSE, r->second);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool is_standard(const Onnx__NodeProto *node)
{
    return !node->domain || !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
}

static enum pith_status expand(struct inliner *w, struct frame *f, size_t i)
{
    struct onnx_import *im = w->im;
    const struct onnx_function *function;
    struct onnx_flat flat = {.node = f->nodes[i], .part = f->part, .opset = f->opset};
    if (!flat.node->op_type || !*flat.node->op_type)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "node '%.100s' has no operator",
                              pith_onnx_label(flat.node));
    enum pith_status status = pith_onnx_called_node(im, f->call, &flat.node);
    if (!status)
        status = link_inputs(im, f, flat.node, &flat);
    if (!status)
        status = pith_onnx_find_function(im, flat.node, &function);
    if (status)
        return status;
    flat.out = f->first_out[i];
    flat.n_out = (uint32_t)flat.node->n_output;
    if (function)
        return open_function(w, &flat, function);
    im->n_file_nodes++;
    if (is_standard(flat.node) && strcmp(flat.node->op_type, "Loop") == 0)
        return open_loop(w, &flat);
    if (is_standard(flat.node) && strcmp(flat.node->op_type, "If") == 0)
        return open_if(w, &flat);
    bool lengths = flat.opset < 9 && (flat.n_in == 0 || flat.in[0] != ONNX_VALUE_NONE);
    if (is_standard(flat.node) && strcmp(flat.node->op_type, "Scan") == 0 && !lengths)
        return open_scan(w, &flat); /* with lengths, lowering refuses it */
    return append(im, &flat);
}

static enum pith_status close_frame(struct inliner *w, struct frame *f)
{
    enum pith_status status = PITH_OK;
    if (f->kind == FRAME_BODY)
        return close_body(w, f);
    if (f->kind == FRAME_THEN || f->kind == FRAME_ELSE)
        return close_branch(w, f);
    if (f->kind == FRAME_FUNCTION)
        status = close_function(w->im, f);
    w->depth--;
    return status;
}

enum pith_status pith_onnx_inline(struct onnx_import *im)
{
    struct inliner w = {.im = im, .depth = 1};
    w.stack = pith_onnx_alloc(&im->budget, ONNX_MAX_FRAMES, sizeof *w.stack);
    if (!w.stack)
        return pith_onnx_no_memory(im);
    struct frame *main = &w.stack[0];
    main->nodes = im->graph->node;
    main->n_nodes = im->graph->n_node;
    main->opset = im->opset;
    enum pith_status status = pith_onnx_index_functions(im);
    if (!status)
        status = pith_onnx_scope_graph(im, &main->scope, &main->first_out);
    im->names = main->scope.names;
    im->n_names = main->scope.n_names;
    while (!status && w.depth > 0) {
        struct frame *top = &w.stack[w.depth - 1];
        status = top->next == top->n_nodes ? close_frame(&w, top) : expand(&w, top, top->next++);
    }
    pith_onnx_free(&im->budget, w.stack);
    return status;
}
