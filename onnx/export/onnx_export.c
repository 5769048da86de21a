/* SPDX-License-Identifier: MIT */
/* onnx_export.c - the effective network as an ONNX file (opset 13): pruned weights are zeros,
 * clustered ones their centroids, so that any other runtime can check what pith computes. Also a
 * way back to the tools a network came from. */
#include "onnx_export.h"
#include "pith_onnx.h"
#include "pith_error_fill.h"

#include <stdio.h>
#include <stdlib.h>

void *pith_export_alloc(struct onnx_export *x, uint64_t count, size_t each)
{
    void *p = pith_model_alloc(x->arena, count, each);
    x->failed = x->failed || !p;
    return p;
}

static bool is_name(const struct onnx_export *x, const char *text)
{
    for (uint32_t i = 0; i < x->m->n_values; i++)
        if (x->names[i] && strcmp(x->names[i], text) == 0)
            return true;
    return false;
}

char *pith_export_name(struct onnx_export *x, const char *stem)
{
    size_t room = strlen(stem) + 16;
    char *name = pith_export_alloc(x, room, 1);
    if (!name)
        return NULL;
    do
        snprintf(name, room, "%s.%u", stem, ++x->n_made);
    while (is_name(x, name));
    return name;
}

/* ---- parts ------------------------------------------------------------------------------ */

Onnx__NodeProto *pith_export_node(struct onnx_export *x, const char *op_type, const char *name)
{
    Onnx__NodeProto *node = pith_export_alloc(x, 1, sizeof *node);
    if (!node)
        return NULL;
    pith_onnx__node_proto__init(node);
    node->op_type = pith_model_strdup(x->arena, op_type);
    node->name = pith_model_strdup(x->arena, name);
    node->attribute = pith_export_alloc(x, EXPORT_MAX_ATTRS, sizeof *node->attribute);
    node->input = pith_export_alloc(x, x->widest, sizeof *node->input);
    node->output = pith_export_alloc(x, x->widest, sizeof *node->output);
    x->failed = x->failed || !node->op_type || !node->name;
    if (x->failed)
        return NULL;
    x->graph.node[x->graph.n_node++] = node;
    return node;
}

void pith_export_input(Onnx__NodeProto *node, const char *name)
{
    if (node && name)
        node->input[node->n_input++] = (char *)(uintptr_t)name; /* protobuf-c only reads it */
}

void pith_export_output(Onnx__NodeProto *node, const char *name)
{
    if (node && name)
        node->output[node->n_output++] = (char *)(uintptr_t)name;
}

static Onnx__AttributeProto *add_attr(struct onnx_export *x, Onnx__NodeProto *node,
                                      const char *name, Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *a = node ? pith_export_alloc(x, 1, sizeof *a) : NULL;
    if (!a)
        return NULL;
    pith_onnx__attribute_proto__init(a);
    a->name = (char *)(uintptr_t)name;
    a->has_type = 1;
    a->type = type;
    node->attribute[node->n_attribute++] = a;
    return a;
}

void pith_export_int(struct onnx_export *x, Onnx__NodeProto *node, const char *name, int64_t v)
{
    Onnx__AttributeProto *a = add_attr(x, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (!a)
        return;
    a->has_i = 1;
    a->i = v;
}

void pith_export_float(struct onnx_export *x, Onnx__NodeProto *node, const char *name, float v)
{
    Onnx__AttributeProto *a = add_attr(x, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (!a)
        return;
    a->has_f = 1;
    a->f = v;
}

void pith_export_string(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                        const char *v)
{
    Onnx__AttributeProto *a =
        add_attr(x, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    if (!a)
        return;
    a->has_s = 1;
    a->s.data = (uint8_t *)(uintptr_t)v;
    a->s.len = strlen(v);
}

void pith_export_ints(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                      const int64_t *v, size_t n)
{
    Onnx__AttributeProto *a = add_attr(x, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    int64_t *kept = a ? pith_export_alloc(x, n + 1, sizeof *kept) : NULL;
    if (!kept)
        return;
    memcpy(kept, v, n * sizeof *kept);
    a->ints = kept;
    a->n_ints = n;
}

void pith_export_floats(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                        const float *v, size_t n)
{
    Onnx__AttributeProto *a =
        add_attr(x, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    float *kept = a ? pith_export_alloc(x, n + 1, sizeof *kept) : NULL;
    if (!kept)
        return;
    memcpy(kept, v, n * sizeof *kept);
    a->floats = kept;
    a->n_floats = n;
}

void pith_export_strings(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                         const char *const *v, size_t n)
{
    Onnx__AttributeProto *a =
        add_attr(x, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    ProtobufCBinaryData *kept = a ? pith_export_alloc(x, n + 1, sizeof *kept) : NULL;
    if (!kept)
        return;
    for (size_t i = 0; i < n; i++)
        kept[i] = (ProtobufCBinaryData){strlen(v[i]), (uint8_t *)(uintptr_t)v[i]};
    a->strings = kept;
    a->n_strings = n;
}

void pith_export_graph(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                       Onnx__GraphProto *graph)
{
    Onnx__AttributeProto *a = add_attr(x, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    if (a)
        a->g = graph;
}

const char *pith_export_tensor(struct onnx_export *x, const char *name, int32_t data_type,
                               uint32_t rank, const uint32_t *dims, const void *data,
                               uint64_t bytes)
{
    Onnx__TensorProto *t = pith_export_alloc(x, 1, sizeof *t);
    int64_t *dim = pith_export_alloc(x, rank + 1u, sizeof *dim);
    if (!t || !dim || !name)
        return NULL;
    pith_onnx__tensor_proto__init(t);
    for (uint32_t i = 0; i < rank; i++)
        dim[i] = dims[i];
    t->n_dims = rank;
    t->dims = dim;
    t->has_data_type = 1;
    t->data_type = data_type;
    t->name = (char *)(uintptr_t)name;
    t->has_raw_data = 1;
    t->raw_data.data = (uint8_t *)(uintptr_t)data;
    t->raw_data.len = (size_t)bytes;
    x->graph.initializer[x->graph.n_initializer++] = t;
    return name;
}

const char *pith_export_ints_tensor(struct onnx_export *x, const int64_t *v, uint32_t n)
{
    int64_t *kept = pith_export_alloc(x, n + 1u, sizeof *kept);
    if (!kept)
        return NULL;
    memcpy(kept, v, n * sizeof *kept);
    return pith_export_tensor(x, pith_export_name(x, "ints"), ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
                              1, &n, kept, n * sizeof *kept);
}

const char *pith_export_float_tensor(struct onnx_export *x, const float *v, uint32_t n, bool scalar)
{
    float *kept = pith_export_alloc(x, n + 1u, sizeof *kept);
    if (!kept)
        return NULL;
    memcpy(kept, v, n * sizeof *kept);
    return pith_export_tensor(x, pith_export_name(x, "floats"),
                              ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, scalar ? 0 : 1, &n, kept,
                              n * sizeof *kept);
}

/* ---- the graph -------------------------------------------------------------------------- */

int32_t pith_export_type(enum pith_type type)
{
    static const int32_t map[] = {
        [PITH_F32] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
        [PITH_F16] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16,
        [PITH_BF16] = ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16,
        [PITH_F64] = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE,
        [PITH_I8] = ONNX__TENSOR_PROTO__DATA_TYPE__INT8,
        [PITH_U8] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
        [PITH_I16] = ONNX__TENSOR_PROTO__DATA_TYPE__INT16,
        [PITH_U16] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT16,
        [PITH_I32] = ONNX__TENSOR_PROTO__DATA_TYPE__INT32,
        [PITH_I64] = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
        [PITH_BOOL] = ONNX__TENSOR_PROTO__DATA_TYPE__BOOL,
    };
    return map[type];
}

/* symbol NULL: neither a number nor a name. */
static Onnx__TensorShapeProto__Dimension *export_dim(struct onnx_export *x, uint32_t dim, bool open,
                                                     const char *symbol)
{
    Onnx__TensorShapeProto__Dimension *d = pith_export_alloc(x, 1, sizeof *d);
    if (!d)
        return NULL;
    pith_onnx__tensor_shape_proto__dimension__init(d);
    if (open && symbol) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        d->dim_param = (char *)(uintptr_t)symbol;
    } else if (!open) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        d->dim_value = dim;
    }
    return d;
}

static Onnx__ValueInfoProto *make_info(struct onnx_export *x, const struct pith_value *v,
                                       const char *name, enum export_dims dims)
{
    Onnx__ValueInfoProto *info = pith_export_alloc(x, 1, sizeof *info);
    Onnx__TypeProto *type = pith_export_alloc(x, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = pith_export_alloc(x, 1, sizeof *tensor);
    Onnx__TensorShapeProto *shape = pith_export_alloc(x, 1, sizeof *shape);
    Onnx__TensorShapeProto__Dimension **dim = pith_export_alloc(x, v->rank + 1u, sizeof *dim);
    if (!info || !type || !tensor || !shape || !dim)
        return NULL;
    pith_onnx__value_info_proto__init(info);
    pith_onnx__type_proto__init(type);
    pith_onnx__type_proto__tensor__init(tensor);
    pith_onnx__tensor_shape_proto__init(shape);
    for (uint32_t i = 0; i < v->rank; i++)
        dim[i] = dims == EXPORT_DIMS_ENDS
                     ? export_dim(x, v->dim[i], i == 0 && x->m->batch_open, "N")
                     : export_dim(x, v->dim[i], x->m->batch_open, NULL);
    shape->n_dim = v->rank;
    shape->dim = dim;
    tensor->has_elem_type = 1;
    tensor->elem_type = pith_export_type(v->type);
    tensor->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->name = (char *)(uintptr_t)name;
    info->type = type;
    return info;
}

Onnx__ValueInfoProto *pith_export_info(struct onnx_export *x, uint32_t value, const char *name,
                                       enum export_dims dims)
{
    return make_info(x, &x->m->values[value], name, dims);
}

Onnx__ValueInfoProto *pith_export_bool_info(struct onnx_export *x, const char *name)
{
    const struct pith_value scalar = {.type = PITH_BOOL};
    return make_info(x, &scalar, name, EXPORT_DIMS_ENDS);
}

static void export_ends(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    x->graph.input = pith_export_alloc(x, m->n_inputs + 1u, sizeof *x->graph.input);
    x->graph.output = pith_export_alloc(x, m->n_outputs + 1u, sizeof *x->graph.output);
    if (x->failed)
        return;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        x->graph.input[x->graph.n_input++] =
            pith_export_info(x, m->inputs[i], x->names[m->inputs[i]], EXPORT_DIMS_ENDS);
    for (uint32_t i = 0; i < m->n_outputs; i++)
        x->graph.output[x->graph.n_output++] =
            pith_export_info(x, m->outputs[i], x->names[m->outputs[i]], EXPORT_DIMS_ENDS);
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
        uint64_t bytes = v->constant->count * pith_type_bytes(v->type);
        pith_export_tensor(x, x->names[i], pith_export_type(v->type), v->rank, v->dim,
                           v->constant->data, bytes);
    }
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
    pith_export_find_layers(x);
    pith_export_find_sums(x);
    count_turned_uses(x);
    name_nodes(x);
    x->graph.node =
        pith_export_alloc(x, (uint64_t)m->n_nodes * EXPORT_MAX_NODES + 1, sizeof *x->graph.node);
    x->graph.initializer =
        pith_export_alloc(x, (uint64_t)m->n_nodes * EXPORT_MAX_TENSORS + m->n_values + 1,
                          sizeof *x->graph.initializer);
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < m->n_nodes && !status && !x->failed; i++)
        if (pith_export_is_region(m->nodes[i].op))
            status = pith_export_region(x, &m->nodes[i]);
        else if (!x->in_layer[i])
            status = pith_export_op(x, &m->nodes[i]);
    if (status || x->failed)
        return x->failed ? pith_error_no_memory(x->err) : status;
    export_constants(x);
    export_ends(x);
    return x->failed ? pith_error_no_memory(x->err) : PITH_OK;
}

static void export_meta(struct onnx_export *x, Onnx__ModelProto *model)
{
    const struct pith_model *m = x->m;
    model->metadata_props = pith_export_alloc(x, m->n_meta + 1u, sizeof *model->metadata_props);
    for (uint32_t i = 0; i < m->n_meta && !x->failed; i++) {
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
    opset.version = EXPORT_OPSET;
    model.has_ir_version = 1;
    model.ir_version = EXPORT_IR;
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
    struct onnx_export x = {.m = m, .err = err};
    if (pith_model_new(NULL, &x.arena))
        return pith_error_no_memory(err);
    enum pith_status status = export_graph(&x);
    if (!status)
        status = pack(&x, file);
    pith_model_free(x.arena);
    return status;
}
