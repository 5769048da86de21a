/* SPDX-License-Identifier: MIT */
/* onnx_mutator.h - changes of an ONNX file as a graph: of what nodes read and write, of attributes,
 * dims, types, initializers and names, which a change of bytes would break as protobuf nine times
 * of ten. What comes out is well-formed; whether it makes sense is for the importer to say. */
#ifndef ONNX_MUTATOR_H
#define ONNX_MUTATOR_H

#include "onnx_mutator_parts.h"
#include "pith_onnx.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* ---- what is there --------------------------------------------------------------------------- */

static inline void note_name(struct onnx_mutator *m, const char *name)
{
    if (name && m->n_names < MUTATE_NAMES)
        m->name[m->n_names++] = name;
}

static inline void note_attribute_graphs(struct onnx_mutator *m, const Onnx__AttributeProto *a)
{
    if (a->g && m->n_graphs < MUTATE_GRAPHS)
        m->graph[m->n_graphs++] = a->g;
}

/* Bodies join the end of the list that is walked. */
static inline void note_graphs(struct onnx_mutator *m)
{
    for (uint32_t k = 0; k < m->n_graphs; k++) {
        const Onnx__GraphProto *g = m->graph[k];
        for (size_t i = 0; i < g->n_input; i++)
            note_name(m, g->input[i]->name);
        for (size_t i = 0; i < g->n_initializer; i++)
            note_name(m, g->initializer[i]->name);
        for (size_t i = 0; i < g->n_node; i++) {
            for (size_t o = 0; o < g->node[i]->n_output; o++)
                note_name(m, g->node[i]->output[o]);
            for (size_t a = 0; a < g->node[i]->n_attribute; a++)
                note_attribute_graphs(m, g->node[i]->attribute[a]);
        }
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static inline void change_inputs(struct onnx_mutator *m)
{
    Onnx__NodeProto *node = any_node(m), *other = any_node(m);
    if (!node || !other)
        return;
    uint32_t i = cast_die(m, node->n_input), k = cast_die(m, other->n_input);
    switch (cast_die(m, 6)) {
    case 0:
        MUTATE_INSERT(node->input, node->n_input, i, any_name(m));
        break;
    case 1:
        if (node->n_input)
            MUTATE_REMOVE(node->input, node->n_input, i);
        break;
    case 2: /* of two nodes, or of one */
        if (node->n_input && other->n_input) {
            char *swapped = node->input[i];
            node->input[i] = other->input[k];
            other->input[k] = swapped;
        }
        break;
    default:
        if (node->n_input)
            node->input[i] = any_name(m);
    }
}

static inline void change_outputs(struct onnx_mutator *m)
{
    Onnx__NodeProto *node = any_node(m);
    if (!node)
        return;
    uint32_t i = cast_die(m, node->n_output);
    if (cast_die(m, 2))
        MUTATE_INSERT(node->output, node->n_output, node->n_output, new_name(m));
    else if (node->n_output)
        MUTATE_REMOVE(node->output, node->n_output, i);
}

/* The node once more, which reads a result of the first: a chain gets longer. */
static inline void repeat_node(struct onnx_mutator *m, Onnx__GraphProto *g, uint32_t at)
{
    Onnx__NodeProto *again = mutate_copy(g->node[at], sizeof *again, sizeof *again);
    if (!again || !again->n_output)
        return;
    again->input = mutate_copy(again->input, again->n_input * sizeof *again->input,
                               (again->n_input + 1) * sizeof *again->input);
    again->output = mutate_copy(again->output, again->n_output * sizeof *again->output,
                                (again->n_output + 1) * sizeof *again->output);
    if (!again->input || !again->output)
        return;
    char *first = again->output[0], *second = new_name(m);
    for (size_t i = 0; i < again->n_output; i++)
        again->output[i] = i == 0 ? second : new_name(m);
    if (again->n_input)
        again->input[cast_die(m, again->n_input)] = first;
    for (size_t i = at + 1; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++)
            if (strcmp(g->node[i]->input[k], first) == 0)
                g->node[i]->input[k] = second;
    MUTATE_INSERT(g->node, g->n_node, at + 1, again);
}

static inline void change_nodes(struct onnx_mutator *m)
{
    Onnx__GraphProto *g = any_graph(m);
    if (!g->n_node)
        return;
    uint32_t i = cast_die(m, g->n_node), k = cast_die(m, g->n_node), n_ops = 0;
    Onnx__NodeProto *swapped = g->node[i];
    switch (cast_die(m, 4)) {
    case 0:
        g->node[i] = g->node[k];
        g->node[k] = swapped;
        break;
    case 1:
        MUTATE_REMOVE(g->node, g->n_node, i);
        break;
    case 2:
        repeat_node(m, g, i);
        break;
    default:
        while (pith_onnx_op_name(n_ops))
            n_ops++;
        swapped->op_type = (char *)(uintptr_t)pith_onnx_op_name(cast_die(m, n_ops));
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static inline void change_list(struct onnx_mutator *m, Onnx__AttributeProto *a)
{
    uint32_t i = cast_die(m, a->n_ints);
    switch (a->n_ints ? cast_die(m, 4) : 0) {
    case 0:
        MUTATE_INSERT(a->ints, a->n_ints, i, (int64_t)cast_die(m, 4));
        break;
    case 1:
        MUTATE_REMOVE(a->ints, a->n_ints, i);
        break;
    default:
        a->ints[i] = other_number(m, a->ints[i]);
    }
}

static inline void change_word(struct onnx_mutator *m, Onnx__AttributeProto *a)
{
    static const char *const word[] = {
        "SAME_UPPER", "SAME_LOWER",    "VALID",      "NOTSET",       "linear",      "nearest",
        "cubic",      "align_corners", "half_pixel", "asymmetric",   "floor",       "ceil",
        "reflect",    "edge",          "constant",   "DCR",          "CRD",         "forward",
        "reverse",    "bidirectional", "Tanh",       "Sigmoid",      "Relu",        "none",
        "add",        "tanh",          "wrap",       "bij,bjk->bik", "...ij->...ji"};
    const char *text = word[cast_die(m, sizeof word / sizeof *word)];
    a->s = (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static inline void change_attribute(struct onnx_mutator *m)
{
    Onnx__NodeProto *node = any_node(m), *from = any_node(m);
    if (!node || !from)
        return;
    uint32_t i = cast_die(m, node->n_attribute);
    uint32_t how = node->n_attribute ? cast_die(m, 8) : 0;
    if (how == 0) { /* one of another node, but no body, which could come to lie in itself */
        Onnx__AttributeProto *taken =
            from->n_attribute ? from->attribute[cast_die(m, from->n_attribute)] : NULL;
        if (taken && !taken->g && !taken->n_graphs)
            MUTATE_INSERT(node->attribute, node->n_attribute, i, taken);
        return;
    }
    Onnx__AttributeProto *a = node->attribute[i];
    if (how == 1)
        MUTATE_REMOVE(node->attribute, node->n_attribute, i);
    else if (a->n_ints || a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS)
        change_list(m, a);
    else if (a->has_i)
        a->i = other_number(m, a->i);
    else if (a->has_f)
        a->f = other_float(m, a->f);
    else if (a->has_s)
        change_word(m, a);
}

/* ---- tensors and shapes ---------------------------------------------------------------------- */

static inline void change_dims(struct onnx_mutator *m, Onnx__TensorProto *t)
{
    uint32_t i = cast_die(m, t->n_dims), k = cast_die(m, t->n_dims);
    switch (t->n_dims ? cast_die(m, 5) : 0) {
    case 0:
        MUTATE_INSERT(t->dims, t->n_dims, i, 1);
        break;
    case 1:
        MUTATE_REMOVE(t->dims, t->n_dims, i);
        break;
    case 2: {
        int64_t swapped = t->dims[i];
        t->dims[i] = t->dims[k];
        t->dims[k] = swapped;
        break;
    }
    default:
        t->dims[i] = other_number(m, t->dims[i]);
    }
}

/* As many bytes as the dims say, so that the tensor stands. */
static inline void fit_data(Onnx__TensorProto *t)
{
    static const uint8_t bytes_of[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8};
    uint64_t n = 1;
    if (!t->has_raw_data || t->data_type < 0 || t->data_type >= (int32_t)sizeof bytes_of)
        return;
    for (size_t i = 0; i < t->n_dims && n <= MUTATE_RAW; i++)
        n = t->dims[i] < 0 || t->dims[i] > MUTATE_RAW ? MUTATE_RAW + 1 : n * (uint64_t)t->dims[i];
    n *= bytes_of[t->data_type];
    if (n > MUTATE_RAW)
        return;
    uint8_t *data = mutate_alloc(NULL, n + 1);
    for (uint64_t i = 0; data && i < n; i++)
        data[i] = t->raw_data.len ? t->raw_data.data[i % t->raw_data.len] : 0;
    if (data)
        t->raw_data = (ProtobufCBinaryData){n, data};
}

static inline void change_data(Onnx__TensorProto *t)
{
    uint8_t *data = mutate_copy(t->raw_data.data, t->raw_data.len, t->raw_data.len + 1);
    if (data && t->raw_data.len) /* shorter ones, too: the tensor says so then */
        t->raw_data =
            (ProtobufCBinaryData){LLVMFuzzerMutate(data, t->raw_data.len, t->raw_data.len), data};
}

static inline void change_tensor(struct onnx_mutator *m)
{
    Onnx__GraphProto *g = any_graph(m);
    if (!g->n_initializer)
        return;
    uint32_t i = cast_die(m, g->n_initializer);
    Onnx__TensorProto *t = g->initializer[i];
    Onnx__NodeProto *reader = any_node(m);
    switch (cast_die(m, 6)) {
    case 0: /* once more, for a node that reads it */
        t = mutate_copy(t, sizeof *t, sizeof *t);
        if (!t)
            return;
        if (cast_die(m, 8) || !t->name)
            t->name = new_name(m);
        MUTATE_INSERT(g->initializer, g->n_initializer, i, t);
        if (reader && reader->n_input)
            reader->input[cast_die(m, reader->n_input)] = t->name;
        break;
    case 1:
        t->data_type = (int32_t)cast_die(m, 17);
        fit_data(t);
        break;
    case 2:
        change_data(t);
        break;
    default:
        change_dims(m, t);
        if (cast_die(m, 4))
            fit_data(t);
    }
}

static inline void change_shape(struct onnx_mutator *m)
{
    Onnx__GraphProto *g = any_graph(m);
    bool of_output = cast_die(m, 4) == 0;
    size_t n = of_output ? g->n_output : g->n_input;
    if (!n)
        return;
    Onnx__TypeProto *type = (of_output ? g->output : g->input)[cast_die(m, n)]->type;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type)
        return;
    Onnx__TensorShapeProto *s = type->tensor_type->shape;
    if (cast_die(m, 6) == 0)
        type->tensor_type->elem_type = (int32_t)cast_die(m, 17);
    if (!s || !s->n_dim)
        return;
    uint32_t i = cast_die(m, s->n_dim), how = cast_die(m, 4);
    Onnx__TensorShapeProto__Dimension *d = mutate_copy(s->dim[i], sizeof *d, sizeof *d);
    if (!d)
        return;
    if (how == 0) {
        MUTATE_INSERT(s->dim, s->n_dim, i, d);
    } else if (how == 1) {
        MUTATE_REMOVE(s->dim, s->n_dim, i);
    } else {
        bool has_value = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        d->dim_value = other_number(m, has_value ? d->dim_value : 1);
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        s->dim[i] = d;
    }
}

/* ---- the ends of graphs ---------------------------------------------------------------------- */

static inline void change_ends(struct onnx_mutator *m)
{
    Onnx__GraphProto *g = any_graph(m);
    if (!g->n_output)
        return;
    uint32_t i = cast_die(m, g->n_output), k = cast_die(m, g->n_output);
    Onnx__ValueInfoProto *info = mutate_copy(g->output[i], sizeof *info, sizeof *info);
    if (!info)
        return;
    switch (cast_die(m, 4)) {
    case 0:
        MUTATE_REMOVE(g->output, g->n_output, i);
        break;
    case 1:
        g->output[i] = g->output[k];
        g->output[k] = info;
        break;
    case 2:
        if (g->n_input)
            MUTATE_REMOVE(g->input, g->n_input, cast_die(m, g->n_input));
        break;
    default: /* what was inner becomes an output, of any shape */
        info->name = any_name(m);
        info->type = NULL;
        MUTATE_INSERT(g->output, g->n_output, i, info);
    }
}

/* A value gets the name of another in one place: where it is made. */
static inline void change_name(struct onnx_mutator *m)
{
    Onnx__NodeProto *node = any_node(m);
    if (node && node->n_output)
        node->output[cast_die(m, node->n_output)] = any_name(m);
}

static inline void change_opset(struct onnx_mutator *m, Onnx__ModelProto *model)
{
    if (model->n_opset_import)
        model->opset_import[cast_die(m, model->n_opset_import)]->version =
            1 + (int64_t)cast_die(m, 28);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static inline void change_once(struct onnx_mutator *m, Onnx__ModelProto *model)
{
    switch (cast_die(m, 20)) {
    case 0:
        change_opset(m, model);
        break;
    case 1:
        change_name(m);
        break;
    case 2:
        change_outputs(m);
        break;
    case 3:
    case 4:
        change_ends(m);
        break;
    case 5:
    case 6:
    case 7:
        change_shape(m);
        break;
    case 8:
    case 9:
    case 10:
        change_tensor(m);
        break;
    case 11:
    case 12:
    case 13:
        change_nodes(m);
        break;
    case 14:
    case 15:
    case 16:
        change_attribute(m);
        break;
    default:
        change_inputs(m);
    }
}

static inline Onnx__ModelProto *mutate_unpack(const uint8_t *data, size_t size)
{
    static ProtobufCAllocator from_room = {mutate_alloc, mutate_free, NULL};
    struct onnx_wire_facts facts = {0};
    if (size > MUTATE_FILE || pith_onnx_scan(data, size, &facts) != PITH_OK)
        return NULL;
    Onnx__ModelProto *model = pith_onnx__model_proto__unpack(&from_room, size, data);
    return model && model->graph ? model : NULL;
}

static inline size_t mutate_pack(const Onnx__ModelProto *model, uint8_t *data, size_t max_size)
{
    size_t n = pith_onnx__model_proto__get_packed_size(model);
    return n <= max_size ? pith_onnx__model_proto__pack(model, data) : 0;
}

/* 0: it is no file that can be changed so. */
static inline size_t mutate_onnx(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static struct onnx_mutator m;
    mutate_used = 0;
    Onnx__ModelProto *model = mutate_unpack(data, size);
    if (!model)
        return 0;
    m = (struct onnx_mutator){.dice = (seed + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15)};
    m.graph[m.n_graphs++] = model->graph;
    note_graphs(&m);
    for (uint32_t left = 1 + cast_die(&m, 3); left > 0; left--)
        change_once(&m, model);
    return mutate_pack(model, data, max_size);
}

#endif
