/* SPDX-License-Identifier: MIT */
/* grown_integers.h - what quantized networks are made of: bytes through QLinearConv and chains,
 * layers between QuantizeLinear and DequantizeLinear (QDQ), sums of integers.
 *
 * All scales are powers of two and at least 1/64, so that numbers stay exact and every kernel
 * rounds the same ties. */
#ifndef GROWN_INTEGERS_H
#define GROWN_INTEGERS_H

#include "grower.h"

/* ---- bytes of a quantized network ------------------------------------------------------------ */

/* A node in the middle of a family; its output is "q0", "q1", ... */
static inline struct proto byte_node(struct grower *g, const char *op, char out[16])
{
    struct proto node = open_node(g, op);
    snprintf(out, 16, "q%u", g->n_bytes++);
    proto_text(&node, 2, out);
    return node;
}

/* Scale 1/4, so that exact values stay exact, and a zero point. */
static inline void grid_in(struct grower *g, struct proto *node, int type, uint8_t zero)
{
    const float scale = 0.25f;
    const int64_t none = 0;
    constant_in(g, node, BUILD_FLOAT, &none, 0, &scale, sizeof scale);
    constant_in(g, node, type, &none, 0, &zero, 1);
}

struct grid_of_bytes {
    int type; /* UINT8, INT8 */
    uint8_t zero;
};

/* A node that reads `from` alone, twice or once, and is `from` then. */
static inline void bytes_through(struct grower *g, const char *op, const struct grid_of_bytes *t,
                                 bool twice, char from[16])
{
    char to[16];
    struct proto node = byte_node(g, op, to);
    proto_text(&node, 1, from);
    if (twice)
        proto_text(&node, 1, from);
    if (twice && strcmp(op, "Concat") == 0)
        node_attr(g, &node, "axis", 1);
    if (t)
        grid_in(g, &node, t->type, t->zero);
    proto_message(&g->graph, GRAPH_NODE, node);
    memcpy(from, to, sizeof to);
}

static inline void bytes_conv(struct grower *g, const struct grid_of_bytes *t,
                              struct grown_value *out, char from[16])
{
    struct grown_value in = *out;
    struct window w;
    uint8_t weights[GROW_ELEMS];
    char to[16];
    int64_t c = in.dim[1], group = roll(g, 3) == 0 ? c : 1, o = group * (1 + roll(g, 4));
    int64_t dims[GROW_RANK] = {o, c / group};
    uint32_t seed = roll(g, 256), n = (uint32_t)(o * (c / group));
    roll_window(g, &in, &w, out, true);
    for (uint32_t i = 0; i < w.axes; i++)
        n *= (uint32_t)(dims[2 + i] = w.kernel[i]);
    out->dim[1] = o;
    if (n > GROW_ELEMS || elements(out) > GROW_ELEMS) {
        *out = in;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        weights[i] = (uint8_t)(seed + i * 37);
    struct proto node = byte_node(g, "QLinearConv", to);
    proto_text(&node, 1, from);
    grid_in(g, &node, t->type, t->zero);
    constant_in(g, &node, 3, dims, in.rank, weights, n);
    grid_in(g, &node, 3, 0);
    grid_in(g, &node, t->type, t->zero);
    window_attrs(g, &node, &w, true);
    node_attr(g, &node, "group", group);
    proto_message(&g->graph, GRAPH_NODE, node);
    memcpy(from, to, sizeof to);
}

/* DequantizeLinear -> operator -> QuantizeLinear, which the planner runs on bytes. */
static inline void bytes_chain(struct grower *g, const struct grid_of_bytes *t,
                               struct grown_value *out, char from[16])
{
    static const char *const ops[] = {"Relu", "Abs", "Add", "Mul", "Concat", "GlobalAveragePool"};
    uint32_t which = roll(g, 6);
    if ((which == 4 && (out->rank < 2 || elements(out) > GROW_ELEMS / 2)) ||
        (which == 5 && out->rank < 3))
        which = 0;
    bytes_through(g, "DequantizeLinear", t, false, from);
    bytes_through(g, ops[which], NULL, which > 1 && which < 5, from);
    bytes_through(g, "QuantizeLinear", t, false, from);
    if (which == 4)
        out->dim[1] *= 2;
    for (uint32_t i = 2; which == 5 && i < out->rank; i++)
        out->dim[i] = 1;
}

/* x -> QuantizeLinear, then convolutions and chains, -> DequantizeLinear. */
static inline void grow_bytes(struct grower *g)
{
    uint32_t x = pick(g, exact_float), layers = roll(g, 5);
    if (x == UINT32_MAX)
        return;
    struct grown_value out = g->v[x];
    struct grid_of_bytes t = {2 + (int)roll(g, 2), (uint8_t)roll(g, 256)};
    char from[16];
    snprintf(from, sizeof from, "v%u", x);
    bytes_through(g, "QuantizeLinear", &t, false, from);
    for (uint32_t i = 0; i < layers; i++)
        if (roll(g, 2) && out.rank >= 3)
            bytes_conv(g, &t, &out, from);
        else
            bytes_chain(g, &t, &out, from);
    struct proto node = open_node(g, "DequantizeLinear");
    proto_text(&node, 1, from);
    grid_in(g, &node, t.type, t.zero);
    out.bound = 64;
    close_node(g, &node, &out);
}

/* ---- layers between grids -------------------------------------------------------------------- */

enum { BYTES_UINT8 = 2, BYTES_INT8 = 3, BYTES_INT32 = 6 };

/* Integers of 2 to 8 bits, or zeros but for one in eight, which files store in as few. */
static inline void integers_in(struct grower *g, struct proto *node, int type, const int64_t *dims,
                               size_t rank)
{
    static const int largest[] = {1, 3, 7, 127, 1, 15};
    uint8_t data[GROW_ELEMS];
    uint32_t which = roll(g, 6), seed = roll(g, 256), n = 1;
    for (size_t i = 0; i < rank; i++)
        n *= (uint32_t)dims[i];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t r = (seed + i * 37) * 2654435761u >> 16;
        int q = (int)(r % (2 * (uint32_t)largest[which] + 1)) - largest[which];
        data[i] = (uint8_t)(which == 4 && r / 256 % 8 ? 0 : q);
    }
    constant_in(g, node, type, dims, rank, data, n);
}

/* DequantizeLinear of constants, a scale a channel along `axis` or one; is value `name` then. */
static inline void weights_by_grid(struct grower *g, const int64_t *dims, size_t rank, int64_t axis,
                                   bool by_channel, char name[16])
{
    float scale[GROW_ELEMS];
    struct proto node = byte_node(g, "DequantizeLinear", name);
    integers_in(g, &node, BYTES_INT8, dims, rank);
    for (int64_t i = 0; i < dims[axis]; i++)
        scale[i] = i % 3 == 1 ? 0.125f : 0.0625f;
    size_t n = by_channel ? (size_t)dims[axis] : 1;
    constant_in(g, &node, BUILD_FLOAT, &dims[axis], by_channel ? 1 : 0, scale, n * sizeof *scale);
    if (by_channel)
        node_attr(g, &node, "axis", axis);
    proto_message(&g->graph, GRAPH_NODE, node);
}

/* A bias on the grid of the sums, which weights_by_grid decided. */
static inline void bias_by_grid(struct grower *g, int64_t n, bool by_channel, char name[16])
{
    int32_t bias[GROW_ELEMS];
    float scale[GROW_ELEMS];
    const int64_t none = 0;
    struct proto node = byte_node(g, "DequantizeLinear", name);
    uint32_t seed = roll(g, 256);
    for (int64_t i = 0; i < n; i++) {
        bias[i] = (int32_t)((seed + (uint32_t)i * 91) % 1024) - 512;
        scale[i] = 0.25f * (by_channel && i % 3 == 1 ? 0.125f : 0.0625f);
    }
    constant_in(g, &node, BYTES_INT32, &n, 1, bias, (size_t)n * sizeof *bias);
    constant_in(g, &node, BUILD_FLOAT, by_channel ? &n : &none, by_channel ? 1 : 0, scale,
                (by_channel ? (size_t)n : 1) * sizeof *scale);
    if (by_channel)
        node_attr(g, &node, "axis", 0);
    proto_message(&g->graph, GRAPH_NODE, node);
}

/* The window of a convolution of `in`, the dims of its weights and what it gives; false: too large.
 */
static inline bool roll_layer(struct grower *g, const struct grown_value *in, struct window *w,
                              int64_t *dims, int64_t *group, struct grown_value *out)
{
    int64_t c = in->dim[1], n = 1;
    *group = roll(g, 3) == 0 ? c : 1;
    roll_window(g, in, w, out, true);
    dims[0] = out->dim[1] = *group * (1 + roll(g, 4));
    dims[1] = c / *group;
    for (uint32_t i = 0; i < w->axes; i++)
        dims[2 + i] = w->kernel[i];
    for (uint32_t i = 0; i < in->rank; i++)
        n *= dims[i];
    return n <= GROW_ELEMS && elements(out) <= GROW_ELEMS;
}

/* The same of a matrix product. */
static inline bool roll_matrix(struct grower *g, const struct grown_value *in, int64_t *dims,
                               struct grown_value *out)
{
    dims[0] = in->dim[in->rank - 1];
    dims[1] = out->dim[in->rank - 1] = 1 + roll(g, 40);
    return dims[0] * dims[1] <= GROW_ELEMS && elements(out) <= GROW_ELEMS;
}

/* x -> grid -> Conv or MatMul of weights on a grid -> Relu -> grid. */
static inline void grow_layer_between_grids(struct grower *g)
{
    uint32_t x = pick(g, exact_float);
    if (x == UINT32_MAX || g->v[x].rank < 2)
        return;
    struct grown_value in = g->v[x], out = in;
    struct grid_of_bytes t = {2 + (int)roll(g, 2), (uint8_t)roll(g, 256)}, to = t;
    bool conv = in.rank >= 3 && roll(g, 3), by_channel = roll(g, 2), biased = roll(g, 2);
    struct window w = {0};
    int64_t dims[GROW_RANK], group = 1;
    if (!(conv ? roll_layer(g, &in, &w, dims, &group, &out) : roll_matrix(g, &in, dims, &out)))
        return;
    char from[16], weight[16], bias[16], sums[16];
    snprintf(from, sizeof from, "v%u", x);
    bytes_through(g, "QuantizeLinear", &t, false, from);
    bytes_through(g, "DequantizeLinear", &t, false, from);
    weights_by_grid(g, dims, conv ? in.rank : 2, conv ? 0 : 1, by_channel, weight);
    if (biased)
        bias_by_grid(g, conv ? dims[0] : dims[1], by_channel, bias);
    struct proto node = byte_node(g, conv ? "Conv" : "MatMul", sums);
    proto_text(&node, 1, from);
    proto_text(&node, 1, weight);
    if (conv && biased)
        proto_text(&node, 1, bias);
    if (conv) {
        window_attrs(g, &node, &w, true);
        node_attr(g, &node, "group", group);
    }
    proto_message(&g->graph, GRAPH_NODE, node);
    memcpy(from, sums, sizeof from);
    if (!conv && biased) {
        node = byte_node(g, "Add", sums);
        proto_text(&node, 1, from);
        proto_text(&node, 1, bias);
        proto_message(&g->graph, GRAPH_NODE, node);
        memcpy(from, sums, sizeof from);
    }
    if (roll(g, 2)) {
        bytes_through(g, "Relu", NULL, false, from);
        to.zero = roll(g, 2) ? to.zero : to.type == BYTES_INT8 ? 128 : 0;
    }
    bytes_through(g, "QuantizeLinear", &to, false, from);
    node = open_node(g, "DequantizeLinear");
    proto_text(&node, 1, from);
    grid_in(g, &node, to.type, to.zero);
    out.bound = 64;
    close_node(g, &node, &out);
}

/* x -> QuantizeLinear -> ConvInteger or MatMulInteger -> Cast -> times 2^-10. */
static inline void grow_integer_sums(struct grower *g)
{
    uint32_t x = pick(g, exact_float);
    if (x == UINT32_MAX || g->v[x].rank < 2)
        return;
    struct grown_value in = g->v[x], out = in;
    struct grid_of_bytes t = {2 + (int)roll(g, 2), (uint8_t)roll(g, 256)};
    bool conv = in.rank >= 3 && roll(g, 2), shifted = roll(g, 2);
    int type = roll(g, 2) ? BYTES_INT8 : BYTES_UINT8;
    struct window w = {0};
    int64_t dims[GROW_RANK], group = 1, none = 0;
    if (!(conv ? roll_layer(g, &in, &w, dims, &group, &out) : roll_matrix(g, &in, dims, &out)))
        return;
    char from[16], to[16];
    snprintf(from, sizeof from, "v%u", x);
    bytes_through(g, "QuantizeLinear", &t, false, from);
    struct proto node = byte_node(g, conv ? "ConvInteger" : "MatMulInteger", to);
    proto_text(&node, 1, from);
    integers_in(g, &node, type, dims, conv ? in.rank : 2);
    constant_in(g, &node, t.type, &none, 0, &t.zero, 1);
    uint8_t zero = (uint8_t)roll(g, 256);
    if (shifted)
        constant_in(g, &node, type, &none, 0, &zero, 1);
    if (conv) {
        window_attrs(g, &node, &w, true);
        node_attr(g, &node, "group", group);
    }
    proto_message(&g->graph, GRAPH_NODE, node);
    memcpy(from, to, sizeof from);
    node = byte_node(g, "Cast", to);
    proto_text(&node, 1, from);
    node_attr(g, &node, "to", BUILD_FLOAT);
    proto_message(&g->graph, GRAPH_NODE, node);
    const float factor = 0x1p-10f;
    node = open_node(g, "Mul");
    proto_text(&node, 1, to);
    constant_in(g, &node, BUILD_FLOAT, &none, 0, &factor, sizeof factor);
    out.bound = 2048 * 64.0; /* of GROW_ELEMS products of two bytes */
    out.exact = false;
    close_node(g, &node, &out);
}

static inline void grow_quantized(struct grower *g)
{
    static void (*const families[])(struct grower *) = {
        grow_bytes, grow_bytes, grow_layer_between_grids, grow_integer_sums};
    families[roll(g, 4)](g);
}

#endif
