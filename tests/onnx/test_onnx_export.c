/* SPDX-License-Identifier: MIT */
/* What pith_model_write_onnx writes must import again as the network it was: same nodes, same
 * attributes, same constants. (That onnxruntime reads it and computes the same:
 * tests/conformance.) */
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "pith_onnx.h"
#include "onnx/onnx_read.h"
#include "proto_builder.h"
#include "network_text.h"

static struct pith_model *import(const void *bytes, size_t n)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(bytes, n, "net.onnx", NULL, &m, &err));
    return m;
}

static struct pith_model *again(const struct pith_model *m)
{
    struct pith_buffer file;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_write_onnx(m, &file, &err));
    struct pith_model *back = import(file.data, file.bytes);
    pith_buffer_free(&file);
    return back;
}

static void same_constant(const struct pith_value *a, const struct pith_value *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->dim, b->dim, sizeof a->dim);
    assert_int_equal(a->constant != NULL, b->constant != NULL);
    if (a->constant)
        assert_memory_equal(a->constant->data, b->constant->data, a->constant->count * 4);
}

static void same_model(const struct pith_model *a, const struct pith_model *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->batch_open, b->batch_open);
    assert_int_equal(a->n_inputs, b->n_inputs);
    assert_int_equal(a->n_outputs, b->n_outputs);
    for (uint32_t i = 0; i < a->n_outputs; i++)
        assert_string_equal(a->values[a->outputs[i]].name, b->values[b->outputs[i]].name);
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        const struct pith_node *x = &a->nodes[i], *y = &b->nodes[i];
        assert_int_equal(x->op, y->op);
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->n_in, y->n_in);
        assert_int_equal(x->n_out, y->n_out);
        assert_memory_equal(x->attr, y->attr, pith_op_get(x->op)->n_slots * sizeof *x->attr);
        for (uint32_t k = 0; k < x->n_in; k++) {
            assert_int_equal(x->in[k] == PITH_VALUE_NONE, y->in[k] == PITH_VALUE_NONE);
            if (x->in[k] != PITH_VALUE_NONE)
                same_constant(&a->values[x->in[k]], &b->values[y->in[k]]);
        }
    }
}

static void round_trip(struct proto graph, int64_t opset)
{
    struct proto file = build_model(graph, opset);
    struct pith_model *m = import(file.data, file.n), *back = again(m);
    same_model(m, back);
    pith_model_free(back);
    pith_model_free(m);
    free(file.data);
}

TEST(test_network)
{
    struct proto g = text_graph("x f32 [d0,2,9,4] | c1:Conv{auto_pad=SAME_UPPER strides=2,1} x w b "
                                "-> c; bn:BatchNormalization c scale shift mean var -> n; cl:Clip "
                                "n ' six -> r; p1:MaxPool{kernel_shape=3,2 ceil_mode=1} r -> p; "
                                "f:Flatten p -> q; m:MatMul q k -> s; so:Softmax s -> y | y");
    build_floats(&g, "w", -1, 0.25f, 4, 4, 2, 3, 3);
    build_floats(&g, "b", 1, 1, 1, 4);
    build_floats(&g, "scale", 1, 0.5f, 1, 4);
    build_floats(&g, "shift", 0, 0.5f, 1, 4);
    build_floats(&g, "mean", 0, 0.1f, 1, 4);
    build_floats(&g, "var", 1, 0.1f, 1, 4);
    build_floats(&g, "six", 6, 0, 0);
    build_floats(&g, "k", 0, 1, 2, 36, 5);
    round_trip(g, 13);
}

TEST(test_lists)
{
    struct proto g = text_graph("x f32 [2,12] | r:Reshape x shape -> u; sp:Split{axis=1} u sizes "
                                "-> a b; sl:Slice a starts ends axes -> e; co:Concat{axis=-1} b a "
                                "-> cc; t:Transpose{perm=2,0,1} cc -> d; p:Pad d pads -> y | y e");
    build_ints(&g, "shape", 3, 0, 4, -1);
    build_ints(&g, "sizes", 2, 2, 2);
    build_ints(&g, "starts", 1, 1);
    build_ints(&g, "ends", 1, 2);
    build_ints(&g, "axes", 1, 2);
    build_ints(&g, "pads", 6, 0, 1, 0, 0, -1, 2);
    round_trip(g, 13);
}

/* Opset 13 has no Softmax over several axes and no HardSwish: several nodes say the same. */
TEST(spelled_out)
{
    static const uint32_t flat[] = {PITH_OP_FLATTEN, PITH_OP_SOFTMAX, PITH_OP_RESHAPE};
    struct proto g = text_graph("x f32 [2,3,4] | s:Softmax x -> y | y");
    struct proto file = build_model(g, 9);
    struct pith_model *m = import(file.data, file.n), *back = again(m);
    assert_int_equal(m->nodes[0].attr[ATTR_SOFTMAX_FLAT], 1);
    assert_int_equal(back->n_nodes, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(back->nodes[i].op, flat[i]);
    pith_model_free(back);
    pith_model_free(m);
    free(file.data);
    g = text_graph("x f32 [4] | s:HardSwish x -> y | y");
    file = build_model(g, 14);
    m = import(file.data, file.n);
    back = again(m);
    assert_int_equal(back->n_nodes, 2);
    assert_int_equal(back->nodes[0].op, PITH_OP_HARD_SIGMOID);
    assert_int_equal(back->nodes[1].op, PITH_OP_MUL);
    pith_model_free(back);
    pith_model_free(m);
    free(file.data);
}

/* A model without names, as a compact file gives it. */
TEST(test_nameless)
{
    struct proto g = text_graph("x f32 [d0,3] | a:Gemm x w -> t; b:Relu t -> y | y");
    build_floats(&g, "w", 0, 1, 2, 3, 4);
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(file.data, file.n);
    char nothing[1] = "";
    for (uint32_t i = 0; i < m->n_values; i++)
        m->values[i].name = nothing;
    struct pith_model *back = again(m);
    assert_int_equal(back->n_nodes, 2);
    assert_true(back->batch_open);
    same_constant(&m->values[m->nodes[0].in[1]], &back->values[back->nodes[0].in[1]]);
    pith_model_free(back);
    pith_model_free(m);
    free(file.data);
}

TEST(test_unsupported)
{
    struct proto g = text_graph("x f32 [3] | b:Relu x -> y | y");
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(file.data, file.n);
    m->nodes[0].op = 999;
    struct pith_buffer out;
    struct pith_error err = {0};
    assert_int_equal(pith_model_write_onnx(m, &out, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "cannot write node 'b': operator 999 has no ONNX form");
    pith_model_free(m);
    free(file.data);
}

static struct pith_model *cast_and_scaled(void)
{
    struct proto g = text_graph("x f32 [3] | c:Cast{to=3} x -> q; d:DequantizeLinear q s -> y | y");
    build_floats(&g, "s", 0.5f, 0, 0);
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(file.data, file.n);
    free(file.data);
    return m;
}

/* What import refuses, export does not write: a .pith may hold such a scale and such a cast. */
TEST(what_import_refuses)
{
    static const float scales[] = {-0.5f, INFINITY};
    struct pith_buffer out;
    for (int i = 0; i < 4; i++) {
        struct pith_error err = {0};
        struct pith_model *m = cast_and_scaled();
        if (i < 2)
            *(float *)m->values[m->nodes[1].in[1]].constant->data = scales[i];
        if (i == 2) {
            m->nodes[0].attr[ATTR_CAST_TO] = PITH_F64;
            m->values[m->nodes[0].out[0]].type = PITH_F64;
        }
        enum pith_status status = pith_model_write_onnx(m, &out, &err);
        assert_int_equal(status, i < 3 ? PITH_ERR_UNSUPPORTED : PITH_OK);
        if (i < 3)
            assert_non_null(strstr(
                err.text, i < 2 ? "node 'd' (DequantizeLinear) as ONNX opset 13: a scale"
                                : "cannot write value 'q' as ONNX: it is of f16, bf16 or f64"));
        else
            pith_buffer_free(&out);
        pith_model_free(m);
    }
}

RUN_TESTS
