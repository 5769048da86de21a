/* SPDX-License-Identifier: MIT */
/* onnx_function.c - the local functions of a file: found by domain, name and overload; a node of a
 * function's body with the caller's attributes in the places that refer to them.
 *
 * Attributes with default values and overloads came to ONNX later than the schema some systems
 * have: a field the generated code does not know is read from what protobuf-c keeps of it. */
#include "onnx/graph/onnx.h"

#include <stdio.h>
#include <stdlib.h>

enum { FUNCTION_DEFAULTS = 11, FUNCTION_OVERLOAD = 13, NODE_OVERLOAD = 8 };

/* The bytes of unknown field i when it is number `tag` and holds bytes: behind their length. */
static bool unknown_bytes(const ProtobufCMessageUnknownField *u, uint32_t tag, const uint8_t **p,
                          size_t *n)
{
    if (u->tag != tag || u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return false;
    size_t at = 0;
    while (at < u->len && u->data[at] & 0x80)
        at++;
    if (at == u->len)
        return false;
    *p = u->data + at + 1;
    *n = u->len - at - 1;
    return true;
}

/* A text field that the generated code may not know; "" when absent. */
static const char *late_text(struct onnx_import *im, const ProtobufCMessage *m, uint32_t tag)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(m->descriptor, tag);
    if (field) {
        const char *text;
        memcpy(&text, (const uint8_t *)m + field->offset, sizeof text);
        return text ? text : "";
    }
    const uint8_t *p;
    size_t n;
    for (unsigned i = 0; i < m->n_unknown_fields; i++)
        if (unknown_bytes(&m->unknown_fields[i], tag, &p, &n)) {
            char *text = pith_onnx_alloc(&im->budget, (uint64_t)n + 1, 1);
            if (text && n)
                memcpy(text, p, n);
            return text;
        }
    return "";
}

static const char *plain_domain(const char *domain)
{
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static int compare_functions(const void *a, const void *b)
{
    const struct onnx_function *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->overload, y->overload);
}

static void *unpack_alloc(void *user, size_t bytes)
{
    return pith_onnx_alloc(user, bytes, 1);
}

static void unpack_free(void *user, void *p)
{
    pith_onnx_free(user, p);
}

/* The attributes that have defaults, from the field the generated code knows or from the rest. */
static enum pith_status read_defaults(struct onnx_import *im, struct onnx_function *f)
{
    const ProtobufCMessage *m = &f->proto->base;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(m->descriptor, FUNCTION_DEFAULTS);
    if (field) {
        memcpy(&f->n_defaults, (const uint8_t *)m + field->quantifier_offset, sizeof f->n_defaults);
        memcpy(&f->defaults, (const uint8_t *)m + field->offset, sizeof f->defaults);
        return PITH_OK;
    }
    ProtobufCAllocator alloc = {unpack_alloc, unpack_free, &im->budget};
    f->defaults =
        pith_onnx_alloc(&im->budget, (uint64_t)m->n_unknown_fields + 1, sizeof *f->defaults);
    if (!f->defaults)
        return pith_onnx_no_memory(im);
    for (unsigned i = 0; i < m->n_unknown_fields; i++) {
        const uint8_t *p;
        size_t n;
        if (!unknown_bytes(&m->unknown_fields[i], FUNCTION_DEFAULTS, &p, &n))
            continue;
        Onnx__AttributeProto *a = pith_onnx__attribute_proto__unpack(&alloc, n, p);
        if (!a)
            return im->budget.failed ? pith_onnx_no_memory(im)
                                     : pith_onnx_fail(im, PITH_ERR_CORRUPT,
                                                      "function '%.100s' has a broken "
                                                      "attribute",
                                                      f->name);
        f->defaults[f->n_defaults++] = a;
    }
    return PITH_OK;
}

enum pith_status pith_onnx_index_functions(struct onnx_import *im)
{
    const Onnx__ModelProto *model = im->model;
    im->functions =
        pith_onnx_alloc(&im->budget, (uint64_t)model->n_functions + 1, sizeof *im->functions);
    if (!im->functions)
        return pith_onnx_no_memory(im);
    for (size_t i = 0; i < model->n_functions; i++) {
        const Onnx__FunctionProto *proto = model->functions[i];
        struct onnx_function *f = &im->functions[i];
        f->proto = proto;
        f->domain = plain_domain(proto->domain);
        f->name = proto->name ? proto->name : "";
        f->overload = late_text(im, &proto->base, FUNCTION_OVERLOAD);
        if (!f->overload)
            return pith_onnx_no_memory(im);
        enum pith_status status = read_defaults(im, f);
        if (status)
            return status;
    }
    im->n_functions = (uint32_t)model->n_functions;
    if (im->n_functions)
        qsort(im->functions, im->n_functions, sizeof *im->functions, compare_functions);
    for (uint32_t i = 1; i < im->n_functions; i++)
        if (compare_functions(&im->functions[i - 1], &im->functions[i]) == 0)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "function '%.60s.%.100s' is defined twice",
                                  im->functions[i].domain, im->functions[i].name);
    return PITH_OK;
}

enum pith_status pith_onnx_find_function(struct onnx_import *im, const Onnx__NodeProto *node,
                                         const struct onnx_function **found)
{
    *found = NULL;
    if (im->n_functions == 0 || pith_onnx_row(im, node))
        return PITH_OK; /* what the runtime computes itself needs no substitute */
    struct onnx_function key = {.domain = plain_domain(node->domain), .name = node->op_type};
    key.overload = late_text(im, &node->base, NODE_OVERLOAD);
    if (!key.overload)
        return pith_onnx_no_memory(im);
    *found = bsearch(&key, im->functions, im->n_functions, sizeof key, compare_functions);
    return PITH_OK;
}

/* ---- one node of a body ---------------------------------------------------------------------- */

static const Onnx__AttributeProto *named(Onnx__AttributeProto *const *list, size_t n,
                                         const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->name && strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

static bool refers(const Onnx__AttributeProto *a)
{
    return a->ref_attr_name && *a->ref_attr_name;
}

/* The attribute of the call that `a` refers to, under a's name; NULL when the call leaves it out
 * and it has no default. */
static enum pith_status substitute(struct onnx_import *im, const struct onnx_call *call,
                                   const Onnx__AttributeProto *a, Onnx__AttributeProto **to)
{
    const Onnx__NodeProto *node = call->node;
    im->n_steps += node->n_attribute + call->function->n_defaults;
    if (im->n_steps > ONNX_MAX_STEPS)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "node '%.100s' (%.40s): its function refers to too many attributes",
                              pith_onnx_label(node), node->op_type);
    const Onnx__AttributeProto *given = named(node->attribute, node->n_attribute, a->ref_attr_name);
    if (!given)
        given = named(call->function->defaults, call->function->n_defaults, a->ref_attr_name);
    *to = NULL;
    if (!given)
        return PITH_OK;
    *to = pith_onnx_alloc(&im->budget, 1, sizeof **to);
    if (!*to)
        return pith_onnx_no_memory(im);
    **to = *given;
    (*to)->name = a->name;
    return PITH_OK;
}

static enum pith_status substitute_all(struct onnx_import *im, const struct onnx_call *call,
                                       const Onnx__NodeProto *node, Onnx__NodeProto *to)
{
    to->attribute =
        pith_onnx_alloc(&im->budget, (uint64_t)node->n_attribute + 1, sizeof *to->attribute);
    to->n_attribute = 0;
    if (!to->attribute)
        return pith_onnx_no_memory(im);
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *a = node->attribute[i];
        if (refers(a)) {
            enum pith_status status = substitute(im, call, node->attribute[i], &a);
            if (!status && a && a->g) /* its names are those of another scope */
                status = pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                                        "node '%.100s' (%.40s): a body handed to a function is "
                                        "not supported",
                                        pith_onnx_label(node), node->op_type);
            if (status)
                return status;
        }
        if (a)
            to->attribute[to->n_attribute++] = a;
    }
    return PITH_OK;
}

/* "call/node": bounded, so that names do not grow with the depth of calls. */
static char *qualified(struct onnx_import *im, const char *call, const char *name)
{
    size_t size = strlen(call) + strlen(name) + 2;
    if (size > ONNX_MAX_QUALIFIED)
        size = strlen(name) + 1;
    char *text = pith_onnx_alloc(&im->budget, size, 1);
    if (text)
        snprintf(text, size, "%s%s%s", size > strlen(name) + 1 ? call : "",
                 size > strlen(name) + 1 ? "/" : "", name);
    return text;
}

enum pith_status pith_onnx_called_node(struct onnx_import *im, const struct onnx_call *call,
                                       const Onnx__NodeProto **node)
{
    const Onnx__NodeProto *from = *node;
    bool any = false;
    for (size_t i = 0; i < from->n_attribute; i++)
        any |= refers(from->attribute[i]);
    if (!call && any)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "node '%.100s' (%.40s): an attribute refers to a function's outside "
                              "of one",
                              pith_onnx_label(from), from->op_type);
    if (!call)
        return PITH_OK;
    Onnx__NodeProto *to = pith_onnx_alloc(&im->budget, 1, sizeof *to);
    if (!to)
        return pith_onnx_no_memory(im);
    *to = *from;
    to->name = qualified(im, pith_onnx_label(call->node), pith_onnx_label(from));
    if (!to->name)
        return pith_onnx_no_memory(im);
    *node = to;
    return any ? substitute_all(im, call, from, to) : PITH_OK;
}
