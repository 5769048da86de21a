/* SPDX-License-Identifier: MIT */
/* onnx_emit.c - what is alive after folding becomes a struct pith_model.
 *
 * Values are numbered inputs first, then node by node: the constants a node is first to use, then
 * its outputs. An output of the graph keeps the file's name; where it is only another name for a
 * node's result, that result takes the name, and where it is an input or a constant, an Identity
 * node stands between. Names are made unique in the end. */
#include "onnx/graph/onnx.h"
#include "pith_onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/integers.h"
#include "validate/format.h"

struct emitter {
    struct onnx_import *im;
    struct pith_model *m;
    uint32_t *of; /* model value i is import value of[i] */
    uint32_t n;
    struct onnx_name *names; /* of model values, sorted */
    uint32_t n_names;
};

static enum pith_status add_identity(struct onnx_import *im, uint32_t from, uint32_t to)
{
    struct onnx_node *node = pith_onnx_new_node(im, pith_op_get(PITH_OP_IDENTITY), 1, 1);
    if (!node)
        return pith_onnx_no_memory(im);
    pith_op_attr_defaults(node->info, node->attr);
    node->in[0] = from;
    node->out[0] = to;
    return PITH_OK;
}

static bool is_input(const struct onnx_import *im, uint32_t value)
{
    return im->values[value].producer == ONNX_NONE && !im->values[value].constant;
}

/* Output i through an Identity node. */
static enum pith_status copy_output(struct onnx_import *im, uint32_t i, uint32_t source)
{
    uint32_t copy = pith_onnx_add_value(im, im->output_names[i]);
    if (copy == ONNX_VALUE_NONE)
        return pith_onnx_no_memory(im);
    im->values[copy].type = im->values[source].type;
    im->values[copy].shape = im->values[source].shape;
    im->values[copy].output = true;
    im->outputs[i] = copy;
    return add_identity(im, source, copy);
}

static enum pith_status settle_outputs(struct onnx_import *im)
{
    for (uint32_t i = 0; i < im->n_outputs; i++) {
        uint32_t value = im->outputs[i], source = pith_onnx_alias(im, value);
        if (im->sized) {
            struct onnx_lower l = {.im = im};
            enum pith_status status = pith_onnx_twin(&l, &source);
            if (status)
                return status;
        }
        struct onnx_value *s = &im->values[source];
        if (s->tensor && !s->known) {
            enum pith_status status = pith_onnx_describe_tensor(im, source);
            if (status)
                return status;
        }
        if (s->empty)
            return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "output '%.100s' has no elements",
                                  im->output_names[i]);
        bool computed = !s->constant && !is_input(im, source);
        if (computed && (source == value || !s->output)) {
            s->name = im->output_names[i];
            s->output = true;
            im->outputs[i] = source;
            continue;
        }
        enum pith_status status = copy_output(im, i, source);
        if (status)
            return status;
    }
    return PITH_OK;
}

static void number(struct emitter *e, uint32_t value)
{
    struct onnx_value *v = &e->im->values[value];
    if (v->number != 0)
        return;
    e->of[e->n++] = value;
    v->number = e->n; /* plus one: 0 is "none yet" */
}

static void number_values(struct emitter *e)
{
    struct onnx_import *im = e->im;
    for (uint32_t i = 0; i < im->n_values; i++)
        im->values[i].number = 0;
    for (uint32_t i = 0; i < im->n_inputs; i++)
        number(e, im->inputs[i]);
    for (uint32_t i = 0; i < im->n_nodes; i++) {
        const struct onnx_node *node = &im->nodes[i];
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] != ONNX_VALUE_NONE)
                number(e, node->in[k]);
        for (uint32_t k = 0; k < node->n_out; k++)
            number(e, node->out[k]);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct onnx_name *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : x->value < y->value ? -1 : x->value > y->value;
}

static bool is_taken(const struct emitter *e, const char *text)
{
    uint32_t lo = 0, hi = e->n_names;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = strcmp(text, e->names[mid].text);
        if (order == 0)
            return true;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return false;
}

/* Names of the graph's inputs and outputs are what its users call them by: they keep what a file
 * can store, and more is said. */
static const char *stored_name(struct emitter *e, uint32_t value, const char *text)
{
    bool outside = value < e->im->n_inputs || e->im->values[e->of[value]].output;
    const char *stored =
        pith_onnx_short_name(e->im, text, outside ? MAX_NAME_BYTES : ONNX_MAX_NAME);
    if (outside && stored && stored != text)
        pith_onnx_warn(e->im, "the name of %s '%.60s...' has %zu bytes: it is called '%s'",
                       value < e->im->n_inputs ? "input" : "output", text, strlen(text), stored);
    return stored;
}

/* base.1, base.2, ...: the first that the file does not use. Two different bases cannot make the
 * same name, for the number has no dot in it. */
static char *fresh_name(struct emitter *e, const char *base, uint32_t *k)
{
    size_t room = strlen(base) + 16;
    char *text = pith_onnx_alloc(&e->im->budget, room, 1);
    if (!text)
        return NULL;
    do
        snprintf(text, room, "%s.%u", base, ++*k);
    while (is_taken(e, text));
    char *kept = pith_model_strdup(e->m, text);
    pith_onnx_free(&e->im->budget, text);
    return kept;
}

/* Of equal names the graph's output comes first, unless an input has it: it keeps the plain one. */
static void favour_outputs(struct emitter *e)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < e->n; i++) {
        struct onnx_name *name = &e->names[i];
        if (strcmp(name->text, e->names[first].text) != 0)
            first = i;
        else if (e->im->values[e->of[name->value]].output &&
                 e->names[first].value >= e->im->n_inputs) {
            uint32_t moved = name->value;
            name->value = e->names[first].value;
            e->names[first].value = moved;
        }
    }
}

static enum pith_status name_values(struct emitter *e)
{
    struct onnx_import *im = e->im;
    e->names = pith_onnx_alloc(&im->budget, (uint64_t)e->n + 1, sizeof *e->names);
    if (!e->names)
        return pith_onnx_no_memory(im);
    for (uint32_t i = 0; i < e->n; i++) {
        const struct onnx_value *v = &im->values[e->of[i]];
        const char *text = v->name;
        if (!*text && v->producer != ONNX_NONE)
            text = pith_onnx_label(im->flat[v->producer].node);
        text = stored_name(e, i, text);
        if (!text)
            return pith_onnx_no_memory(im);
        e->names[i] = (struct onnx_name){text, i, NULL};
    }
    e->n_names = e->n;
    qsort(e->names, e->n, sizeof *e->names, by_name);
    favour_outputs(e);
    uint32_t k = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const struct onnx_name *name = &e->names[i];
        bool again = i > 0 && strcmp(name->text, e->names[i - 1].text) == 0;
        k = again ? k : 0;
        char *kept = again ? fresh_name(e, name->text, &k) : pith_model_strdup(e->m, name->text);
        if (!kept)
            return pith_onnx_no_memory(im);
        e->m->values[name->value].name = kept;
    }
    return PITH_OK;
}

static enum pith_status emit_constant(struct emitter *e, uint32_t value, struct pith_value *to)
{
    struct onnx_import *im = e->im;
    uint64_t count = shape_elems(&im->values[value].shape);
    uint32_t each = pith_type_bytes(im->values[value].type);
    if (!pith_onnx_charge(&im->budget, count * each))
        return pith_onnx_no_room(im, value);
    to->constant = pith_model_alloc(e->m, 1, sizeof *to->constant);
    void *data = pith_model_alloc(e->m, count, each);
    if (!to->constant || !data)
        return pith_onnx_no_memory(im);
    to->constant->count = count;
    to->constant->data = data;
    enum pith_status status = pith_onnx_copy(im, value, data);
    pith_onnx_free(&im->budget, im->values[value].data);
    im->values[value].data = NULL;
    if (!status && im->values[value].integers &&
        pith_integers_adopt(e->m, to, im->values[value].integers))
        return pith_onnx_no_memory(im);
    return status;
}

static enum pith_status emit_values(struct emitter *e)
{
    e->m->values = pith_model_alloc(e->m, (uint64_t)e->n + 1, sizeof *e->m->values);
    if (!e->m->values)
        return pith_onnx_no_memory(e->im);
    e->m->n_values = e->n;
    for (uint32_t i = 0; i < e->n; i++) {
        const struct onnx_value *v = &e->im->values[e->of[i]];
        struct pith_value *to = &e->m->values[i];
        to->type = v->type;
        to->rank = v->shape.rank;
        memcpy(to->dim, v->shape.dim, sizeof to->dim);
        to->min = INFINITY;
        to->max = -INFINITY;
        if (!v->constant)
            continue;
        enum pith_status status = emit_constant(e, e->of[i], to);
        if (status)
            return status;
    }
    return name_values(e);
}

static enum pith_status copy_numbers(struct emitter *e, const uint32_t *from, uint32_t n,
                                     uint32_t **to)
{
    *to = pith_model_alloc(e->m, (uint64_t)n + 1, sizeof **to);
    if (!*to)
        return pith_onnx_no_memory(e->im);
    for (uint32_t i = 0; i < n; i++)
        (*to)[i] = from[i] == ONNX_VALUE_NONE ? PITH_VALUE_NONE : e->im->values[from[i]].number - 1;
    return PITH_OK;
}

static enum pith_status emit_node(struct emitter *e, const struct onnx_node *from,
                                  struct pith_node *to)
{
    to->op = from->info->op;
    to->n_in = from->n_in;
    to->n_out = from->n_out;
    const char *name = pith_onnx_short_name(e->im, from->name, ONNX_MAX_NAME);
    to->name = name ? pith_model_strdup(e->m, name) : NULL;
    to->attr = pith_model_alloc(e->m, from->info->n_slots + 1u, sizeof *to->attr);
    if (!to->name || !to->attr)
        return pith_onnx_no_memory(e->im);
    memcpy(to->attr, from->attr, from->info->n_slots * sizeof *to->attr);
    enum pith_status status = copy_numbers(e, from->in, from->n_in, &to->in);
    return status ? status : copy_numbers(e, from->out, from->n_out, &to->out);
}

static enum pith_status emit_nodes(struct emitter *e)
{
    struct onnx_import *im = e->im;
    struct pith_model *m = e->m;
    m->nodes = pith_model_alloc(m, (uint64_t)im->n_nodes + 1, sizeof *m->nodes);
    if (!m->nodes)
        return pith_onnx_no_memory(im);
    m->n_nodes = im->n_nodes;
    for (uint32_t i = 0; i < im->n_nodes; i++) {
        enum pith_status status = emit_node(e, &im->nodes[i], &m->nodes[i]);
        if (status)
            return status;
    }
    m->n_inputs = im->n_inputs;
    m->n_outputs = im->n_outputs;
    enum pith_status status = copy_numbers(e, im->inputs, im->n_inputs, &m->inputs);
    return status ? status : copy_numbers(e, im->outputs, im->n_outputs, &m->outputs);
}

static enum pith_status emit_end_types(struct emitter *e)
{
    const struct onnx_import *im = e->im;
    enum pith_type *type =
        pith_onnx_alloc(&e->im->budget, im->n_inputs + (uint64_t)im->n_outputs, sizeof *type);
    if (!type)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < im->n_inputs; i++)
        type[i] = im->values[im->inputs[i]].narrow;
    for (uint32_t i = 0; i < im->n_outputs; i++)
        type[im->n_inputs + i] = im->values[im->outputs[i]].narrow;
    return pith_model_set_end_types(e->m, type);
}

static enum pith_status emit_meta(struct emitter *e)
{
    const struct pith_import_opts *o = e->im->opts;
    char json[64];
    snprintf(json, sizeof json, "{\"opset\":%lld}", (long long)e->im->opset);
    enum pith_status status = pith_model_add_history(e->m, "import", json);
    if (!status && o && o->preprocess)
        status = pith_model_set_meta(e->m, "preprocess", o->preprocess);
    if (!status && o && o->labels)
        status = pith_model_set_meta(e->m, "labels", o->labels);
    if (!status)
        status = emit_end_types(e);
    return status ? pith_onnx_no_memory(e->im) : PITH_OK;
}

static void set_batch(struct pith_model *m, uint32_t batch)
{
    for (uint32_t i = 0; i < m->n_inputs; i++)
        m->values[m->inputs[i]].dim[0] = batch;
}

/* Does every output have the batch for its first dim, when the inputs do? */
static enum pith_status follows_batch(struct emitter *e, uint32_t batch, bool *follows)
{
    struct pith_model *m = e->m;
    set_batch(m, batch);
    enum pith_status status = pith_model_infer_shapes(m, NULL);
    if (status == PITH_ERR_MEMORY)
        return pith_onnx_no_memory(e->im);
    *follows = status == PITH_OK;
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        const struct pith_value *v = &m->values[m->outputs[i]];
        *follows = *follows && v->rank > 0 && v->dim[0] == batch;
    }
    return PITH_OK;
}

/* The batch is open only if the whole network follows it: a Reshape to fixed numbers does not. Two
 * sizes are tried, for one may be the length of another axis by chance. */
static enum pith_status try_batch(struct emitter *e)
{
    struct pith_model *m = e->m;
    bool at_two, at_three;
    if (!e->im->batch_open)
        return PITH_OK;
    enum pith_status status = follows_batch(e, 2, &at_two);
    if (!status)
        status = follows_batch(e, 3, &at_three);
    if (status)
        return status;
    m->batch_open = at_two && at_three;
    set_batch(m, 1);
    return pith_model_infer_shapes(m, e->im->err);
}

enum pith_status pith_onnx_settle(struct onnx_import *im)
{
    if (im->settled)
        return PITH_OK;
    im->settled = true;
    enum pith_status status = settle_outputs(im);
    return status ? status : pith_onnx_drop_dead(im);
}

static enum pith_status build(struct emitter *e)
{
    struct onnx_import *im = e->im;
    enum pith_status status = pith_onnx_settle(im);
    if (!status)
        status = pith_onnx_share_constants(im);
    if (status)
        return status;
    e->of = pith_onnx_alloc(&im->budget, (uint64_t)im->n_values + 1, sizeof *e->of);
    if (!e->of)
        return pith_onnx_no_memory(im);
    number_values(e);
    status = emit_values(e);
    if (!status)
        status = emit_nodes(e);
    if (!status)
        status = try_batch(e);
    return status ? status : emit_meta(e);
}

enum pith_status pith_onnx_emit(struct onnx_import *im, struct pith_model **m)
{
    struct emitter e = {.im = im};
    enum pith_status status = pith_model_new(&im->budget.under, &e.m);
    if (status)
        return pith_onnx_no_memory(im);
    status = build(&e);
    if (status)
        pith_model_free(e.m);
    else
        *m = e.m;
    return status;
}
