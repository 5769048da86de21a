/* SPDX-License-Identifier: MIT */
/* grown_graph.h - bytes decide an ONNX graph, node by node.
 *
 * Undamaged, every graph that grows is valid: import has to take it. What it gives may be compared
 * between kernels, for each value has a bound of its magnitude, and a flag for whether f32
 * represents it exactly (small multiples of 1/4, far from 2^24). Operators that jump (Floor,
 * comparisons, Cast) only read exact values; operators that magnify are fed bounded ones.
 *
 * Damaged, numbers and names go wrong at a few places that bytes choose too: cycles, names that
 * stand twice or nowhere, wild attributes, dims that do not fit. */
#ifndef GROWN_GRAPH_H
#define GROWN_GRAPH_H

#include "grown_integers.h"

/* ---- families -------------------------------------------------------------------------------- */

static inline void grow_unary(struct grower *g)
{
    static const struct {
        const char *op;
        double bound; /* of the result; 0: that of the input */
        bool exact, jumps;
    } ops[] = {
        {"Abs", 0, true, false},          {"Neg", 0, true, false},        {"Relu", 0, true, false},
        {"Identity", 0, true, false},     {"Sigmoid", 1, false, false},   {"Tanh", 1, false, false},
        {"Erf", 1, false, false},         {"Softplus", 0, false, false},  {"Elu", 0, false, false},
        {"HardSwish", 0, false, false},   {"LeakyRelu", 0, false, false}, {"Sin", 1, false, false},
        {"Softsign", 1, false, false},    {"Mish", 0, false, false},      {"Floor", 0, true, true},
        {"Ceil", 0, true, true},          {"Round", 0, true, true},       {"Sign", 1, true, true},
        {"HardSigmoid", 1, false, false}, {"Selu", 0, false, false}};
    uint32_t which = roll(g, sizeof ops / sizeof *ops);
    uint32_t x = pick(g, ops[which].jumps ? exact_float : tame_float);
    if (x == UINT32_MAX)
        return;
    struct grown_value out = g->v[x];
    struct proto node = open_node(g, ops[which].op);
    node_in(g, &node, x);
    out.exact = out.exact && ops[which].exact;
    out.bound = ops[which].bound > 0 ? ops[which].bound : 2 * out.bound + 2;
    close_node(g, &node, &out);
}

/* With itself, with a constant along the last axis, or with a scalar. */
static inline void grow_binary(struct grower *g)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Min", "Max", "Add", "Greater", "Equal"};
    uint32_t which = roll(g, 8), x = pick(g, which >= 6 ? exact_float : tame_float);
    if (x == UINT32_MAX)
        return;
    struct grown_value out = g->v[x];
    struct proto node = open_node(g, ops[which]);
    uint32_t form = roll(g, 3);
    node_in(g, &node, x);
    if (form == 0)
        node_in(g, &node, x);
    else
        weights_in(g, &node, &out.dim[out.rank ? out.rank - 1 : 0], form == 1 && out.rank ? 1 : 0);
    out.bound = which == 2 && form == 0 ? out.bound * out.bound : 2 * out.bound + 1;
    out.exact = out.exact && out.bound < 4096;
    if (which >= 6) {
        out.type = GROW_BOOL;
        out.bound = 1;
    }
    close_node(g, &node, &out);
}

static inline void grow_where(struct grower *g)
{
    uint32_t c = pick(g, any_bool);
    if (c == UINT32_MAX)
        return;
    struct grown_value out = g->v[c];
    struct proto node = open_node(g, "Where");
    node_in(g, &node, c);
    weights_in(g, &node, out.dim, roll(g, 2) ? out.rank : 0);
    weights_in(g, &node, out.dim, 0);
    out.type = BUILD_FLOAT;
    close_node(g, &node, &out);
}

static inline void grow_product(struct grower *g)
{
    uint32_t x = pick(g, matrix_like);
    if (x == UINT32_MAX)
        return;
    struct grown_value out = g->v[x];
    int64_t k = out.dim[out.rank - 1], n = 1 + roll(g, 40);
    if (k * n > GROW_ELEMS || elements(&out) / (size_t)k * (size_t)n > GROW_ELEMS)
        return;
    bool gemm = out.rank == 2 && roll(g, 2);
    struct proto node = open_node(g, gemm ? "Gemm" : "MatMul");
    node_in(g, &node, x);
    int64_t kn[2] = {k, n}, nk[2] = {n, k};
    bool transposed = gemm && roll(g, 2);
    weights_in(g, &node, transposed ? nk : kn, 2);
    if (gemm && roll(g, 2))
        weights_in(g, &node, &n, 1);
    if (transposed)
        node_attr(g, &node, "transB", 1);
    out.dim[out.rank - 1] = n;
    out.bound = out.bound * (double)k + 1;
    close_node(g, &node, &out);
}

static inline void grow_conv(struct grower *g)
{
    uint32_t x = pick(g, picture);
    if (x == UINT32_MAX)
        return;
    const struct grown_value *in = &g->v[x];
    struct grown_value out = *in;
    struct window w;
    int64_t c = in->dim[1], group = roll(g, 3) == 0 ? c : 1, o = group * (1 + roll(g, 4));
    roll_window(g, in, &w, &out, true);
    int64_t dims[5] = {o, c / group};
    size_t taps = (size_t)(c / group);
    for (uint32_t i = 0; i < w.axes; i++) {
        dims[2 + i] = w.kernel[i];
        taps *= (size_t)w.kernel[i];
    }
    out.dim[1] = o;
    if ((size_t)o * taps > GROW_ELEMS || elements(&out) > GROW_ELEMS)
        return;
    struct proto node = open_node(g, "Conv");
    node_in(g, &node, x);
    weights_in(g, &node, dims, in->rank);
    if (roll(g, 2))
        weights_in(g, &node, &o, 1);
    window_attrs(g, &node, &w, true);
    node_attr(g, &node, "group", group);
    out.bound = out.bound * (double)taps + 1;
    close_node(g, &node, &out);
}

static inline void grow_pool(struct grower *g)
{
    static const char *const ops[] = {"MaxPool", "AveragePool", "GlobalAveragePool",
                                      "GlobalMaxPool"};
    uint32_t which = roll(g, 4), x = pick(g, picture);
    if (x == UINT32_MAX)
        return;
    struct grown_value out = g->v[x];
    struct window w;
    struct proto node = open_node(g, ops[which]);
    node_in(g, &node, x);
    if (which < 2) {
        struct grown_value in = out;
        roll_window(g, &in, &w, &out, true);
        if (which == 1) /* ONNX gave its dilations in opset 19 */
            for (uint32_t i = 0; i < w.axes; i++)
                out.dim[2 + i] =
                    (in.dim[2 + i] + w.pads[i] + w.pads[w.axes + i] - w.kernel[i]) / w.stride[i] +
                    1;
        window_attrs(g, &node, &w, which == 0);
    } else {
        for (uint32_t i = 2; i < out.rank; i++)
            out.dim[i] = 1;
    }
    out.exact = out.exact && which % 2 == (which < 2 ? 0 : 1);
    close_node(g, &node, &out);
}

static inline void grow_normalization(struct grower *g)
{
    static const char *const ops[] = {"BatchNormalization", "InstanceNormalization",
                                      "LayerNormalization", "Softmax", "LogSoftmax"};
    uint32_t which = roll(g, 5), x = pick(g, which < 2 ? picture : tame_axes);
    if (x == UINT32_MAX)
        return;
    struct grown_value out = g->v[x];
    struct proto node = open_node(g, ops[which]);
    node_in(g, &node, x);
    int64_t channels = which == 2 ? out.dim[out.rank - 1] : out.rank > 1 ? out.dim[1] : 0;
    for (uint32_t i = 0; i < (which == 0 ? 3u : which < 3 ? 2u : 0u); i++)
        weights_in(g, &node, &channels, 1);
    if (which == 0) {
        float var[GROW_ELEMS];
        for (int64_t i = 0; i < channels; i++)
            var[i] = 1 + (float)(i % 4);
        constant_in(g, &node, BUILD_FLOAT, &channels, 1, var, (size_t)channels * sizeof *var);
    }
    if (which < 3)
        node_attr_float(&node, "epsilon", 0.125f);
    else
        node_attr(g, &node, "axis", (int64_t)roll(g, out.rank) - (roll(g, 2) ? out.rank : 0));
    out.exact = false;
    out.bound = which == 3 ? 1 : which == 0 ? 2 * out.bound + 2 : 3 * out.bound + 16;
    close_node(g, &node, &out);
}

static inline void grow_shape(struct grower *g)
{
    uint32_t which = roll(g, 7), x = pick(g, has_axes);
    if (x == UINT32_MAX)
        return;
    struct grown_value in = g->v[x], out = in;
    int64_t v[GROW_RANK] = {0}, count = (int64_t)elements(&in);
    uint32_t axis = roll(g, in.rank);
    if ((which == 4 && in.rank == GROW_RANK) || (which == 5 && in.dim[axis] != 1))
        which = 0;
    static const char *const ops[] = {"Transpose", "Reshape", "Flatten", "Slice",
                                      "Unsqueeze", "Squeeze", "Pad"};
    struct proto node = open_node(g, ops[which]);
    node_in(g, &node, x);
    if (which == 0) {
        for (uint32_t i = 0; i < in.rank; i++)
            out.dim[i] = in.dim[v[i] = (i + axis) % in.rank];
        node_attrs(g, &node, "perm", v, in.rank);
    } else if (which == 1) {
        int64_t rows = 1 + roll(g, 8);
        rows = count % rows ? 1 : rows;
        out.rank = 2;
        out.dim[0] = v[0] = rows;
        out.dim[1] = count / rows;
        v[1] = roll(g, 2) ? -1 : count / rows;
        ints_in(g, &node, v, 2);
    } else if (which == 2) {
        out.rank = 2;
        out.dim[0] = out.dim[1] = 1;
        for (uint32_t i = 0; i < in.rank; i++)
            out.dim[i >= axis] *= in.dim[i];
        node_attr(g, &node, "axis", axis);
    } else if (which == 3) {
        int64_t from = roll(g, (uint32_t)in.dim[axis]), step = 1 + roll(g, 2), at = axis;
        int64_t to = in.dim[axis];
        out.dim[axis] = (to - from + step - 1) / step;
        ints_in(g, &node, &from, 1);
        ints_in(g, &node, &to, 1);
        ints_in(g, &node, &at, 1);
        ints_in(g, &node, &step, 1);
    } else if (which == 4 || which == 5) {
        int64_t at = axis;
        out.rank = which == 4 ? in.rank + 1 : in.rank - 1;
        for (uint32_t i = 0, from = 0; i < out.rank; i++) {
            if (which == 5 && from == axis)
                from++;
            out.dim[i] = which == 4 && i == axis ? 1 : in.dim[from++];
        }
        ints_in(g, &node, &at, 1);
    } else {
        int64_t pads[2 * GROW_RANK] = {0};
        pads[axis] = roll(g, 3);
        pads[in.rank + axis] = roll(g, 3);
        out.dim[axis] += pads[axis] + pads[in.rank + axis];
        ints_in(g, &node, pads, 2 * (size_t)in.rank);
    }
    if (elements(&out) > GROW_ELEMS)
        free(node.data);
    else
        close_node(g, &node, &out);
}

static inline void grow_joint(struct grower *g)
{
    uint32_t which = roll(g, 6), x = pick(g, which == 5 ? tame_axes : has_axes);
    if (x == UINT32_MAX)
        return;
    struct grown_value in = g->v[x], out = in;
    uint32_t axis = roll(g, in.rank);
    static const char *const ops[] = {"Concat", "Gather", "ReduceMax",
                                      "Tile",   "Expand", "ReduceSum"};
    struct proto node = open_node(g, ops[which]);
    node_in(g, &node, x);
    if (which == 0) {
        node_in(g, &node, x);
        node_attr(g, &node, "axis", (int64_t)axis - (roll(g, 2) ? in.rank : 0));
        out.dim[axis] *= 2;
    } else if (which == 1) {
        int64_t at[3];
        for (int i = 0; i < 3; i++)
            at[i] = (int64_t)roll(g, (uint32_t)in.dim[axis] * 2) - in.dim[axis];
        ints_in(g, &node, at, 3);
        node_attr(g, &node, "axis", axis);
        out.dim[axis] = 3;
    } else if (which == 2 || which == 5) {
        int64_t at = axis;
        if (which == 2)
            node_attrs(g, &node, "axes", &at, 1);
        else
            ints_in(g, &node, &at, 1);
        out.bound *= which == 5 ? (double)in.dim[axis] : 1;
        out.dim[axis] = 1;
    } else {
        int64_t v[GROW_RANK];
        for (uint32_t i = 0; i < in.rank; i++)
            v[i] = which == 3 ? 1 : in.dim[i];
        if (which == 3 || in.dim[axis] == 1)
            v[axis] = 1 + roll(g, 3);
        out.dim[axis] = which == 3 ? in.dim[axis] * v[axis] : v[axis];
        ints_in(g, &node, v, in.rank);
    }
    if (elements(&out) > GROW_ELEMS)
        free(node.data);
    else
        close_node(g, &node, &out);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static inline struct proto body_node(const char *op, const char *links)
{
    char name[24];
    snprintf(name, sizeof name, "body_%s", op);
    return build_node(op, name, links);
}

static inline void attach_body(struct proto *node, const char *name, struct proto body)
{
    struct proto a = {0};
    proto_text(&a, 1, name);
    proto_message(&a, 6, body);
    proto_int(&a, 20, 5);
    proto_message(node, 5, a);
}

/* Loop of a few rounds: s = max(s - x, -s / 2 + c), x captured. */
static inline void grow_loop(struct grower *g)
{
    uint32_t x = pick(g, tame_float);
    if (x == UINT32_MAX)
        return;
    struct grown_value out = g->v[x];
    char captured[16], links[40];
    struct proto body = {0}, node = open_node(g, "Loop");
    int64_t rounds = 1 + roll(g, 4), none = 0;
    snprintf(links, sizeof links, "s %s -> d", name_of(g, x, captured));
    proto_message(&body, GRAPH_NODE, body_node("Identity", "go -> still"));
    proto_message(&body, GRAPH_NODE, body_node("Sub", links));
    proto_message(&body, GRAPH_NODE, body_node("Neg", "s -> m"));
    proto_message(&body, GRAPH_NODE, body_node("Max", "d m -> t"));
    proto_text(&body, 2, "body");
    proto_message(&body, GRAPH_INPUT, build_value("i", BUILD_INT64, &none, 0));
    proto_message(&body, GRAPH_INPUT, build_value("go", GROW_BOOL, &none, 0));
    proto_message(&body, GRAPH_INPUT, build_value("s", BUILD_FLOAT, out.dim, out.rank));
    build_output(&body, goes_wrong(g) ? "d" : "still");
    build_output(&body, goes_wrong(g) ? "nowhere" : "t");
    constant_in(g, &node, BUILD_INT64, &none, 0, &rounds, sizeof rounds);
    proto_text(&node, 1, "");
    node_in(g, &node, x);
    attach_body(&node, "body", body);
    out.bound *= 8; /* at most 4 rounds of bound + bound of x */
    close_node(g, &node, &out);
}

/* If the first of a vector of bools holds: x, else -x. */
static inline void grow_branch(struct grower *g)
{
    uint32_t c = pick(g, any_bool), x = pick(g, any_float);
    if (c == UINT32_MAX || x == UINT32_MAX || elements(&g->v[c]) > 64)
        return;
    struct grown_value out = g->v[x], one = {.type = GROW_BOOL, .exact = true, .bound = 1};
    int64_t flat = -1, zero = 0, none = 0;
    struct proto reshape = open_node(g, "Reshape");
    node_in(g, &reshape, c);
    ints_in(g, &reshape, &flat, 1);
    struct grown_value row = {.type = GROW_BOOL, .rank = 1, .exact = true, .bound = 1};
    row.dim[0] = (int64_t)elements(&g->v[c]);
    close_node(g, &reshape, &row);
    struct proto gather = open_node(g, "Gather");
    g->v[g->n - 1].used = true;
    node_in(g, &gather, g->n - 1);
    constant_in(g, &gather, BUILD_INT64, &none, 0, &zero, sizeof zero);
    close_node(g, &gather, &one);
    g->v[g->n - 1].used = true;
    struct proto node = open_node(g, "If"), yes = {0}, no = {0};
    char captured[16], links[40];
    snprintf(links, sizeof links, "%s -> y", name_of(g, x, captured));
    proto_message(&yes, GRAPH_NODE, body_node("Abs", links));
    proto_text(&yes, 2, "yes");
    build_output(&yes, "y");
    snprintf(links, sizeof links, "%s -> z", name_of(g, x, captured));
    proto_message(&no, GRAPH_NODE, body_node("Neg", links));
    proto_text(&no, 2, "no");
    build_output(&no, "z");
    node_in(g, &node, g->n - 1);
    attach_body(&node, "then_branch", yes);
    attach_body(&node, "else_branch", no);
    close_node(g, &node, &out);
}

/* x [T, N, I] through a recurrent layer. */
static inline void grow_recurrent(struct grower *g)
{
    static const char *const ops[] = {"RNN", "GRU", "LSTM"};
    static const int64_t gates[] = {1, 3, 4};
    uint32_t which = roll(g, 3), x = pick(g, tame_float);
    if (x == UINT32_MAX || g->v[x].rank != 3)
        return;
    struct grown_value out = g->v[x];
    int64_t hidden = 1 + roll(g, 5), both = roll(g, 2), in = out.dim[2];
    int64_t w[3] = {1 + both, gates[which] * hidden, in};
    int64_t r[3] = {1 + both, gates[which] * hidden, hidden};
    out.rank = 4;
    out.dim[3] = hidden;
    out.dim[2] = out.dim[1];
    out.dim[1] = 1 + both;
    if (w[0] * w[1] * (in + hidden) > GROW_ELEMS || elements(&out) > GROW_ELEMS)
        return;
    struct proto node = open_node(g, ops[which]);
    node_in(g, &node, x);
    weights_in(g, &node, w, 3);
    weights_in(g, &node, r, 3);
    node_attr(g, &node, "hidden_size", hidden);
    if (both)
        build_attr_text(&node, "direction", "bidirectional");
    out.bound = 1;
    out.exact = false;
    close_node(g, &node, &out);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static inline void grow_input(struct grower *g)
{
    struct grown_value v = {.type = BUILD_FLOAT, .bound = 4, .exact = true};
    char name[16];
    v.rank = 1 + roll(g, 5);
    for (uint32_t i = 0; i < v.rank; i++)
        v.dim[i] = 1 + roll(g, i == 0 ? 3 : 6);
    while (elements(&v) > GROW_ELEMS)
        v.dim[--v.rank] = 0;
    snprintf(name, sizeof name, "v%u", g->n);
    int64_t dim64[GROW_RANK];
    for (uint32_t i = 0; i < v.rank; i++)
        dim64[i] = number(g, v.dim[i]);
    proto_message(&g->graph, GRAPH_INPUT, build_value(name, BUILD_FLOAT, dim64, v.rank));
    add_value(g, &v);
}

/* The file; every value that nothing reads is an output. */
static inline struct proto grow_model(struct grower *g)
{
    static void (*const families[])(struct grower *) = {
        grow_unary,         grow_binary,    grow_product, grow_conv,     grow_pool,
        grow_normalization, grow_shape,     grow_joint,   grow_where,    grow_loop,
        grow_branch,        grow_recurrent, grow_binary,  grow_quantized};
    uint32_t nodes = 1 + roll(g, 20);
    grow_input(g);
    if (roll(g, 3) == 0)
        grow_input(g);
    for (uint32_t i = 0; i < nodes && g->n + 4 < GROW_VALUES; i++)
        families[roll(g, sizeof families / sizeof *families)](g);
    bool any = false;
    for (uint32_t i = 0; i < g->n; i++) {
        char name[16];
        if (g->v[i].used && (any || i + 1 < g->n))
            continue;
        any = true;
        proto_message(&g->graph, GRAPH_OUTPUT,
                      build_value(name_of(g, i, name), g->v[i].type, g->v[i].dim, 0));
    }
    proto_text(&g->graph, 2, "grown");
    return build_model(g->graph, 17);
}

#endif
