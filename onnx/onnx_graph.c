/* SPDX-License-Identifier: MIT */
/* onnx_graph.c - from bytes to a graph of numbered values: the file unpacked, its operator set, and
 * its outputs. */
#include "onnx/graph/onnx.h"
#include "pith_onnx.h"

#include "base/foreign_format.h"

static void *unpack_alloc(void *user, size_t bytes)
{
    return pith_onnx_alloc(user, bytes, 1);
}

static void unpack_free(void *user, void *p)
{
    pith_onnx_free(user, p);
}

enum pith_status pith_onnx_check_opset(struct onnx_import *im, const char *what, int64_t opset)
{
    if (opset < 1)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "%sopset %lld does not exist: the first is 1", what,
                              (long long)opset);
    if (opset > ONNX_OPSET_MAX)
        pith_onnx_warn(im, "%sopset %lld is newer than %d: operators are read as of opset %d", what,
                       (long long)opset, ONNX_OPSET_MAX, ONNX_OPSET_MAX);
    return PITH_OK;
}

static enum pith_status find_opset(struct onnx_import *im)
{
    const Onnx__ModelProto *model = im->model;
    im->opset = 1; /* the opset of a file without opset_import */
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = model->opset_import[i];
        if (!set->domain || !*set->domain || strcmp(set->domain, "ai.onnx") == 0)
            im->opset = set->has_version ? set->version : 1;
    }
    return pith_onnx_check_opset(im, "", im->opset);
}

/* im->model, NULL where that fails; the elements of tensors stay in the file. */
static void unpack_model(struct onnx_import *im, const uint8_t *bytes, size_t n,
                         const struct onnx_wire_facts *facts)
{
    ProtobufCAllocator alloc = {unpack_alloc, unpack_free, &im->budget};
    uint8_t *rest = NULL;
    if (facts->n_refs) {
        rest = pith_onnx_alloc(&im->budget, facts->bytes, 1);
        if (!rest)
            return;
        pith_onnx_write_without_raw(bytes, n, rest);
        bytes = rest;
        n = facts->bytes;
    }
    im->model = pith_onnx__model_proto__unpack(&alloc, n, bytes);
    pith_onnx_free(&im->budget, rest);
}

static enum pith_status read_model(struct onnx_import *im, const void *bytes, size_t n)
{
    const char *foreign = pith_foreign_format(bytes, n);
    if (foreign)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "not ONNX but %s", foreign);
    struct onnx_wire_facts facts = {0};
    enum pith_status status = pith_onnx_scan(bytes, n, &facts);
    if (status) {
        if (im->err)
            im->err->offset = facts.offset;
        return pith_onnx_fail(im, status, "not an ONNX file or a broken one: %s at byte %llu",
                              facts.text, (unsigned long long)facts.offset);
    }
    unpack_model(im, bytes, n, &facts);
    if (!im->model && !im->budget.failed)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "not an ONNX file or a broken one");
    return im->model ? PITH_OK : pith_onnx_no_memory(im);
}

enum pith_status pith_onnx_unpack(struct onnx_import *im, const void *bytes, size_t n)
{
    enum pith_status status = im->model ? PITH_OK : read_model(im, bytes, n);
    if (status)
        return status;
    im->bytes = bytes;
    im->graph = im->model->graph;
    if (!im->graph)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT, "not an ONNX file: it holds no graph");
    return find_opset(im);
}

enum pith_type pith_onnx_narrow(int32_t elem_type)
{
    return elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16    ? PITH_F16
           : elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16 ? PITH_BF16
                                                                  : 0;
}

static void note_type(struct onnx_value *v, const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *type = info->type;
    if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type)
        v->narrow = pith_onnx_narrow(type->tensor_type->elem_type);
}

enum pith_status pith_onnx_link_outputs(struct onnx_import *im)
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
        if (!cut)
            note_type(&im->values[value], im->graph->output[i]);
        im->outputs[i] = value;
        im->output_names[i] = name;
    }
    im->n_outputs = (uint32_t)n;
    return PITH_OK;
}
