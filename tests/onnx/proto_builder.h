/* SPDX-License-Identifier: MIT */
/* proto_builder.h - ONNX files written byte by byte for tests of the importer: field numbers are
 * those of onnx.proto, and nothing here shares code with what reads them. */
#ifndef PROTO_BUILDER_H
#define PROTO_BUILDER_H

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct proto {
    uint8_t *data;
    size_t n, room;
};

static inline void proto_raw(struct proto *p, const void *bytes, size_t n)
{
    if (p->n + n > p->room) {
        p->room = 2 * (p->n + n) + 64;
        p->data = realloc(p->data, p->room);
        assert(p->data);
    }
    if (n)
        memcpy(p->data + p->n, bytes, n);
    p->n += n;
}

static inline void proto_varint(struct proto *p, uint64_t v)
{
    do {
        uint8_t b = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        proto_raw(p, &b, 1);
        v >>= 7;
    } while (v);
}

static inline void proto_int(struct proto *p, uint32_t field, int64_t v)
{
    proto_varint(p, (uint64_t)field << 3);
    proto_varint(p, (uint64_t)v);
}

static inline void proto_float(struct proto *p, uint32_t field, float v)
{
    proto_varint(p, (uint64_t)field << 3 | 5);
    proto_raw(p, &v, 4);
}

static inline void proto_bytes(struct proto *p, uint32_t field, const void *bytes, size_t n)
{
    proto_varint(p, (uint64_t)field << 3 | 2);
    proto_varint(p, n);
    proto_raw(p, bytes, n);
}

static inline void proto_text(struct proto *p, uint32_t field, const char *text)
{
    proto_bytes(p, field, text, strlen(text));
}

/* Appends message `inner` and releases it. */
static inline void proto_message(struct proto *p, uint32_t field, struct proto inner)
{
    proto_bytes(p, field, inner.data, inner.n);
    free(inner.data);
}

/* ---- ONNX ------------------------------------------------------------------------------- */

enum { BUILD_FLOAT = 1, BUILD_UINT8 = 2, BUILD_INT64 = 7 };

/* A tensor of raw data. */
static inline struct proto build_tensor(const char *name, int type, const int64_t *dims,
                                        size_t rank, const void *data, size_t bytes)
{
    struct proto t = {0};
    for (size_t i = 0; i < rank; i++)
        proto_int(&t, 1, dims[i]);
    proto_int(&t, 2, type);
    proto_text(&t, 8, name);
    proto_bytes(&t, 9, data, bytes);
    return t;
}

/* dims: negative for a symbolic one, named "d<i>". */
static inline struct proto build_value(const char *name, int type, const int64_t *dims, size_t rank)
{
    struct proto shape = {0}, tensor = {0}, kind = {0}, info = {0};
    for (size_t i = 0; i < rank; i++) {
        struct proto dim = {0};
        char symbol[3] = {'d', (char)('0' + i), 0};
        if (dims[i] < 0)
            proto_text(&dim, 2, symbol);
        else
            proto_int(&dim, 1, dims[i]);
        proto_message(&shape, 1, dim);
    }
    proto_int(&tensor, 1, type);
    proto_message(&tensor, 2, shape);
    proto_message(&kind, 1, tensor);
    proto_text(&info, 1, name);
    proto_message(&info, 2, kind);
    return info;
}

/* "a b -> c d"; a single quote stands for an input left out. name NULL: there is none. */
static inline struct proto build_node(const char *op, const char *name, const char *links)
{
    struct proto node = {0};
    uint32_t field = 1;
    while (*links) {
        size_t n = strcspn(links, " ");
        if (n == 2 && memcmp(links, "->", 2) == 0)
            field = 2;
        else if (n == 1 && *links == '\'')
            proto_bytes(&node, field, "", 0);
        else
            proto_bytes(&node, field, links, n);
        links += n + (links[n] == ' ');
    }
    if (name)
        proto_text(&node, 3, name);
    proto_text(&node, 4, op);
    return node;
}

static inline void build_attr_int(struct proto *node, const char *name, int64_t v)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    proto_int(&a, 3, v);
    proto_int(&a, 20, 2);
    proto_message(node, 5, a);
}

static inline void build_attr_ints(struct proto *node, const char *name, size_t n, ...)
{
    struct proto a = {0};
    va_list ap;
    proto_text(&a, 1, name);
    va_start(ap, n);
    for (size_t i = 0; i < n; i++)
        proto_int(&a, 8, va_arg(ap, int));
    va_end(ap);
    proto_int(&a, 20, 7);
    proto_message(node, 5, a);
}

static inline void build_attr_text(struct proto *node, const char *name, const char *v)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    proto_text(&a, 4, v);
    proto_int(&a, 20, 3);
    proto_message(node, 5, a);
}

static inline void build_attr_float(struct proto *node, const char *name, float v)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    proto_float(&a, 2, v);
    proto_int(&a, 20, 1);
    proto_message(node, 5, a);
}

/* An attribute that is the caller's `of`. type as AttributeProto has it. */
static inline void build_attr_ref(struct proto *node, const char *name, const char *of, int type)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    proto_text(&a, 21, of);
    proto_int(&a, 20, type);
    proto_message(node, 5, a);
}

/* Releases graph. */
static inline void build_attr_graph(struct proto *node, const char *name, struct proto graph)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    proto_message(&a, 6, graph);
    proto_int(&a, 20, 5);
    proto_message(node, 5, a);
}

enum { FUNCTION_NODE = 7, MODEL_FUNCTION = 25 };

/* The start of a function of domain "own"; links as of build_node. Nodes and attributes follow. */
static inline struct proto build_function(const char *name, const char *links)
{
    struct proto f = {0};
    uint32_t field = 4;
    proto_text(&f, 1, name);
    while (*links) {
        size_t n = strcspn(links, " ");
        if (n == 2 && memcmp(links, "->", 2) == 0)
            field = 5;
        else
            proto_bytes(&f, field, links, n);
        links += n + (links[n] == ' ');
    }
    proto_text(&f, 10, "own");
    return f;
}

/* A node of domain "own". */
static inline struct proto build_call(const char *function, const char *name, const char *links)
{
    struct proto node = build_node(function, name, links);
    proto_text(&node, 7, "own");
    return node;
}

enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

static inline void build_input(struct proto *graph, const char *name, size_t rank, ...)
{
    int64_t dims[8];
    va_list ap;
    va_start(ap, rank);
    for (size_t i = 0; i < rank; i++)
        dims[i] = va_arg(ap, int);
    va_end(ap);
    proto_message(graph, GRAPH_INPUT, build_value(name, BUILD_FLOAT, dims, rank));
}

static inline void build_output(struct proto *graph, const char *name)
{
    proto_message(graph, GRAPH_OUTPUT, build_value(name, BUILD_FLOAT, NULL, 0));
}

/* Elements first, first + step, ... */
static inline void build_floats(struct proto *graph, const char *name, float first, float step,
                                size_t rank, ...)
{
    int64_t dims[8] = {0};
    size_t count = 1;
    va_list ap;
    va_start(ap, rank);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = va_arg(ap, int);
        count *= (size_t)dims[i];
    }
    va_end(ap);
    float *data = malloc((count + 1) * sizeof *data);
    assert(data);
    for (size_t i = 0; i < count; i++)
        data[i] = first + step * (float)i;
    proto_message(graph, GRAPH_INITIALIZER,
                  build_tensor(name, BUILD_FLOAT, dims, rank, data, count * sizeof *data));
    free(data);
}

static inline void build_ints(struct proto *graph, const char *name, size_t n, ...)
{
    int64_t data[16], dim = (int64_t)n;
    va_list ap;
    va_start(ap, n);
    for (size_t i = 0; i < n; i++)
        data[i] = va_arg(ap, int);
    va_end(ap);
    proto_message(graph, GRAPH_INITIALIZER,
                  build_tensor(name, BUILD_INT64, &dim, 1, data, n * sizeof *data));
}

/* The whole file; releases graph. */
static inline struct proto build_model(struct proto graph, int64_t opset)
{
    struct proto model = {0}, set = {0};
    proto_int(&set, 2, opset);
    proto_int(&model, 1, 8);
    proto_message(&model, 8, set);
    proto_message(&model, 7, graph);
    return model;
}

#endif
