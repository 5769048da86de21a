/* SPDX-License-Identifier: MIT */
/* Layers of integers written in the QDQ format: which operators stand in the file, and that
 * importing it gives the same network, constants to the bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "onnx/onnx_read.h"
#include "pith_onnx.h"
#include "pith_value_stats.h"
#include "quantized_builder.h"

static struct pith_model *import(const void *bytes, size_t n)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(bytes, n, "net.onnx", NULL, &m, &err));
    return m;
}

static bool holds_bytes(const struct pith_buffer *file, const void *bytes, size_t n)
{
    for (size_t i = 0; i + n <= file->bytes; i++)
        if (memcmp(file->data + i, bytes, n) == 0)
            return true;
    return false;
}

static bool holds(const struct pith_buffer *file, const char *text)
{
    return holds_bytes(file, text, strlen(text));
}

static void same_constants(const struct pith_model *a, const struct pith_model *b, uint32_t node)
{
    for (uint32_t k = 0; k < a->nodes[node].n_in; k++) {
        uint32_t i = a->nodes[node].in[k], j = b->nodes[node].in[k];
        assert_int_equal(i == PITH_VALUE_NONE, j == PITH_VALUE_NONE);
        if (i == PITH_VALUE_NONE || !a->values[i].constant)
            continue;
        const struct pith_const *c = a->values[i].constant, *d = b->values[j].constant;
        assert_non_null(d);
        assert_int_equal(c->count, d->count);
        assert_memory_equal(c->data, d->data, c->count * pith_type_bytes(a->values[i].type));
    }
}

static struct pith_model *model_of(struct proto g)
{
    build_output(&g, "y");
    struct proto proto = build_model(g, 13);
    struct pith_model *m = import(proto.data, proto.n);
    free(proto.data);
    return m;
}

/* m is written with operator or attribute `written` and no operators of integers, and imports again
 * as what it was. scale: NULL, or one that the file has to hold. */
static struct pith_model *written_and_read(const struct pith_model *m, const char *written,
                                           const float *scale)
{
    struct pith_buffer file;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_write_onnx(m, &file, &err));
    assert_true(holds(&file, written));
    assert_false(holds(&file, "QLinear"));
    assert_false(holds(&file, "Integer"));
    assert_true(scale == NULL || holds_bytes(&file, scale, sizeof *scale));
    struct pith_model *back = import(file.data, file.bytes);
    assert_int_equal(m->n_nodes, back->n_nodes);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        assert_int_equal(m->nodes[i].op, back->nodes[i].op);
        assert_memory_equal(m->nodes[i].attr, back->nodes[i].attr,
                            pith_op_get(m->nodes[i].op)->n_slots * sizeof(int32_t));
        same_constants(m, back, i);
    }
    pith_buffer_free(&file);
    return back;
}

static float left = 0.7f; /* the scale that leave_grid leaves */

/* The graph g, imported, holds `integers`; the model after what `change` does to it is written. */
static void expect(struct proto g, uint32_t integers, const char *written,
                   void (*change)(struct pith_model *m))
{
    struct pith_model *m = model_of(g);
    bool found = false;
    if (change)
        change(m);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        found |= m->nodes[i].op == integers;
    assert_true(found);
    pith_model_free(written_and_read(m, written, change ? &left : NULL));
    pith_model_free(m);
}

/* x quantized by 0.3 and 3 to xq, and dequantized as xd; weights [2,2] or [2,2,1,1], their scales
 * along `axis`; a bias of two numbers. */
static void build_operands(struct proto *g, size_t w_rank, int64_t axis)
{
    static const int64_t w_dims[4] = {2, 2, 1, 1}, two[1] = {2};
    static const float x_scale = 0.3f, y_scale = 0.7f, w_scale[2] = {0.11f, 0.0123f};
    static const float b_scale[2] = {0.3f * 0.11f, 0.3f * 0.0123f};
    static const int8_t w[4] = {1, -2, 3, -128}, zero[2] = {0, 0};
    static const int32_t bias[2] = {-5, 7000};
    static const uint8_t three = 3;
    raw(g, "sx", BUILD_FLOAT, 0, NULL, &x_scale);
    raw(g, "zx", BUILD_UINT8, 0, NULL, &three);
    raw(g, "sy", BUILD_FLOAT, 0, NULL, &y_scale);
    raw(g, "w", BUILD_INT8, w_rank, w_dims, w);
    raw(g, "sw", BUILD_FLOAT, 1, two, w_scale);
    raw(g, "zw", BUILD_INT8, 1, two, zero);
    raw(g, "b", BUILD_INT32, 1, two, bias);
    raw(g, "sb", BUILD_FLOAT, 1, two, b_scale);
    add(g, "QuantizeLinear", "x sx zx -> xq");
    add(g, "DequantizeLinear", "xq sx zx -> xd");
    add_with(g, "DequantizeLinear", "w sw zw -> wd", "axis", axis);
    add_with(g, "DequantizeLinear", "b sb -> bd", "axis", 0);
}

static void build_result(struct proto *g)
{
    add(g, "QuantizeLinear", "c sy zx -> q");
    add(g, "DequantizeLinear", "q sy zx -> y");
}

TEST(test_convolution)
{
    struct proto g = {0};
    build_input(&g, "x", 4, 1, 2, 3, 3);
    build_operands(&g, 4, 0);
    add(&g, "Conv", "xd wd bd -> c");
    build_result(&g);
    expect(g, PITH_OP_CONV_INTEGER, "Conv", NULL);
}

TEST(test_gemm)
{
    struct proto g = {0};
    build_input(&g, "x", 2, 2, 2);
    build_operands(&g, 2, 1);
    add(&g, "Gemm", "xd wd bd -> c");
    build_result(&g);
    expect(g, PITH_OP_MATMUL_INTEGER, "Gemm", NULL);
}

/* More than two axes: MatMul, and the bias as an Add. */
TEST(test_matmul)
{
    for (int biased = 0; biased < 2; biased++) {
        struct proto g = {0};
        build_input(&g, "x", 3, 1, 3, 2);
        build_operands(&g, 2, 1);
        add(&g, "MatMul", biased ? "xd wd -> m" : "xd wd -> c");
        if (biased)
            add(&g, "Add", "bd m -> c");
        build_result(&g);
        expect(g, PITH_OP_MATMUL_INTEGER, "MatMul", NULL);
    }
}

/* Matrix w as it lies and transposed, by one scale: Gemm reads both ways, a MatMul through a
 * Transpose. w is one constant of the model, and again when the file is imported. */
static void build_both_ways(struct proto *g, bool deep)
{
    build_input(g, "x", 2 + deep, 1, deep ? 3 : 2, 2);
    build_operands(g, 2, 1);
    add(g, "DequantizeLinear", "w sx -> one");
    add(g, deep ? "MatMul" : "Gemm", "xd one -> c");
    add(g, "QuantizeLinear", "c sy zx -> q");
    add(g, "DequantizeLinear", "q sy zx -> qd");
    if (deep) {
        add(g, "Transpose", "w -> t");
        add(g, "DequantizeLinear", "t sx -> other");
        add(g, "MatMul", "qd other -> y");
    } else {
        add_with(g, "Gemm", "qd one -> y", "transB", 1);
    }
}

static void is_one_constant(const struct pith_model *m)
{
    uint32_t w = PITH_VALUE_NONE, ways = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (node->op != PITH_OP_MATMUL_INTEGER)
            continue;
        assert_true(w == PITH_VALUE_NONE || w == node->in[1]);
        w = node->in[1];
        ways |= 1u << node->attr[ATTR_MATMUL_TRANS_B];
    }
    assert_int_equal(ways, 3);
}

TEST(both_ways)
{
    for (int deep = 0; deep < 2; deep++) {
        struct proto g = {0};
        build_both_ways(&g, deep);
        struct pith_model *m = model_of(g), *back;
        is_one_constant(m);
        back = written_and_read(m, deep ? "Transpose" : "transB", NULL);
        is_one_constant(back);
        pith_model_free(back);
        pith_model_free(m);
    }
}

/* Floats from the sums, nothing rounded. */
TEST(without_grid_of_the_output)
{
    for (int conv = 0; conv < 2; conv++) {
        struct proto g = {0};
        if (conv)
            build_input(&g, "x", 4, 1, 2, 3, 3);
        else
            build_input(&g, "x", 2, 2, 2);
        build_operands(&g, conv ? 4 : 2, conv ? 0 : 1);
        add(&g, conv ? "Conv" : "Gemm", "xd wd bd -> y");
        expect(g, conv ? PITH_OP_CONV_INTEGER : PITH_OP_MATMUL_INTEGER, conv ? "Conv" : "Gemm",
               NULL);
    }
}

/* Between two layers; the grid that quantize leaves there is what the file has. */
static void leave_grid(struct pith_model *m)
{
    static struct pith_grid g = {.type = PITH_U8,
                                 .bits = 8,
                                 .method = PITH_RANGE_MAX,
                                 .zero_point = 3,
                                 .n = 1,
                                 .scale = &left};
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_REQUANTIZE)
            m->values[m->nodes[i].out[0]].grid = &g;
}

TEST(between_layers)
{
    struct proto g = {0};
    build_input(&g, "x", 2, 2, 2);
    build_operands(&g, 2, 1);
    add_all(&g, "Gemm xd wd bd -> c; QuantizeLinear c sy zx -> q; Flatten q -> f; DequantizeLinear "
                "f sy zx -> fd; Gemm fd wd -> y");
    expect(g, PITH_OP_MATMUL_INTEGER, "Gemm", leave_grid);
}

/* A scale for each channel of what a depthwise convolution reads: a layer of integers after import,
 * whose file has one scale a value and so runs elsewhere. */
TEST(scales_of_channels)
{
    static const int64_t two[1] = {2}, w_dims[4] = {2, 1, 1, 1};
    static const float scales[2] = {0.3f, 0.05f}, w_scale = 0.01f, y_scale = 0.7f;
    static const int8_t w[2] = {3, -100};
    static const uint8_t zeros[2] = {3, 3};
    struct proto g = {0};
    build_input(&g, "x", 4, 1, 2, 3, 3);
    raw(&g, "sx", BUILD_FLOAT, 1, two, scales);
    raw(&g, "zx", BUILD_UINT8, 1, two, zeros);
    raw(&g, "w", BUILD_INT8, 4, w_dims, w);
    raw(&g, "sw", BUILD_FLOAT, 0, NULL, &w_scale);
    raw(&g, "sy", BUILD_FLOAT, 0, NULL, &y_scale);
    add_with(&g, "QuantizeLinear", "x sx zx -> xq", "axis", 1);
    add_with(&g, "DequantizeLinear", "xq sx zx -> xd", "axis", 1);
    add(&g, "DequantizeLinear", "w sw -> wd");
    add_with(&g, "Conv", "xd wd -> c", "group", 2);
    add_all(&g, "QuantizeLinear c sy -> q; DequantizeLinear q sy -> y");
    build_output(&g, "y");
    struct proto proto = build_model(g, 13);
    struct pith_model *m = import(proto.data, proto.n), *back;
    struct pith_buffer file;
    struct pith_error err = {0};
    free(proto.data);
    assert_int_equal(m->nodes[1].op, PITH_OP_CONV_INTEGER);
    const struct pith_value *factor = &m->values[m->nodes[2].in[1]];
    assert_int_equal(factor->constant->count, 2);
    for (int i = 0; i < 2; i++)
        assert_true(((float *)factor->constant->data)[i] == scales[i] * w_scale / y_scale);
    assert_int_equal(pith_model_write_onnx(m, &file, &err), PITH_OK);
    back = import(file.data, file.bytes);
    assert_int_equal(back->nodes[0].op, PITH_OP_DIV);
    assert_int_equal(back->values[back->nodes[1].in[1]].constant->count, 1);
    assert_int_equal(back->nodes[2].op, PITH_OP_CONV_INTEGER);
    pith_buffer_free(&file);
    pith_model_free(back);
    pith_model_free(m);
}

RUN_TESTS
