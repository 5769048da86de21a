/* SPDX-License-Identifier: MIT */
/* Shape arithmetic at import: chains that vanish, batches that stay open and those that must not,
 * and what is refused. Numbers against another runtime: tests/conformance/movement_cases.py. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "onnx_refusal.h"
#include "network_text.h"

static void refuse(struct proto file, enum pith_status status, const char *text)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err), status);
    assert_string_equal(err.text, text);
    free(file.data);
}

static void add(struct proto *g, const char *op, const char *links)
{
    proto_message(g, GRAPH_NODE, build_node(op, "", links));
}

/* x [N, 4, 6] and the size of its batch, n [1] */
static struct proto batch_graph(void)
{
    struct proto g = text_graph("x f32 [d0,4,6] | :Shape x -> s; :Gather s zero -> n | y");
    build_ints(&g, "zero", 1, 0);
    build_ints(&g, "two", 1, 2);
    build_ints(&g, "four", 1, 4);
    build_ints(&g, "left", 1, -1);
    return g;
}

static void add_concat(struct proto *g, const char *links)
{
    struct proto concat = build_node("Concat", "", links);
    build_attr_int(&concat, "axis", 0);
    proto_message(g, GRAPH_NODE, concat);
}

TEST(batch_stays_open)
{
    static const struct {
        const char *concat;
        int32_t dims[3];
    } rows[] = {
        {"n left -> t", {0, -1, 0}},       /* the batch is copied */
        {"n four left -> t", {0, 4, -1}},  /* ... */
        {"four n left -> t", {4, -1, -1}}, /* it is no copy, and what is left is taken */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct proto g = batch_graph();
        add_concat(&g, rows[i].concat);
        add(&g, "Reshape", "x t -> y");
        struct pith_model *m = import_file(build_model(g, 13));
        assert_int_equal(m->n_nodes, 1);
        const int32_t *attr = m->nodes[0].attr + ATTR_RESHAPE_DIMS;
        assert_int_equal(m->batch_open, i < 2);
        for (int32_t k = 0; k < attr[0] && i < 2; k++)
            assert_int_equal(attr[1 + k], rows[i].dims[k]);
        pith_model_free(m);
    }
}

/* n * 2 rows, then back to n: the first Reshape takes what is left, the second too. */
TEST(merged_batch)
{
    struct proto g = batch_graph();
    add(&g, "Mul", "n two -> n2");
    add_concat(&g, "n2 two -> a");
    build_ints(&g, "six", 1, 6);
    add_concat(&g, "a six -> t");
    add(&g, "Reshape", "x t -> u");
    add(&g, "Shape", "u -> us");
    add(&g, "Gather", "us zero -> m");
    add(&g, "Div", "m two -> back");
    add_concat(&g, "back four -> b");
    add_concat(&g, "b six -> t2");
    add(&g, "Reshape", "u t2 -> y");
    struct pith_model *m = import_file(build_model(g, 13));
    assert_true(m->batch_open);
    assert_int_equal(m->n_nodes, 2);
    assert_int_equal(m->nodes[0].attr[ATTR_RESHAPE_DIMS + 1], -1);
    assert_int_equal(m->nodes[1].attr[ATTR_RESHAPE_DIMS + 1], -1);
    assert_int_equal(m->values[m->outputs[0]].rank, 3);
    pith_model_free(m);
}

/* The number of samples becomes data: it is no batch, but an open size that the data follows. */
TEST(batch_as_data_closes)
{
    struct proto g = batch_graph();
    struct proto cast = build_node("Cast", "", "n -> f");
    build_attr_int(&cast, "to", BUILD_FLOAT);
    proto_message(&g, GRAPH_NODE, cast);
    add(&g, "Div", "x f -> y");
    struct pith_model *m = import_file(build_model(g, 13));
    assert_false(m->batch_open);
    assert_int_equal(m->n_sizes, 1);
    assert_int_equal(m->sizes[0].value, 1);
    pith_model_free(m);
    g = batch_graph();
    add(&g, "ConstantOfShape", "s -> k");
    add(&g, "Add", "x k -> y");
    m = import_file(build_model(g, 13));
    assert_true(m->batch_open); /* one number for every sample: of one sample, and broadcast */
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
}

/* Other sizes of x carry no batch. */
TEST(fixed_sizes_keep_it_open)
{
    struct proto g = batch_graph();
    build_ints(&g, "at", 1, 1);
    build_ints(&g, "one", 1, 1);
    build_floats(&g, "w", 0, 1, 2, 9, 6);
    add(&g, "Gather", "s at -> l");
    add(&g, "Range", "zero l one -> r");
    add(&g, "Gather", "w r -> p");
    add(&g, "Add", "x p -> y");
    struct pith_model *m = import_file(build_model(g, 13));
    assert_true(m->batch_open);
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
}

/* What decides shapes must be known: the last input of each is the network's. */
TEST(computed_operands)
{
    static const struct {
        const char *op, *links, *name;
    } rows[] = {
        {"ConstantOfShape", "n -> y", "input"},
        {"Reshape", "x n -> y", "shape"},
        {"Expand", "x n -> y", "shape"},
        {"Tile", "x n -> y", "repeats"},
        {"Slice", "x n n -> y", "starts"},
        {"Slice", "x k n -> y", "ends"},
        {"Slice", "x k k n -> y", "axes"},
        {"Slice", "x k k k n -> y", "steps"},
        {"Unsqueeze", "x n -> y", "axes"},
        {"Squeeze", "x n -> y", "axes"},
        {"Pad", "x n -> y", "pads"},
        {"Split", "x n -> y", "split"},
        {"ReduceSum", "x n -> y", "axes"},
        {"TopK", "x n -> y v", "k"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        struct proto g = {0};
        struct pith_model *m = NULL;
        struct pith_error err = {0};
        proto_message(&g, GRAPH_NODE, build_node(rows[i].op, "node", rows[i].links));
        build_input(&g, "x", 2, 2, 3);
        const int64_t dim[1] = {2};
        proto_message(&g, GRAPH_INPUT, build_value("n", BUILD_INT64, dim, 1));
        build_ints(&g, "k", 2, 0, 1);
        build_output(&g, "y");
        struct proto file = build_model(g, 13);
        snprintf(text, sizeof text, "node 'node' (%s): input '%s' is computed at run time",
                 rows[i].op, rows[i].name);
        enum pith_status st = pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err);
        if (st != PITH_ERR_UNSUPPORTED || !strstr(err.text, text))
            fail_msg("%d '%s', expected '%s'", st, err.text, text);
        free(file.data);
    }
}

static struct proto einsum_graph(const char *equation)
{
    struct proto g = {0}, node = build_node("Einsum", "sum", "x k -> y");
    build_attr_text(&node, "equation", equation);
    proto_message(&g, GRAPH_NODE, node);
    build_input(&g, "x", 3, -1, 4, 6);
    build_output(&g, "y");
    build_floats(&g, "k", 0, 1, 2, 6, 5);
    return build_model(g, 13);
}

TEST(test_einsum)
{
    struct pith_model *m =
        import_file(einsum_graph("nij,jk->nki")); /* a product, then a transpose */
    assert_true(m->batch_open);
    assert_int_equal(m->n_nodes, 4); /* to rows and back are two reshapes */
    assert_int_equal(m->nodes[1].op, PITH_OP_MATMUL);
    assert_int_equal(m->nodes[1].attr[ATTR_MATMUL_TRANS_B], 1);
    assert_string_equal(m->values[m->outputs[0]].name, "y");
    pith_model_free(m);
    m = import_file(einsum_graph("...j,jk->...k"));
    assert_true(m->batch_open);
    assert_int_equal(m->values[m->outputs[0]].rank, 3);
    pith_model_free(m);
}

/* The same refusal of several nodes is reported once, with its reason. */
TEST(refused_together)
{
    struct proto g = text_graph(
        "x f32 [6]; s f32 [1] | r1:Reshape x s -> a; r2:Reshape x s -> b; :Add a b -> y | y");
    refuse(build_model(g, 13), PITH_ERR_UNSUPPORTED,
           "net.onnx: 2 of 3 nodes unsupported: Reshape 2x (r1, r2): input 'shape' is computed at "
           "run time, here it must be constant: simplify the graph or freeze an input with "
           "--set-input");
}

RUN_TESTS
