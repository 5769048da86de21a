/* SPDX-License-Identifier: MIT */
/* quantized_builder.h - nodes, and integers beside floats, straight into a graph of
 * proto_builder.h. */
#ifndef QUANTIZED_BUILDER_H
#define QUANTIZED_BUILDER_H

#include <stdio.h>
#include "onnx_refusal.h"

enum { BUILD_INT8 = 3, BUILD_INT32 = 6 };

static inline void raw(struct proto *g, const char *name, int type, size_t rank,
                       const int64_t *dims, const void *data)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    size_t each = type == BUILD_INT32 || type == BUILD_FLOAT ? 4 : 1;
    proto_message(g, GRAPH_INITIALIZER, build_tensor(name, type, dims, rank, data, count * each));
}

static inline void add(struct proto *g, const char *op, const char *links)
{
    proto_message(g, GRAPH_NODE, build_node(op, links, links));
}

/* "Op links; Op links; ..." */
static inline void add_all(struct proto *g, const char *text)
{
    char op[32], links[64];
    for (int n; sscanf(text, " %31s %63[^;]%n", op, links, &n) == 2; text += *text == ';') {
        add(g, op, links);
        text += n;
    }
}

static inline void add_with(struct proto *g, const char *op, const char *links, const char *attr,
                            int64_t v)
{
    struct proto node = build_node(op, links, links);
    build_attr_int(&node, attr, v);
    proto_message(g, GRAPH_NODE, node);
}

/* Whose output is y. */
static inline struct pith_model *import_of(struct proto g)
{
    build_output(&g, "y");
    return import_file(build_model(g, 13));
}

#endif
