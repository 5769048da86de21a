/* SPDX-License-Identifier: MIT */
/* A weight that several nodes read is one constant of the model, in whatever way the file says so,
 * and one initializer of the file that export writes. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "pith_onnx.h"
#include "onnx/onnx_read.h"
#include "failing_import.h"
#include "proto_builder.h"

enum { N = 16, V = 24 }; /* weights [N, N] and [V, N] */

static struct pith_model *read_onnx(const void *bytes, size_t n)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(bytes, n, "net.onnx", NULL, &m, &err));
    return m;
}

static struct pith_model *import(struct proto file)
{
    struct pith_model *m = read_onnx(file.data, file.n);
    free(file.data);
    return m;
}

static uint64_t constant_bytes(const struct pith_model *m)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            bytes += m->values[i].constant->count * pith_type_bytes(m->values[i].type);
    return bytes;
}

/* What export writes is no larger than the constants, names and nodes, and is the same network. */
static void exported_once(const struct pith_model *m, uint64_t weight_bytes)
{
    struct pith_buffer file;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_write_onnx(m, &file, &err));
    /* a quarter of it where all numbers are integers of 8 bits */
    assert_in_range(file.bytes, weight_bytes / 4, weight_bytes + weight_bytes / 2 + 800);
    struct pith_model *back = read_onnx(file.data, file.bytes);
    assert_int_equal(constant_bytes(back), constant_bytes(m));
    pith_buffer_free(&file);
    pith_model_free(back);
}

static const int32_t *trans_b(const struct pith_node *node)
{
    return &node->attr[node->op == PITH_OP_GEMM ? ATTR_GEMM_TRANS_B : ATTR_MATMUL_TRANS_B];
}

/* x, then n products with w, one of which in two is a Gemm with transB = `turned`. */
static struct proto chain(int n, const char *other, int turned)
{
    struct proto g = {0};
    for (int i = 0; i < n; i++) {
        char links[64];
        snprintf(links, sizeof links, "%s%.0d %s -> %s%.0d", i ? "t" : "x", i, i % 2 ? other : "w",
                 i + 1 < n ? "t" : "y", i + 1 < n ? i + 1 : 0);
        struct proto node = build_node(i % 2 && turned >= 0 ? "Gemm" : "MatMul", "", links);
        if (i % 2 && turned >= 0)
            build_attr_int(&node, "transB", turned);
        proto_message(&g, GRAPH_NODE, node);
    }
    build_floats(&g, "w", -3, 0.5f, 2, N, N);
    build_input(&g, "x", 2, 4, N);
    build_output(&g, "y");
    return g;
}

TEST(products_of_one_weight)
{
    struct pith_model *m = import(build_model(chain(8, "w", -1), 13));
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(m->nodes[i].in[1], m->nodes[0].in[1]);
        assert_int_equal(*trans_b(&m->nodes[i]), 1);
    }
    assert_int_equal(constant_bytes(m), N * N * 4);
    exported_once(m, N * N * 4);
    pith_model_free(m);
}

/* Half of the readers want it the other way round: the more decide, here those of w transposed. */
TEST(both_ways_round)
{
    struct pith_model *m = import(build_model(chain(5, "w", 1), 13));
    assert_int_equal(constant_bytes(m), N * N * 4);
    const float *w = m->values[m->nodes[0].in[1]].constant->data;
    assert_true(w[1] == -3 + 0.5f * N); /* [O, C] */
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(m->nodes[i].in[1], m->nodes[0].in[1]);
        assert_int_equal(*trans_b(&m->nodes[i]), i % 2 ? 0 : 1);
    }
    exported_once(m, N * N * 4);
    pith_model_free(m);
}

/* ids -> rows of e, times e transposed. */
static struct proto tied(const char *table)
{
    struct proto g = {0}, turn = build_node("Transpose", "turn", "e -> et");
    build_attr_ints(&turn, "perm", 2, 1, 0);
    char links[32];
    snprintf(links, sizeof links, "%s ids -> rows", table);
    proto_message(&g, GRAPH_NODE, turn);
    proto_message(&g, GRAPH_NODE, build_node("Gather", "table", links));
    proto_message(&g, GRAPH_NODE, build_node("Add", "add", "rows x -> h"));
    proto_message(&g, GRAPH_NODE, build_node("MatMul", "head", "h et -> y"));
    build_floats(&g, "e", 0, 0.25f, 2, V, N);
    build_floats(&g, "f", 0, 0.25f, 2, V, N);
    build_ints(&g, "ids", 3, 2, 0, 7);
    build_input(&g, "x", 2, 3, N);
    build_output(&g, "y");
    return build_model(g, 13);
}

/* The Gather is folded here, so a table stands for it that an input is added to. */
static struct proto tied_add(const char *table)
{
    struct proto g = {0}, turn = build_node("Transpose", "turn", "e -> et");
    build_attr_ints(&turn, "perm", 2, 1, 0);
    char links[32];
    snprintf(links, sizeof links, "x %s -> h", table);
    proto_message(&g, GRAPH_NODE, turn);
    proto_message(&g, GRAPH_NODE, build_node("Add", "add", links));
    proto_message(&g, GRAPH_NODE, build_node("MatMul", "head", "h et -> y"));
    build_floats(&g, "e", 0, 0.25f, 2, V, N);
    build_floats(&g, "f", 0, 0.25f, 2, V, N);
    build_input(&g, "x", 2, V, N);
    build_output(&g, "y");
    return build_model(g, 13);
}

TEST(tied_table)
{
    for (int names = 0; names < 2; names++) {
        struct pith_model *m = import(tied_add(names ? "f" : "e"));
        assert_int_equal(m->n_nodes, 2);
        assert_int_equal(m->nodes[0].in[1], m->nodes[1].in[1]);
        assert_int_equal(*trans_b(&m->nodes[1]), 1);
        assert_int_equal(constant_bytes(m), V * N * 4);
        exported_once(m, V * N * 4);
        pith_model_free(m);
    }
    struct pith_model *m = import(tied("f")); /* three rows, and the table */
    assert_int_equal(constant_bytes(m), (V + 3) * N * 4);
    pith_model_free(m);
}

/* A product and somebody else read w as it lies: the product turns. */
TEST(read_as_it_lies)
{
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, build_node("MatMul", "a", "x w -> t"));
    proto_message(&g, GRAPH_NODE, build_node("Add", "b", "t w -> y"));
    build_floats(&g, "w", 0, 1, 2, N, N);
    build_input(&g, "x", 2, N, N);
    build_output(&g, "y");
    struct pith_model *m = import(build_model(g, 13));
    assert_int_equal(m->nodes[0].in[1], m->nodes[1].in[1]);
    assert_int_equal(*trans_b(&m->nodes[0]), 0);
    assert_true(((const float *)m->values[m->nodes[0].in[1]].constant->data)[1] == 1);
    exported_once(m, N * N * 4);
    pith_model_free(m);
}

/* y = x + a + b; a and b from two initializers of n elements. */
static uint64_t bytes_of_sum(int n, float step)
{
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, build_node("Add", "", "x a -> t"));
    proto_message(&g, GRAPH_NODE, build_node("Add", "", "t b -> y"));
    build_floats(&g, "a", 1, step, 1, n);
    build_floats(&g, "b", 1, step, 1, n);
    build_input(&g, "x", 2, 3, n);
    build_output(&g, "y");
    struct pith_model *m = import(build_model(g, 13));
    uint64_t bytes = constant_bytes(m);
    pith_model_free(m);
    return bytes;
}

/* Two biases that began alike are two; so are two small constants. */
TEST(left_alone)
{
    assert_int_equal(bytes_of_sum(64, 1), 64 * 4);
    assert_int_equal(bytes_of_sum(63, 1), 2 * 63 * 4);
    assert_int_equal(bytes_of_sum(64, 0), 2 * 64 * 4);
}

/* The body of a function has its constants, also those of one number, once for all calls. */
TEST(test_function)
{
    float w[N * N], zero[4 * N] = {0};
    const int64_t dims[2] = {N, N}, rows[2] = {4, N};
    for (int i = 0; i < N * N; i++)
        w[i] = (float)i;
    struct proto f = build_function("layer", "a -> d");
    struct proto node = build_node("Constant", "", "-> w"), value = {0};
    proto_text(&value, 1, "value");
    proto_message(&value, 5, build_tensor("w", BUILD_FLOAT, dims, 2, w, sizeof w));
    proto_int(&value, 20, 4);
    proto_message(&node, 5, value);
    proto_message(&f, FUNCTION_NODE, node);
    node = build_node("Constant", "", "-> b");
    value = (struct proto){0};
    proto_text(&value, 1, "value");
    proto_message(&value, 5, build_tensor("b", BUILD_FLOAT, rows, 2, zero, sizeof zero));
    proto_int(&value, 20, 4);
    proto_message(&node, 5, value);
    proto_message(&f, FUNCTION_NODE, node);
    proto_message(&f, FUNCTION_NODE, build_node("MatMul", "m", "a w -> c"));
    proto_message(&f, FUNCTION_NODE, build_node("Add", "p", "c b -> d"));
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, build_call("layer", "one", "x -> s"));
    proto_message(&g, GRAPH_NODE, build_call("layer", "two", "s -> t"));
    proto_message(&g, GRAPH_NODE, build_call("layer", "three", "t -> y"));
    build_input(&g, "x", 2, 4, N);
    build_output(&g, "y");
    struct proto file = build_model(g, 16);
    proto_message(&file, MODEL_FUNCTION, f);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err));
    free(file.data);
    assert_int_equal(constant_bytes(m), sizeof w + sizeof zero);
    pith_model_free(m);
}

TEST(every_allocation_fails_once)
{
    struct proto file = tied_add("f");
    assert_true(fail_import(&file, NULL, SIZE_MAX) > 40);
    free(file.data);
}

RUN_TESTS
