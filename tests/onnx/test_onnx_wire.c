/* SPDX-License-Identifier: MIT */
/* Files made to hurt a protobuf parser must be refused before protobuf-c sees them, quickly and
 * with little memory; ordinary ones must pass. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include "test_run.h"
#include "onnx/onnx_read.h"
#include "pith_onnx.h"
#include "proto_builder.h"

/* Counts what the import takes from the heap. */
struct meter {
    size_t now, peak;
};

static void *meter_alloc(void *user, size_t bytes)
{
    struct meter *m = user;
    size_t *p = malloc(bytes + 16);
    if (!p)
        return NULL;
    *p = bytes;
    m->now += bytes;
    m->peak = m->now > m->peak ? m->now : m->peak;
    return p + 2;
}

static void meter_free(void *user, void *p)
{
    struct meter *m = user;
    m->now -= ((size_t *)p)[-2];
    free((size_t *)p - 2);
}

/* Must be refused with `status` and a text that holds `part`, in a second and in max_bytes. */
static void refused(struct proto *file, enum pith_status status, const char *part, size_t max_bytes)
{
    struct meter meter = {0};
    struct pith_alloc alloc = {meter_alloc, meter_free, &meter};
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .alloc = &alloc};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    clock_t begin = clock();
    enum pith_status got = pith_onnx_read(file->data, file->n, "bad.onnx", &opts, &m, &err);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_int_equal(got, status);
    assert_null(m);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
    assert_memory_equal(err.text, "bad.onnx: ", 10);
    assert_int_equal(meter.now, 0);
    assert_true(meter.peak <= max_bytes);
    assert_true(seconds < 1.0);
    free(file->data);
    *file = (struct proto){0};
}

TEST(test_nested)
{
    /* ModelProto.graph(7).node(1).attribute(5).g(6).node(1)...: inside out, every prefix of
     * lengths made by writing the heads backwards. */
    static const uint32_t chain[] = {1, 5, 6};
    enum { DEPTH = 100000 };
    size_t room = DEPTH * 8, at = room;
    uint8_t *b = malloc(room);
    assert_non_null(b);
    for (int i = DEPTH; i-- > 0;) {
        uint64_t len = room - at;
        uint8_t head[12];
        size_t n = 0;
        head[n++] = (uint8_t)((i == 0 ? 7 : chain[(i - 1) % 3]) << 3 | 2);
        do {
            head[n++] = (uint8_t)((len & 0x7f) | (len > 0x7f ? 0x80 : 0));
            len >>= 7;
        } while (len);
        at -= n;
        memcpy(b + at, head, n);
    }
    struct proto file = {0};
    proto_raw(&file, b + at, room - at);
    free(b);
    refused(&file, PITH_ERR_CORRUPT, "nested more than 32 deep", 1 << 16);
}

TEST(empty_nodes)
{
    struct proto graph = {0};
    for (int i = 0; i < 500000; i++)
        proto_bytes(&graph, GRAPH_NODE, "", 0);
    struct proto file = build_model(graph, 13);
    refused(&file, PITH_ERR_CORRUPT, "a node is empty", 1 << 16);
}

TEST(many_nodes)
{
    struct proto graph = {0};
    for (int i = 0; i < 70000; i++)
        proto_bytes(&graph, GRAPH_NODE, "\x22\x01R", 3);
    struct proto file = build_model(graph, 13);
    refused(&file, PITH_ERR_CORRUPT, "more than 65536 nodes", 1 << 16);
}

TEST(many_messages)
{
    struct proto graph = {0};
    for (int i = 0; i < 600000; i++)
        proto_bytes(&graph, 13, "", 0); /* value_info */
    struct proto file = build_model(graph, 13);
    refused(&file, PITH_ERR_CORRUPT, "messages", 1 << 16);
}

TEST(not_onnx)
{
    struct proto file = {0};
    refused(&file, PITH_ERR_CORRUPT, "no graph", 1 << 16); /* no byte at all is an empty message */
    proto_raw(&file, "\x89PNG\r\n\x1a\n 0123456789", 18);
    refused(&file, PITH_ERR_CORRUPT, "not an ONNX file", 1 << 16);
    proto_raw(&file, "\0\0\0\0", 4);
    refused(&file, PITH_ERR_CORRUPT, "field number", 1 << 16);
    proto_int(&file, 1, 8);
    refused(&file, PITH_ERR_CORRUPT, "no graph", 1 << 16);
}

TEST(wrong_wire)
{
    struct proto file = {0};
    proto_int(&file, 7, 3); /* graph as a number */
    refused(&file, PITH_ERR_CORRUPT, "the wrong type", 1 << 16);
    proto_varint(&file, 7 << 3 | 3); /* a group */
    refused(&file, PITH_ERR_CORRUPT, "the wrong type", 1 << 16);
    proto_bytes(&file, 7, "", 0);
    proto_bytes(&file, 7, "", 0);
    refused(&file, PITH_ERR_CORRUPT, "occurs twice", 1 << 16);
    proto_bytes(&file, 2, "pi\0th", 5);
    refused(&file, PITH_ERR_CORRUPT, "zero byte", 1 << 16);
    for (int i = 0; i < 12; i++)
        proto_raw(&file, "\xff", 1);
    refused(&file, PITH_ERR_CORRUPT, "10 bytes", 1 << 16);
}

static struct proto small_file(void)
{
    struct proto graph = {0};
    proto_message(&graph, GRAPH_NODE, build_node("Relu", "r", "x -> y"));
    build_input(&graph, "x", 2, 1, 4);
    build_output(&graph, "y");
    return build_model(graph, 13);
}

/* A prefix either misses a field's bytes or a whole field: never is it accepted as the model. */
TEST(test_truncated)
{
    struct proto file = small_file();
    for (size_t n = 0; n < file.n; n++) {
        struct pith_model *m = NULL;
        struct pith_error err = {0};
        enum pith_status status = pith_onnx_read(file.data, n, "cut.onnx", NULL, &m, &err);
        if (status == PITH_OK)
            fail_msg("accepted %zu of %zu bytes", n, file.n);
        assert_non_null(strstr(err.text, "cut.onnx: "));
    }
    struct pith_model *m = NULL;
    assert_int_equal(pith_onnx_read(file.data, file.n, "whole.onnx", NULL, &m, NULL), PITH_OK);
    pith_model_free(m);
    free(file.data);
}

TEST(unknown_fields)
{
    struct proto file = small_file();
    proto_int(&file, 999, 1);
    proto_text(&file, 1000, "of a later version");
    proto_float(&file, 1001, 1);
    struct pith_model *m = NULL;
    assert_int_equal(pith_onnx_read(file.data, file.n, "new.onnx", NULL, &m, NULL), PITH_OK);
    assert_int_equal(m->n_nodes, 1);
    pith_model_free(m);
    free(file.data);
}

/* Shapes that claim what is not there must not get memory for it. */
TEST(huge_dims)
{
    static const int64_t dims[][4] = {{1 << 20, 1 << 20, 1, 1},
                                      {1 << 30, 1 << 30, 1 << 30, 1 << 30},
                                      {-1, 1, 1, 1},
                                      {INT64_MAX, 2, 2, 2}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        struct proto graph = {0};
        proto_message(&graph, GRAPH_NODE, build_node("Add", "a", "x c -> y"));
        proto_message(&graph, GRAPH_INITIALIZER,
                      build_tensor("c", BUILD_FLOAT, dims[i], 4, "0000", 4));
        build_input(&graph, "x", 2, 1, 4);
        build_output(&graph, "y");
        struct proto file = build_model(graph, 13);
        refused(&file, PITH_ERR_CORRUPT, "tensor 'c'", 1 << 16);
    }
}

RUN_TESTS
