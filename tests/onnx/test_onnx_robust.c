/* SPDX-License-Identifier: MIT */
/* Every operator that import takes, with inputs and attributes that no writer gave it: it imports
 * or it is refused, and the message names the node and the operator. Then what no operator is to
 * blame for: shapes, ranks, element types, names. */
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include "test_run.h"
#include "onnx_refusal.h"
#include "pith_onnx.h"
#include "sample_models.h"
#include "network_text.h"

enum { UINT8_TYPE = 2, STRING_TYPE = 8, BOOL_TYPE = 9, DOUBLE_TYPE = 11, COMPLEX_TYPE = 14 };

static const char *const attributes[] = {"axis",
                                         "axes",
                                         "alpha",
                                         "beta",
                                         "auto_pad",
                                         "group",
                                         "strides",
                                         "pads",
                                         "dilations",
                                         "kernel_shape",
                                         "keepdims",
                                         "to",
                                         "perm",
                                         "mode",
                                         "split",
                                         "num_outputs",
                                         "starts",
                                         "ends",
                                         "steps",
                                         "epsilon",
                                         "size",
                                         "blocksize",
                                         "transA",
                                         "transB",
                                         "allowzero",
                                         "direction",
                                         "hidden_size",
                                         "activations",
                                         "clip",
                                         "layout",
                                         "input_forget",
                                         "scales",
                                         "sizes",
                                         "nearest_mode",
                                         "coordinate_transformation_mode",
                                         "batch_dims",
                                         "reduction",
                                         "equation",
                                         "largest",
                                         "sorted",
                                         "p",
                                         "k",
                                         "upper",
                                         "num_groups",
                                         "output_shape",
                                         "output_padding",
                                         "ceil_mode",
                                         "count_include_pad",
                                         "value",
                                         "value_int",
                                         "body",
                                         "num_scan_inputs",
                                         "exclusive",
                                         "reverse",
                                         "block_size",
                                         "detect_positive",
                                         "center_point_box",
                                         "dtype",
                                         "start",
                                         "end"};

static int64_t wild_int(struct sample_random *r)
{
    static const int64_t wild[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1,    0,
                                   1,         2,         3,         -4,        65536, 1000000007};
    return wild[sample_below(r, sizeof wild / sizeof *wild)];
}

static float wild_float(struct sample_random *r)
{
    const float wild[] = {NAN, INFINITY, -INFINITY, 0.0f, -1.0f, 3.4e38f, 1e-45f, 0.5f};
    return wild[sample_below(r, sizeof wild / sizeof *wild)];
}

static void wild_attribute(struct proto *node, const char *name, struct sample_random *r)
{
    struct proto a = {0};
    uint32_t n;
    proto_text(&a, 1, name);
    switch (sample_below(r, 5)) {
    case 0:
        proto_int(&a, 3, wild_int(r));
        proto_int(&a, 20, 2);
        break;
    case 1:
        proto_float(&a, 2, wild_float(r));
        proto_int(&a, 20, 1);
        break;
    case 2:
        n = sample_below(r, 20);
        for (uint32_t i = 0; i < n; i++)
            proto_int(&a, 8, wild_int(r));
        proto_int(&a, 20, 7);
        break;
    case 3:
        proto_text(&a, 4, sample_below(r, 2) ? "ij,jk->ik" : "reverse");
        proto_int(&a, 20, 3);
        break;
    default:
        n = sample_below(r, 5);
        for (uint32_t i = 0; i < n; i++)
            proto_float(&a, 7, wild_float(r));
        proto_int(&a, 20, 6);
    }
    proto_message(node, 5, a);
}

/* Inputs and constants of many types and shapes; "" for one left out. */
static const char *wild_input(struct sample_random *r)
{
    static const char *const names[] = {"x4",   "x2", "x1", "x0", "x8", "c4", "cnan", "i1",
                                        "ibig", "i0", "b0", "b4", "u4", "e",  "'",    "xi"};
    return names[sample_below(r, sizeof names / sizeof *names)];
}

static void add_operands(struct proto *g)
{
    static const int64_t big[4] = {INT64_MIN, INT64_MAX, -1, 1 << 30};
    static const float nans[3] = {NAN, INFINITY, -INFINITY};
    static const uint8_t bytes[120] = {1};
    const int64_t four[4] = {2, 3, 4, 5}, three = 3, wide = 4, none = 0;
    build_input(g, "x4", 4, 2, 3, 4, 5);
    build_input(g, "x2", 2, 3, 4);
    build_input(g, "x1", 1, 3);
    build_input(g, "x0", 0);
    build_input(g, "x8", 8, 1, 2, 1, 2, 1, 2, 1, 2);
    proto_message(g, GRAPH_INPUT, build_value("xi", BUILD_INT64, &three, 1));
    proto_message(g, GRAPH_INPUT, build_value("b4", BOOL_TYPE, four, 4));
    proto_message(g, GRAPH_INPUT, build_value("b0", BOOL_TYPE, NULL, 0));
    build_floats(g, "c4", 0.0f, 0.125f, 4, 2, 3, 4, 5);
    build_ints(g, "i1", 3, 1, 0, 2);
    proto_message(g, GRAPH_INITIALIZER,
                  build_tensor("ibig", BUILD_INT64, &wide, 1, big, sizeof big));
    proto_message(g, GRAPH_INITIALIZER, build_tensor("i0", BUILD_INT64, NULL, 0, big, 8));
    proto_message(g, GRAPH_INITIALIZER,
                  build_tensor("cnan", BUILD_FLOAT, &three, 1, nans, sizeof nans));
    proto_message(g, GRAPH_INITIALIZER,
                  build_tensor("u4", UINT8_TYPE, four, 4, bytes, sizeof bytes));
    proto_message(g, GRAPH_INITIALIZER, build_tensor("e", BUILD_FLOAT, &none, 1, "", 0));
}

static struct proto wild_file(const char *op, struct sample_random *r)
{
    char links[256] = "";
    size_t at = 0;
    for (uint32_t i = 0, n = sample_below(r, 6); i < n; i++)
        at += (size_t)snprintf(links + at, sizeof links - at, "%s ", wild_input(r));
    at += (size_t)snprintf(links + at, sizeof links - at, "-> y");
    for (uint32_t i = 0, n = sample_below(r, 3); i < n; i++)
        at += (size_t)snprintf(links + at, sizeof links - at, " y%u", i);
    struct proto g = {0}, node = build_node(op, "wild", links);
    for (uint32_t i = 0, n = sample_below(r, 4); i < n; i++)
        wild_attribute(&node, attributes[sample_below(r, sizeof attributes / sizeof *attributes)],
                       r);
    proto_message(&g, GRAPH_NODE, node);
    add_operands(&g);
    build_output(&g, "y");
    static const int64_t opsets[] = {7, 9, 11, 13, 18, 21};
    return build_model(g, opsets[sample_below(r, 6)]);
}

/* Limits that are the file's own name neither: all else does. */
static bool names_node(const char *text, const char *op)
{
    char both[96], listed[96];
    snprintf(both, sizeof both, "node 'wild' (%s)", op);
    snprintf(listed, sizeof listed, "%s 1x (wild", op);
    return strstr(text, both) || strstr(text, listed) || strstr(text, "tensor '") ||
           strstr(text, "output 'y' has no elements") || strstr(text, "nothing is left to compute");
}

TEST(wild_operators)
{
    const uint64_t seed = 20260;
    struct sample_random r = sample_random_of(seed);
    for (uint32_t i = 0; pith_onnx_op_name(i); i++) {
        const char *op = pith_onnx_op_name(i);
        for (uint32_t round = 0; round < 200; round++) {
            struct proto file = wild_file(op, &r);
            const struct pith_import_opts opts = {.size_bytes = sizeof opts,
                                                  .max_bytes = 64u << 20};
            struct pith_model *m = NULL;
            struct pith_error err = {0};
            enum pith_status status =
                pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err);
            free(file.data);
            if (!status)
                pith_model_free(m);
            else if (status != PITH_ERR_LIMIT && !names_node(err.text, op))
                fail_msg("seed %llu, %s round %u: %s", (unsigned long long)seed, op, round,
                         err.text);
        }
    }
}

/* ---- what is not an operator's fault --------------------------------------------------------- */

/* Relu of an input of the given type and shape. */
static struct proto input_file(int type, const int64_t *dims, size_t rank)
{
    struct proto g = text_graph(" | relu:Relu x -> y | y");
    proto_message(&g, GRAPH_INPUT, build_value("x", type, dims, rank));
    return build_model(g, 13);
}

TEST(test_inputs)
{
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[4] = {65536, 65536, 65536, 65536};
    const int64_t beyond[2] = {1, (int64_t)1 << 40};
    refuse_file(input_file(BUILD_FLOAT, nine, 9), PITH_ERR_UNSUPPORTED,
                "input 'x' has 9 dims, at most 8");
    refuse_file(input_file(BUILD_FLOAT, huge, 4), PITH_ERR_CORRUPT,
                "input 'x' has too many elements");
    refuse_file(input_file(BUILD_FLOAT, beyond, 2), PITH_ERR_CORRUPT,
                "input 'x' dim 1 is 1099511627776");
    refuse_file(input_file(DOUBLE_TYPE, nine, 2), PITH_ERR_UNSUPPORTED,
                "input 'x' is double (f64), which is not supported: export the network in "
                "float32");
    refuse_file(input_file(STRING_TYPE, nine, 2), PITH_ERR_UNSUPPORTED,
                "input 'x' has type string");
    refuse_file(input_file(COMPLEX_TYPE, nine, 2), PITH_ERR_UNSUPPORTED,
                "input 'x' has type complex64");
}

/* y = op(x, k) with k of double */
static struct proto double_file(struct proto node, struct proto second)
{
    static const double k[6] = {1, 2, 3, 4, 5, 6};
    const int64_t dims[2] = {2, 3};
    struct proto g = {0};
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("k", DOUBLE_TYPE, dims, 2, k, sizeof k));
    build_input(&g, "x", 2, 2, 3);
    proto_message(&g, GRAPH_INPUT, build_value("c", BOOL_TYPE, dims, 2));
    proto_message(&g, GRAPH_NODE, node);
    if (second.n)
        proto_message(&g, GRAPH_NODE, second);
    build_output(&g, "y");
    return build_model(g, 13);
}

static struct proto cast(const char *name, const char *links, int to)
{
    struct proto node = build_node("Cast", name, links);
    build_attr_int(&node, "to", to);
    return node;
}

/* Constants of double become f32; what would be double when the network runs is refused. */
TEST(test_double)
{
    struct proto none = {0};
    refuse_file(
        double_file(cast("widen", "x -> y", DOUBLE_TYPE), none), PITH_ERR_UNSUPPORTED,
        "node 'widen' (Cast): it casts what is computed at run time to double (f64): export "
        "the network in float32");
    refuse_file(double_file(build_node("Where", "pick", "c k k -> y"), none), PITH_ERR_UNSUPPORTED,
                "node 'pick' (Where): it computes in double (f64) when it runs: export the network "
                "in float32");
    struct pith_model *m = import_file(
        double_file(cast("narrow", "k -> f", BUILD_FLOAT), build_node("Add", "add", "x f -> y")));
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
    m = import_file(double_file(build_node("Exp", "fold", "k -> f"),
                                build_node("Pow", "pow", "x f -> y"))); /* takes any exponent */
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
}

/* Names that a terminal or a message may not survive, and operators of other domains. */
TEST(test_names)
{
    char longest[5000];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    struct proto g = {0}, node = build_node("Scaler", longest, "x -> y");
    proto_text(&node, 7, "ai.onnx.ml");
    proto_message(&g, GRAPH_NODE, node);
    build_input(&g, "x", 1, 3);
    build_output(&g, "y");
    struct proto file = build_model(g, 13);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "n", NULL, &m, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "ai.onnx.ml.Scaler 1x (nnn"));
    free(file.data);
    g = (struct proto){0};
    proto_message(&g, GRAPH_NODE, build_node("NonZero", "\x1b[31mred\n", "x -> y"));
    build_input(&g, "x", 1, 3);
    build_output(&g, "y");
    file = build_model(g, 13);
    assert_int_equal(pith_onnx_read(file.data, file.n, "n", NULL, &m, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "NonZero 1x (\\x1b[31mred\\n)"));
    free(file.data);
}

/* What a file can say about one tensor that is not so. */
TEST(test_tensors)
{
    static const struct {
        int64_t dims[9];
        size_t rank, bytes;
        int type;
        enum pith_status status;
        const char *text;
    } rows[] = {
        {{-1, 3}, 2, 4, BUILD_FLOAT, PITH_ERR_CORRUPT, "tensor 'w' dim 0 is -1"},
        {{INT64_MAX, 3},
         2,
         4,
         BUILD_FLOAT,
         PITH_ERR_CORRUPT,
         "tensor 'w' dim 0 is 9223372036854775807"},
        {{65536, 65536, 65536},
         3,
         4,
         BUILD_FLOAT,
         PITH_ERR_CORRUPT,
         "tensor 'w' has too many elements"},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1},
         9,
         4,
         BUILD_FLOAT,
         PITH_ERR_UNSUPPORTED,
         "tensor 'w' has 9 dims, at most 8"},
        {{2, 3}, 2, 4, BUILD_FLOAT, PITH_ERR_CORRUPT, "tensor 'w' needs 24 bytes, the file has 4"},
        {{1, 3}, 2, 4, STRING_TYPE, PITH_ERR_UNSUPPORTED, "tensor 'w' has type string"},
        {{1, 3}, 2, 4, 99, PITH_ERR_UNSUPPORTED, "tensor 'w' has type unknown to this version"},
    };
    static const uint8_t bytes[64] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct proto g = text_graph("x f32 [2,3] | add:Add x w -> y | y");
        proto_message(
            &g, GRAPH_INITIALIZER,
            build_tensor("w", rows[i].type, rows[i].dims, rows[i].rank, bytes, rows[i].bytes));
        refuse_file(build_model(g, 13), rows[i].status, rows[i].text);
    }
}

RUN_TESTS
