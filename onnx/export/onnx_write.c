/* SPDX-License-Identifier: MIT */
/* onnx_write.c - the effective network as an ONNX file (opset 13): pruned weights are zeros,
 * clustered ones their centroids, so that any other runtime can check what pith computes. Also a
 * way back to the tools a network came from. */
#include "onnx_export.h"
#include "pith_onnx.h"
#include "base/error_fill.h"
#include "base/narrow_float.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_input(const struct pith_model *m, uint32_t value)
{
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (m->inputs[i] == value)
            return true;
    return false;
}

/* to: of the format; 0: a copy of the same type. */
static void export_cast(struct onnx_export *x, const char *from, const char *name, int32_t to)
{
    Onnx__NodeProto *node = pith_export_node(x, to ? "Cast" : "Identity", "");
    pith_export_input(node, from);
    pith_export_output(node, name);
    if (to)
        pith_export_int(x, node, "to", to);
}

static bool is_narrow(const struct onnx_export *x, uint32_t end)
{
    return pith_type_is_narrow(pith_model_end_type(x->m, end));
}

/* The name of output i. A value that is an output before has given that one its name, which ONNX
 * lets no other have: a copy of it is this one. */
static const char *output_name(struct onnx_export *x, uint32_t i, bool *given)
{
    uint32_t value = x->m->outputs[i], end = x->m->n_inputs + i;
    bool narrow = is_narrow(x, end), again = given[value];
    given[value] = true;
    if (!again && !narrow)
        return x->names[value];
    const char *name =
        !again && x->end_names[value] ? x->end_names[value] : pith_export_name(x, x->names[value]);
    export_cast(x, x->names[value], name,
                narrow ? pith_export_type(pith_model_end_type(x->m, end)) : 0);
    return name;
}

/* Inputs and outputs of f16 or bf16 keep their names; the f32 values that stand for them within the
 * graph get others. An input that is an output, too, is a new one there. */
static void name_narrow_ends(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    x->end_names = pith_export_alloc(x, m->n_values + 1u, sizeof *x->end_names);
    for (uint32_t end = 0; end < m->n_inputs + m->n_outputs && !x->failed; end++) {
        bool output = end >= m->n_inputs;
        uint32_t value = output ? m->outputs[end - m->n_inputs] : m->inputs[end];
        if (!is_narrow(x, end) || x->end_names[value] || (output && is_input(m, value)))
            continue;
        x->end_names[value] = x->names[value];
        x->names[value] = pith_export_name(x, x->names[value]);
    }
}

static void cast_narrow_inputs(struct onnx_export *x)
{
    for (uint32_t i = 0; i < x->m->n_inputs && !x->failed; i++)
        if (is_narrow(x, i))
            export_cast(x, x->end_names[x->m->inputs[i]], x->names[x->m->inputs[i]],
                        ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
}

static void export_ends(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    bool *given = pith_export_alloc(x, m->n_values + 1u, sizeof *given);
    x->graph.input = pith_export_alloc(x, m->n_inputs + 1u, sizeof *x->graph.input);
    x->graph.output = pith_export_alloc(x, m->n_outputs + 1u, sizeof *x->graph.output);
    if (x->failed)
        return;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        x->graph.input[x->graph.n_input++] = pith_export_end(
            x, i, is_narrow(x, i) ? x->end_names[m->inputs[i]] : x->names[m->inputs[i]]);
    for (uint32_t i = 0; i < m->n_outputs && !x->failed; i++) {
        const char *name = output_name(x, i, given);
        if (name)
            x->graph.output[x->graph.n_output++] = pith_export_end(x, m->n_inputs + i, name);
    }
}

static void count_uses(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] != PITH_VALUE_NONE)
                x->uses[node->in[k]]++;
    }
    for (uint32_t i = 0; i < m->n_outputs; i++)
        x->uses[m->outputs[i]]++;
}

/* Those of a recurrent layer's product are not among them: it writes the weight in its own way. */
static void count_turned_uses(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    for (uint32_t i = 0; i < m->n_nodes && !x->failed; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (node->op == PITH_OP_MATMUL && node->attr[ATTR_MATMUL_TRANS_B] && !x->in_layer[i])
            x->turned_uses[node->in[1]]++;
    }
}

/* Values of compact files have no names: they get their numbers. */
static void name_values(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    x->names = pith_export_alloc(x, m->n_values + 1u, sizeof *x->names);
    x->uses = pith_export_alloc(x, m->n_values + 1u, sizeof *x->uses);
    x->turned_uses = pith_export_alloc(x, m->n_values + 1u, sizeof *x->turned_uses);
    x->replaced = pith_export_alloc(x, m->n_values + 1u, sizeof *x->replaced);
    x->stacked = pith_export_alloc(x, m->n_values + 1u, sizeof *x->stacked);
    x->stacked_uses = pith_export_alloc(x, m->n_values + 1u, sizeof *x->stacked_uses);
    if (x->failed)
        return;
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].name && *m->values[i].name)
            x->names[i] = m->values[i].name;
    for (uint32_t i = 0; i < m->n_values && !x->failed; i++)
        if (!x->names[i])
            x->names[i] = pith_export_name(x, "value");
    count_uses(x);
}

/* By name; within one, those that carry weights first. */
static int compare_nodes(const void *a, const void *b)
{
    const struct pith_node *m = *(const struct pith_node *const *)a;
    const struct pith_node *n = *(const struct pith_node *const *)b;
    int order = strcmp(m->name, n->name);
    if (order)
        return order;
    bool mw = pith_op_get(m->op)->flags & OP_WEIGHT, nw = pith_op_get(n->op)->flags & OP_WEIGHT;
    return mw != nw ? (mw ? -1 : 1) : m < n ? -1 : m > n;
}

/* Import may make several nodes of one, all with its name; ONNX allows a name once. */
static void name_nodes(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    uint32_t n = 0;
    const struct pith_node **sorted = pith_export_alloc(x, m->n_nodes + 1u, sizeof *sorted);
    x->node_name = pith_export_alloc(x, m->n_nodes + 1u, sizeof *x->node_name);
    if (x->failed) /* of this or of what came before */
        return;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (!x->in_layer[i] && pith_op_get(m->nodes[i].op))
            sorted[n++] = &m->nodes[i];
    qsort(sorted, n, sizeof *sorted, compare_nodes);
    for (uint32_t i = 0; i < n; i++) {
        bool again = i > 0 && strcmp(sorted[i - 1]->name, sorted[i]->name) == 0;
        x->node_name[sorted[i] - m->nodes] = again ? "" : sorted[i]->name;
    }
}

static void export_constants(struct onnx_export *x)
{
    for (uint32_t i = 0; i < x->m->n_values; i++) {
        const struct pith_value *v = &x->m->values[i];
        if (!v->constant || x->replaced[i] || x->uses[i] == 0)
            continue;
        pith_export_weight(x, x->names[i], i, EXPORT_AS_IT_IS);
    }
}

/* Import makes f32 of f16 and bf16 and refuses most of f64, so a network that has such values
 * would come back as another one. (Weights stored in 16 bits are f32.) */
static enum pith_status check_types(const struct onnx_export *x)
{
    for (uint32_t i = 0; i < x->m->n_values; i++) {
        const struct pith_value *v = &x->m->values[i];
        bool real = v->type == PITH_F16 || v->type == PITH_BF16 || v->type == PITH_F64;
        if (real && (!v->constant || x->uses[i]))
            return pith_error_fill(x->err, PITH_ERR_UNSUPPORTED,
                                   "cannot write value '%.100s' as ONNX: it is of f16, bf16 or "
                                   "f64, which import reads as f32 or refuses",
                                   x->names[i]);
    }
    return PITH_OK;
}

/* Casts of the weights that the file holds in 8 or 16 bits, and nodes that compute open sizes. */
static void put_casts_first(struct onnx_export *x)
{
    uint32_t n_sizes;
    Onnx__NodeProto **sizes = pith_export_size_nodes(x, &n_sizes);
    size_t first = x->n_casts + n_sizes, n = first + x->graph.n_node;
    Onnx__NodeProto **node = pith_export_alloc(x, n + 1u, sizeof *node);
    if (!node || first == 0)
        return;
    memcpy(node, x->casts, x->n_casts * sizeof *node);
    if (n_sizes)
        memcpy(node + x->n_casts, sizes, n_sizes * sizeof *node);
    memcpy(node + first, x->graph.node, x->graph.n_node * sizeof *node);
    x->graph.node = node;
    x->graph.n_node = n;
}

static enum pith_status export_graph(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    x->widest = 9; /* QLinearConv; lists that become inputs: on nodes that have few of their own */
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        x->widest = m->nodes[i].n_in > x->widest ? m->nodes[i].n_in : x->widest;
        x->widest = m->nodes[i].n_out > x->widest ? m->nodes[i].n_out : x->widest;
    }
    pith_onnx__graph_proto__init(&x->graph);
    x->graph.name = (char *)(uintptr_t) "pith";
    name_values(x);
    enum pith_status status = x->failed ? PITH_OK : check_types(x);
    if (status)
        return status;
    name_narrow_ends(x);
    pith_export_find_layers(x);
    pith_export_find_sums(x);
    count_turned_uses(x);
    name_nodes(x);
    x->graph.node = pith_export_alloc(
        x, (uint64_t)m->n_nodes * EXPORT_MAX_NODES + m->n_inputs + m->n_outputs + 1,
        sizeof *x->graph.node);
    x->casts = pith_export_alloc(x, (uint64_t)m->n_nodes * EXPORT_MAX_TENSORS + m->n_values + 1,
                                 sizeof *x->casts);
    x->graph.initializer =
        pith_export_alloc(x,
                          (uint64_t)m->n_nodes * EXPORT_MAX_TENSORS +
                              (uint64_t)m->n_values * EXPORT_MAX_WEIGHT_TENSORS + 1,
                          sizeof *x->graph.initializer);
    cast_narrow_inputs(x);
    for (uint32_t i = 0; i < m->n_nodes && !status && !x->failed; i++)
        if (pith_export_is_region(m->nodes[i].op))
            status = pith_export_region(x, &m->nodes[i]);
        else if (!x->in_layer[i])
            status = pith_export_op(x, &m->nodes[i]);
    if (status || x->failed)
        return x->failed ? pith_error_no_memory(x->err) : status;
    export_constants(x);
    export_ends(x);
    if (!x->failed)
        put_casts_first(x);
    return x->failed ? pith_error_no_memory(x->err) : pith_export_check_sizes(x);
}

static void export_meta(struct onnx_export *x, Onnx__ModelProto *model)
{
    const struct pith_model *m = x->m;
    model->metadata_props = pith_export_alloc(x, m->n_meta + 1u, sizeof *model->metadata_props);
    for (uint32_t i = 0; i < m->n_meta && !x->failed; i++) {
        if (strcmp(m->meta[i].key, PITH_META_TYPES) == 0)
            continue; /* the graph has them */
        Onnx__StringStringEntryProto *e = pith_export_alloc(x, 1, sizeof *e);
        if (!e)
            return;
        pith_onnx__string_string_entry_proto__init(e);
        e->key = m->meta[i].key;
        e->value = m->meta[i].text;
        model->metadata_props[model->n_metadata_props++] = e;
    }
}

static enum pith_status pack(struct onnx_export *x, struct pith_buffer *file)
{
    Onnx__ModelProto model;
    Onnx__OperatorSetIdProto opset, *opsets[1] = {&opset};
    pith_onnx__model_proto__init(&model);
    pith_onnx__operator_set_id_proto__init(&opset);
    opset.domain = (char *)(uintptr_t) "";
    opset.has_version = 1;
    opset.version = x->opset;
    model.has_ir_version = 1;
    model.ir_version = x->opset >= EXPORT_OPSET_21     ? EXPORT_IR_21
                       : x->opset > EXPORT_OPSET_TRILU ? EXPORT_IR + 1
                                                       : EXPORT_IR;
    model.producer_name = (char *)(uintptr_t) "pith";
    model.n_opset_import = 1;
    model.opset_import = opsets;
    model.graph = &x->graph;
    export_meta(x, &model);
    if (x->failed)
        return pith_error_no_memory(x->err);
    size_t n = pith_onnx__model_proto__get_packed_size(&model);
    if (n > INT32_MAX)
        return pith_error_fill(x->err, PITH_ERR_UNSUPPORTED,
                               "an ONNX file cannot hold %zu bytes, at most 2147483647", n);
    uint8_t *data = malloc(n);
    if (!data)
        return pith_error_no_memory(x->err);
    pith_onnx__model_proto__pack(&model, data);
    *file = (struct pith_buffer){data, n};
    return PITH_OK;
}

enum pith_status pith_model_write_onnx(const struct pith_model *m, struct pith_buffer *file,
                                       struct pith_error *err)
{
    if (!m || !file)
        return PITH_ERR_ARGUMENT;
    return m->n_sizes ? pith_export_open_sizes(m, file, err) : pith_export_file(m, NULL, file, err);
}

enum pith_status pith_export_file(const struct pith_model *m, struct export_sizes *sizes,
                                  struct pith_buffer *file, struct pith_error *err)
{
    struct onnx_export x = {.m = m,
                            .err = err,
                            .sizes = sizes,
                            .opset =
                                pith_export_has_new_integers(m) ? EXPORT_OPSET_21 : EXPORT_OPSET};
    if (pith_model_new(NULL, &x.arena))
        return pith_error_no_memory(err);
    enum pith_status status = export_graph(&x);
    if (!status)
        status = pack(&x, file);
    pith_model_free(x.arena);
    return status;
}
