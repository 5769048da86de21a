/* SPDX-License-Identifier: MIT */
/* test_wire_bounds.c - limits of the walk over an ONNX file: the most that is allowed, and one
 * more. Files end at a page that nothing follows. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "guard_page.h"
#include "onnx/graph/onnx.h"

/* text: what the refusal says; NULL: accepted. */
static void scan(const void *bytes, size_t n, const char *text)
{
    struct guarded file = guard_new(n, 1);
    struct onnx_wire_facts facts = {0};
    memcpy(file.data, bytes, n);
    enum pith_status st = pith_onnx_scan(file.data, n, &facts);
    assert_int_equal(st, text ? PITH_ERR_CORRUPT : PITH_OK);
    if (text && !strstr(facts.text, text))
        fail_msg("'%s' does not say '%s'", facts.text, text);
    guard_free(&file);
}

#define BYTES(text) text, sizeof text - 1

TEST(numbers_and_fields)
{
    scan(BYTES("\xa0\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), NULL); /* field 100, 2^64 - 1 */
    scan(BYTES("\xa0\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"), "more than 10 bytes");
    scan(BYTES("\xa0\x06"), "truncated: a number");
    scan(BYTES("\xa0\x06\x80"), "truncated: a number");
    scan(BYTES("\xa5\x06"
               "1234"),
         NULL);
    scan(BYTES("\xa5\x06"
               "123"),
         "truncated: a field");
    scan(BYTES("\xa1\x06"
               "1234567"),
         "truncated: a field");
    scan(BYTES("\x3a\x00"), NULL); /* a graph of no bytes */
    scan(BYTES("\x3a\x01"), "truncated: a field");
    scan(BYTES("\xf8\xff\xff\xff\x0f\x00"), NULL); /* field 2^29 - 1 */
    scan(BYTES("\x80\x80\x80\x80\x10\x00"), "out of range");
    scan(BYTES("\x00\x00"), "out of range");
    scan(BYTES("\x08\x07"), NULL); /* ir_version */
    scan(BYTES("\x0a\x01\x07"), "as a list");
    scan(BYTES("\x12\x02pt"), NULL); /* producer */
    scan(BYTES("\x12\x02p\0"), "zero byte");
    scan(BYTES("\x3a\x00\x3a\x00"), "occurs twice");
    scan(BYTES("\x3a\x02\x0a\x00"), "node is empty");
}

TEST(strings_are_utf8)
{
    scan(BYTES("\x12\x02\xc3\xa9"), NULL);
    scan(BYTES("\x12\x02\xc3("), "producer_name '\\xc3(' of a ModelProto is not UTF-8");
    scan(BYTES("\x32\x01\xff"), NULL); /* doc_string: nothing reads it */
    scan(BYTES("\x3a\x03\x12\x01\xff"), "name '\\xff' of a GraphProto");
    /* two nodes; the second's input is wrong, and its name stands behind it */
    scan(BYTES("\x3a\x0e\x0a\x03\x1a\x01"
               "a\x0a\x07\x0a\x02w\xff\x1a\x01"
               "b"),
         "input 'w\\xff' of node 1 'b'");
    scan(BYTES("\x3a\x07\x0a\x05\x12\x01\xff\x1a\x09"), "output '\\xff' of node 0 ''");
    scan(BYTES("\x3a\x07\x2a\x05\x08\x01\x42\x01\xfe"), "name '\\xfe' of a TensorProto");
}

/* Model, graph, node, attribute, graph, ...: `depth` messages in each other. */
static void nested(uint32_t depth, const char *text)
{
    static const uint8_t field[] = {7, 1, 5, 6, 1, 5};
    uint8_t b[256];
    size_t at = sizeof b;
    for (uint32_t d = depth; d > 1; d--) {
        size_t n = sizeof b - at; /* below 128 */
        b[--at] = (uint8_t)n;
        b[--at] = (uint8_t)(field[d == 2 ? 0 : 1 + (d - 3) % 3] << 3 | 2);
    }
    scan(b + at, sizeof b - at, text);
}

TEST(depth)
{
    nested(ONNX_MAX_DEPTH, NULL); /* ends with a graph, which may be empty */
    nested(ONNX_MAX_DEPTH + 1, "nested more than 32 deep");
}

/* n times the same bytes. */
static void repeated(const char *each, size_t bytes, size_t n, const char *text)
{
    uint8_t *b = malloc(bytes * n);
    assert_non_null(b);
    for (size_t i = 0; i < n; i++)
        memcpy(b + i * bytes, each, bytes);
    scan(b, bytes * n, text);
    free(b);
}

TEST(counts)
{
    repeated(BYTES("\x42\x00"), ONNX_MAX_MESSAGES - 1, NULL); /* opset imports in a model */
    repeated(BYTES("\x42\x00"), ONNX_MAX_MESSAGES, "more than 524288 messages");
    repeated(BYTES("\x08\x00"), ONNX_MAX_FIELDS, NULL);
    repeated(BYTES("\x08\x00"), ONNX_MAX_FIELDS + 1, "more than 2097152 fields");
}

/* A graph of nodes, each of one input without a name. */
static void graph_of(uint32_t n, const char *text)
{
    uint8_t *b = malloc(4 * (size_t)n + 4);
    assert_non_null(b);
    uint32_t bytes = 4 * n; /* a varint of three bytes */
    memcpy(b,
           (uint8_t[]){0x3a, (uint8_t)(bytes | 0x80), (uint8_t)(bytes >> 7 | 0x80),
                       (uint8_t)(bytes >> 14)},
           4);
    for (uint32_t i = 0; i < n; i++)
        memcpy(b + 4 + 4 * (size_t)i, "\x0a\x02\x0a\x00", 4);
    scan(b, 4 * (size_t)n + 4, text);
    free(b);
}

TEST(nodes)
{
    graph_of(ONNX_MAX_NODES, NULL);
    graph_of(ONNX_MAX_NODES + 1, "more than 65536 nodes");
}

RUN_TESTS
