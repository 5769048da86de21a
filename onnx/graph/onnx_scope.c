/* SPDX-License-Identifier: MIT */
/* onnx_scope.c - the names of one graph, body or function, and the values they stand for.
 *
 * ONNX links nodes by names. A scope is a sorted table of the names one graph defines: its inputs,
 * its initializers, the outputs of its nodes; in it a name that stands twice is an error. A body
 * also sees the scopes around it, of which the nearest that has the name wins; a function sees
 * nothing but its own. Sorting instead of hashing keeps the time bounded for names chosen to
 * collide. */
#include "onnx.h"

#include <stdio.h>
#include <stdlib.h>

static int compare_names(const void *a, const void *b)
{
    const struct onnx_name *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : x->value < y->value ? -1 : x->value > y->value;
}

static const struct onnx_name *look_up(const struct onnx_name *names, uint32_t n, const char *text)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = strcmp(text, names[mid].text);
        if (order == 0)
            return &names[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

uint32_t pith_onnx_find(const struct onnx_import *im, const char *name)
{
    const struct onnx_name *found = look_up(im->names, im->n_names, name);
    return found ? found->value : ONNX_VALUE_NONE;
}

bool pith_onnx_scope_find(const struct onnx_scope *scope, const char *name, uint32_t *value)
{
    for (; scope; scope = scope->parent) {
        const struct onnx_name *found = look_up(scope->names, scope->n_names, name);
        if (found) {
            *value = found->value;
            return true;
        }
    }
    return false;
}

/* What stands behind a name, for messages: "an input", "an initializer", "node 'x'". */
static void describe_origin(const struct onnx_import *im, const struct onnx_name *n, char text[160])
{
    bool initializer = n->value != ONNX_VALUE_NONE && im->values[n->value].tensor;
    if (n->node)
        snprintf(text, 160, "node '%.100s'", pith_onnx_label(n->node));
    else
        snprintf(text, 160, "%s", initializer ? "an initializer" : "an input");
}

static enum pith_status sort_names(struct onnx_import *im, struct onnx_scope *s)
{
    if (s->n_names)
        qsort(s->names, s->n_names, sizeof *s->names, compare_names);
    for (uint32_t i = 1; i < s->n_names; i++) {
        const struct onnx_name *a = &s->names[i - 1], *b = &s->names[i];
        if (strcmp(a->text, b->text) != 0)
            continue;
        char first[160], second[160];
        describe_origin(im, a, first);
        describe_origin(im, b, second);
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "value '%.100s' is defined twice: by %s and %s",
                              a->text, first, second);
    }
    return PITH_OK;
}

static enum pith_status add_named(struct onnx_import *im, struct onnx_scope *s, const char *name,
                                  const Onnx__NodeProto *node)
{
    uint32_t value = pith_onnx_add_value(im, name);
    if (value == ONNX_VALUE_NONE)
        return pith_onnx_no_memory(im);
    if (*name)
        s->names[s->n_names++] = (struct onnx_name){name, value, node};
    return PITH_OK;
}

static enum pith_status add_initializers(struct onnx_import *im, struct onnx_scope *s,
                                         const Onnx__GraphProto *graph)
{
    if (graph->n_sparse_initializer)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "%zu sparse initializers: store them dense",
                              graph->n_sparse_initializer);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const Onnx__TensorProto *t = graph->initializer[i];
        if (!t->name || !*t->name)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "initializer %zu has no name", i);
        enum pith_status status = add_named(im, s, t->name, NULL);
        if (status)
            return status;
        im->values[im->n_values - 1].tensor = t;
        im->values[im->n_values - 1].constant = true;
    }
    return PITH_OK;
}

/* Old files list initializers among the inputs as well: there the initializer wins. */
static enum pith_status add_graph_inputs(struct onnx_import *im, struct onnx_scope *s)
{
    struct onnx_scope initializers = {NULL, s->names, s->n_names};
    for (size_t i = 0; i < im->graph->n_input; i++) {
        const char *name = im->graph->input[i]->name;
        uint32_t value;
        if (!name || !*name)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "input %zu has no name", i);
        if (pith_onnx_scope_find(&initializers, name, &value))
            continue;
        enum pith_status status = add_named(im, s, name, NULL);
        if (status)
            return status;
        im->inputs[im->n_inputs++] = im->n_values - 1;
    }
    return PITH_OK;
}

static enum pith_status add_bound(struct onnx_import *im, struct onnx_scope *s, size_t n,
                                  const char *(*name_of)(const void *of, size_t i), const void *of,
                                  const uint32_t *bound)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = name_of(of, i);
        if (!name || !*name)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                                  "input %zu of a body or function has no "
                                  "name",
                                  i);
        s->names[s->n_names++] = (struct onnx_name){name, bound[i], NULL};
    }
    return PITH_OK;
}

static const char *graph_input(const void *of, size_t i)
{
    return ((const Onnx__GraphProto *)of)->input[i]->name;
}

static const char *function_input(const void *of, size_t i)
{
    return ((const Onnx__FunctionProto *)of)->input[i];
}

/* The outputs of node i become values first_out[i], first_out[i] + 1, ... */
static enum pith_status add_outputs(struct onnx_import *im, struct onnx_scope *s, size_t n_nodes,
                                    Onnx__NodeProto *const *nodes, uint32_t *first_out)
{
    for (size_t i = 0; i < n_nodes; i++) {
        first_out[i] = im->n_values;
        for (size_t k = 0; k < nodes[i]->n_output; k++) {
            enum pith_status status = add_named(im, s, nodes[i]->output[k], nodes[i]);
            if (status)
                return status;
        }
    }
    return sort_names(im, s);
}

static enum pith_status room(struct onnx_import *im, struct onnx_scope *s, uint64_t n,
                             size_t n_nodes, Onnx__NodeProto *const *nodes, uint32_t **first_out)
{
    for (size_t i = 0; i < n_nodes; i++)
        n += nodes[i]->n_output;
    im->n_steps += n + n_nodes + 1;
    if (im->n_steps > ONNX_MAX_STEPS)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "its functions and bodies hold more than %d names once they are "
                              "expanded",
                              ONNX_MAX_STEPS);
    s->n_names = 0;
    s->names = pith_onnx_alloc(&im->budget, n + 1, sizeof *s->names);
    *first_out = pith_onnx_alloc(&im->budget, (uint64_t)n_nodes + 1, sizeof **first_out);
    return s->names && *first_out ? PITH_OK : pith_onnx_no_memory(im);
}

enum pith_status pith_onnx_scope_graph(struct onnx_import *im, struct onnx_scope *s,
                                       uint32_t **first_out)
{
    const Onnx__GraphProto *g = im->graph;
    enum pith_status status =
        room(im, s, (uint64_t)g->n_initializer + g->n_input, g->n_node, g->node, first_out);
    im->inputs = pith_onnx_alloc(&im->budget, (uint64_t)g->n_input + 1, sizeof *im->inputs);
    if (!status && !im->inputs)
        status = pith_onnx_no_memory(im);
    if (!status)
        status = add_initializers(im, s, g);
    if (!status)
        status = sort_names(im, s);
    if (!status)
        status = add_graph_inputs(im, s);
    return status ? status : add_outputs(im, s, g->n_node, g->node, *first_out);
}

enum pith_status pith_onnx_scope_body(struct onnx_import *im, struct onnx_scope *s,
                                      const Onnx__GraphProto *g, const uint32_t *inputs,
                                      uint32_t **first_out)
{
    enum pith_status status =
        room(im, s, (uint64_t)g->n_initializer + g->n_input, g->n_node, g->node, first_out);
    if (!status)
        status = add_bound(im, s, g->n_input, graph_input, g, inputs);
    if (!status)
        status = add_initializers(im, s, g);
    return status ? status : add_outputs(im, s, g->n_node, g->node, *first_out);
}

enum pith_status pith_onnx_scope_function(struct onnx_import *im, struct onnx_scope *s,
                                          const Onnx__FunctionProto *f, const uint32_t *inputs,
                                          uint32_t **first_out)
{
    enum pith_status status = room(im, s, f->n_input, f->n_node, f->node, first_out);
    if (!status)
        status = add_bound(im, s, f->n_input, function_input, f, inputs);
    return status ? status : add_outputs(im, s, f->n_node, f->node, *first_out);
}
