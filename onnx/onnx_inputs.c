/* SPDX-License-Identifier: MIT */
/* onnx_inputs.c - the inputs of the graph: shapes made definite, chosen ones frozen.
 *
 * pith's shapes are numbers. A first dimension that the file leaves open is the batch and stays
 * open (values then carry 1); any other open one must be given by --input-shape. An input named by
 * --set-input becomes a constant, so that what depends on it alone is folded away; its values then
 * give what the file leaves open. */
#include "onnx/graph/onnx.h"
#include "pith_onnx.h"

#include <stdio.h>

static const Onnx__ValueInfoProto *info_of(const struct onnx_import *im, const char *name)
{
    for (size_t i = 0; i < im->graph->n_input; i++)
        if (strcmp(im->graph->input[i]->name, name) == 0)
            return im->graph->input[i];
    return NULL;
}

static bool is_input(const struct onnx_import *im, const char *name)
{
    for (uint32_t i = 0; i < im->n_inputs; i++)
        if (strcmp(im->values[im->inputs[i]].name, name) == 0)
            return true;
    return false;
}

/* The names in the options must exist: a typo must not go unnoticed. */
static enum pith_status check_options(struct onnx_import *im)
{
    const struct pith_import_opts *o = im->opts;
    for (uint32_t i = 0; o && i < o->n_shapes; i++) {
        if (!o->shapes[i].name && im->n_inputs != 1)
            return pith_onnx_fail(im, PITH_ERR_ARGUMENT,
                                  "an input shape without a name needs a network with one input, "
                                  "this one has %u",
                                  im->n_inputs);
        if (o->shapes[i].name && !is_input(im, o->shapes[i].name))
            return pith_onnx_fail(im, PITH_ERR_ARGUMENT,
                                  "a shape is given for '%.100s', which is no input",
                                  o->shapes[i].name);
        if (o->shapes[i].rank > PITH_MAX_RANK)
            return pith_onnx_fail(im, PITH_ERR_ARGUMENT, "an input shape has %u dims, at most %u",
                                  o->shapes[i].rank, PITH_MAX_RANK);
    }
    for (uint32_t i = 0; o && i < o->n_set_inputs; i++)
        if (!o->set_inputs[i].name || !is_input(im, o->set_inputs[i].name))
            return pith_onnx_fail(im, PITH_ERR_ARGUMENT,
                                  "a value is given for '%.100s', which is no input",
                                  o->set_inputs[i].name ? o->set_inputs[i].name : "");
    return PITH_OK;
}

static const struct pith_input_shape *given_shape(const struct onnx_import *im, const char *name)
{
    const struct pith_import_opts *o = im->opts;
    for (uint32_t i = 0; o && i < o->n_shapes; i++)
        if (!o->shapes[i].name || strcmp(o->shapes[i].name, name) == 0)
            return &o->shapes[i];
    return NULL;
}

static const struct pith_input_value *given_value(const struct onnx_import *im, const char *name)
{
    const struct pith_import_opts *o = im->opts;
    for (uint32_t i = 0; o && i < o->n_set_inputs; i++)
        if (strcmp(o->set_inputs[i].name, name) == 0)
            return &o->set_inputs[i];
    return NULL;
}

/* A dimension as the file has it: a number, or 0 for open. */
static int64_t file_dim(const Onnx__TensorShapeProto__Dimension *d)
{
    bool number = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    return number && d->dim_value > 0 ? d->dim_value : 0;
}

static const char *param_of(const Onnx__TensorShapeProto__Dimension *d)
{
    bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    return named && d->dim_param ? d->dim_param : "?";
}

static bool is_image_dim(const Onnx__TensorShapeProto *shape, const char *symbol)
{
    for (size_t i = 2; shape && i < shape->n_dim; i++)
        if (file_dim(shape->dim[i]) == 0 && strcmp(param_of(shape->dim[i]), symbol) == 0)
            return true;
    return false;
}

/* 224 for what is open in an image and 1 elsewhere; the same for one symbol in every input. */
static int64_t example_dim(const struct onnx_import *im, const char *symbol, size_t at)
{
    if (at >= 2)
        return 224;
    for (size_t i = 0; i < im->graph->n_input && strcmp(symbol, "?") != 0; i++) {
        const Onnx__TypeProto *type = im->graph->input[i]->type;
        bool tensor =
            type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type;
        if (tensor && is_image_dim(type->tensor_type->shape, symbol))
            return 224;
    }
    return 1;
}

/* "x:1x3x224x224": an example to type. */
static void suggest(const struct onnx_import *im, const char *name,
                    const Onnx__TensorShapeProto *shape, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%.60s:", name);
    for (size_t i = 0; i < shape->n_dim && at < size; i++) {
        int64_t dim = file_dim(shape->dim[i]);
        if (dim == 0)
            dim = example_dim(im, param_of(shape->dim[i]), i);
        at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? "x" : "", (long long)dim);
    }
}

static enum pith_status note_open(struct onnx_import *im, const char *name, const char *symbol,
                                  uint32_t i, const char *example)
{
    size_t room = strlen(example) + 1;
    char *kept = pith_onnx_alloc(&im->budget, room, 1);
    if (!kept)
        return pith_onnx_no_memory(im);
    memcpy(kept, example, room);
    im->open_dims[im->n_open++] = (struct pith_onnx_open_dim){name, i, symbol, kept};
    return PITH_OK;
}

static bool is_zero(const Onnx__TensorShapeProto__Dimension *d)
{
    return d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
           d->dim_value == 0;
}

/* Records an open dimension other than the batch. */
static enum pith_status open_dim(struct onnx_import *im, const char *name,
                                 const Onnx__TensorShapeProto *shape, uint32_t i)
{
    char example[160];
    suggest(im, name, shape, example, sizeof example);
    if (!im->survey && is_zero(shape->dim[i]))
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "input '%.100s' has no elements, dim %u is 0: if that stands for any "
                              "size, give --input-shape %s",
                              name, i, example);
    return note_open(im, name, param_of(shape->dim[i]), i, example);
}

/* Shape from the options where given, else from the file. *open: dim 0 is the batch. frozen: open
 * dims stay 0. */
static enum pith_status input_shape(struct onnx_import *im, const char *name,
                                    const Onnx__TensorShapeProto *shape, bool frozen,
                                    struct shape *s, bool *open)
{
    const struct pith_input_shape *given = given_shape(im, name);
    *s = (struct shape){0};
    *open = false;
    if (given && given->rank != shape->n_dim)
        return pith_onnx_fail(im, PITH_ERR_ARGUMENT,
                              "input '%.100s' has %zu dims, the shape given has %u", name,
                              shape->n_dim, given->rank);
    if (shape->n_dim > PITH_MAX_RANK)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "input '%.100s' has %zu dims, at most %u",
                              name, shape->n_dim, PITH_MAX_RANK);
    s->rank = (uint32_t)shape->n_dim;
    for (uint32_t i = 0; i < s->rank; i++) {
        int64_t file = file_dim(shape->dim[i]);
        int64_t dim = given ? given->dim[i] : file;
        if (given && dim != 0 && file != 0 && dim != file && i > 0)
            return pith_onnx_fail(im, PITH_ERR_ARGUMENT,
                                  "input '%.100s' dim %u is %lld in the file, %lld is given", name,
                                  i, (long long)file, (long long)dim);
        if (dim == 0 && i > 0 && !frozen) {
            enum pith_status status = open_dim(im, name, shape, i);
            if (status)
                return status;
        }
        if (dim == 0 && i == 0 && !frozen)
            *open = true;
        if (dim > INT32_MAX)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "input '%.100s' dim %u is %lld", name, i,
                                  (long long)dim);
        s->dim[i] = dim == 0 && !frozen ? 1 : (uint32_t)dim;
    }
    uint64_t count;
    if (!frozen && pith_shape_count(s, &count))
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "input '%.100s' has too many elements", name);
    return PITH_OK;
}

/* The file does not even give the rank: the options may. */
static enum pith_status shapeless_input(struct onnx_import *im, struct onnx_value *v, bool *open)
{
    const struct pith_input_shape *given = given_shape(im, v->name);
    uint64_t count;
    if (!given)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "input '%.100s' has no shape: give --input-shape %.60s:DIMS", v->name,
                              v->name);
    v->shape = (struct shape){.rank = given->rank};
    for (uint32_t i = 0; i < given->rank; i++)
        v->shape.dim[i] = given->dim[i] ? given->dim[i] : 1;
    *open = given->rank > 0 && given->dim[0] == 0;
    if (pith_shape_count(&v->shape, &count))
        return pith_onnx_fail(im, PITH_ERR_ARGUMENT, "input '%.100s' has too many elements",
                              v->name);
    v->known = true;
    return PITH_OK;
}

static enum pith_status bind_input(struct onnx_import *im, uint32_t value, bool frozen, bool *open)
{
    struct onnx_value *v = &im->values[value];
    const Onnx__ValueInfoProto *info = info_of(im, v->name);
    const Onnx__TypeProto *type = info ? info->type : NULL;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "input '%.100s' is not a tensor", v->name);
    const Onnx__TypeProto__Tensor *t = type->tensor_type;
    v->type = pith_onnx_type(t->elem_type);
    if (!v->type)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "input '%.100s' has type %s", v->name,
                              pith_onnx_type_name(t->elem_type));
    v->narrow = pith_onnx_narrow(t->elem_type);
    v->wide = t->elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;
    if (v->wide && !frozen)
        return pith_onnx_fail(
            im, PITH_ERR_UNSUPPORTED,
            "input '%.100s' is double (f64), which is not supported: export the network in float32",
            v->name);
    if (!t->shape)
        return shapeless_input(im, v, open);
    enum pith_status status = input_shape(im, v->name, t->shape, frozen, &v->shape, open);
    v->known = !status;
    return status;
}

/* The first open dimension, and what to give for all inputs that have one. */
static enum pith_status fail_open(struct onnx_import *im)
{
    const struct pith_onnx_open_dim *first = im->open_dims;
    char all[256] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < im->n_open && at < sizeof all; i++)
        if (i == 0 || strcmp(first[i].input, first[i - 1].input) != 0)
            at +=
                (size_t)snprintf(all + at, sizeof all - at, " --input-shape %s", first[i].example);
    return pith_onnx_fail(im, PITH_ERR_ARGUMENT, "input '%.100s' dim %u '%.40s' is open: give%s",
                          first->input, first->dim, first->symbol, all);
}

/* An output depends on some input that is not frozen. Where none does, as in a network of shape
 * arithmetic alone, all inputs stay: a model has at least one. */
static bool any_needed(const struct onnx_import *im)
{
    for (uint32_t i = 0; i < im->n_inputs; i++) {
        const struct onnx_value *v = &im->values[im->inputs[i]];
        if (v->live && !given_value(im, v->name))
            return true;
    }
    return false;
}

enum pith_status pith_onnx_bind_inputs(struct onnx_import *im)
{
    enum pith_status status = check_options(im);
    bool only_needed = any_needed(im);
    uint32_t n = 0, n_open = 0;
    im->open_dims = pith_onnx_alloc(&im->budget, (uint64_t)im->n_inputs * PITH_MAX_RANK + 1,
                                    sizeof *im->open_dims);
    if (!status && !im->open_dims)
        status = pith_onnx_no_memory(im);
    for (uint32_t i = 0; i < im->n_inputs && !status; i++) {
        uint32_t value = im->inputs[i];
        if (only_needed && !im->values[value].live)
            continue;
        bool open = false;
        const struct pith_input_value *given = given_value(im, im->values[value].name);
        status = bind_input(im, value, given != NULL, &open);
        if (status)
            break;
        if (given) {
            status = pith_onnx_freeze(im, value, given->text ? given->text : "");
            continue;
        }
        im->inputs[n++] = value;
        n_open += open;
    }
    im->n_inputs = n;
    if (!status && im->n_open && !im->survey)
        status = fail_open(im);
    /* One batch for all: inputs of which only some are open are run one sample at a time. */
    im->batch_open = n > 0 && n_open == n;
    im->first_open = n_open > 0;
    for (uint32_t i = 0; i < n && im->batch_open; i++) {
        struct onnx_value *v = &im->values[im->inputs[i]];
        v->other = v->shape;
        v->other.dim[0] = ONNX_OTHER_BATCH;
        v->varies = true;
    }
    return status;
}
