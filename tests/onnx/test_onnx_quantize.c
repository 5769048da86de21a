/* SPDX-License-Identifier: MIT */
/* Import of quantized operators, NonMaxSuppression, infinities and bounds of integers: what each
 * becomes, and what is refused by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "core/op_number.h"
#include "onnx/onnx_read.h"
#include "pith_onnx.h"
#include "quantized_builder.h"

static void refuse_as(struct proto g, enum pith_status status, const char *text)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    build_output(&g, "y");
    struct proto file = build_model(g, 13);
    assert_int_equal(pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err), status);
    assert_string_equal(err.text, text);
    free(file.data);
}

static void refuse(struct proto g, const char *text)
{
    refuse_as(g, PITH_ERR_UNSUPPORTED, text);
}

static void expect_ops(struct pith_model *m, uint32_t n, const uint32_t *ops)
{
    assert_int_equal(m->n_nodes, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(m->nodes[i].op, ops[i]);
    pith_model_free(m);
}

#define OPS(...)                                                                                   \
    sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[])                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Scales and weight are constant: they fold to the float weight and one factor. */
TEST(constants_fold)
{
    struct proto g = {0};
    build_input(&g, "x", 2, 4, 3);
    build_floats(&g, "s", 0.5f, 0, 0);
    build_floats(&g, "f", 3, 1, 2, 3, 2);
    add_all(&g, "QuantizeLinear f s -> w; DequantizeLinear w s -> d; MatMul x d -> y");
    struct pith_model *m = import_of(g);
    const struct pith_value *w = &m->values[m->nodes[0].in[1]];
    assert_non_null(w->constant);
    assert_int_equal(w->type, PITH_F32);
    expect_ops(m, OPS(PITH_OP_MATMUL));
    g = (struct proto){0};
    build_input(&g, "x", 2, 4, 3);
    build_floats(&g, "s", 0.5f, 0, 0);
    build_floats(&g, "zero", 0, 0, 0);
    build_floats(&g, "f", 3, 1, 2, 3, 2);
    add_all(&g, "QuantizeLinear zero s -> z; QuantizeLinear f s -> w; QuantizeLinear x s z -> q; "
                "QLinearMatMul q s z w s z s z -> r; DequantizeLinear r s z -> y");
    expect_ops(import_of(g), OPS(PITH_OP_QUANTIZE, PITH_OP_MATMUL_INTEGER, PITH_OP_REQUANTIZE,
                                 PITH_OP_DEQUANTIZE));
}

TEST(selection_is_an_output)
{
    for (int read = 0; read < 2; read++) {
        struct proto g = {0};
        build_input(&g, "b", 3, 1, 9, 4);
        build_input(&g, "s", 3, 1, 2, 9);
        build_ints(&g, "top", 1, 3);
        add(&g, "NonMaxSuppression", read ? "b s top -> i" : "b s top -> y");
        if (read) {
            add(&g, "Neg", "i -> y");
            refuse(g,
                   "net.onnx: node 'i -> y' (Neg): the number of rows of input 0 is known only at "
                   "run time: cut the graph before it with --outputs 'i'");
            continue;
        }
        struct pith_model *m = import_of(g);
        assert_int_equal(m->values[m->outputs[0]].dim[0], 6);
        expect_ops(m, OPS(PITH_OP_NON_MAX_SUPPRESSION));
    }
}

TEST(test_infinities)
{
    struct proto g = {0};
    build_input(&g, "x", 1, 4);
    add(&g, "IsInf", "x -> y");
    expect_ops(import_of(g), OPS(PITH_OP_UNARY, PITH_OP_COMPARE));
}

/* A bound that is computed is no attribute. */
TEST(computed_bounds)
{
    struct proto g = {0};
    build_input(&g, "x", 1, 4);
    build_input(&g, "a", 0);
    build_input(&g, "b", 0);
    add(&g, "Clip", "x a b -> y");
    expect_ops(import_of(g), OPS(PITH_OP_VARIADIC, PITH_OP_VARIADIC));
}

/* A table's rows are its slices; ConvTranspose's are input channels. */
TEST(test_weights)
{
    struct proto g = {0};
    struct pith_weight_ref refs[8];
    build_input(&g, "x", 1, 5);
    build_floats(&g, "table", 1, 1, 2, 10, 6);
    build_floats(&g, "w", 1, 1, 3, 6, 3, 2);
    struct proto cast = build_node("Cast", "", "x -> i"),
                 turn = build_node("Transpose", "", "e -> t");
    build_attr_int(&cast, "to", 7);
    proto_message(&g, GRAPH_NODE, cast);
    proto_message(&g, GRAPH_NODE, build_node("Gather", "", "table i -> e"));
    build_attr_ints(&turn, "perm", 2, 1, 0);
    proto_message(&g, GRAPH_NODE, turn);
    struct proto lift = build_node("Unsqueeze", "", "t axis -> u");
    proto_message(&g, GRAPH_NODE, lift);
    build_ints(&g, "axis", 1, 0);
    add(&g, "ConvTranspose", "u w -> y");
    struct pith_model *m = import_of(g);
    assert_int_equal(pith_model_weights(m, refs), 2);
    assert_int_equal(refs[0].rows, 10);
    assert_int_equal(refs[0].cols, 6);
    assert_int_equal(refs[1].rows, 6);
    assert_int_equal(refs[1].cols, 6);
    pith_model_free(m);
}

static struct proto foreign(const char *op, const char *links)
{
    struct proto node = build_node(op, links, links);
    proto_text(&node, 7, "com.microsoft");
    return node;
}

/* onnxruntime's own operators: what they stand for, or integers. */
TEST(domain_of_onnxruntime)
{
    for (int gemm = 0; gemm < 3; gemm++) {
        struct proto g = {0};
        const float half = 0.5f;
        const uint8_t three = 3, w[4] = {1, 2, 3, 4};
        const int64_t dims[2] = {2, 2};
        build_input(&g, "x", 2, 1, 2);
        proto_message(&g, GRAPH_INITIALIZER, build_tensor("s", BUILD_FLOAT, NULL, 0, &half, 4));
        proto_message(&g, GRAPH_INITIALIZER, build_tensor("z", 2, NULL, 0, &three, 1));
        proto_message(&g, GRAPH_INITIALIZER, build_tensor("w", 2, dims, 2, w, 4));
        add(&g, "QuantizeLinear", "x s z -> q");
        if (gemm == 0)
            proto_message(&g, GRAPH_NODE, foreign("QLinearAdd", "q s z q s z s z -> r"));
        else
            proto_message(
                &g, GRAPH_NODE,
                foreign("QGemm", gemm == 1 ? "q s z w s z ' s z -> r" : "q s z w s z -> y"));
        if (gemm < 2)
            add(&g, "DequantizeLinear", "r s z -> y");
        struct pith_model *m = import_of(g);
        if (gemm == 0)
            expect_ops(m, OPS(PITH_OP_QUANTIZE, PITH_OP_DEQUANTIZE, PITH_OP_DEQUANTIZE, PITH_OP_ADD,
                              PITH_OP_QUANTIZE, PITH_OP_DEQUANTIZE));
        else if (gemm == 1)
            expect_ops(m, OPS(PITH_OP_QUANTIZE, PITH_OP_MATMUL_INTEGER, PITH_OP_REQUANTIZE,
                              PITH_OP_DEQUANTIZE));
        else
            expect_ops(m, OPS(PITH_OP_QUANTIZE, PITH_OP_MATMUL_INTEGER, PITH_OP_DEQUANTIZE));
    }
}

/* Constant weights lose a zero point that is constant, too, where what is left fits i8. */
TEST(weights_around_zero)
{
    static const struct {
        int32_t type; /* of ONNX: u8, i8 */
        uint8_t zero[2];
        bool kept;
        int8_t left[4];
    } cases[] = {{2, {100, 101}, false, {-100, -98, 100, 102}},
                 {3, {0, 0}, false, {0, 3, -56, -53}},
                 {3, {1, 255}, false, {-1, 4, -57, -52}},
                 {2, {0, 50}, true, {0}},
                 {3, {100, 0}, true, {0}}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const bool conv = i % 2;
        const uint8_t w[4] = {0, conv ? 200 : 3, conv ? 3 : 200, 203};
        const int64_t n = 2, dims[3] = {2, 2, 1};
        struct proto g = {0};
        build_input(&g, "x", conv ? 3 : 2, 1, 2, 5);
        proto_message(&g, GRAPH_INITIALIZER,
                      build_tensor("w", cases[i / 2].type, dims, conv ? 3 : 2, w, 4));
        proto_message(&g, GRAPH_INITIALIZER,
                      build_tensor("z", cases[i / 2].type, &n, 1, cases[i / 2].zero, 2));
        add(&g, "DynamicQuantizeLinear", "x -> q s z0");
        add(&g, conv ? "ConvInteger" : "MatMulInteger", "q w z0 z -> y");
        struct pith_model *m = import_of(g);
        const struct pith_node *node = &m->nodes[m->n_nodes - 1];
        const struct pith_value *weight = &m->values[node->in[1]];
        assert_int_equal(node->n_in > 3 && node->in[3] != PITH_VALUE_NONE, cases[i / 2].kept);
        assert_int_equal(weight->type,
                         cases[i / 2].kept && cases[i / 2].type == 2 ? PITH_U8 : PITH_I8);
        for (size_t k = 0; !cases[i / 2].kept && k < 4; k++)
            assert_int_equal(((const int8_t *)weight->constant->data)[k],
                             cases[i / 2].left[conv ? k % 2 * 2 + k / 2 : k]);
        pith_model_free(m);
    }
}

/* Kernels take i8: unsigned weights that do not fit around their one zero point move with it. */
TEST(unsigned_weights_move)
{
    const uint8_t w[4] = {0, 128, 200, 255}, zero = 100;
    const int8_t moved[4] = {-128, 0, 72, 127};
    const int64_t dims[2] = {2, 2};
    struct proto g = {0};
    build_input(&g, "x", 2, 1, 2);
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("w", 2, dims, 2, w, 4));
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("z", 2, NULL, 0, &zero, 1));
    add_all(&g, "DynamicQuantizeLinear x -> q s z0; MatMulInteger q w z0 z -> y");
    struct pith_model *m = import_of(g);
    const struct pith_node *node = &m->nodes[m->n_nodes - 1];
    const struct pith_value *weight = &m->values[node->in[1]], *z = &m->values[node->in[3]];
    assert_int_equal(weight->type, PITH_I8);
    assert_memory_equal(weight->constant->data, moved, 4);
    assert_int_equal(z->type, PITH_I8);
    assert_int_equal(*(const int8_t *)z->constant->data, -28);
    pith_model_free(m);
}

TEST(test_scales)
{
    static const struct {
        float scale;
        const char *text;
    } bad[] = {
        {0.0f, "net.onnx: node 'x s -> q' (QuantizeLinear): scale 0 of input 1 is 0"},
        {-0.5f, "net.onnx: node 'x s -> q' (QuantizeLinear): scale 0 of input 1 is -0.5"},
        {INFINITY, "net.onnx: node 'x s -> q' (QuantizeLinear): scale 0 of input 1 is inf"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct proto g = {0};
        build_input(&g, "x", 2, 1, 2);
        proto_message(&g, GRAPH_INITIALIZER,
                      build_tensor("s", BUILD_FLOAT, NULL, 0, &bad[i].scale, 4));
        add_all(&g, "QuantizeLinear x s -> q; DequantizeLinear q s -> y");
        refuse_as(g, PITH_ERR_CORRUPT, bad[i].text);
    }
}

RUN_TESTS
