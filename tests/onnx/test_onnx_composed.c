/* SPDX-License-Identifier: MIT */
/* Operators that import makes of several nodes or of none, constants without elements on the way,
 * and inputs frozen to less than a tensor. Numbers: tests/conformance (composed_cases.py,
 * node_cases.py). */
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"
#include "failing_import.h"
#include "network_text.h"

static struct pith_import_opts frozen_opts(const struct pith_input_value *frozen)
{
    return (struct pith_import_opts){.size_bytes = sizeof(struct pith_import_opts),
                                     .set_inputs = frozen,
                                     .n_set_inputs = frozen ? 1 : 0};
}

static struct pith_model *import(struct proto file, const struct pith_input_value *frozen)
{
    struct pith_import_opts opts = frozen_opts(frozen);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err));
    fail_import(&file, &opts, FEW);
    free(file.data);
    return m;
}

static struct pith_model *import_text(const char *text, int64_t opset)
{
    return import(build_model(text_graph(text), opset), NULL);
}

static void refuse(struct proto file, const struct pith_input_value *frozen,
                   enum pith_status status, const char *text)
{
    struct pith_import_opts opts = frozen_opts(frozen);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err), status);
    assert_string_equal(err.text, text);
    free(file.data);
}

/* The operators of the model's nodes, in order, are those given. */
static void nodes_are(const struct pith_model *m, uint32_t n, ...)
{
    va_list ap;
    va_start(ap, n);
    for (uint32_t i = 0; i < n && i < m->n_nodes; i++)
        assert_int_equal(m->nodes[i].op, va_arg(ap, int));
    va_end(ap);
    assert_int_equal(m->n_nodes, n);
}

static const struct pith_value *output(const struct pith_model *m, uint32_t i)
{
    return &m->values[m->outputs[i]];
}

/* x [2,3] with one node; links name further constants. */
static struct proto graph_of(struct proto node)
{
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, node);
    build_input(&g, "x", 2, 2, 3);
    build_output(&g, "y");
    return g;
}

/* Shape(x)[0:0] joined with [3, 2], the shape of a Reshape. */
TEST(empty_part_of_a_shape)
{
    struct proto g = text_graph("x f32 [2,3] | :Reshape x s -> y; :Shape x -> d; :Slice d zero "
                                "zero -> nothing; :Concat{axis=0} nothing rest -> s | y");
    build_ints(&g, "zero", 1, 0);
    build_ints(&g, "rest", 2, 3, 2);
    struct pith_model *m = import(build_model(g, 13), NULL);
    nodes_are(m, 1, PITH_OP_RESHAPE);
    assert_int_equal(output(m, 0)->dim[0], 3);
    pith_model_free(m);
}

/* Parts of no elements, which a Concat leaves out, as in frames of sound; the others are Slices. */
TEST(split_with_empty_parts)
{
    struct proto g = text_graph(
        "x f32 [2,3] | p:Split{axis=1} x parts -> a b c d; :Concat{axis=1} a b c d -> y | y");
    build_ints(&g, "parts", 4, 0, 1, 0, 2);
    struct pith_model *m = import(build_model(g, 13), NULL);
    nodes_are(m, 3, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_CONCAT);
    assert_int_equal(output(m, 0)->dim[1], 3);
    pith_model_free(m);
}

TEST(backward_slice)
{
    struct pith_model *m = import_text("x f32 [2,3] | Slice x [-1] [-99] [1] [-2] -> y | y", 13);
    assert_int_equal(output(m, 0)->dim[1], 2);
    pith_model_free(m);
}

static struct proto dropout_graph(void)
{
    struct proto g = graph_of(build_node("Dropout", "d", "x ratio train -> y mask"));
    build_floats(&g, "ratio", 0.5f, 0, 0);
    const uint8_t yes = 1;
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("train", 9, NULL, 0, &yes, 1));
    return g;
}

TEST(test_dropout)
{
    refuse(
        build_model(dropout_graph(), 13), NULL, PITH_ERR_UNSUPPORTED,
        "net.onnx: node 'd' (Dropout): it is in training mode: export the network for inference");
    struct proto g = text_graph("x f32 [2,3] | d:Dropout x -> t mask; :Relu t -> y | y mask");
    struct pith_model *m = import(build_model(g, 13), NULL);
    nodes_are(m, 2, PITH_OP_RELU, PITH_OP_IDENTITY);
    assert_string_equal(output(m, 1)->name, "mask");
    assert_int_equal(output(m, 1)->type, PITH_BOOL);
    const struct pith_value *mask = &m->values[m->nodes[1].in[0]];
    assert_int_equal(mask->constant->count, 6);
    assert_int_equal(((const uint8_t *)mask->constant->data)[5], 1);
    pith_model_free(m);
}

/* The graph's output has its name also where import puts a constant of that name before it. */
TEST(output_names)
{
    struct proto g = text_graph("x f32 [2,3] | :Shape x -> y | y x");
    struct pith_model *m = import(build_model(g, 13), NULL);
    assert_string_equal(output(m, 0)->name, "y");
    assert_string_equal(m->values[m->inputs[0]].name, "x");
    pith_model_free(m);
}

TEST(test_statistics)
{
    struct proto g =
        text_graph("x f32 [2,3] | n:LayerNormalization x s -> y mean inverse | y mean");
    build_floats(&g, "s", 1, 0, 1, 3);
    struct pith_model *m = import(build_model(g, 17), NULL);
    nodes_are(m, 2, PITH_OP_REDUCE_MEAN, PITH_OP_LAYER_NORM);
    assert_string_equal(output(m, 1)->name, "mean");
    assert_int_equal(output(m, 1)->rank, 2);
    assert_int_equal(output(m, 1)->dim[1], 1);
    pith_model_free(m);
}

TEST(wrapped_pad)
{
    struct pith_model *m = import_text("x f32 [2,3] | Pad{mode=wrap} x [0,1,2,3] -> y | y", 19);
    nodes_are(m, 6, PITH_OP_SLICE, PITH_OP_CONCAT, PITH_OP_SLICE, PITH_OP_CONCAT, PITH_OP_SLICE,
              PITH_OP_CONCAT);
    assert_int_equal(output(m, 0)->dim[0], 4);
    assert_int_equal(output(m, 0)->dim[1], 7);
    pith_model_free(m);
}

/* [2,3] to [2,2]: the rows of weights sum to 1 and reach over more than two inputs. */
TEST(test_antialias)
{
    struct pith_model *m =
        import_text("x f32 [2,3] | Resize{mode=linear antialias=1} x ' ' [2,2] -> y | y", 19);
    nodes_are(m, 3, PITH_OP_TRANSPOSE, PITH_OP_MATMUL, PITH_OP_TRANSPOSE);
    const float *w = m->values[m->nodes[1].in[0]].constant->data;
    assert_true(fabsf(w[0] + w[1] + w[2] - 1) < 1e-6f && w[0] > w[1] && w[1] > 0);
    assert_true(w[0] == w[5] && w[1] == w[4]);
    pith_model_free(m);
}

/* Depth and indices as floats: a Cast stands before. */
TEST(one_hot_of_floats)
{
    struct pith_model *m = import_text("x f32 [2,3] | OneHot x 5.0 ~2 -> y | y", 13);
    nodes_are(m, 2, PITH_OP_CAST, PITH_OP_ONE_HOT);
    assert_int_equal(output(m, 0)->dim[2], 5);
    pith_model_free(m);
}

TEST(pool_indices)
{
    struct proto g = text_graph("x f32 [1,2,4,5] | p:MaxPool{kernel_shape=2,2} x -> y i | y i");
    struct pith_model *m = import(build_model(g, 13), NULL);
    assert_int_equal(m->nodes[0].op, PITH_OP_MAX_POOL);
    assert_int_equal(output(m, 1)->type, PITH_I64);
    assert_int_equal(output(m, 1)->dim[3], 4);
    pith_model_free(m);
}

/* [N, 16, 1] or [N, 16], frames of 8, 4 apart: 3 of them, 5 bins. */
TEST(test_spectrum)
{
    struct pith_model *m = import_text("x f32 [N,16] | STFT x [4] ' [8] -> y | y", 17);
    assert_int_equal(output(m, 0)->rank, 4);
    assert_int_equal(output(m, 0)->dim[2], 5);
    pith_model_free(m);
    m = import_text("x f32 [N,16,1] | STFT x [4] ' [8] -> y | y", 17);
    nodes_are(m, 4, PITH_OP_RESHAPE, PITH_OP_CONV, PITH_OP_TRANSPOSE, PITH_OP_RESHAPE);
    assert_true(m->batch_open);
    assert_int_equal(output(m, 0)->dim[1], 3);
    assert_int_equal(output(m, 0)->dim[2], 5);
    const float *w = m->values[m->nodes[1].in[1]].constant->data;
    assert_true(w[0] == 1 && w[8] == 0); /* bin 0: a sum */
    assert_true(fabsf(w[2 * 8 * 2 + 2] + 1) < 1e-6f && fabsf(w[(2 * 2 + 1) * 8 + 1] + 1) < 1e-6f);
    pith_model_free(m);
}

TEST(test_formulas)
{
    struct pith_model *m = import_text("x f32 [2,3] | Tan x -> y | y", 13);
    nodes_are(m, 3, PITH_OP_UNARY, PITH_OP_UNARY, PITH_OP_DIV);
    pith_model_free(m);
    m = import_text("x f32 [2,3] | Asinh x -> y | y", 13);
    nodes_are(m, 1, PITH_OP_UNARY);
    assert_int_equal(m->nodes[0].attr[ATTR_KIND], UNARY_ASINH);
    pith_model_free(m);
    m = import_text("x f32 [2,3] | Shrink x -> y | y", 13);
    assert_int_equal(m->nodes[m->n_nodes - 1].op, PITH_OP_WHERE);
    pith_model_free(m);
}

/* A slope of one a channel, as opset 6 has it, becomes [C, 1, 1]. */
TEST(early_slope)
{
    struct proto g = text_graph("x f32 [1,3,4,5] | p:PRelu x slope -> y | y");
    build_floats(&g, "slope", 1, 1, 1, 3);
    struct pith_model *m = import(build_model(g, 6), NULL);
    nodes_are(m, 1, PITH_OP_PRELU);
    assert_int_equal(m->values[m->nodes[0].in[1]].rank, 3);
    assert_int_equal(m->values[m->nodes[0].in[1]].dim[0], 3);
    pith_model_free(m);
}

/* axes: an int64 input of the given length, -1 for open. */
static struct proto axes_graph(int length)
{
    int64_t dims[1] = {length};
    struct proto g = graph_of(build_node("ReduceSum", "r", "x axes -> y"));
    proto_message(&g, GRAPH_INPUT, build_value("axes", BUILD_INT64, dims, 1));
    return build_model(g, 13);
}

/* No axes at all mean all axes; an open length is that of the values. */
TEST(frozen_lengths)
{
    struct pith_input_value none = {"axes", ""}, one = {"axes", "1"}, two = {"axes", "0,1"};
    struct pith_model *m = import(axes_graph(0), &none);
    assert_int_equal(output(m, 0)->dim[1], 1);
    pith_model_free(m);
    m = import(axes_graph(-1), &one);
    assert_int_equal(output(m, 0)->dim[0], 2);
    pith_model_free(m);
    refuse(axes_graph(1), &two, PITH_ERR_ARGUMENT,
           "net.onnx: input 'axes' has 1 elements, 2 values are given");
    refuse(axes_graph(1), &none, PITH_ERR_ARGUMENT,
           "net.onnx: input 'axes' has 1 elements, 0 values are given");
}

/* Relu(ScatterND(x, i, u)), x [1, rows, 4]: columns first, first + step, ... of each row are
 * replaced. wrong: one place names another column. */
static struct pith_model *replaced_columns(int rows, int first, int step, int count, bool wrong,
                                           int batch)
{
    const int64_t dims[4] = {1, rows, count, 3};
    int64_t *place = calloc((size_t)(rows * count), 3 * sizeof *place);
    struct proto g = {0};
    assert_non_null(place);
    for (int i = 0; i < rows * count; i++) {
        place[3 * i + 1] = i / count - (i % 2 ? rows : 0); /* from the end on, too */
        place[3 * i + 2] = first + i % count * step;
    }
    if (wrong)
        place[3 * (rows * count - 1) + 2] = first;
    proto_message(&g, GRAPH_NODE, build_node("ScatterND", "", "x i u -> z"));
    proto_message(&g, GRAPH_NODE, build_node("Relu", "", "z -> y"));
    proto_message(
        &g, GRAPH_INITIALIZER,
        build_tensor("i", BUILD_INT64, dims, 4, place, (size_t)(rows * count) * 3 * sizeof *place));
    free(place);
    build_input(&g, "x", 3, batch, rows, 4);
    build_input(&g, "u", 3, batch, rows, count);
    build_output(&g, "y");
    return import(build_model(g, 13), NULL);
}

/* A list of places that is a slice is not kept (numbers: tests/conformance/movement_cases.py). */
TEST(slice_as_places)
{
    struct pith_model *m = replaced_columns(40, 0, 2, 2, false, 1);
    nodes_are(m, 6, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_CONCAT,
              PITH_OP_RELU);
    pith_model_free(m);
    m = replaced_columns(40, 1, 1, 2, false, 1);
    nodes_are(m, 4, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_CONCAT, PITH_OP_RELU);
    pith_model_free(m);
    m = replaced_columns(40, 0, 1, 4, false, 1);
    nodes_are(m, 1, PITH_OP_RELU); /* of u */
    pith_model_free(m);
    m = replaced_columns(40, 0, 2, 2, true, 1);
    nodes_are(m, 2, PITH_OP_SCATTER, PITH_OP_RELU);
    pith_model_free(m);
    m = replaced_columns(8, 0, 2, 2, false, 1); /* too few to gain anything */
    nodes_are(m, 2, PITH_OP_SCATTER, PITH_OP_RELU);
    pith_model_free(m);
    m = replaced_columns(40, 0, 2, 2, false, -1); /* open, but the list has places of one sample */
    nodes_are(m, 6, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_SLICE, PITH_OP_CONCAT,
              PITH_OP_RELU);
    assert_int_equal(m->n_sizes, 0);
    pith_model_free(m);
}

static struct proto batch_norm_graph(const char *outputs, int64_t opset, bool is_test)
{
    char links[64];
    snprintf(links, sizeof links, "x s s s s -> %s", outputs);
    struct proto g = {0}, node = build_node("BatchNormalization", "bn", links);
    if (is_test)
        build_attr_int(&node, "is_test", 1);
    proto_message(&g, GRAPH_NODE, node);
    build_input(&g, "x", 2, 1, 2);
    build_floats(&g, "s", 1, 0, 1, 2);
    build_output(&g, "y");
    return build_model(g, opset);
}

/* Opsets 7 to 13 have no attribute for it: only the training form has the statistics of the batch.
 * Empty names are outputs that are not there, and opset 6 has is_test. */
TEST(batch_norm_in_training)
{
    static const char *const training[] = {"y m", "y m v", "y m v a b", "y ' ' a"},
                             *const inference[] = {"y", "y '", "y ' ' ' '"};
    for (int64_t opset = 7; opset < 14; opset++) {
        for (size_t i = 0; i < sizeof training / sizeof *training; i++) {
            refuse(batch_norm_graph(training[i], opset, false), NULL, PITH_ERR_UNSUPPORTED,
                   i < 3 ? "net.onnx: node 'bn' (BatchNormalization): it is in training mode (it "
                           "has the output 'm'): export the network for inference"
                         : "net.onnx: node 'bn' (BatchNormalization): it is in training mode (it "
                           "has the output 'a'): export the network for inference");
        }
        for (size_t i = 0; i < sizeof inference / sizeof *inference; i++) {
            pith_model_free(import(batch_norm_graph(inference[i], opset, false), NULL));
        }
    }
    pith_model_free(import(batch_norm_graph("y m v a b", 6, true), NULL));
    pith_model_free(import(batch_norm_graph("y m v", 14, false), NULL));
}

/* What computes in double is refused, whatever it is cast to behind it. */
TEST(cast_of_double)
{
    const double one = 1;
    struct proto g = text_graph("x f32 [2,3] | a:Add x d -> t; c:Cast{to=1} t -> y | y");
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("d", 11, NULL, 0, &one, sizeof one));
    refuse(
        build_model(g, 13), NULL, PITH_ERR_UNSUPPORTED,
        "net.onnx: node 'a' (Add): it computes in double (f64) when it runs: export the network in "
        "float32");
}

enum { LEFT = 24, INNER = 16, PLACES = 5, GROUPS = 3 };

/* y = w x, x of [batch, parts, INNER, PLACES] without what is 0; the one layer of the import. */
static struct pith_weight_ref left_layer(struct proto node, bool grouped, int batch, int parts)
{
    struct proto g = {0};
    struct pith_weight_ref refs[8];
    proto_message(&g, GRAPH_NODE, node);
    build_output(&g, "y");
    if (parts)
        build_input(&g, "x", 4, batch, parts, INNER, PLACES);
    else if (batch)
        build_input(&g, "x", 3, batch, INNER, PLACES);
    else
        build_input(&g, "x", 2, INNER, PLACES);
    if (grouped)
        build_floats(&g, "w", -1, 0.01f, 3, GROUPS, LEFT, INNER);
    else
        build_floats(&g, "w", -1, 0.01f, 2, LEFT, INNER);
    build_floats(&g, "turned", -1, 0.01f, 2, INNER, LEFT);
    build_floats(&g, "column", -1, 0.01f, 2, LEFT, 1);
    struct pith_model *m = import(build_model(g, 13), NULL);
    assert_true(m->n_nodes < 8);
    assert_int_equal(pith_model_weights(m, refs), 1);
    assert_int_equal(refs[0].op, PITH_OP_CONV);
    assert_int_equal(refs[0].cols, INNER);
    assert_string_equal(refs[0].layer, "left");
    refs[0].rows /= pith_op_groups(PITH_OP_CONV, m->nodes[refs[0].node].attr);
    pith_model_free(m);
    return refs[0];
}

/* No matter on which side of a product it is, a constant is the weight of a layer. */
TEST(constant_left_operand)
{
    static const struct {
        bool grouped;
        int batch, parts;
        uint32_t rows; /* of a group */
    } cases[] = {
        {false, 0, 0, LEFT},      {false, -1, 0, LEFT},        {false, -1, 4, LEFT},
        {true, -1, GROUPS, LEFT}, {true, 0, 0, GROUPS * LEFT}, {true, -1, 1, GROUPS * LEFT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pith_weight_ref ref =
            left_layer(build_node("MatMul", "left", "w x -> y"), cases[i].grouped, cases[i].batch,
                       cases[i].parts);
        assert_int_equal(ref.rows, cases[i].rows);
    }
    assert_int_equal(left_layer(build_node("Gemm", "left", "w x column -> y"), false, 0, 0).rows,
                     LEFT);
    struct proto node = build_node("Gemm", "left", "turned x -> y");
    build_attr_int(&node, "transA", 1);
    assert_int_equal(left_layer(node, false, 0, 0).rows, LEFT);
}

/* Rows of a weight meet rows of what they are multiplied with. */
TEST(turned_operand)
{
    struct proto g = {0}, node = build_node("Gemm", "turned", "x w -> y");
    build_attr_int(&node, "transA", 1);
    proto_message(&g, GRAPH_NODE, node);
    build_input(&g, "x", 2, INNER, PLACES);
    build_output(&g, "y");
    build_floats(&g, "w", -1, 0.01f, 2, INNER, LEFT);
    struct pith_model *m = import(build_model(g, 13), NULL);
    nodes_are(m, 2, PITH_OP_TRANSPOSE, PITH_OP_GEMM);
    assert_true(pith_node_by_rows(&m->nodes[1]));
    pith_model_free(m);
}

RUN_TESTS
