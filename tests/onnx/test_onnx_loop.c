/* SPDX-License-Identifier: MIT */
/* Scan, Loop and If: what import makes of them, node by node, and what it refuses. That the results
 * are those of another runtime: tests/conformance/loop_cases.py. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "failing_import.h"
#include "pith_onnx.h"
#include "onnx_refusal.h"
#include "network_text.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"

enum { BOOL_TYPE = 9 };

static void body_input(struct proto *g, const char *name, int type, size_t rank)
{
    const int64_t open[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    proto_message(g, GRAPH_INPUT, build_value(name, type, open, rank));
}

static void scalar(struct proto *g, const char *name, int type, int64_t v)
{
    proto_message(g, GRAPH_INITIALIZER,
                  build_tensor(name, type, NULL, 0, &v, type == BOOL_TYPE ? 1 : 8));
}

/* x [4, 3] and init [3] -> last [3], y */
static struct proto scan_file(struct proto node, int64_t opset)
{
    struct proto g = {0};
    build_floats(&g, "init", 0, 1, 1, 3);
    build_input(&g, "x", 2, 4, 3);
    proto_message(&g, GRAPH_NODE, node);
    build_output(&g, "y");
    return build_model(g, opset);
}

/* s, e -> t = s + e, o = t e, not sorted */
static struct proto sum_body(void)
{
    struct proto g =
        text_graph("s f32 [d0]; e f32 [d0] | mul:Mul t e -> o; add:Add s e -> t | t o");
    return g;
}

static struct proto scan_node(const char *links, struct proto body)
{
    struct proto node = build_node("Scan", "scan", links);
    build_attr_int(&node, "num_scan_inputs", 1);
    build_attr_graph(&node, "body", body);
    return node;
}

TEST(test_scan)
{
    struct pith_model *m = import_file(scan_file(scan_node("init x -> last y", sum_body()), 11));
    const uint32_t ops[] = {PITH_OP_LOOP, PITH_OP_GATHER, PITH_OP_ADD, PITH_OP_MUL,
                            PITH_OP_LOOP_END};
    ops_are(m, 5, ops);
    const struct pith_node *loop = &m->nodes[0], *end = &m->nodes[4];
    assert_int_equal(loop->attr[ATTR_LOOP_TRIPS], 4);
    assert_int_equal(end->attr[ATTR_LOOP_TRIPS], 4);
    assert_int_equal(end->attr[ATTR_LOOP_STATES], 1);
    assert_int_equal(end->in[0], loop->out[1]);
    assert_int_equal(end->in[1], m->nodes[2].out[0]);
    assert_int_equal(end->in[2], m->nodes[3].out[0]);
    assert_int_equal(m->values[m->outputs[0]].rank, 2);
    assert_int_equal(m->values[m->outputs[0]].dim[0], 4);
    pith_model_free(m);
}

/* Axis 1 backwards into axis 1: the index is counted down, what is collected turned and moved. */
TEST(scan_axes)
{
    struct proto node = scan_node("init x -> last y", sum_body());
    build_attr_ints(&node, "scan_input_axes", 1, -1);
    build_attr_ints(&node, "scan_input_directions", 1, 1);
    build_attr_ints(&node, "scan_output_axes", 1, 1);
    build_attr_ints(&node, "scan_output_directions", 1, 1);
    struct proto g = {0};
    build_floats(&g, "init", 0, 1, 1, 4);
    build_input(&g, "x", 2, 4, 3);
    proto_message(&g, GRAPH_NODE, node);
    build_output(&g, "y");
    struct pith_model *m = import_file(build_model(g, 11));
    const uint32_t ops[] = {PITH_OP_LOOP, PITH_OP_SUB,      PITH_OP_GATHER, PITH_OP_ADD,
                            PITH_OP_MUL,  PITH_OP_LOOP_END, PITH_OP_SLICE,  PITH_OP_TRANSPOSE};
    ops_are(m, 8, ops);
    assert_int_equal(m->nodes[0].attr[ATTR_LOOP_TRIPS], 3);
    assert_int_equal(m->nodes[2].attr[ATTR_GATHER_AXIS], 1);
    assert_int_equal(m->values[m->outputs[0]].dim[0], 4);
    assert_int_equal(m->values[m->outputs[0]].dim[1], 3);
    pith_model_free(m);
}

/* What the body takes from around it is computed before the loop, wherever the file has it; what
 * is not needed in the body is not computed; a state that only feeds itself is gone. */
TEST(captures_and_dead_nodes)
{
    struct proto body = text_graph("s f32 [d0]; e f32 [d0] | mul:Mul w e -> o; unused:NonZero e -> "
                                   "q; count:Add s s -> t | t o"),
                 g = {0};
    build_floats(&g, "init", 0, 1, 1, 3);
    build_input(&g, "x", 2, 4, 3);
    proto_message(&g, GRAPH_NODE, scan_node("init x -> last y", body));
    proto_message(&g, GRAPH_NODE, build_node("ReduceMean", "later", "v -> w"));
    proto_message(&g, GRAPH_NODE, build_node("Exp", "late", "x -> v"));
    build_output(&g, "y");
    struct pith_model *m = import_file(build_model(g, 11));
    const uint32_t ops[] = {PITH_OP_UNARY,  PITH_OP_REDUCE_MEAN, PITH_OP_LOOP,
                            PITH_OP_GATHER, PITH_OP_MUL,         PITH_OP_LOOP_END};
    ops_are(m, 6, ops);
    assert_int_equal(m->nodes[2].n_in, 0);
    assert_int_equal(m->nodes[5].attr[ATTR_LOOP_STATES], 0);
    assert_int_equal(m->nodes[5].n_out, 1);
    pith_model_free(m);
}

static void refuse_scan(const char *attr, int n, int a, int b, const char *text)
{
    struct proto node = scan_node("init x -> last y", sum_body());
    build_attr_ints(&node, attr, (size_t)n, a, b);
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    struct proto file = scan_file(node, 11);
    enum pith_status status = pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err);
    free(file.data);
    assert_int_equal(status, PITH_ERR_CORRUPT);
    assert_string_equal(err.text + strlen("net.onnx: node 'scan' (Scan): "), text);
}

TEST(wrong_scans)
{
    refuse_scan("scan_input_axes", 1, 2, 0, "scan_input_axes 2 is outside a tensor of 2 dims");
    refuse_scan("scan_input_axes", 2, 0, 0, "scan_input_axes has 2 entries, not 1");
    refuse_scan("scan_output_axes", 1, -3, 0, "scan_output_axes -3 is outside a tensor of 2 dims");
    refuse_scan("scan_input_directions", 1, 2, 0,
                "scan_input_directions holds 2, which is not in 0..1");
    refuse_scan("scan_output_directions", 1, -1, 0,
                "scan_output_directions holds -1, which is not in 0..1");
    struct proto node = scan_node("' init x -> last y", sum_body());
    refuse_file(
        scan_file(node, 8), PITH_ERR_UNSUPPORTED,
        "node 'scan' (Scan): it is of opset 8 and has a batch of 3: convert the file to opset "
        "9 or newer with onnx.version_converter");
    node = scan_node("init init x -> last y", sum_body());
    refuse_file(
        scan_file(node, 8), PITH_ERR_UNSUPPORTED,
        "node 'scan' (Scan): it is of opset 8 and has lengths of sequences: convert the file "
        "to opset 9 or newer with onnx.version_converter");
    node = build_node("Scan", "scan", "init x -> last y");
    refuse_file(scan_file(node, 11), PITH_ERR_CORRUPT,
                "node 'scan' (Scan): attribute body is missing");
    refuse_file(scan_file(scan_node("x -> y", sum_body()), 11), PITH_ERR_CORRUPT,
                "node 'scan' (Scan): 1 inputs of which 1 are scanned do not fit a body of 2 inputs "
                "and 2 outputs");
    refuse_file(scan_file(scan_node("init x -> last y z", sum_body()), 11), PITH_ERR_CORRUPT,
                "node 'scan' (Scan): it has more outputs than its body");
    struct proto body = sum_body();
    build_output(&body, "nowhere");
    refuse_file(scan_file(scan_node("init x -> last y", body), 11), PITH_ERR_CORRUPT,
                "node 'scan' (Scan): nothing produces output 'nowhere' of its body");
    body = sum_body();
    proto_message(&body, GRAPH_NODE, build_node("Relu", "again", "e -> t"));
    refuse_file(scan_file(scan_node("init x -> last y", body), 11), PITH_ERR_CORRUPT,
                "value 't' is defined twice: by node 'add' and node 'again'");
    refuse_file(scan_file(scan_node("y x -> last y", sum_body()), 11), PITH_ERR_CORRUPT,
                "node 'scan' (Scan) depends on its own output");
}

/* The body takes the Scan's own result; nodes of the body form a ring. */
TEST(cycles_through_bodies)
{
    struct proto body = text_graph("s f32 [d0]; e f32 [d0] | add:Add s y -> t | t t");
    refuse_file(scan_file(scan_node("init x -> last y", body), 11), PITH_ERR_CORRUPT,
                "node 'scan' (Scan) depends on its own output");
    body = text_graph("s f32 [d0]; e f32 [d0] | a:Add s u -> t; b:Add t e -> u | t u");
    refuse_file(scan_file(scan_node("init x -> last y", body), 11), PITH_ERR_CORRUPT,
                "node 'a' (Add) depends on its own output");
}

TEST(state_must_keep_its_shape)
{
    struct proto body = text_graph("s f32 [d0]; e f32 [d0] | grow:Concat s e -> t | t e");
    struct proto file = scan_file(scan_node("init x -> last y", body), 11);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "n", NULL, &m, &err), PITH_ERR_CORRUPT);
    free(file.data); /* a Concat needs its axis: here it is the default of old opsets, 1 */
    body = text_graph("s f32 [d0]; e f32 [d0] | grow:Concat{axis=0} s e -> t | t e");
    refuse_file(scan_file(scan_node("init x -> last y", body), 11), PITH_ERR_UNSUPPORTED,
                "node 'scan' (Scan): state 's' is f32 3 before an iteration and f32 6 after it: it "
                "must keep its shape");
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* i, c, s -> d, t = s + x, o = t; d as given: "c" passes the condition on */
static struct proto loop_body(const char *condition)
{
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, build_node("Add", "add", "s x -> t"));
    if (strcmp(condition, "computed") == 0) {
        proto_message(&g, GRAPH_NODE, build_node("ReduceMax", "max", "t -> e"));
        proto_message(&g, GRAPH_NODE, build_node("ReduceMax", "limit", "x -> f"));
        proto_message(&g, GRAPH_NODE, build_node("Less", "less", "e1 f1 -> computed"));
        proto_message(&g, GRAPH_NODE, build_node("Squeeze", "q1", "e -> e1"));
        proto_message(&g, GRAPH_NODE, build_node("Squeeze", "q2", "f -> f1"));
    }
    if (strcmp(condition, "counted") == 0) {
        proto_message(&g, GRAPH_NODE, build_node("Less", "less", "i2 five -> counted"));
        proto_message(&g, GRAPH_NODE, build_node("Add", "next", "i1 i1 -> i2"));
        proto_message(&g, GRAPH_NODE, build_node("Identity", "same", "i -> i1"));
    }
    body_input(&g, "i", BUILD_INT64, 0);
    body_input(&g, "c", BOOL_TYPE, 0);
    body_input(&g, "s", BUILD_FLOAT, 1);
    build_output(&g, condition);
    build_output(&g, "t");
    build_output(&g, "t");
    return g;
}

static struct proto loop_file(const char *links, struct proto body, const char *output)
{
    struct proto g = {0}, node = build_node("Loop", "loop", links);
    build_attr_graph(&node, "body", body);
    scalar(&g, "five", BUILD_INT64, 5);
    scalar(&g, "none", BUILD_INT64, 0);
    scalar(&g, "many", BUILD_INT64, INT64_MAX);
    scalar(&g, "yes", BOOL_TYPE, 1);
    scalar(&g, "no", BOOL_TYPE, 0);
    build_input(&g, "x", 1, 3);
    proto_message(&g, GRAPH_INPUT, build_value("n", BUILD_INT64, NULL, 0));
    const int64_t one = 1;
    proto_message(&g, GRAPH_INPUT, build_value("ns", BUILD_INT64, &one, 1));
    proto_message(&g, GRAPH_INPUT, build_value("go", BOOL_TYPE, NULL, 0));
    proto_message(&g, GRAPH_NODE, node);
    proto_message(&g, GRAPH_NODE, build_node("Relu", "relu", output));
    build_output(&g, "r");
    return build_model(g, 11);
}

static void loop_is(struct proto file, int trips, int has_count, int has_cond, uint32_t n_nodes)
{
    struct pith_model *m = import_file(file);
    const struct pith_node *loop = NULL, *end = NULL;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        loop = m->nodes[i].op == PITH_OP_LOOP ? &m->nodes[i] : loop;
        end = m->nodes[i].op == PITH_OP_LOOP_END ? &m->nodes[i] : end;
    }
    assert_non_null(loop);
    assert_non_null(end);
    assert_int_equal(loop->attr[ATTR_LOOP_TRIPS], trips);
    assert_int_equal(loop->attr[ATTR_LOOP_HAS_COUNT], has_count);
    assert_int_equal(loop->attr[ATTR_LOOP_HAS_COND], has_cond);
    assert_memory_equal(loop->attr, end->attr, 3 * sizeof *loop->attr);
    assert_int_equal(loop->n_in, has_count + has_cond + 1);
    assert_int_equal(m->n_nodes, n_nodes);
    assert_int_equal(pith_model_infer_shapes(m, NULL), PITH_OK);
    pith_model_free(m);
}

TEST(loop_conditions)
{
    loop_is(loop_file("five yes x -> y z", loop_body("c"), "y -> r"), 5, 0, 0, 4);
    loop_is(loop_file("five ' x -> y z", loop_body("yes"), "z -> r"), 5, 0, 0, 4);
    loop_is(loop_file("five yes x -> y z", loop_body("no"), "y -> r"), 1, 0, 0, 4);
    loop_is(loop_file("five go x -> y z", loop_body("c"), "y -> r"), 5, 0, 1, 4);
    loop_is(loop_file("n yes x -> y z", loop_body("c"), "y -> r"), INT32_MAX, 1, 0, 4);
    loop_is(loop_file("ns yes x -> y z", loop_body("c"), "y -> r"), INT32_MAX, 1, 0, 5);
    loop_is(loop_file("n go x -> y z", loop_body("c"), "y -> r"), INT32_MAX, 1, 1, 4);
    loop_is(loop_file("many yes x -> y z", loop_body("computed"), "y -> r"), INT32_MAX, 0, 1, 9);
    loop_is(loop_file("n yes x -> y z", loop_body("computed"), "y -> r"), INT32_MAX, 1, 1, 9);
    loop_is(loop_file("' yes x -> y z", loop_body("computed"), "y -> r"), INT32_MAX, 0, 1, 9);
    /* 0, 2, 4 are less than 5, and 6 is not: the condition is a number of trips */
    loop_is(loop_file("many yes x -> y z", loop_body("counted"), "z -> r"), 4, 0, 0, 4);
    loop_is(loop_file("' yes x -> y z", loop_body("counted"), "y -> r"), 4, 0, 0, 4);
    loop_is(loop_file("n yes x -> y z", loop_body("counted"), "y -> r"), INT32_MAX, 1, 1, 6);
}

/* What a refusal advises works: the count is given, and what is collected has a size. */
TEST(frozen_count)
{
    const struct pith_input_value frozen = {"n", "4"};
    const struct pith_import_opts opts = {
        .size_bytes = sizeof opts, .set_inputs = &frozen, .n_set_inputs = 1};
    struct proto file = loop_file("n yes x -> y z", loop_body("c"), "z -> r");
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err));
    free(file.data);
    assert_int_equal(m->nodes[0].attr[ATTR_LOOP_TRIPS], 4);
    assert_int_equal(m->values[m->outputs[0]].dim[0], 4);
    pith_model_free(m);
}

/* x[i + 1 : i + 3] is a Gather of two indices; any other place or length is refused. */
TEST(slice_by_iteration)
{
    static const struct {
        const char *start, *end;
        bool taken;
    } rows[] = {{"one", "three", true},
                {"one", "one", false},
                {"one", "nine", false},
                {"minus", "one", false}}; /* x[-1 : 1] is empty, not the last and the first */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char starts[32], ends[32];
        struct proto g = {0}, body = {0}, node = build_node("Loop", "loop", "two ' x2 -> y");
        struct proto lift = build_node("Unsqueeze", "u", "i -> j");
        build_attr_ints(&lift, "axes", 1, 0);
        snprintf(starts, sizeof starts, "j %s -> a", rows[i].start);
        snprintf(ends, sizeof ends, "j %s -> b", rows[i].end);
        proto_message(&body, GRAPH_NODE, lift);
        proto_message(&body, GRAPH_NODE, build_node("Add", "a1", starts));
        proto_message(&body, GRAPH_NODE, build_node("Add", "a2", ends));
        proto_message(&body, GRAPH_NODE, build_node("Slice", "slice", "x a b -> s"));
        proto_message(&body, GRAPH_NODE, build_node("Add", "a3", "r s -> t"));
        body_input(&body, "i", BUILD_INT64, 0);
        body_input(&body, "c", BOOL_TYPE, 0);
        body_input(&body, "r", BUILD_FLOAT, 1);
        build_output(&body, "c");
        build_output(&body, "t");
        build_attr_graph(&node, "body", body);
        scalar(&g, "two", BUILD_INT64, 2);
        build_ints(&g, "one", 1, 1);
        build_ints(&g, "three", 1, 3);
        build_ints(&g, "nine", 1, 9);
        build_ints(&g, "minus", 1, -1);
        build_input(&g, "x", 1, 5);
        build_input(&g, "x2", 1, 2);
        proto_message(&g, GRAPH_NODE, node);
        build_output(&g, "y");
        if (!rows[i].taken) {
            refuse_file(
                build_model(g, 11), PITH_ERR_UNSUPPORTED,
                "node 'slice' (Slice): input 'starts' is computed at run time, here it must "
                "be constant: simplify the graph or freeze an input with --set-input");
            continue;
        }
        struct pith_model *m = import_file(build_model(g, 11));
        uint32_t gathers = 0;
        for (uint32_t k = 0; k < m->n_nodes; k++)
            gathers += m->nodes[k].op == PITH_OP_GATHER;
        assert_int_equal(gathers, 1);
        pith_model_free(m);
    }
}

/* Of a loop that never runs the body is not even looked at. */
TEST(loop_of_no_trips)
{
    const uint32_t ops[] = {PITH_OP_RELU};
    for (int i = 0; i < 2; i++) {
        struct proto body = loop_body("c");
        proto_message(&body, GRAPH_NODE, build_node("Unknown", "u", "s -> v"));
        build_output(&body, "v");
        struct pith_model *m = import_file(
            loop_file(i ? "five no x -> y z w" : "none yes x -> y z w", body, "y -> r"));
        ops_are(m, 1, ops);
        pith_model_free(m);
    }
    refuse_file(loop_file("none yes x -> y z", loop_body("c"), "z -> r"), PITH_ERR_UNSUPPORTED,
                "node 'relu' (Relu): input 0 'z' has no elements");
}

TEST(wrong_loops)
{
    refuse_file(loop_file("n yes x -> y z", loop_body("c"), "z -> r"), PITH_ERR_UNSUPPORTED,
                "node 'loop' (Loop): the size of its output 'z' is known only at run time: "
                "freeze its trip count 'n' with --set-input");
    refuse_file(loop_file("five go x -> y z", loop_body("c"), "z -> r"), PITH_ERR_UNSUPPORTED,
                "node 'loop' (Loop): the size of its output 'z' is known only at run time: "
                "freeze its condition 'go' with --set-input");
    refuse_file(loop_file("' ' x -> y z", loop_body("c"), "y -> r"), PITH_ERR_UNSUPPORTED,
                "node 'loop' (Loop): it never ends");
    refuse_file(loop_file("x yes x -> y z", loop_body("c"), "y -> r"), PITH_ERR_CORRUPT,
                "node 'loop' (Loop): its trip count is f32 3, not one i64");
    refuse_file(loop_file("five five x -> y z", loop_body("c"), "y -> r"), PITH_ERR_CORRUPT,
                "node 'loop' (Loop): its condition is i64 scalar, not one bool");
    refuse_file(loop_file("five yes x -> y z", loop_body("t"), "y -> r"), PITH_ERR_CORRUPT,
                "node 'loop' (Loop): its next condition is f32 3, not one bool");
    refuse_file(loop_file("five yes ' -> y z", loop_body("c"), "y -> r"), PITH_ERR_CORRUPT,
                "node 'loop' (Loop): input 2 is missing");
    refuse_file(loop_file("none yes ' -> y z", loop_body("c"), "y -> r"), PITH_ERR_CORRUPT,
                "node 'loop' (Loop): input 2 is missing"); /* a result, as the loop never runs */
    refuse_file(loop_file("five yes x x -> y z", loop_body("c"), "y -> r"), PITH_ERR_CORRUPT,
                "node 'loop' (Loop): 4 inputs do not fit a body of 3 inputs and 3 outputs");
    refuse_file(loop_file("five -> y z", loop_body("c"), "y -> r"), PITH_ERR_CORRUPT,
                "node 'loop' (Loop): 1 inputs do not fit a body of 3 inputs and 3 outputs");
}

/* Bodies in bodies: as deep as a message may nest, and no deeper. */
static struct proto nested_loops(int depth)
{
    struct proto body = {0};
    for (int i = 0; i < depth; i++) {
        struct proto node =
            i ? build_node("Loop", "inner", "' c s -> t") : build_node("Relu", "relu", "s -> t");
        if (i)
            build_attr_graph(&node, "body", body);
        body = (struct proto){0};
        proto_message(&body, GRAPH_NODE, node);
        body_input(&body, "i", BUILD_INT64, 0);
        body_input(&body, "c", BOOL_TYPE, 0);
        body_input(&body, "s", BUILD_FLOAT, 1);
        build_output(&body, "no");
        build_output(&body, "t");
    }
    return loop_file("five yes x -> y", body, "y -> r");
}

TEST(deep_nesting)
{
    struct pith_model *m = import_file(nested_loops(8));
    assert_int_equal(m->n_nodes, 2 * 8 + 2);
    pith_model_free(m);
    struct proto file = nested_loops(12);
    struct pith_error err = {0};
    assert_int_equal(pith_onnx_read(file.data, file.n, "n", NULL, &m, &err), PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "messages are nested more than 32 deep"));
    free(file.data);
}

/* ---- If -------------------------------------------------------------------------------------- */

static struct proto branch(struct proto node, const char *output)
{
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, node);
    build_output(&g, output);
    return g;
}

/* outer = NonZero(x) feeds the second branch alone */
static struct proto if_file(const char *links, struct proto first, struct proto second)
{
    struct proto g = {0}, node = build_node("If", "if", links);
    build_attr_graph(&node, "then_branch", first);
    build_attr_graph(&node, "else_branch", second);
    scalar(&g, "yes", BOOL_TYPE, 1);
    scalar(&g, "no", BOOL_TYPE, 0);
    build_input(&g, "x", 2, 2, 3);
    proto_message(&g, GRAPH_INPUT, build_value("go", BOOL_TYPE, NULL, 0));
    const int64_t one = 1;
    proto_message(&g, GRAPH_INPUT, build_value("gos", BOOL_TYPE, &one, 1));
    proto_message(&g, GRAPH_NODE, build_node("NonZero", "nz", "x -> outer"));
    proto_message(&g, GRAPH_NODE, node);
    build_output(&g, "y");
    return build_model(g, 13);
}

TEST(if_at_run_time)
{
    for (int list = 0; list < 2; list++) {
        struct pith_model *m = import_file(if_file(list ? "gos -> y" : "go -> y",
                                                   branch(build_node("Exp", "e", "x -> t"), "t"),
                                                   branch(build_node("Relu", "r", "x -> t"), "t")));
        const uint32_t ops[] = {PITH_OP_SQUEEZE,     PITH_OP_BRANCH, PITH_OP_UNARY,
                                PITH_OP_BRANCH_ELSE, PITH_OP_RELU,   PITH_OP_BRANCH_END};
        ops_are(m, list ? 6 : 5, ops + !list);
        const struct pith_node *end = &m->nodes[m->n_nodes - 1];
        assert_int_equal(end->n_in, 3);
        assert_int_equal(end->in[1], m->nodes[m->n_nodes - 4].out[0]);
        assert_int_equal(end->in[2], m->nodes[m->n_nodes - 2].out[0]);
        pith_model_free(m);
    }
}

/* The branch that is not taken may hold anything, and so may what it alone takes from around it. */
TEST(if_known)
{
    const uint32_t ops[] = {PITH_OP_UNARY};
    for (int i = 0; i < 2; i++) {
        struct proto good = branch(build_node("Exp", "e", "x -> t"), "t");
        struct proto bad = branch(build_node("Unknown", "u", "outer -> v"), "v");
        struct pith_model *m =
            import_file(i ? if_file("yes -> y", good, bad) : if_file("no -> y", bad, good));
        ops_are(m, 1, ops);
        assert_string_equal(m->values[m->outputs[0]].name, "y");
        pith_model_free(m);
    }
    refuse_file(if_file("go -> y", branch(build_node("Exp", "e", "x -> t"), "t"),
                        branch(build_node("Unknown", "u", "x -> v"), "v")),
                PITH_ERR_UNSUPPORTED,
                "1 of 4 nodes unsupported: Unknown 1x (u): rewrite it with supported operators, or "
                "cut the graph before it with --outputs");
}

TEST(wrong_ifs)
{
    struct proto flat = build_node("Flatten", "f", "x -> t");
    build_attr_int(&flat, "axis", 0);
    refuse_file(
        if_file("go -> y", branch(build_node("Exp", "e", "x -> t"), "t"), branch(flat, "t")),
        PITH_ERR_UNSUPPORTED,
        "node 'if' (If): output 'y' is f32 2x3 from one branch and f32 1x6 from the other: "
        "choose one, by freezing its condition 'go' with --set-input");
    refuse_file(if_file("x -> y", branch(build_node("Exp", "e", "x -> t"), "t"),
                        branch(build_node("Exp", "e", "x -> t"), "t")),
                PITH_ERR_CORRUPT, "node 'if' (If): its condition is f32 2x3, not one bool");
    struct proto two = branch(build_node("Exp", "e", "x -> t"), "t");
    build_output(&two, "x");
    refuse_file(if_file("go -> y", two, branch(build_node("Exp", "e", "x -> t"), "t")),
                PITH_ERR_CORRUPT,
                "node 'if' (If): it has 1 inputs, its branches take 0 and 0 and give 2 and 1");
    refuse_file(if_file("go -> y", branch(build_node("Exp", "e", "x -> t"), "t"),
                        branch(build_node("Exp", "e2", "t -> u"), "u")),
                PITH_ERR_CORRUPT, "node 'e2' (Exp): nothing produces its input 't'");
}

/* ---- all together ---------------------------------------------------------------------------- */

/* A function with an If in it, called from the body of a Loop that runs as long as it holds. */
static struct proto all_in_one(void)
{
    struct proto f = build_function("choose", "a g -> b"), node = build_node("If", "if", "g -> b");
    build_attr_graph(&node, "then_branch", branch(build_node("Exp", "e", "a -> t"), "t"));
    build_attr_graph(&node, "else_branch", branch(build_node("Relu", "r", "a -> t"), "t"));
    proto_message(&f, FUNCTION_NODE, node);
    struct proto body = loop_body("computed");
    proto_message(&body, GRAPH_NODE, build_call("choose", "call", "t go -> u"));
    proto_message(&body, GRAPH_NODE, build_node("Add", "more", "u w -> v"));
    body_input(&body, "s2", BUILD_FLOAT, 1);
    body_input(&body, "s3", BUILD_FLOAT, 1);
    build_output(&body, "v");
    struct proto loop = build_node("Loop", "loop", "n yes x x x2 -> y v1 v2");
    build_attr_graph(&loop, "body", body);
    struct proto g = {0};
    scalar(&g, "yes", BOOL_TYPE, 1);
    build_floats(&g, "w", 0, 1, 1, 3);
    build_input(&g, "x", 1, 3);
    build_input(&g, "x2", 1, 3);
    proto_message(&g, GRAPH_INPUT, build_value("n", BUILD_INT64, NULL, 0));
    proto_message(&g, GRAPH_INPUT, build_value("go", BOOL_TYPE, NULL, 0));
    proto_message(&g, GRAPH_NODE, loop);
    proto_message(&g, GRAPH_NODE, scan_node("y rows -> last z", sum_body()));
    build_floats(&g, "rows", 0, 1, 2, 4, 3);
    build_output(&g, "z");
    build_output(&g, "v2");
    struct proto model = build_model(g, 11);
    proto_message(&model, MODEL_FUNCTION, f);
    return model;
}

static struct pith_model *written_and_read(const struct pith_model *m)
{
    struct pith_buffer file;
    struct pith_model *back = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_write_onnx(m, &file, &err) ||
             pith_onnx_read(file.data, file.bytes, "net.onnx", NULL, &back, &err));
    pith_buffer_free(&file);
    return back;
}

TEST(written_as_onnx)
{
    struct pith_model *m = import_file(all_in_one()), *back = written_and_read(m);
    uint32_t ops[64];
    assert_true(m->n_nodes < 64);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        ops[i] = m->nodes[i].op;
    ops_are(back, m->n_nodes, ops);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *a = &m->nodes[i], *b = &back->nodes[i];
        assert_int_equal(a->n_in, b->n_in);
        assert_int_equal(a->n_out, b->n_out);
        assert_memory_equal(a->attr, b->attr, pith_op_get(a->op)->n_slots * sizeof *a->attr);
    }
    pith_model_free(back);
    pith_model_free(m);
}

TEST(every_allocation_fails_once)
{
    struct proto file = all_in_one();
    assert_true(fail_import(&file, NULL, SIZE_MAX) > 100);
    free(file.data);
}

RUN_TESTS
