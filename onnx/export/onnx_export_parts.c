/* SPDX-License-Identifier: MIT */
/* onnx_export_parts.c - what a graph under construction is made of: names, nodes, attributes,
 * initializers, descriptions of values. */
#include "onnx_export.h"

#include <string.h>
#include <stdio.h>

void *pith_export_alloc(struct onnx_export *x, uint64_t count, size_t each)
{
    void *p = pith_model_alloc(x->arena, count, each);
    x->failed = x->failed || !p;
    return p;
}

static bool is_name(const struct onnx_export *x, const char *text)
{
    for (uint32_t i = 0; i < x->m->n_values; i++)
        if ((x->names[i] && strcmp(x->names[i], text) == 0) ||
            (x->end_names && x->end_names[i] && strcmp(x->end_names[i], text) == 0))
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

const char *pith_export_tensor(struct onnx_export *x, const char *name, struct export_array a)
{
    Onnx__TensorProto *t = pith_export_alloc(x, 1, sizeof *t);
    int64_t *dim = pith_export_alloc(x, a.rank + 1u, sizeof *dim);
    if (!t || !dim || !name)
        return NULL;
    if (pith_export_is_recorded(x))
        a.bytes = pith_export_shorten(x, &a.data, a.bytes);
    pith_onnx__tensor_proto__init(t);
    for (uint32_t i = 0; i < a.rank; i++)
        dim[i] = a.dims[i];
    t->n_dims = a.rank;
    t->dims = dim;
    t->has_data_type = 1;
    t->data_type = a.data_type;
    t->name = (char *)(uintptr_t)name;
    t->has_raw_data = 1;
    t->raw_data.data = (uint8_t *)(uintptr_t)a.data;
    t->raw_data.len = (size_t)a.bytes;
    x->graph.initializer[x->graph.n_initializer++] = t;
    return name;
}

const char *pith_export_ints_tensor(struct onnx_export *x, const int64_t *v, uint32_t n)
{
    const char *sized = x->sizes ? pith_export_sized_ints(x, v, n) : NULL;
    int64_t *kept = sized ? NULL : pith_export_alloc(x, n + 1u, sizeof *kept);
    if (!kept)
        return sized;
    if (!pith_export_is_recorded(x))
        memcpy(kept, v, n * sizeof *kept);
    return pith_export_tensor(
        x, pith_export_name(x, "ints"),
        (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, &n, kept, n * sizeof *kept});
}

const char *pith_export_float_tensor(struct onnx_export *x, const float *v, uint32_t n, bool scalar)
{
    float *kept = pith_export_alloc(x, n + 1u, sizeof *kept);
    if (!kept)
        return NULL;
    memcpy(kept, v, n * sizeof *kept);
    return pith_export_tensor(x, pith_export_name(x, "floats"),
                              (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                                                    scalar ? 0 : 1, &n, kept, n * sizeof *kept});
}

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
    for (uint32_t i = 0; i < v->rank; i++) {
        bool open = false, ends = dims == EXPORT_DIMS_ENDS;
        const char *formula = ends && x->sizes ? pith_export_sized_dim(x, v->dim[i], &open) : NULL;
        if (ends && i == 0 && x->m->batch_open)
            dim[i] = export_dim(x, v->dim[i], true, "N");
        else
            dim[i] = export_dim(x, v->dim[i], open || (!ends && (x->m->batch_open || x->sizes)),
                                formula);
    }
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

Onnx__ValueInfoProto *pith_export_end(struct onnx_export *x, uint32_t end, const char *name)
{
    const struct pith_model *m = x->m;
    struct pith_value v =
        m->values[end < m->n_inputs ? m->inputs[end] : m->outputs[end - m->n_inputs]];
    v.type = pith_model_end_type(m, end);
    return make_info(x, &v, name, EXPORT_DIMS_ENDS);
}

Onnx__ValueInfoProto *pith_export_bool_info(struct onnx_export *x, const char *name)
{
    const struct pith_value scalar = {.type = PITH_BOOL};
    return make_info(x, &scalar, name, EXPORT_DIMS_ENDS);
}
