/* SPDX-License-Identifier: MIT */
/* What import makes of an ONNX file: normalised attributes, folded constants, definite shapes - and
 * the message for each thing it refuses. Numbers against another runtime: tests/conformance. */
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "failing_import.h"
#include "import_refuse.h"
#include "network_text.h"

static const struct pith_value *value_named(const struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return &m->values[i];
    fail_msg("no value '%s'", name);
    return NULL;
}

static void shape_is(const struct pith_value *v, uint32_t rank, ...)
{
    va_list ap;
    va_start(ap, rank);
    assert_int_equal(v->rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        assert_int_equal(v->dim[i], va_arg(ap, int));
    va_end(ap);
}

TEST(test_auto_pad)
{
    static const struct {
        const char *text;
        int pads[4];
        uint32_t out;
    } rows[] = {{"x f32 [1,1,8,8] | Conv{auto_pad=SAME_UPPER strides=2,2} x ~4x1x5x5 -> y | y",
                 {1, 1, 2, 2},
                 4},
                {"x f32 [1,1,8,8] | Conv{auto_pad=SAME_LOWER strides=2,2} x ~4x1x5x5 -> y | y",
                 {2, 2, 1, 1},
                 4}};
    for (size_t i = 0; i < 2; i++) {
        struct pith_model *m = import_text(rows[i].text);
        const int32_t *pads = &m->nodes[0].attr[ATTR_CONV_PADS];
        assert_int_equal(pads[0], 4);
        for (int k = 0; k < 4; k++)
            assert_int_equal(pads[1 + k], rows[i].pads[k]);
        shape_is(value_named(m, "y"), 4, 1, 4, rows[i].out, rows[i].out);
        pith_model_free(m);
    }
}

/* Lists of nothing but defaults are left out of files; others stay. */
TEST(default_lists)
{
    for (int stride = 1; stride <= 2; stride++) {
        char text[128];
        snprintf(
            text, sizeof text,
            "x f32 [1,1,8,8] | Conv{strides=%d,1 dilations=1,1 pads=0,0,0,%d} x ~4x1x5x5 -> y | y",
            stride, stride - 1);
        struct pith_model *m = import_text(text);
        const int32_t *attr = m->nodes[0].attr;
        assert_int_equal(attr[ATTR_CONV_STRIDES], stride == 1 ? 0 : 2);
        assert_int_equal(attr[ATTR_CONV_DILATIONS], 0);
        assert_int_equal(attr[ATTR_CONV_PADS], stride == 1 ? 0 : 4);
        assert_int_equal(attr_item(attr, ATTR_CONV_STRIDES, 0, 1), stride);
        assert_int_equal(attr_item(attr, ATTR_CONV_PADS, 3, 0), stride - 1);
        shape_is(value_named(m, "y"), 4, 1, 4, stride == 1 ? 4 : 2, stride == 1 ? 4 : 5);
        pith_model_free(m);
    }
}

/* Zeros between taps: of both axes, of columns alone; where one is not zero all stay. */
TEST(taps_apart)
{
    for (int kind = 0; kind < 3; kind++) {
        float w[4 * 25] = {0};
        for (int i = 0; i < 4; i++)
            for (int y = 0; y < 5; y++)
                for (int x = 0; x < 5; x += 2)
                    w[i * 25 + y * 5 + x] = kind == 0 && y % 2 ? 0.0f : (float)(1 + i + y * 10 + x);
        w[30] = kind == 2 ? 1.0f : w[30];
        w[31] = kind == 2 ? 1.0f : 0.0f;
        const int64_t dims[] = {4, 1, 5, 5};
        struct proto g = text_graph("x f32 [1,1,8,8] | conv1:Conv{pads=2,2,2,2} x w -> y | y");
        proto_message(&g, GRAPH_INITIALIZER, build_tensor("w", 1, dims, 4, w, sizeof w));
        struct proto file = build_model(g, 13);
        struct pith_model *m = import(&file, NULL);
        const int32_t *attr = m->nodes[0].attr;
        const float *taps = value_named(m, "w")->constant->data;
        assert_int_equal(attr_item(attr, ATTR_CONV_DILATIONS, 0, 1), kind == 0 ? 2 : 1);
        assert_int_equal(attr_item(attr, ATTR_CONV_DILATIONS, 1, 1), kind == 2 ? 1 : 2);
        shape_is(value_named(m, "w"), 4, 4, 1, kind == 0 ? 3 : 5, kind == 2 ? 5 : 3);
        shape_is(value_named(m, "y"), 4, 1, 4, 8, 8);
        if (kind == 0)
            for (int i = 0; i < 36; i++)
                assert_true(taps[i] == w[i / 9 * 25 + i / 3 % 3 * 10 + i % 3 * 2]);
        pith_model_free(m);
    }
}

/* B [K=2, N=3] = 0..5 must become [3, 2] with trans_b. */
TEST(gemm_transposed)
{
    static const float want[6] = {0, 3, 1, 4, 2, 5};
    for (int op = 0; op < 2; op++) {
        struct proto g = {0};
        proto_message(&g, GRAPH_NODE, build_node(op ? "MatMul" : "Gemm", "fc", "x w -> y"));
        build_floats(&g, "w", 0, 1, 2, 2, 3);
        build_input(&g, "x", 2, -1, 2);
        build_output(&g, "y");
        struct proto file = build_model(g, 13);
        struct pith_model *m = import(&file, NULL);
        const struct pith_value *w = value_named(m, "w");
        shape_is(w, 2, 3, 2);
        assert_memory_equal(w->constant->data, want, sizeof want);
        assert_int_equal(m->nodes[0].attr[op ? ATTR_MATMUL_TRANS_B : ATTR_GEMM_TRANS_B], 1);
        assert_true(m->batch_open);
        struct pith_weight_ref refs[1];
        assert_int_equal(pith_model_weights(m, refs), 1);
        assert_int_equal(refs[0].rows, 3);
        pith_model_free(m);
    }
}

/* The same matrix transposed for one node and as it is for another: two values, two names. */
TEST(shared_weight)
{
    struct proto g = text_graph("x f32 [2,2] | a:MatMul x w -> t; b:Add t w -> y | y");
    build_floats(&g, "w", 0, 1, 2, 2, 2);
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(&file, NULL);
    const float *turned = m->values[m->nodes[0].in[1]].constant->data;
    const float *plain = m->values[m->nodes[1].in[1]].constant->data;
    assert_true(turned[1] == 2 && plain[1] == 1);
    assert_string_not_equal(m->values[m->nodes[0].in[1]].name, m->values[m->nodes[1].in[1]].name);
    pith_model_free(m);
}

TEST(test_fold)
{
    /* old files list initializers as inputs, too */
    struct proto g = text_graph("x f32 [2,3]; c f32 [1,6] | r:Reshape c s -> d; p:Relu d -> e; "
                                "dead:Relu x -> unused; a:Add x e -> y | y");
    build_floats(&g, "c", -2, 1, 2, 1, 6);
    build_ints(&g, "s", 2, 2, -1);
    struct proto file = build_model(g, 9);
    struct pith_model *m = import(&file, NULL);
    static const float want[6] = {0, 0, 0, 1, 2, 3};
    assert_int_equal(m->n_nodes, 1);
    assert_int_equal(m->n_inputs, 1);
    const struct pith_value *e = value_named(m, "e");
    shape_is(e, 2, 2, 3);
    assert_memory_equal(e->constant->data, want, sizeof want);
    assert_int_equal(m->n_values, 3);
    pith_model_free(m);
}

/* Dropout and Identity vanish; a result keeps the name of the output it feeds; an input that is an
 * output passes through an Identity node. */
TEST(test_vanish)
{
    struct proto g =
        text_graph("x f32 [2,3] | r:Relu x -> t; d:Dropout t -> u; i:Identity u -> y | y x");
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(&file, NULL);
    assert_int_equal(m->n_nodes, 2);
    assert_int_equal(m->n_outputs, 2);
    assert_int_equal(m->nodes[0].op, PITH_OP_RELU);
    assert_string_equal(m->values[m->outputs[0]].name, "y");
    assert_int_equal(m->nodes[1].op, PITH_OP_IDENTITY);
    assert_int_equal(m->nodes[1].in[0], m->inputs[0]);
    pith_model_free(m);
}

/* Rules of opset 6 that are those of opset 7; p is a float at opset 1, an integer since. */
TEST(early_opsets)
{
    struct proto file = build_model(text_graph("x f32 [2,3] | Add x x -> y | y"), 6);
    struct pith_model *m = import(&file, NULL);
    assert_int_equal(m->nodes[0].op, PITH_OP_ADD);
    pith_model_free(m);
    file = build_model(text_graph("x f32 [2,3,4] | GlobalLpPool{p=3.0} x -> y | y"), 1);
    m = import(&file, NULL);
    assert_int_equal(m->nodes[0].op, PITH_OP_LP_POOL);
    assert_int_equal(m->nodes[0].attr[ATTR_POOL_P], 3);
    pith_model_free(m);
}

TEST(test_unsorted)
{
    struct pith_model *m =
        import_text("x f32 [2,3] | Add b x -> y; Add a x -> b; Add x x -> a | y");
    assert_string_equal(m->nodes[0].name, "n2");
    assert_string_equal(m->nodes[1].name, "n1");
    assert_string_equal(m->nodes[2].name, "n0");
    pith_model_free(m);
}

/* 40,000 nodes in reverse order: the walk must not recurse. */
TEST(long_chain)
{
    enum { N = 40000 };
    struct proto g = {0};
    for (int i = N; i-- > 0;) {
        char links[64];
        if (i == 0)
            snprintf(links, sizeof links, "x -> v0");
        else
            snprintf(links, sizeof links, "v%d -> v%d", i - 1, i);
        proto_message(&g, GRAPH_NODE, build_node("Relu", "", links));
    }
    build_input(&g, "x", 1, 1);
    build_output(&g, "v39999");
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(&file, NULL);
    assert_int_equal(m->n_nodes, N);
    pith_model_free(m);
}

static struct proto open_graph(void)
{
    struct proto g =
        text_graph("x f32 [d0,3,d2,d3]; k f32 [1] | r:Relu x -> t; a:Add t k -> y | y");
    return build_model(g, 13);
}

/* Takes 6 elements, whatever its input declares. */
static struct proto six_elements(int columns)
{
    struct proto g = text_graph("x f32 [1,d1] | r:Reshape x s -> y | y");
    build_ints(&g, "s", 2, 2, columns);
    return build_model(g, 13);
}

TEST(open_sizes)
{
    struct proto file = open_graph();
    struct pith_model *m = import(&file, NULL);
    const uint32_t sizes[3] = {2, 17, 300};
    assert_int_equal(m->n_sizes, 3); /* k has no batch, so that of x is a size like others */
    assert_string_equal(m->sizes[0].name, "d0");
    assert_string_equal(m->sizes[2].name, "d3");
    assert_int_equal(pith_model_set_sizes(m, sizes, NULL), PITH_OK);
    shape_is(value_named(m, "y"), 4, 2, 3, 17, 300);
    const uint32_t none[3] = {2, 17, 0};
    assert_int_equal(pith_model_set_sizes(m, none, NULL), PITH_OK);
    shape_is(value_named(m, "y"), 1, 0); /* what has no elements has no other axes */
    assert_int_equal(pith_model_set_sizes(m, sizes, NULL), PITH_OK);
    shape_is(value_named(m, "y"), 4, 2, 3, 17, 300);
    pith_model_free(m);
    /* an output that is a constant only where sizes are fixed */
    struct proto g = text_graph("x f32 [d0,d1] | s:Shape x -> n; r:Relu x -> y | y n");
    file = build_model(g, 13);
    m = import(&file, NULL);
    assert_int_equal(m->n_sizes, 2);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].out[0] == m->outputs[1])
            assert_null(m->values[m->nodes[i].in[0]].constant);
    assert_null(value_named(m, "n")->constant);
    pith_model_free(m);
    file = six_elements(3);
    m = import(&file, NULL);
    assert_int_equal(m->n_sizes, 0);
    shape_is(value_named(m, "x"), 2, 1, 6);
    pith_model_free(m);
    file = six_elements(0);
    refuse(&file, NULL, PITH_ERR_ARGUMENT,
           "net.onnx: input 'x' dim 1 'd1' is open: give --input-shape x:1x1 (it cannot stay open: "
           "node 'r' (Reshape): its inputs and attributes do not fit: f32 1x11)");
}

TEST(shapes_and_frozen_inputs)
{
    struct proto file = open_graph();
    struct pith_input_shape shape = {"x", 4, {0, 3, 5, 6}};
    struct pith_input_value frozen = {"k", "2.5"};
    struct pith_import_opts opts = {.size_bytes = sizeof opts,
                                    .shapes = &shape,
                                    .n_shapes = 1,
                                    .set_inputs = &frozen,
                                    .n_set_inputs = 1};
    struct pith_model *m = import(&file, &opts);
    assert_int_equal(m->n_inputs, 1);
    assert_int_equal(m->n_sizes, 0);
    assert_true(m->batch_open);
    shape_is(value_named(m, "y"), 4, 1, 3, 5, 6);
    assert_true(((const float *)value_named(m, "k")->constant->data)[0] == 2.5f);
    pith_model_free(m);
    frozen.text = "1,2";
    file = open_graph();
    refuse(&file, &opts, PITH_ERR_ARGUMENT,
           "net.onnx: input 'k' has 1 elements, 2 values are given");
    frozen.text = "two";
    file = open_graph();
    refuse(&file, &opts, PITH_ERR_ARGUMENT,
           "net.onnx: value 0 given for input 'k' is no number that fits");
    frozen = (struct pith_input_value){"q", "1"};
    file = open_graph();
    refuse(&file, &opts, PITH_ERR_ARGUMENT,
           "net.onnx: a value is given for 'q', which is no input");
    opts.n_set_inputs = 0;
    shape.dim[1] = 4;
    file = open_graph();
    refuse(&file, &opts, PITH_ERR_ARGUMENT,
           "net.onnx: input 'x' dim 1 is 3 in the file, 4 is given");
    shape.name = "z";
    file = open_graph();
    refuse(&file, &opts, PITH_ERR_ARGUMENT,
           "net.onnx: a shape is given for 'z', which is no input");
}

/* A Reshape to fixed numbers holds the batch at 1. */
TEST(batch_held)
{
    struct proto g = text_graph("x f32 [d0,2,3] | r:Reshape x s -> y | y");
    build_ints(&g, "s", 2, 1, 6);
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(&file, NULL);
    assert_false(m->batch_open);
    shape_is(value_named(m, "y"), 2, 1, 6);
    pith_model_free(m);
}

TEST(test_cut)
{
    struct proto g = text_graph("x f32 [2,3] | r:Relu x -> t; nz:NonZero t -> y | y");
    struct proto file = build_model(g, 13), again = {0};
    proto_raw(&again, file.data, file.n);
    const char *outputs[] = {"t"};
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .outputs = outputs, .n_outputs = 1};
    struct pith_model *m = import(&file, &opts);
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
    outputs[0] = "nowhere";
    refuse(&again, &opts, PITH_ERR_ARGUMENT, "net.onnx: nothing produces output 'nowhere'");
}

static struct proto unsupported_graph(void)
{
    struct proto g = {0}, custom = build_node("Gelu", "g", "e -> f");
    proto_text(&custom, 7, "com.example");
    proto_message(&g, GRAPH_NODE, build_node("Unique", "e1", "x -> a"));
    proto_message(&g, GRAPH_NODE, build_node("Relu", "r", "a -> b"));
    proto_message(&g, GRAPH_NODE, build_node("Unique", "e2", "b -> c"));
    proto_message(&g, GRAPH_NODE, build_node("NonZero", "nz", "c -> e"));
    proto_message(&g, GRAPH_NODE, custom);
    proto_message(&g, GRAPH_NODE, build_node("Reshape", "rs", "x s -> h"));
    proto_message(&g, GRAPH_NODE, build_node("Add", "sum", "f h -> y"));
    build_input(&g, "x", 1, 6);
    build_input(&g, "s", 1, 1);
    build_floats(&g, "nan", NAN, 0, 1, 3);
    build_output(&g, "y");
    return build_model(g, 13);
}

TEST(test_unsupported)
{
    struct proto file = unsupported_graph(), again = {0};
    proto_raw(&again, file.data, file.n);
    refuse(
        &file, NULL, PITH_ERR_UNSUPPORTED,
        "net.onnx: 5 of 7 nodes unsupported: Unique 2x (e1, e2): the size of its output depends on "
        "the data: cut before it with --outputs; NonZero 1x (nz): the size of its output depends "
        "on "
        "the data: use Where, or cut before it with --outputs; "
        "com.example.Gelu 1x (g): rewrite it with supported operators, or cut the graph before "
        "it with --outputs; Reshape 1x (rs): input 'shape' is computed at run time");
    struct pith_onnx_report *r = NULL;
    assert_int_equal(pith_onnx_check(again.data, again.n, "net.onnx", NULL, &r, NULL), PITH_OK);
    assert_int_equal(r->n_nodes, 7);
    assert_int_equal(r->n_unsupported, 5);
    assert_int_equal(r->n_issues, 4);
    assert_string_equal(r->issues[2].op, "Unique");
    assert_int_equal(r->issues[2].count, 2);
    assert_string_equal(r->issues[2].nodes[1], "e2");
    assert_false(r->issues[2].known);
    assert_string_equal(r->issues[1].op, "Reshape");
    assert_true(r->issues[1].known);
    assert_non_null(strstr(r->issues[1].hint, "input 'shape' is computed at run time"));
    pith_onnx_report_free(r);
    free(again.data);
}

TEST(check_open_dims_and_nan)
{
    struct proto file = open_graph();
    struct pith_onnx_report *r = NULL;
    assert_int_equal(pith_onnx_check(file.data, file.n, "net.onnx", NULL, &r, NULL), PITH_OK);
    assert_int_equal(r->n_open, 0); /* they stay open */
    assert_int_equal(r->n_unsupported, 0);
    pith_onnx_report_free(r);
    free(file.data);
    file = six_elements(0);
    assert_int_equal(pith_onnx_check(file.data, file.n, "net.onnx", NULL, &r, NULL), PITH_OK);
    assert_int_equal(r->n_open, 1);
    assert_int_equal(r->open_dims[0].dim, 1);
    assert_string_equal(r->open_dims[0].symbol, "d1");
    assert_string_equal(r->open_dims[0].example, "x:1x1");
    pith_onnx_report_free(r);
    free(file.data);
    struct proto g = text_graph("x f32 [3] | a:Add x c -> y | y");
    build_floats(&g, "c", NAN, 1, 1, 3);
    file = build_model(g, 13);
    assert_int_equal(pith_onnx_check(file.data, file.n, "net.onnx", NULL, &r, NULL), PITH_OK);
    assert_int_equal(r->n_nonfinite, 1);
    assert_string_equal(r->nonfinite[0].tensor, "c");
    assert_int_equal(r->nonfinite[0].count, 3);
    pith_onnx_report_free(r);
    pith_model_free(import(&file, NULL)); /* importing it is allowed */
}

/* Types that become another: f16 in raw bytes, f16 and bool in int32_data, f64, u32. */
TEST(element_types)
{
    enum { F16 = 10, F64 = 11 };
    const int64_t dims[1] = {2};
    const uint16_t halves[2] = {0x3c00, 0xc100}; /* 1, -2.5 */
    const double doubles[2] = {0.1, -7};
    struct proto typed = {0}, packed = {0};
    proto_varint(&packed, 0x3c00);
    proto_varint(&packed, 0xc100);
    proto_int(&typed, 1, 2);
    proto_int(&typed, 2, F16);
    proto_text(&typed, 8, "t");
    proto_message(&typed, 5, packed);
    struct proto g = text_graph(
        "x f32 [2] | a:Add x h -> p; f:Cast{to=1} d -> d32; b:Add p d32 -> q; c:Add q t -> y | y");
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("h", F16, dims, 1, halves, sizeof halves));
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("d", F64, dims, 1, doubles, sizeof doubles));
    proto_message(&g, GRAPH_INITIALIZER, typed);
    struct proto file = build_model(g, 13);
    struct pith_model *m = import(&file, NULL);
    const float *h = value_named(m, "h")->constant->data, *t = value_named(m, "t")->constant->data;
    const float *d = value_named(m, "d32")->constant->data;
    assert_true(h[0] == 1 && h[1] == -2.5f && t[0] == 1 && t[1] == -2.5f);
    assert_true(d[0] == 0.1f && d[1] == -7);
    assert_int_equal(value_named(m, "h")->type, PITH_F32);
    pith_model_free(m);
}

/* x [n] + c, where c is a Constant by a list or a single number, of floats or integers. */
TEST(test_constants)
{
    static const char *const names[] = {"value_float", "value_floats", "value_int", "value_ints"};
    for (uint32_t kind = 0; kind < 4; kind++)
        for (uint32_t n = 1; n <= (kind % 2 ? 3 : 1); n += 2) {
            struct proto g = {0}, node = build_node("Constant", "c", "-> c"), a = {0};
            proto_text(&a, 1, names[kind]);
            for (uint32_t i = 0; i < n; i++)
                if (kind < 2)
                    proto_float(&a, kind ? 7 : 2, 0.5f + (float)i);
                else
                    proto_int(&a, kind == 3 ? 8 : 3, 5 + (int64_t)i);
            proto_int(&a, 20, (int64_t[]){1, 6, 2, 7}[kind]);
            proto_message(&node, 5, a);
            proto_message(&g, GRAPH_NODE, node);
            proto_message(&g, GRAPH_NODE, build_node("Add", "a", "x c -> y"));
            const int64_t dim[1] = {n};
            proto_message(&g, GRAPH_INPUT,
                          build_value("x", kind < 2 ? BUILD_FLOAT : BUILD_INT64, dim, 1));
            build_output(&g, "y");
            struct proto file = build_model(g, 13);
            struct pith_model *m = import(&file, NULL);
            const struct pith_value *c = value_named(m, "c");
            assert_true(c->rank == kind % 2 && (!c->rank || c->dim[0] == n));
            assert_int_equal(c->constant->count, n);
            for (uint32_t i = 0; i < n; i++)
                assert_true(kind < 2 ? ((float *)c->constant->data)[i] == 0.5f + (float)i
                                     : ((int64_t *)c->constant->data)[i] == 5 + (int64_t)i);
            pith_model_free(m);
        }
}

/* ---- memory --------------------------------------------------------------------------------- */

TEST(every_allocation_fails_once)
{
    struct pith_input_value frozen = {"s", "6"};
    struct pith_import_opts opts = {
        .size_bytes = sizeof opts, .set_inputs = &frozen, .n_set_inputs = 1};
    /* Gemm, a frozen input, folding and an Identity in one */
    struct proto g = text_graph(
        "x f32 [d0,2]; s f32 [1] | p:Add c s -> d; m:Gemm x w -> t; a:Add t d -> h | h x");
    build_floats(&g, "c", 0, 1, 1, 3);
    build_floats(&g, "w", 0, 1, 2, 2, 3);
    struct proto file = build_model(g, 13);
    assert_true(fail_import(&file, &opts, SIZE_MAX) > 40);
    free(file.data);
}

TEST(test_limit)
{
    struct proto g = text_graph("x f32 [1,100] | m:Gemm x w -> y | y");
    build_floats(&g, "w", 0, 1, 2, 100, 300);
    struct proto file = build_model(g, 13);
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = 100000};
    refuse(&file, &opts, PITH_ERR_LIMIT,
           "net.onnx: tensor 'w' holds 120000 bytes: import needs more than 100000 bytes of memory "
           "(--max-memory)");
}

/* ---- real networks --------------------------------------------------------------------------- */

static struct proto read_real(const char *name)
{
    const char *data = getenv("PITH_DATA");
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s.onnx", data ? data : "../shared/data", name);
    struct proto file = {0};
    FILE *f = fopen(path, "rb");
    if (!f)
        skip();
    uint8_t part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        proto_raw(&file, part, n);
    fclose(f);
    return file;
}

TEST(real_networks)
{
    static const struct {
        const char *name;
        uint32_t nodes;
        uint64_t elements; /* of all constants */
        bool batch_open;
    } rows[] = {
        {"mnist_lenet5_caffe", 9, 431080, true},
        {"mnist_cntk", 11, 5994, false},
        {"cifar10_resnet20", 73, 271098, true},
        {"tiny_ic_resnet8", 23, 77706, false},
        {"imagenet_squeezenet_v1_dc", 66, 1248424, true},
        {"imagenet_squeezenet_v1_1", 65, 1235496, false},
        {"imagenet_mobilenet_v2", 100, 3487816, true}, /* less the two bounds of its Clips */
        {"tiny_kws_dscnn", 23, 22604, false},
        {"tiny_vww_mbv1", 58, 210850, false},
        {"tiny_ad01_ae", 37, 267928, false},
        {"kws_DNN_L", 8, 495744, false},
        {"kws_LSTM_L", 26, 496457, false},
        {"kws_GRU_L", 18, 498413, false},
        {"super_resolution_x3", 14, 59657, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct proto file = read_real(rows[i].name);
        struct pith_model *m = import(&file, NULL);
        uint64_t elements = 0;
        for (uint32_t k = 0; k < m->n_values; k++)
            if (m->values[k].constant)
                elements += m->values[k].constant->count;
        assert_int_equal(m->n_nodes, rows[i].nodes);
        assert_int_equal(m->batch_open, rows[i].batch_open);
        assert_int_equal(elements, rows[i].elements);
        pith_model_free(m);
    }
}

RUN_TESTS
