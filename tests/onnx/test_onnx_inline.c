/* SPDX-License-Identifier: MIT */
/* Local functions: their nodes in place of the call, with the call's attributes and under its name;
 * and what is refused, among it what would never end. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "onnx_refusal.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

enum { FLOAT_ATTRIBUTE = 1, GRAPH_ATTRIBUTE = 5, BOOL_TYPE = 9 };

/* x [2, 3] -> call -> y, with up to two functions. */
static struct proto calling(struct proto call, struct proto f, struct proto g)
{
    struct proto graph = {0};
    proto_message(&graph, GRAPH_NODE, call);
    build_input(&graph, "x", 2, 2, 3);
    build_output(&graph, "y");
    struct proto model = build_model(graph, 16);
    if (f.n)
        proto_message(&model, MODEL_FUNCTION, f);
    if (g.n)
        proto_message(&model, MODEL_FUNCTION, g);
    return model;
}

/* leaky(a) -> b: LeakyRelu with the call's `slope` */
static struct proto leaky(void)
{
    struct proto f = build_function("leaky", "a -> b");
    proto_text(&f, 6, "slope");
    struct proto node = build_node("LeakyRelu", "inner", "a -> b");
    build_attr_ref(&node, "alpha", "slope", FLOAT_ATTRIBUTE);
    proto_message(&f, FUNCTION_NODE, node);
    return f;
}

static void alpha_is(struct proto file, float alpha)
{
    struct pith_model *m = import_file(file);
    const uint32_t ops[] = {PITH_OP_LEAKY_RELU};
    ops_are(m, 1, ops);
    assert_true(attr_f32(m->nodes[0].attr, ATTR_ALPHA) == alpha);
    assert_string_equal(m->nodes[0].name, "call/inner");
    assert_string_equal(m->values[m->outputs[0]].name, "y");
    pith_model_free(m);
}

TEST(test_attributes)
{
    struct proto call = build_call("leaky", "call", "x -> y");
    build_attr_float(&call, "slope", 0.25f);
    alpha_is(calling(call, leaky(), (struct proto){0}), 0.25f);
    /* left out: as if the node in the function had none */
    alpha_is(calling(build_call("leaky", "call", "x -> y"), leaky(), (struct proto){0}), 0.01f);
}

/* A default of the function's (attribute_proto) gives way to the call's. */
TEST(test_defaults)
{
    for (int given = 0; given < 2; given++) {
        struct proto f = leaky(), slope = {0};
        struct proto call = build_call("leaky", "call", "x -> y");
        proto_text(&slope, 1, "slope");
        proto_float(&slope, 2, 0.5f);
        proto_int(&slope, 20, FLOAT_ATTRIBUTE);
        proto_message(&f, 11, slope);
        if (given)
            build_attr_float(&call, "slope", 0.75f);
        alpha_is(calling(call, f, (struct proto){0}), given ? 0.75f : 0.5f);
    }
}

/* outer(a, c) -> d: leaky(a) with slope = its own `s`, then Add with c where there is one */
TEST(test_nested)
{
    struct proto f = build_function("outer", "a c -> d e");
    struct proto inner = build_call("leaky", "step", "a -> t");
    build_attr_ref(&inner, "slope", "s", FLOAT_ATTRIBUTE);
    proto_message(&f, FUNCTION_NODE, inner);
    proto_message(&f, FUNCTION_NODE, build_node("Clip", "clip", "t c -> d"));
    proto_message(&f, FUNCTION_NODE, build_node("NonZero", "unused", "t -> e"));
    struct proto call = build_call("outer", "top", "x -> y");
    build_attr_float(&call, "s", 0.125f);
    struct pith_model *m = import_file(calling(call, f, leaky()));
    const uint32_t ops[] = {PITH_OP_LEAKY_RELU, PITH_OP_CLIP};
    ops_are(m, 2, ops);
    assert_true(attr_f32(m->nodes[0].attr, ATTR_ALPHA) == 0.125f);
    assert_string_equal(m->nodes[0].name, "top/step/inner");
    assert_string_equal(m->nodes[1].name, "top/clip");
    pith_model_free(m);
}

/* Each call has values of its own. */
TEST(called_twice)
{
    struct proto graph = {0};
    proto_message(&graph, GRAPH_NODE, build_call("leaky", "one", "x -> t"));
    proto_message(&graph, GRAPH_NODE, build_call("leaky", "two", "t -> y"));
    build_input(&graph, "x", 2, 2, 3);
    build_output(&graph, "y");
    struct proto model = build_model(graph, 16);
    proto_message(&model, MODEL_FUNCTION, leaky());
    struct pith_model *m = import_file(model);
    const uint32_t ops[] = {PITH_OP_LEAKY_RELU, PITH_OP_LEAKY_RELU};
    ops_are(m, 2, ops);
    assert_int_equal(m->nodes[1].in[0], m->nodes[0].out[0]);
    pith_model_free(m);
}

/* A function may be of an older opset than the file: its Squeeze has an attribute then. */
TEST(opset_of_function)
{
    struct proto f = build_function("lift", "a -> b"), set = {0};
    struct proto node = build_node("Unsqueeze", "u", "a -> b");
    build_attr_ints(&node, "axes", 1, 0);
    proto_message(&f, FUNCTION_NODE, node);
    proto_int(&set, 2, 11);
    proto_message(&f, 9, set);
    struct pith_model *m =
        import_file(calling(build_call("lift", "c", "x -> y"), f, (struct proto){0}));
    assert_int_equal(m->values[m->outputs[0]].rank, 3);
    pith_model_free(m);
    f = build_function("lift", "a -> b");
    set = (struct proto){0};
    proto_int(&set, 2, 0);
    proto_message(&f, 9, set);
    struct proto file = calling(build_call("lift", "c", "x -> y"), f, (struct proto){0});
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "n", NULL, &m, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "function 'lift' is of opset 0 does not exist"));
    free(file.data);
}

/* f calls g, g calls f; f calls itself. */
TEST(test_recursion)
{
    struct proto f = build_function("f", "a -> b"), g = build_function("g", "a -> b");
    proto_message(&f, FUNCTION_NODE, build_call("g", "fg", "a -> b"));
    proto_message(&g, FUNCTION_NODE, build_call("f", "gf", "a -> b"));
    refuse_file(calling(build_call("f", "top", "x -> y"), f, g), PITH_ERR_CORRUPT,
                "node 'top/fg/gf' (f): a function calls itself");
    f = build_function("f", "a -> b");
    proto_message(&f, FUNCTION_NODE, build_call("f", "again", "a -> b"));
    refuse_file(calling(build_call("f", "top", "x -> y"), f, (struct proto){0}), PITH_ERR_CORRUPT,
                "node 'top/again' (f): a function calls itself");
}

/* `levels` functions, each of which calls the next `calls` times. */
static struct proto tower(unsigned levels, unsigned calls)
{
    struct proto graph = {0};
    proto_message(&graph, GRAPH_NODE, build_call("f0", "top", "x -> y"));
    build_input(&graph, "x", 2, 2, 3);
    build_output(&graph, "y");
    struct proto model = build_model(graph, 16);
    for (unsigned i = 0; i < levels; i++) {
        char name[16], next[16], links[32];
        snprintf(name, sizeof name, "f%u", i);
        snprintf(next, sizeof next, "f%u", i + 1);
        char result[32];
        snprintf(result, sizeof result, "a -> v%u", calls - 1);
        struct proto f = build_function(name, result);
        for (unsigned k = 0; k < calls; k++) {
            snprintf(links, sizeof links, k ? "v%u -> v%u" : "a -> v0", k - 1, k);
            proto_message(&f, FUNCTION_NODE,
                          i + 1 < levels ? build_call(next, "c", links)
                                         : build_node("Relu", "r", links));
        }
        proto_message(&model, MODEL_FUNCTION, f);
    }
    return model;
}

TEST(test_growth)
{
    struct pith_model *m = import_file(tower(10, 2));
    assert_int_equal(m->n_nodes, 1024);
    pith_model_free(m);
    refuse_file(tower(60, 2), PITH_ERR_UNSUPPORTED,
                "more than 65536 nodes once its functions are expanded");
    m = import_file(tower(63, 1));
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
    struct proto file = tower(65, 1);
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "n", NULL, &m, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "(f63): functions and bodies are nested more than 64 deep"));
    free(file.data);
}

/* Functions that only call others multiply too, without a node of their own. */
TEST(growth_without_nodes)
{
    struct proto graph = {0};
    proto_message(&graph, GRAPH_NODE, build_call("f0", "top", "x -> y"));
    build_input(&graph, "x", 2, 2, 3);
    build_output(&graph, "y");
    struct proto model = build_model(graph, 16);
    for (unsigned i = 0; i < 40; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "f%u", i);
        snprintf(next, sizeof next, "f%u", i + 1);
        struct proto f = build_function(name, "a -> a");
        for (unsigned k = 0; k < 2 && i + 1 < 40; k++)
            proto_message(&f, FUNCTION_NODE, build_call(next, "c", k ? "a -> u" : "a -> v"));
        proto_message(&model, MODEL_FUNCTION, f);
    }
    refuse_file(model, PITH_ERR_UNSUPPORTED,
                "its functions and bodies hold more than 4194304 names once they are expanded");
}

TEST(wrong_calls)
{
    struct proto none = {0};
    refuse_file(calling(build_call("leaky", "c", "x x -> y"), leaky(), none), PITH_ERR_CORRUPT,
                "node 'c' (leaky): it has more inputs than its function");
    refuse_file(calling(build_call("leaky", "c", "x -> y z"), leaky(), none), PITH_ERR_CORRUPT,
                "node 'c' (leaky): it has more outputs than its function");
    refuse_file(calling(build_call("leaky", "c", "x -> y"), leaky(), leaky()), PITH_ERR_CORRUPT,
                "function 'own.leaky' is defined twice");
    refuse_file(calling(build_call("leaky", "c", "y -> y"), leaky(), none), PITH_ERR_CORRUPT,
                "node 'c/inner' (LeakyRelu) depends on its own output");
    struct proto f = build_function("f", "a -> b");
    proto_message(&f, FUNCTION_NODE, build_node("Relu", "r", "x -> b"));
    refuse_file(calling(build_call("f", "c", "x -> y"), f, none), PITH_ERR_CORRUPT,
                "node 'c/r' (Relu): nothing produces its input 'x'"); /* only the graph's */
    f = build_function("f", "a -> b");
    proto_message(&f, FUNCTION_NODE, build_node("Relu", "r", "a -> a"));
    refuse_file(calling(build_call("f", "c", "x -> y"), f, none), PITH_ERR_CORRUPT,
                "value 'a' is defined twice: by an input and node 'r'");
    f = build_function("f", "a -> b");
    refuse_file(calling(build_call("f", "c", "x -> y"), f, none), PITH_ERR_CORRUPT,
                "node 'c' (f): nothing in its function produces output 'b'");
    f = build_function("f", "a c -> b");
    proto_message(&f, FUNCTION_NODE, build_node("Add", "sum", "a c -> b"));
    refuse_file(calling(build_call("f", "c", "x -> y"), f, none), PITH_ERR_CORRUPT,
                "node 'c/sum' (Add): input 1 is missing");
    f = build_function("f", "a -> b");
    proto_message(&f, FUNCTION_NODE, build_node("NonZero", "nz", "a -> b"));
    refuse_file(
        calling(build_call("f", "c", "x -> y"), f, none), PITH_ERR_UNSUPPORTED,
        "1 of 1 nodes unsupported: NonZero 1x (c/nz): the size of its output depends on the "
        "data: use Where, or cut before it with --outputs");
}

/* An attribute may refer to another only where there is one, and a body only to its own names. */
TEST(wrong_references)
{
    struct proto none = {0}, node = build_node("LeakyRelu", "r", "x -> y");
    build_attr_ref(&node, "alpha", "slope", FLOAT_ATTRIBUTE);
    refuse_file(calling(node, none, none), PITH_ERR_CORRUPT,
                "node 'r' (LeakyRelu): an attribute refers to a function's outside of one");
    struct proto f = build_function("f", "a -> b"), inner = build_node("Scan", "s", "a -> b");
    build_attr_ref(&inner, "body", "given", GRAPH_ATTRIBUTE);
    proto_message(&f, FUNCTION_NODE, inner);
    struct proto call = build_call("f", "c", "x -> y"), body = {0};
    build_input(&body, "e", 1, 3);
    build_output(&body, "e");
    build_attr_graph(&call, "given", body);
    refuse_file(calling(call, f, none), PITH_ERR_UNSUPPORTED,
                "node 's' (Scan): a body handed to a function is not supported");
}

/* Each reference is looked up among all attributes of the call: the product is bounded. */
TEST(many_references)
{
    struct proto f = build_function("f", "a -> b"), call = build_call("f", "c", "x -> y");
    struct proto node = build_node("Relu", "r", "a -> b");
    for (int i = 0; i < 2100; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        build_attr_float(&call, name, 1.0f);
        build_attr_ref(&node, name, "none", FLOAT_ATTRIBUTE);
    }
    proto_message(&f, FUNCTION_NODE, node);
    refuse_file(calling(call, f, (struct proto){0}), PITH_ERR_UNSUPPORTED,
                "node 'c' (f): its function refers to too many attributes");
}

static struct proto branch(struct proto node, const char *output)
{
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, node);
    build_output(&g, output);
    return g;
}

/* Through functions bodies nest deeper than messages may: as deep as the runtime takes. */
static struct proto nested_branches(int depth)
{
    struct proto graph = {0};
    proto_message(&graph, GRAPH_NODE, build_call("f1", "f1", "x go -> y"));
    build_input(&graph, "x", 2, 2, 3);
    proto_message(&graph, GRAPH_INPUT, build_value("go", BOOL_TYPE, NULL, 0));
    build_output(&graph, "y");
    struct proto model = build_model(graph, 16);
    for (int i = 1; i <= depth; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, "f%d", i + 1);
        struct proto f = build_function(name, "a go -> b"),
                     node = build_node("If", name, "go -> b");
        build_attr_graph(&node, "then_branch",
                         branch(i < depth ? build_call(next, next, "a go -> t")
                                          : build_node("Abs", "abs", "a -> t"),
                                "t"));
        build_attr_graph(&node, "else_branch", branch(build_node("Neg", "neg", "a -> e"), "e"));
        proto_message(&f, FUNCTION_NODE, node);
        proto_message(&model, MODEL_FUNCTION, f);
    }
    return model;
}

TEST(test_nested_branches)
{
    pith_model_free(import_file(nested_branches(16)));
    refuse_file(nested_branches(17), PITH_ERR_UNSUPPORTED,
                "node 'f1/f2/f3/f4/f5/f6/f7/f8/f9/f10/f11/f12/f13/f14/f15/f16/f17/f17' (If): loops "
                "and branches are nested more than 16 deep");
}

/* A default attribute is scanned like everything else: it may not nest without end. */
TEST(hostile_default)
{
    struct proto f = leaky(), attribute = {0};
    for (int i = 0; i < 60; i++) { /* attribute > graph > node > attribute > ... */
        struct proto outer = {0};
        proto_message(&outer, i % 3 == 0 ? 5 : i % 3 == 1 ? 1 : 6, attribute);
        attribute = outer;
    }
    proto_message(&f, 11, attribute);
    struct proto file = calling(build_call("leaky", "c", "x -> y"), f, (struct proto){0});
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "n", NULL, &m, &err), PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "messages are nested more than 32 deep"));
    free(file.data);
}

RUN_TESTS
