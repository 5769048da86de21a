/* SPDX-License-Identifier: MIT */
/* onnx_graph.c - from bytes to a graph of numbered values.
 *
 * ONNX links nodes by names. Here every name becomes a value number once: the graph's inputs, the
 * initializers and all node outputs are put into one sorted table, in which a name that stands
 * twice is an error. (Old files list initializers among the inputs as well: there the initializer
 * wins and the input is none.) Sorting instead of hashing keeps the time bounded for names chosen
 * to collide. */
#include "onnx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Names come from the file: a terminal must not act on what stands in them. */
static void clean_text(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

enum pith_status pith_onnx_fail(struct onnx_import *im, enum pith_status status, const char *fmt,
                                ...)
{
    if (!im->err)
        return status;
    im->err->status = status;
    im->err->chunk = 0;
    int n = snprintf(im->err->text, sizeof im->err->text, "%.150s: ", im->file);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(im->err->text + n, sizeof im->err->text - (size_t)n, fmt, ap);
    va_end(ap);
    clean_text(im->err->text);
    return status;
}

enum pith_status pith_onnx_no_memory(struct onnx_import *im)
{
    enum pith_status status = pith_onnx_memory_status(&im->budget);
    if (status == PITH_ERR_LIMIT)
        return pith_onnx_fail(im, status, "import needs more than %llu bytes of memory",
                              (unsigned long long)im->budget.limit);
    return pith_onnx_fail(im, status, "not enough memory");
}

static void *unpack_alloc(void *user, size_t bytes)
{
    return pith_onnx_alloc(user, bytes, 1);
}

static void unpack_free(void *user, void *p)
{
    pith_onnx_free(user, p);
}

static enum pith_status find_opset(struct onnx_import *im)
{
    const Onnx__ModelProto *model = im->model;
    im->opset = 1; /* what a file without opset_import means */
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = model->opset_import[i];
        if (!set->domain || !*set->domain || strcmp(set->domain, "ai.onnx") == 0)
            im->opset = set->has_version ? set->version : 1;
    }
    if (im->opset < ONNX_OPSET_MIN || im->opset > ONNX_OPSET_MAX)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "opset %lld is not in %d..%d: convert it with "
                              "onnx.version_converter",
                              (long long)im->opset, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    return PITH_OK;
}

enum pith_status pith_onnx_unpack(struct onnx_import *im, const void *bytes, size_t n)
{
    uint64_t offset = 0;
    const char *text = "";
    enum pith_status status = pith_onnx_scan(bytes, n, &offset, &text);
    if (status) {
        if (im->err)
            im->err->offset = offset;
        return pith_onnx_fail(im, status, "not an ONNX file or a broken one: %s at byte %llu", text,
                              (unsigned long long)offset);
    }
    ProtobufCAllocator alloc = {unpack_alloc, unpack_free, &im->budget};
    im->model = onnx__model_proto__unpack(&alloc, n, bytes);
    if (!im->model && !im->budget.failed)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "not an ONNX file or a broken one");
    if (!im->model)
        return pith_onnx_no_memory(im);
    im->graph = im->model->graph;
    if (!im->graph)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "not an ONNX file: it holds no graph");
    if (im->graph->n_sparse_initializer)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "%zu sparse initializers: store them dense",
                              im->graph->n_sparse_initializer);
    return find_opset(im);
}

const char *pith_onnx_label(const Onnx__NodeProto *node)
{
    if (node->name && *node->name)
        return node->name;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            return node->output[i];
    return "?";
}

uint32_t pith_onnx_add_value(struct onnx_import *im, const char *name)
{
    if (im->n_values == im->cap_values) {
        uint32_t cap = im->cap_values < 64 ? 64 : im->cap_values * 2;
        struct onnx_value *grown = pith_onnx_alloc(&im->budget, cap, sizeof *grown);
        if (!grown)
            return ONNX_VALUE_NONE;
        if (im->n_values)
            memcpy(grown, im->values, im->n_values * sizeof *grown);
        pith_onnx_free(&im->budget, im->values);
        im->values = grown;
        im->cap_values = cap;
    }
    im->values[im->n_values] =
        (struct onnx_value){.name = name, .alias = im->n_values, .producer = ONNX_NONE};
    return im->n_values++;
}

uint32_t pith_onnx_alias(const struct onnx_import *im, uint32_t value)
{
    while (value != ONNX_VALUE_NONE && im->values[value].alias != value)
        value = im->values[value].alias;
    return value;
}

static int compare_names(const void *a, const void *b)
{
    const struct onnx_name *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : x->value < y->value ? -1 : x->value > y->value;
}

uint32_t pith_onnx_find(const struct onnx_import *im, const char *name)
{
    uint32_t lo = 0, hi = im->n_names;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = strcmp(name, im->names[mid].text);
        if (order == 0)
            return im->names[mid].value;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return ONNX_VALUE_NONE;
}

/* What stands behind a value, for messages: "an input", "an initializer", "node 'x'". */
static void describe_origin(const struct onnx_import *im, uint32_t value, char text[160])
{
    const struct onnx_value *v = &im->values[value];
    if (v->producer != ONNX_NONE)
        snprintf(text, 160, "node '%.100s'", pith_onnx_label(im->graph->node[v->producer]));
    else
        snprintf(text, 160, "%s", v->tensor ? "an initializer" : "an input");
}

static enum pith_status sort_names(struct onnx_import *im)
{
    qsort(im->names, im->n_names, sizeof *im->names, compare_names);
    for (uint32_t i = 1; i < im->n_names; i++) {
        const struct onnx_name *a = &im->names[i - 1], *b = &im->names[i];
        if (strcmp(a->text, b->text) != 0)
            continue;
        char first[160], second[160];
        describe_origin(im, a->value, first);
        describe_origin(im, b->value, second);
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "value '%.100s' is defined twice: by %s and %s",
                              a->text, first, second);
    }
    return PITH_OK;
}

static enum pith_status add_named(struct onnx_import *im, const char *name)
{
    uint32_t value = pith_onnx_add_value(im, name);
    if (value == ONNX_VALUE_NONE)
        return pith_onnx_no_memory(im);
    if (*name)
        im->names[im->n_names++] = (struct onnx_name){name, value};
    return PITH_OK;
}

static enum pith_status add_initializers(struct onnx_import *im)
{
    for (size_t i = 0; i < im->graph->n_initializer; i++) {
        const Onnx__TensorProto *t = im->graph->initializer[i];
        if (!t->name || !*t->name)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "initializer %zu has no name", i);
        enum pith_status status = add_named(im, t->name);
        if (status)
            return status;
        im->values[im->n_values - 1].tensor = t;
        im->values[im->n_values - 1].constant = true;
    }
    return sort_names(im);
}

static enum pith_status add_inputs(struct onnx_import *im)
{
    uint32_t sorted = im->n_names; /* look-ups see the initializers only */
    for (size_t i = 0; i < im->graph->n_input; i++) {
        const char *name = im->graph->input[i]->name;
        if (!name || !*name)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "input %zu has no name", i);
        uint32_t all = im->n_names;
        im->n_names = sorted;
        uint32_t initializer = pith_onnx_find(im, name);
        im->n_names = all;
        if (initializer != ONNX_VALUE_NONE)
            continue;
        enum pith_status status = add_named(im, name);
        if (status)
            return status;
        im->inputs[im->n_inputs++] = im->n_values - 1;
    }
    return PITH_OK;
}

static enum pith_status add_outputs_of_nodes(struct onnx_import *im)
{
    for (size_t i = 0; i < im->graph->n_node; i++) {
        const Onnx__NodeProto *node = im->graph->node[i];
        if (!node->op_type || !*node->op_type)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "node '%.100s' has no operator",
                                  pith_onnx_label(node));
        im->node_out[i] = im->n_values;
        for (size_t k = 0; k < node->n_output; k++) {
            enum pith_status status = add_named(im, node->output[k]);
            if (status)
                return status;
            im->values[im->n_values - 1].producer = (int64_t)i;
        }
    }
    return sort_names(im);
}

static enum pith_status link_inputs(struct onnx_import *im)
{
    for (size_t i = 0; i < im->graph->n_node; i++) {
        const Onnx__NodeProto *node = im->graph->node[i];
        if (node->n_input > ONNX_MAX_NODE_INPUTS)
            return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "node '%.100s' (%.40s) has %zu inputs",
                                  pith_onnx_label(node), node->op_type, node->n_input);
        im->node_in[i] = pith_onnx_alloc(&im->budget, node->n_input + 1, sizeof **im->node_in);
        if (!im->node_in[i])
            return pith_onnx_no_memory(im);
        for (size_t k = 0; k < node->n_input; k++) {
            const char *name = node->input[k];
            im->node_in[i][k] = *name ? pith_onnx_find(im, name) : ONNX_VALUE_NONE;
            if (*name && im->node_in[i][k] == ONNX_VALUE_NONE)
                return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                                      "node '%.100s' (%.40s): nothing produces its input '%.100s'",
                                      pith_onnx_label(node), node->op_type, name);
        }
    }
    return PITH_OK;
}

static enum pith_status link_outputs(struct onnx_import *im)
{
    const struct pith_import_opts *opts = im->opts;
    bool cut = opts && opts->outputs && opts->n_outputs;
    size_t n = cut ? opts->n_outputs : im->graph->n_output;
    if (n == 0)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "the graph has no output");
    im->outputs = pith_onnx_alloc(&im->budget, n, sizeof *im->outputs);
    im->output_names = pith_onnx_alloc(&im->budget, n, sizeof *im->output_names);
    if (!im->outputs || !im->output_names)
        return pith_onnx_no_memory(im);
    for (size_t i = 0; i < n; i++) {
        const char *name = cut ? opts->outputs[i] : im->graph->output[i]->name;
        uint32_t value = name && *name ? pith_onnx_find(im, name) : ONNX_VALUE_NONE;
        if (value == ONNX_VALUE_NONE)
            return pith_onnx_fail(im, cut ? PITH_ERR_ARGUMENT : PITH_ERR_CORRUPT,
                                  "nothing produces output '%.100s'", name ? name : "");
        if (im->values[value].output)
            return pith_onnx_fail(im, cut ? PITH_ERR_ARGUMENT : PITH_ERR_CORRUPT,
                                  "output '%.100s' is named twice", name);
        im->values[value].output = true;
        im->outputs[i] = value;
        im->output_names[i] = name;
    }
    im->n_outputs = (uint32_t)n;
    return PITH_OK;
}

enum pith_status pith_onnx_resolve(struct onnx_import *im)
{
    const Onnx__GraphProto *g = im->graph;
    uint64_t n_names = (uint64_t)g->n_initializer + g->n_input;
    for (size_t i = 0; i < g->n_node; i++)
        n_names += g->node[i]->n_output;
    im->names = pith_onnx_alloc(&im->budget, n_names + 1, sizeof *im->names);
    im->inputs = pith_onnx_alloc(&im->budget, g->n_input + 1, sizeof *im->inputs);
    im->node_out = pith_onnx_alloc(&im->budget, g->n_node + 1, sizeof *im->node_out);
    im->node_in = pith_onnx_alloc(&im->budget, g->n_node + 1, sizeof *im->node_in);
    if (!im->names || !im->inputs || !im->node_out || !im->node_in)
        return pith_onnx_no_memory(im);
    enum pith_status status = add_initializers(im);
    if (!status)
        status = add_inputs(im);
    if (!status)
        status = add_outputs_of_nodes(im);
    if (!status)
        status = link_inputs(im);
    return status ? status : link_outputs(im);
}
