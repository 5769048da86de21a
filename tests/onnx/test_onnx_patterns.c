/* SPDX-License-Identifier: MIT */
/* Which pieces become one operator, which computes what they do, and which look so but are not. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "test_run.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "failing_import.h"
#include "network_text.h"

/* "op links; op links; ...": Transpose0213 has that perm, ReduceMean goes over the last axis. */
static void add_nodes(struct proto *g, const char *text)
{
    for (uint32_t i = 0; *text; i++) {
        char op[32], links[64], name[16];
        int n = 0;
        assert_int_equal(sscanf(text, " %31s %63[^;]%n", op, links, &n), 2);
        snprintf(name, sizeof name, "n%u", i);
        char *perm = op + strcspn(op, "0123456789"), axes[4] = "";
        if (strlen(perm) == 3 || strlen(perm) == 4) {
            memcpy(axes, perm, strlen(perm));
            *perm = 0;
        }
        struct proto node = build_node(op, name, links);
        if (strcmp(op, "Transpose") == 0 && !axes[3])
            build_attr_ints(&node, "perm", 3, axes[0] - '0', axes[1] - '0', axes[2] - '0');
        else if (strcmp(op, "Transpose") == 0)
            build_attr_ints(&node, "perm", 4, axes[0] - '0', axes[1] - '0', axes[2] - '0',
                            axes[3] - '0');
        if (strcmp(op, "ReduceMean") == 0)
            build_attr_ints(&node, "axes", 1, -1);
        if (strcmp(op, "Softmax") == 0)
            build_attr_int(&node, "axis", -1);
        proto_message(g, GRAPH_NODE, node);
        text += n;
        text += *text == ';';
    }
}

/* The same nodes as a quantizing exporter writes them: behind each, bytes. Its consumers read
 * those. */
static void quantized(const char *text, char *to, size_t room)
{
    size_t n = 0;
    *to = 0;
    while (*text) {
        char op[32], in[64], out[16];
        int used = 0;
        assert_int_equal(sscanf(text, " %31s %63[^;>-] -> %15[^;]%n", op, in, out, &used), 3);
        text += used;
        text += *text == ';';
        const bool last = *text == 0;
        n +=
            (size_t)snprintf(to + n, room - n, last ? "%s %s -> %s" : "%s %s -> %sR;", op, in, out);
        if (!last)
            n += (size_t)snprintf(
                to + n, room - n,
                "QuantizeLinear %sR grid zero -> %sQ; DequantizeLinear %sQ grid zero -> %s;", out,
                out, out, out);
        assert_true(n < room);
    }
}

static void scalar(struct proto *g, const char *name, float value)
{
    proto_message(g, GRAPH_INITIALIZER, build_tensor(name, BUILD_FLOAT, NULL, 0, &value, 4));
}

/* Every result of the text is an output, too, so that nothing becomes one operator. */
static void add_results(struct proto *g, const char *text)
{
    for (const char *p = strstr(text, "-> "); p; p = strstr(p, "-> ")) {
        char name[16];
        p += 3;
        if (sscanf(p, "%15[^; ]", name) == 1 && strcmp(name, "y") != 0)
            build_output(g, name);
    }
}

/* Everything that the texts below name. x is [2,3,4]; q, k, v are [1,5,2,4]. */
static struct pith_model *import_nodes(const char *text, bool all)
{
    static const struct {
        const char *name;
        float value;
    } scalars[] = {{"half", 0.5f},
                   {"half_off", 0.501f},
                   {"one", 1},
                   {"two", 2},
                   {"three", 3},
                   {"root2", 1.41421356f},
                   {"rhalf", 0.70710678f},
                   {"eps", 1e-5f},
                   {"cube", 0.044715f},
                   {"tanh", 0.79788456f},
                   {"low", -1e4f},
                   {"lowest", -3e38f},
                   {"none", 0}};
    struct proto g = {0};
    add_nodes(&g, text);
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        scalar(&g, scalars[i].name, scalars[i].value);
    const uint8_t zero = 128, byte = 178; /* (178 - 128) * 0.01 */
    scalar(&g, "grid", 0.01f);
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("zero", BUILD_UINT8, NULL, 0, &zero, 1));
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("half8", BUILD_UINT8, NULL, 0, &byte, 1));
    build_floats(&g, "scale", 1, 1, 1, 4);
    build_floats(&g, "bias", 2, 1, 1, 4);
    build_floats(&g, "column", 2, 1, 2, 3, 1);
    build_ints(&g, "heads", 4, 1, 2, 5, 5);
    build_ints(&g, "one_axis", 3, 2, 5, 4);
    build_ints(&g, "two_axes", 4, 1, 2, 5, 4);
    build_ints(&g, "rows", 3, 1, 5, 8);
    build_ints(&g, "halves", 4, 1, 5, 1, 8);
    build_ints(&g, "doubled", 4, 1, 5, 4, 4);
    build_ints(&g, "grouped", 5, 1, 5, 2, 2, 4);
    build_ints(&g, "eight", 4, 1, 5, 8, 4);
    build_ints(&g, "apart", 5, 1, 5, 2, 1, 4);
    build_ints(&g, "far", 5, 1, 5, 1, 2, 4);
    build_ints(&g, "doubled_far", 5, 1, 5, 2, 2, 4);
    build_input(&g, "x", 3, 2, 3, 4);
    build_input(&g, "q", 4, 1, 5, 2, 4);
    build_input(&g, "k", 4, 1, 5, 2, 4);
    build_input(&g, "v", 4, 1, 5, 2, 4);
    build_input(&g, "m", 4, 1, 1, 1, 5);
    build_input(&g, "q4", 4, 1, 5, 4, 4);
    build_output(&g, "y");
    if (all)
        add_results(&g, text);
    struct proto file = build_model(g, 13);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    if (pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err))
        fail_msg("%s: %s", text, err.text);
    if (!all)
        fail_import(&file, NULL, FEW);
    free(file.data);
    return m;
}

/* What became one operator gives what its nodes give. */
static void computes_the_same(struct pith_model *m, const char *text)
{
    struct running whole = run_network(m, NULL, text);
    struct running pieces = run_network(import_nodes(text, true), NULL, text);
    outputs_agree(&whole, 0, &pieces, 0, 1e-4f, text);
    stop_running(&whole);
    stop_running(&pieces);
}

/* The model's last node is `op`, and it has `n_nodes` of them; it computes what `pieces` do. */
static void becomes_of(const char *text, const char *pieces, enum pith_op op, uint32_t n_nodes,
                       const int32_t *attr, uint32_t n_attr)
{
    struct pith_model *m = import_nodes(text, false);
    if (m->n_nodes != n_nodes || m->nodes[n_nodes - 1].op != op ||
        (n_attr && memcmp(m->nodes[n_nodes - 1].attr, attr, n_attr * sizeof *attr) != 0))
        fail_msg("%s: %u nodes, the last is operator %u", text, m->n_nodes,
                 m->nodes[m->n_nodes - 1].op);
    computes_the_same(m, pieces);
}

static void becomes(const char *text, enum pith_op op, uint32_t n_nodes, const int32_t *attr,
                    uint32_t n_attr)
{
    becomes_of(text, text, op, n_nodes, attr, n_attr);
}

#define CENTRED "ReduceMean x -> mean; Sub x mean -> d;"
#define DEVIATION "ReduceMean s -> var; Add var eps -> padded; Sqrt padded -> root;"

TEST(layer_norm)
{
    const int32_t attr[2] = {2, 0x3727c5ac};
    becomes(CENTRED "Pow d two -> s;" DEVIATION
                    "Div d root -> u; Mul u scale -> w; Add w bias -> y",
            PITH_OP_LAYER_NORM, 1, attr, 2);
    becomes(CENTRED "Mul d d -> s;" DEVIATION "Div d root -> u; Mul scale u -> w; Add bias w -> y",
            PITH_OP_LAYER_NORM, 1, attr, 2);
    becomes(CENTRED "Sub x mean -> e; Pow e two -> s;" DEVIATION
                    "Reciprocal root -> i; Mul d i -> u; Mul u scale -> y",
            PITH_OP_LAYER_NORM, 1, attr, 2);
    /* what reads the unbiased result keeps it */
    becomes(CENTRED "Pow d two -> s;" DEVIATION
                    "Div d root -> u; Mul u scale -> w; Add w bias -> z; Add w z -> y",
            PITH_OP_ADD, 3, NULL, 0);
    becomes(CENTRED "Pow d three -> s;" DEVIATION "Div d root -> u; Mul u scale -> y", PITH_OP_MUL,
            8, NULL, 0);
    becomes(CENTRED "Pow d two -> s;" DEVIATION "Div x root -> u; Mul u scale -> y", PITH_OP_MUL, 8,
            NULL, 0);
    /* about 0: a deviation of something else, and a mean that is subtracted above it alone */
    const int32_t about_zero[3] = {2, 0x3727c5ac, 1};
    becomes("Pow x two -> s;" DEVIATION "Div one root -> i; Mul x i -> u; Mul scale u -> y",
            PITH_OP_LAYER_NORM, 1, about_zero, 3);
    becomes("Mul x x -> s;" DEVIATION "Reciprocal root -> i; Mul i x -> u; Mul u scale -> y",
            PITH_OP_LAYER_NORM, 1, about_zero, 3);
    becomes("Mul x x -> s;" DEVIATION "Div two root -> i; Mul i x -> u; Mul u scale -> y",
            PITH_OP_MUL, 7, NULL, 0);
    becomes(CENTRED "Pow x two -> s;" DEVIATION "Div d root -> u; Mul u scale -> y", PITH_OP_MUL, 8,
            NULL, 0);
    becomes(CENTRED "Pow d two -> s;" DEVIATION "Div d root -> u; Mul u column -> y", PITH_OP_MUL,
            8, NULL, 0);
}

TEST(test_gelu)
{
    const int32_t erf = UNARY_GELU, tanh = UNARY_GELU_TANH;
    becomes("Div x root2 -> a; Erf a -> b; Add b one -> c; Mul x c -> d; Mul d half -> y",
            PITH_OP_UNARY, 1, &erf, 1);
    becomes("Mul x rhalf -> a; Erf a -> b; Add one b -> c; Mul half x -> d; Mul d c -> y",
            PITH_OP_UNARY, 1, &erf, 1);
    becomes("Mul x rhalf -> a; Erf a -> b; Add one b -> c; Mul half c -> d; Mul x d -> y",
            PITH_OP_UNARY, 1, &erf, 1);
    becomes("Pow x three -> a; Mul a cube -> b; Add x b -> c; Mul c tanh -> d; Tanh d -> e;"
            "Add e one -> f; Mul x half -> g; Mul g f -> y",
            PITH_OP_UNARY, 1, &tanh, 1);
    becomes("Div x root2 -> a; Erf a -> b; Add b one -> c; Mul x c -> d; Mul d half_off -> y",
            PITH_OP_MUL, 5, NULL, 0);
    becomes("Mul x root2 -> a; Erf a -> b; Add b one -> c; Mul x c -> d; Mul d half -> y",
            PITH_OP_MUL, 5, NULL, 0);
    becomes(
        "Relu x -> r; Div x root2 -> a; Erf a -> b; Add b one -> c; Mul r c -> d; Mul d half -> y",
        PITH_OP_MUL, 6, NULL, 0);
}

TEST(test_mish)
{
    const int32_t mish = UNARY_MISH;
    becomes("Softplus x -> a; Tanh a -> b; Mul x b -> y", PITH_OP_UNARY, 1, &mish, 1);
    becomes("Softplus x -> a; Tanh a -> b; Mul b x -> y", PITH_OP_UNARY, 1, &mish, 1);
    becomes("Relu x -> r; Softplus x -> a; Tanh a -> b; Mul r b -> y", PITH_OP_MUL, 4, NULL, 0);
    becomes("Softsign x -> a; Tanh a -> b; Mul x b -> y", PITH_OP_MUL, 3, NULL, 0);
    becomes("Softplus x -> a; Erf a -> b; Mul x b -> y", PITH_OP_MUL, 3, NULL, 0);
}

#define SPLIT "Transpose0213 q -> a; Transpose0231 k -> b; Transpose0213 v -> c;"

TEST(test_attention)
{
    const int32_t merged[4] = {(int32_t)0x3f000000, 0, 0, 15}; /* scale 1/2 */
    const int32_t filled[4] = {0x3f800000, (int32_t)0xc61c4000, 0, 7};
    const int32_t kept[4] = {0x3f800000, (int32_t)0xc61c4000, 1, 7};
    becomes(SPLIT "Div a two -> e; MatMul e b -> f; Softmax f -> g; MatMul g c -> h;"
                  "Transpose0213 h -> y",
            PITH_OP_ATTENTION, 1, merged, 4);
    becomes(SPLIT "MatMul a b -> e; Mul half e -> f; Add f m -> n; Softmax n -> g; MatMul g c -> h;"
                  "Transpose0213 h -> y",
            PITH_OP_ATTENTION, 1, merged, 4);
    becomes(SPLIT "Greater m one -> o; MatMul a b -> e; Where o low e -> f; Softmax f -> g;"
                  "MatMul g c -> y",
            PITH_OP_ATTENTION, 2, filled, 4);
    becomes(SPLIT "Greater m one -> o; Expand o heads -> p; MatMul a b -> e; Where p e low -> f;"
                  "Softmax f -> g; MatMul g c -> y",
            PITH_OP_ATTENTION, 2, kept, 4);
    /* turned more often than needed */
    becomes(
        "Transpose0132 q -> a; Transpose0132 a -> b; Transpose0213 k -> c; Transpose0213 c -> d;"
        "Transpose0132 d -> e; MatMul b e -> f; Softmax f -> g; MatMul g v -> y",
        PITH_OP_ATTENTION, 1, NULL, 0);
    /* a softmax of something else; a fill for each element */
    becomes(SPLIT "MatMul a b -> e; Relu e -> f; Softmax f -> g; MatMul g c -> y", PITH_OP_MATMUL,
            7, NULL, 0);
    becomes(SPLIT "Greater m one -> o; MatMul a b -> e; Where o m e -> f; Softmax f -> g;"
                  "MatMul g c -> y",
            PITH_OP_MATMUL, 8, NULL, 0);
}

#define GROUPED                                                                                    \
    "Transpose0213 q4 -> a; Reshape k %s -> k1; Expand k1 grouped -> k2; Reshape k2 doubled -> "   \
    "k3;"                                                                                          \
    "Transpose0231 k3 -> b; Reshape v %s -> v1; Expand v1 grouped -> v2; Reshape v2 doubled -> "   \
    "v3;"                                                                                          \
    "Transpose0213 v3 -> c; MatMul a b -> e; Softmax e -> f; MatMul f c -> y"

/* Factors, axes and masks where exporters leave them. */
TEST(attention_pieces)
{
    const int32_t quarter[4] = {(int32_t)0x3e800000, 0, 0, 7};
    const int32_t plain[4] = {0x3f800000, 0, 0, 7};
    const int32_t low[4] = {0x3f800000, (int32_t)0xff61b1e6, 0, 7};
    const int32_t none[4] = {0x3f800000, (int32_t)0xff800000, 0, 7};
    const int32_t one_head[4] = {0x3f800000, 0, 0, 0};
    char text[512];
    /* the root of the scale on both operands */
    becomes(SPLIT "Mul a half -> d; Mul half b -> e; MatMul d e -> f; Softmax f -> g;"
                  "MatMul g c -> y",
            PITH_OP_ATTENTION, 1, quarter, 4);
    /* batch and heads as one axis, masked where they are two */
    becomes(SPLIT "Reshape a one_axis -> d; Transpose0213 k -> k1; Reshape k1 one_axis -> k2;"
                  "Transpose021 k2 -> e; Reshape c one_axis -> h; MatMul d e -> f; Softmax f -> g;"
                  "MatMul g h -> i; Reshape i two_axes -> y",
            PITH_OP_ATTENTION, 1, plain, 4);
    /* keys for two queries each; for every other query they are copied */
    (void)snprintf(text, sizeof text, GROUPED, "apart", "apart");
    becomes(text, PITH_OP_ATTENTION, 1, plain, 4);
    (void)snprintf(text, sizeof text, GROUPED, "far", "far");
    becomes(text, PITH_OP_ATTENTION, 7, plain, 4);
    /* one head, of rank 3 */
    becomes("Reshape q rows -> a; Reshape k rows -> b; Reshape v rows -> c; Transpose021 b -> d;"
            "MatMul a d -> e; Softmax e -> f; MatMul f c -> y",
            PITH_OP_SQUEEZE, 8, NULL, 0);
    becomes("Reshape q halves -> a; Reshape k halves -> b; Reshape v halves -> c;"
            "Transpose0213 a -> a1; Transpose0231 b -> b1; Transpose0213 c -> c1;"
            "MatMul a1 b1 -> e; Softmax e -> f; MatMul f c1 -> y",
            PITH_OP_ATTENTION, 4, one_head, 3);
    /* a choice that is added; two masks; weights that are 0 where nothing is seen */
    becomes(SPLIT "Greater m one -> o; Where o lowest none -> p; MatMul a b -> e; Add e p -> f;"
                  "Softmax f -> g; MatMul g c -> y",
            PITH_OP_ATTENTION, 2, low, 4);
    becomes(SPLIT "Greater m one -> o; MatMul a b -> e; Where o lowest e -> f; Add m f -> g;"
                  "Softmax g -> h; MatMul h c -> y",
            PITH_OP_ATTENTION, 4, plain, 4);
    becomes(SPLIT "Greater m one -> o; MatMul a b -> e; Where o lowest e -> f; Softmax f -> g;"
                  "Where o none g -> h; MatMul h c -> y",
            PITH_OP_ATTENTION, 2, none, 4);
    becomes(SPLIT "MatMul a b -> e; Add e m -> f; Softmax f -> g; IsNaN g -> h;"
                  "Where h none g -> i; MatMul i c -> y",
            PITH_OP_ATTENTION, 1, plain, 4);
    /* a fill that other masks change; other conditions before and behind; a scaled mask */
    becomes(SPLIT "Greater m one -> o; MatMul a b -> e; Where o low e -> f; Add m f -> g;"
                  "Softmax g -> h; MatMul h c -> y",
            PITH_OP_MATMUL, 9, NULL, 0);
    becomes(SPLIT "Greater m one -> o; Greater m two -> p; MatMul a b -> e; Where o lowest e -> f;"
                  "Softmax f -> g; Where p none g -> h; MatMul h c -> y",
            PITH_OP_MATMUL, 10, NULL, 0);
    becomes(SPLIT "MatMul a b -> e; Add e m -> f; Mul f half -> g; Softmax g -> h; MatMul h c -> y",
            PITH_OP_MATMUL, 8, NULL, 0);
}

/* Bytes between the pieces: the operator reads and writes what it did, but nothing is rounded in
 * it. */
static void becomes_quantized(const char *text, enum pith_op op, uint32_t n_nodes,
                              const int32_t *attr, uint32_t n_attr)
{
    char with_bytes[2048];
    quantized(text, with_bytes, sizeof with_bytes);
    becomes_of(with_bytes, text, op, n_nodes, attr, n_attr);
}

TEST(test_quantized)
{
    const int32_t norm[2] = {2, 0x3727c5ac}, erf = UNARY_GELU;
    const int32_t attention[4] = {(int32_t)0x3f000000, 0, 0, 7};
    becomes_quantized(CENTRED "Pow d two -> s;" DEVIATION
                              "Div d root -> u; Mul u scale -> w; Add w bias -> y",
                      PITH_OP_LAYER_NORM, 1, norm, 2);
    becomes_quantized("Div x root2 -> a; Erf a -> b; Add b one -> c; Mul x c -> d; Mul d half -> y",
                      PITH_OP_UNARY, 1, &erf, 1);
    becomes("DequantizeLinear half8 grid zero -> h; Div x root2 -> a; Erf a -> b; Add b one -> c; "
            "Mul x c -> d;"
            "Mul d h -> y",
            PITH_OP_UNARY, 1, &erf, 1);
    /* another factor; rounded to something else than bytes of one grid is no matter, read twice is
     */
    becomes("DequantizeLinear zero grid half8 -> h; Div x root2 -> a; Erf a -> b; Add b one -> c; "
            "Mul x c -> d;"
            "Mul d h -> y",
            PITH_OP_MUL, 5, NULL, 0);
    becomes_quantized(SPLIT "Div a two -> e; MatMul e b -> f; Softmax f -> g; MatMul g c -> y",
                      PITH_OP_ATTENTION, 1, attention, 4);
    /* operands that are bytes before they are transposed: each is dequantized there */
    becomes("QuantizeLinear q grid zero -> q8; QuantizeLinear k grid zero -> k8; QuantizeLinear v "
            "grid zero -> v8;"
            "Transpose0213 q8 -> a8; Transpose0231 k8 -> b8; Transpose0213 v8 -> c8;"
            "DequantizeLinear a8 grid zero -> a; DequantizeLinear b8 grid zero -> b;"
            "DequantizeLinear c8 grid zero -> c;"
            "Div a two -> e; MatMul e b -> f; Softmax f -> g; MatMul g c -> y",
            PITH_OP_ATTENTION, 7, attention, 4);
}

TEST(test_expand)
{
    becomes("Expand m heads -> e; Transpose0213 q -> a; Transpose0231 k -> b; MatMul a b -> c;"
            "Add c e -> y",
            PITH_OP_ADD, 4, NULL, 0);
    /* without it the result would be smaller */
    becomes("Expand m heads -> e; Add e one -> y", PITH_OP_ADD, 2, NULL, 0);
}

/* Means of planes are pools, but for those of three axes and those that a normalization subtracts.
 */
TEST(global_pool)
{
    static const struct {
        const char *nodes, *pieces;
        uint32_t n;
        enum pith_op op[2];
    } cases[] = {
        {"x f32 [N,3,5,7] | ReduceMean{axes=2,3 keepdims=1} x -> y | y",
         "x f32 [N,3,5,7] | ReduceSum{keepdims=1} x [2,3] -> s; Div s 35.0 -> y | y",
         1,
         {PITH_OP_GLOBAL_AVERAGE_POOL}},
        {"x f32 [N,3,5,7] | ReduceMean{axes=-1,-2 keepdims=0} x -> y | y",
         "x f32 [N,3,5,7] | ReduceSum{keepdims=0} x [2,3] -> s; Div s 35.0 -> y | y",
         2,
         {PITH_OP_GLOBAL_AVERAGE_POOL, PITH_OP_FLATTEN}},
        {"x f32 [N,3,2,5,7] | ReduceMean{axes=2,3,4 keepdims=1} x -> y | y",
         "x f32 [N,3,2,5,7] | ReduceSum{keepdims=1} x [2,3,4] -> s; Div s 70.0 -> y | y",
         1,
         {PITH_OP_GLOBAL_AVERAGE_POOL}},
        {"x f32 [N,3,5,7] | ReduceMean{axes=1,2 keepdims=1} x -> y | y",
         "x f32 [N,3,5,7] | ReduceSum{keepdims=1} x [1,2] -> s; Div s 15.0 -> y | y",
         1,
         {PITH_OP_REDUCE_MEAN}},
        {"x f32 [N,3,7] | ReduceMean{axes=2, keepdims=1} x -> y | y",
         "x f32 [N,3,7] | ReduceSum{keepdims=1} x [2] -> s; Div s 7.0 -> y | y",
         1,
         {PITH_OP_REDUCE_MEAN}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].nodes;
        struct bound_sizes two = bind_sizes("N=2");
        struct pith_model *m = read_network(network_file(text, NULL, false), text);
        if (m->n_nodes != cases[i].n)
            fail_msg("%s: %u nodes", text, m->n_nodes);
        for (uint32_t k = 0; k < m->n_nodes; k++)
            assert_int_equal(m->nodes[k].op, cases[i].op[k]);
        struct pith_model *n =
            read_network(network_file(cases[i].pieces, NULL, false), cases[i].pieces);
        struct running whole = run_network(m, &two, text), pieces = run_network(n, &two, text);
        outputs_agree(&whole, 0, &pieces, 0, 1e-6f, text);
        stop_running(&whole);
        stop_running(&pieces);
    }
    const char *norm =
        "x f32 [N,3,5,7] | ReduceMean{axes=2,3 keepdims=1} x -> a; Sub x a -> b; Mul b b -> c;"
        "ReduceMean{axes=2,3 keepdims=1} c -> d; Add d 0.001 -> e; Sqrt e -> f;"
        "Div b f -> g; Mul g ~5x7 -> y | y";
    struct pith_model *m = read_network(network_file(norm, NULL, false), norm);
    assert_int_equal(m->nodes[m->n_nodes - 1].op, PITH_OP_LAYER_NORM);
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
}

RUN_TESTS
