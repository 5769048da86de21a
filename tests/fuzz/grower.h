/* SPDX-License-Identifier: MIT */
/* grower.h - what grows in grown_graph.h: bytes that decide, the values there are, and the parts of
 * nodes, each of which may go wrong where damage is left. */
#ifndef GROWER_H
#define GROWER_H

#include <stdbool.h>
#include <stdio.h>
#include "proto_builder.h"

enum { GROW_VALUES = 40, GROW_RANK = 5, GROW_ELEMS = 2048, GROW_BOOL = 9 };

struct grown_value {
    int type; /* BUILD_FLOAT, BUILD_INT64, GROW_BOOL */
    uint32_t rank;
    int64_t dim[GROW_RANK];
    double bound;
    bool exact, used;
};

struct grower {
    const uint8_t *at, *end;
    int damage; /* how many more numbers or names go wrong */
    struct proto graph;
    struct grown_value v[GROW_VALUES];
    uint32_t n;           /* values "v0", "v1", ... */
    uint32_t n_constants; /* "c0", ... */
    uint32_t n_bytes;     /* "q0", ... */
    double largest;       /* bound of all values */
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static inline uint32_t roll(struct grower *g, uint32_t sides)
{
    return g->at < g->end ? *g->at++ % sides : 0;
}

static inline bool goes_wrong(struct grower *g)
{
    if (g->damage == 0 || roll(g, 12) != 11)
        return false;
    g->damage--;
    return true;
}

static inline int64_t number(struct grower *g, int64_t v)
{
    static const int64_t wild[] = {-1,      0,         1,         2,         8,
                                   9,       INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
                                   1 << 16, 65537,     -2,        1 << 24,   (int64_t)1 << 40,
                                   33,      -9,        1 << 30};
    return goes_wrong(g) ? wild[roll(g, sizeof wild / sizeof *wild)] : v;
}

static inline const char *name_of(struct grower *g, uint32_t value, char text[16])
{
    static const char *const wild[] = {"", "nowhere", "v0", "c0", "v9999"};
    if (goes_wrong(g)) {
        uint32_t which = roll(g, 6);
        if (which < 5)
            return wild[which];
        value = roll(g, GROW_VALUES);
    }
    snprintf(text, 16, "v%u", value);
    return text;
}

/* ---- values ---------------------------------------------------------------------------------- */

static inline size_t elements(const struct grown_value *v)
{
    size_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= (size_t)v->dim[i];
    return n;
}

/* The number of the value, which the caller's node gives. */
static inline uint32_t add_value(struct grower *g, const struct grown_value *like)
{
    struct grown_value v = *like;
    v.used = false;
    v.exact = v.exact && v.bound < (double)(1 << 20);
    if (v.bound > g->largest)
        g->largest = v.bound;
    g->v[g->n] = v;
    return g->n++;
}

/* A value of the type that `fits` takes; UINT32_MAX: none there. */
static inline uint32_t pick(struct grower *g, bool (*fits)(const struct grown_value *v))
{
    uint32_t start = roll(g, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t k = (start + g->n - i) % g->n;
        if (fits(&g->v[k])) {
            g->v[k].used = true;
            return k;
        }
    }
    return UINT32_MAX;
}

static inline bool any_float(const struct grown_value *v)
{
    return v->type == BUILD_FLOAT;
}
static inline bool exact_float(const struct grown_value *v)
{
    return v->type == BUILD_FLOAT && v->exact;
}
static inline bool tame_float(const struct grown_value *v)
{
    return v->type == BUILD_FLOAT && v->bound <= 64;
}
static inline bool any_bool(const struct grown_value *v)
{
    return v->type == GROW_BOOL;
}
static inline bool picture(const struct grown_value *v)
{
    return tame_float(v) && v->rank >= 3 && v->rank <= 5;
}
static inline bool has_axes(const struct grown_value *v)
{
    return v->type == BUILD_FLOAT && v->rank > 0;
}
static inline bool tame_axes(const struct grown_value *v)
{
    return tame_float(v) && v->rank > 0;
}
static inline bool matrix_like(const struct grown_value *v)
{
    return tame_float(v) && v->rank >= 2;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static inline struct proto open_node(struct grower *g, const char *op)
{
    struct proto node = {0};
    char name[16];
    snprintf(name, sizeof name, "n%u", g->n);
    proto_text(&node, 3, name);
    proto_text(&node, 4, goes_wrong(g) ? "Unheard" : op);
    return node;
}

static inline void node_in(struct grower *g, struct proto *node, uint32_t value)
{
    char text[16];
    proto_text(node, 1, name_of(g, value, text));
}

static inline void node_attr(struct grower *g, struct proto *node, const char *name, int64_t v)
{
    build_attr_int(node, name, number(g, v));
}

static inline void node_attrs(struct grower *g, struct proto *node, const char *name,
                              const int64_t *v, size_t n)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    for (size_t i = 0; i < n; i++)
        proto_int(&a, 8, number(g, v[i]));
    proto_int(&a, 20, 7);
    proto_message(node, 5, a);
}

static inline void node_attr_float(struct proto *node, const char *name, float v)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    proto_float(&a, 2, v);
    proto_int(&a, 20, 1);
    proto_message(node, 5, a);
}

/* Closes a node of one output. */
static inline void close_node(struct grower *g, struct proto *node, const struct grown_value *out)
{
    char text[16];
    uint32_t made = add_value(g, out);
    proto_text(node, 2, name_of(g, made, text));
    proto_message(&g->graph, GRAPH_NODE, *node);
}

/* An initializer as the next input of the node. */
static inline void constant_in(struct grower *g, struct proto *node, int type, const int64_t *dims,
                               size_t rank, const void *data, size_t bytes)
{
    char name[16];
    int64_t dim64[8];
    snprintf(name, sizeof name, "c%u", g->n_constants++);
    for (size_t i = 0; i < rank; i++)
        dim64[i] = number(g, dims[i]);
    proto_message(&g->graph, GRAPH_INITIALIZER, build_tensor(name, type, dim64, rank, data, bytes));
    proto_text(node, 1, name);
}

static inline void ints_in(struct grower *g, struct proto *node, const int64_t *v, size_t n)
{
    int64_t dim = (int64_t)n, dim64[16];
    for (size_t i = 0; i < n; i++)
        dim64[i] = number(g, v[i]);
    constant_in(g, node, BUILD_INT64, &dim, 1, dim64, n * sizeof *dim64);
}

/* Weights -1, -1/2, 0, 1/2, 1 in an order that bytes decide. */
static inline void weights_in(struct grower *g, struct proto *node, const int64_t *dims,
                              size_t rank)
{
    float data[GROW_ELEMS];
    size_t n = 1;
    uint32_t step = 1 + roll(g, 31), seed = roll(g, 256);
    for (size_t i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    for (size_t i = 0; i < n; i++, seed += step + (uint32_t)i % 7)
        data[i] = (float)(seed % 5) / 2 - 1;
    constant_in(g, node, BUILD_FLOAT, dims, rank, data, n * sizeof *data);
}

/* ---- windows --------------------------------------------------------------------------------- */

struct window {
    int64_t kernel[3], stride[3], dilation[3], pads[6], group;
    uint32_t axes;
};

/* Windows of x; the dims of the result to `out`. */
static inline void roll_window(struct grower *g, const struct grown_value *x, struct window *w,
                               struct grown_value *out, bool padded)
{
    w->axes = x->rank - 2;
    for (uint32_t i = 0; i < w->axes; i++) {
        int64_t have = x->dim[2 + i];
        w->kernel[i] = 1 + roll(g, 3);
        w->stride[i] = 1 + roll(g, 3);
        w->dilation[i] = 1 + roll(g, 2);
        w->pads[i] = padded ? roll(g, 2) : 0;
        w->pads[w->axes + i] = padded ? roll(g, 2) : 0;
        if ((w->kernel[i] - 1) * w->dilation[i] + 1 > have)
            w->kernel[i] = 1;
        if (w->kernel[i] == 1)
            w->pads[i] = w->pads[w->axes + i] = 0;
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        out->dim[2 + i] = (have + w->pads[i] + w->pads[w->axes + i] - reach) / w->stride[i] + 1;
    }
}

static inline void window_attrs(struct grower *g, struct proto *node, const struct window *w,
                                bool dilated)
{
    node_attrs(g, node, "kernel_shape", w->kernel, w->axes);
    node_attrs(g, node, "strides", w->stride, w->axes);
    if (dilated)
        node_attrs(g, node, "dilations", w->dilation, w->axes);
    node_attrs(g, node, "pads", w->pads, 2 * (size_t)w->axes);
}

#endif
