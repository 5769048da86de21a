/* SPDX-License-Identifier: MIT */
/* Files that go past what their reader was made for: opsets newer than it, and names longer than a
 * .pith stores. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "op_interface/op_attr.h"
#include "pith_pack.h"
#include "import_refuse.h"

static void shape_is(const struct pith_value *v, uint32_t rank, ...)
{
    va_list ap;
    va_start(ap, rank);
    assert_int_equal(v->rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        assert_int_equal(v->dim[i], va_arg(ap, int));
    va_end(ap);
}

/* What an import warned of: how often, and the last text. */
struct warned {
    int n;
    char text[512];
};

static void keep_warning(void *user, const char *text)
{
    struct warned *w = user;
    w->n++;
    snprintf(w->text, sizeof w->text, "%s", text);
}

static struct pith_model *import_warned(struct proto *file, struct warned *w)
{
    struct pith_import_opts opts = {
        .size_bytes = sizeof opts, .warn = keep_warning, .warn_user = w};
    *w = (struct warned){0};
    return import(file, &opts);
}

static struct proto unary_graph(const char *op, const char *attribute, int64_t opset)
{
    struct proto g = {0}, node = build_node(op, "n", "x -> y");
    if (attribute)
        build_attr_int(&node, attribute, 1);
    proto_message(&g, GRAPH_NODE, node);
    build_input(&g, "x", 4, 1, 2, 2, 4);
    build_output(&g, "y");
    return build_model(g, opset);
}

/* 28 is known. What comes later is read as 28, unless a node has an attribute that 28 does not. */
TEST(later_opsets)
{
    struct warned w;
    struct proto file = unary_graph("Flatten", "axis", 28);
    pith_model_free(import_warned(&file, &w));
    assert_int_equal(w.n, 0);
    file = unary_graph("Flatten", "axis", 29);
    pith_model_free(import_warned(&file, &w));
    assert_int_equal(w.n, 1);
    assert_string_equal(w.text,
                        "net.onnx: opset 29 is newer than 28: operators are read as of opset 28");
    file = unary_graph("Flatten", "colour", 28);
    pith_model_free(import(&file, NULL)); /* attributes of no meaning were always passed over */
    file = unary_graph("Flatten", "colour", 29);
    refuse(&file, NULL, PITH_ERR_UNSUPPORTED,
           "net.onnx: node 'n' (Flatten): attribute colour is newer than opset 28");
}

/* Mod of floats without fmod, and the mode of SpaceToDepth, are news of opset 28. */
TEST(opset_28)
{
    struct proto g = {0}, node = build_node("SpaceToDepth", "n", "x -> y");
    build_attr_int(&node, "blocksize", 2);
    build_attr_text(&node, "mode", "CRD");
    proto_message(&g, GRAPH_NODE, node);
    build_floats(&g, "x", 0, 1, 4, 1, 2, 2, 2);
    proto_message(&g, GRAPH_NODE, build_node("Add", "add", "y z -> sum"));
    proto_message(&g, GRAPH_NODE, build_node("Mod", "mod", "sum z -> rest"));
    build_input(&g, "z", 4, 1, 8, 1, 1);
    build_output(&g, "rest");
    struct proto file = build_model(g, 28);
    struct pith_model *m = import(&file, NULL);
    const struct pith_value *y = &m->values[m->nodes[0].in[0]]; /* folded */
    shape_is(y, 4, 1, 8, 1, 1);
    for (int i = 0; i < 8; i++) /* channels, then rows, then columns: the order they lie in */
        assert_true(((const float *)y->constant->data)[i] == (float)i);
    assert_int_equal(m->nodes[1].attr[ATTR_MOD_FMOD], 0);
    pith_model_free(m);
    static const int64_t blocks[] = {-1, 0, 1, 2, 3, 4};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char text[96];
        g = (struct proto){0};
        node = build_node("SpaceToDepth", "n", "x -> y");
        build_attr_int(&node, "blocksize", blocks[i]);
        build_attr_text(&node, "mode", "CRD");
        proto_message(&g, GRAPH_NODE, node);
        build_input(&g, "x", 4, 1, 2, 2, 4);
        build_output(&g, "y");
        file = build_model(g, 28);
        if (blocks[i] == 1 || blocks[i] == 2) {
            pith_model_free(import(&file, NULL));
            continue;
        }
        snprintf(text, sizeof text,
                 "net.onnx: node 'n' (SpaceToDepth): blocksize %d does not divide its input",
                 (int)blocks[i]);
        refuse(&file, NULL, PITH_ERR_CORRUPT, text);
    }
}

static struct proto long_names_graph(size_t length, char last)
{
    char inner[2][400], links[1000];
    for (int i = 0; i < 2; i++) {
        memset(inner[i], 'a', length);
        inner[i][length] = '\0';
    }
    inner[1][length - 1] = last;
    struct proto g = {0};
    snprintf(links, sizeof links, "x x -> %s", inner[0]);
    proto_message(&g, GRAPH_NODE, build_node("Add", inner[0], links));
    snprintf(links, sizeof links, "%s x -> %s", inner[0], inner[1]);
    proto_message(&g, GRAPH_NODE, build_node("Add", inner[1], links));
    snprintf(links, sizeof links, "%s x -> y", inner[1]);
    proto_message(&g, GRAPH_NODE, build_node("Add", "n", links));
    build_input(&g, "x", 2, 2, 3);
    build_output(&g, "y");
    return build_model(g, 13);
}

/* Two that differ in their last byte of 361 stay two, and the same ones at each import. */
TEST(long_names)
{
    struct warned w;
    struct pith_model *m[2];
    struct pith_buffer packed;
    struct pith_error err;
    for (int i = 0; i < 2; i++) {
        struct proto file = long_names_graph(361, 'b');
        m[i] = import_warned(&file, &w);
        assert_int_equal(w.n, 0); /* they are no part of the interface */
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct pith_node *node = &m[0]->nodes[i];
        assert_int_equal(strlen(node->name), 240);
        assert_int_equal(strlen(m[0]->values[node->out[0]].name), 240);
        assert_string_equal(node->name, m[1]->nodes[i].name);
    }
    assert_string_not_equal(m[0]->nodes[0].name, m[0]->nodes[1].name);
    assert_int_equal(pith_model_pack(m[0], NULL, &packed, &err), PITH_OK);
    pith_buffer_free(&packed);
    pith_model_free(m[0]);
    pith_model_free(m[1]);
    struct proto file = long_names_graph(240, 'b');
    m[0] = import(&file, NULL);
    assert_int_equal(m[0]->nodes[0].name[239], 'a'); /* it fits as it is */
    pith_model_free(m[0]);
}

/* Inputs and outputs are called by their names: they keep 255 bytes, and a shortened one is
 * reported. No byte sequence of UTF-8 is cut in two. */
TEST(long_name_of_output)
{
    char name[301], links[320];
    struct warned w;
    for (int i = 0; i < 150; i++)
        memcpy(name + 2 * i, "\xc3\xa4", 2);
    name[300] = '\0';
    struct proto g = {0};
    snprintf(links, sizeof links, "x x -> %s", name);
    proto_message(&g, GRAPH_NODE, build_node("Add", "n", links));
    build_input(&g, "x", 2, 2, 3);
    build_output(&g, name);
    struct proto file = build_model(g, 13);
    struct pith_model *m = import_warned(&file, &w);
    assert_int_equal(w.n, 1);
    assert_non_null(strstr(w.text, "has 300 bytes: it is called '"));
    const char *got = m->values[m->outputs[0]].name;
    assert_int_equal(strlen(got), 255); /* 238 of the head, a tilde, 16 digits */
    assert_memory_equal(got, name, 238);
    assert_int_equal(got[238], '~');
    struct pith_buffer packed;
    struct pith_error err;
    assert_int_equal(pith_model_pack(m, NULL, &packed, &err), PITH_OK);
    pith_buffer_free(&packed);
    pith_model_free(m);
}

RUN_TESTS
