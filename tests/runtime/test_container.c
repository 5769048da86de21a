/* SPDX-License-Identifier: MIT */
/* test_container.c - the gate: what it reads from the example of docs/format.md under both headers,
 * and that it refuses everything else, for the right reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "made_file.h"
#include "pith_runtime.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* docs/format.md, section 14. */
static const uint8_t compact_file[] = {
    0xb9, 0x53, 0x01, 0x0c, 0x42, 0x0d, 0x7f, 0x01, 0x02, 0x03, 0x02, 0x32, 0x02,
    0x03, 0x02, 0x05, 0x00, 0x02, 0x10, 0x01, 0x0b, 0x73, 0x63, 0x61, 0x6c, 0x65,
    0x3d, 0x31, 0x2f, 0x32, 0x35, 0x36, 0x2f, 0xc8, 0x9f, 0xdf, 0x00, 0x2a, 0x21,
    0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x80, 0xbf, 0x28, 0xff, 0x10, 0x74,
};
enum { GRAPH_AT = 7, GRAPH_BYTES = 12, META_AT = 19, META_BYTES = 13, DATA_AT = 32 };

/* The example's data with its bias at a multiple of 4. */
static void example_full(struct made *f)
{
    uint8_t data[16] = {0};
    memcpy(data, compact_file + DATA_AT, 7);
    memcpy(data + 8, compact_file + DATA_AT + 7, 8);
    const struct piece piece[] = {{"DATA", data, sizeof data},
                                  {"GRPH", compact_file + GRAPH_AT, GRAPH_BYTES},
                                  {"meta", compact_file + META_AT, META_BYTES}};
    seal_full(f, piece, 3);
}

static void example_is_read(const uint8_t *file, size_t n, bool compact)
{
    uint64_t need;
    struct graph g;
    struct tview *shapes;
    assert_int_equal(pith_graph_need(file, n, 0, &need, NULL), PITH_OK);
    void *mem = aligned_alloc(64, (need + 64) & ~UINT64_C(63));
    const struct pith_opts seven = {.batch = 7};
    assert_int_equal(pith_graph_read((struct graph_bytes){file, n, 0}, &seven,
                                     (struct graph_room){mem, need - 1}, &g, &shapes, NULL),
                     PITH_ERR_SPACE);
    assert_int_equal(pith_graph_read((struct graph_bytes){file, n, 0}, &seven,
                                     (struct graph_room){mem, need}, &g, &shapes, NULL),
                     PITH_OK);
    assert_int_equal(g.compact, compact);
    assert_int_equal(g.n_inputs, 1);
    assert_int_equal(g.n_weights, 2);
    assert_int_equal(g.n_nodes, 2);
    assert_int_equal(g.n_values, 5);
    assert_int_equal(g.n_outputs, 1);
    assert_int_equal(g.outputs[0], 4);
    assert_true(g.inputs[0].batch_open);
    assert_int_equal(shapes[0].shape.dim[0], 7);
    assert_int_equal(shapes[4].shape.dim[0], 7);
    assert_int_equal(shapes[4].shape.dim[1], 2);
    const struct weight *w = &g.weights[0];
    assert_int_equal(w->support, SUPPORT_BITMAP);
    assert_int_equal(w->grid, GRID_CODEBOOK);
    assert_int_equal(w->code, CODE_PLAIN);
    assert_int_equal(w->count, 6);
    assert_int_equal(w->nnz, 3);
    assert_int_equal(w->n_centroids, 3);
    assert_int_equal(w->index_bits, 2);
    assert_int_equal(w->index_stream.bytes[0], 0x21);
    assert_int_equal(g.weights[1].index_stream.n_bytes, 8);
    assert_int_equal(g.nodes[0].info->op, PITH_OP_GEMM);
    assert_int_equal(g.nodes[0].n_in, 3);
    assert_int_equal(g.nodes[0].in[2], 2);
    assert_int_equal(g.nodes[1].attr[ATTR_SOFTMAX_AXIS], 1);
    free(mem);
}

TEST(example_under_both_headers)
{
    static struct made f;
    example_is_read(compact_file, sizeof compact_file, true);
    example_full(&f);
    example_is_read(f.data, f.bytes, false);
    assert_int_equal(pith_blob_check(f.data, f.bytes, 0, NULL), PITH_OK);
}

TEST(no_file_is_a_status)
{
    struct pith_error err = {0};
    assert_int_equal(pith_blob_check(NULL, 0, 0, NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_blob_check(NULL, 4096, 0, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(err.status, PITH_ERR_ARGUMENT);
}

TEST(meta_is_found)
{
    const char *value;
    size_t n;
    assert_int_equal(pith_blob_meta(compact_file, sizeof compact_file, "preprocess", &value, &n),
                     PITH_OK);
    assert_int_equal(n, 11);
    assert_memory_equal(value, "scale=1/256", 11);
    value = NULL;
    assert_int_equal(pith_blob_meta(compact_file, sizeof compact_file, "labels", &value, &n),
                     PITH_ERR_ARGUMENT);
    assert_int_equal(pith_blob_meta(compact_file, sizeof compact_file, "preproces", &value, &n),
                     PITH_ERR_ARGUMENT);
    assert_null(value);
}

/* Texts of an unchecked file: key numbers that are none, keys and texts that end
 * behind the chunk. */
TEST(meta_is_read_within_its_chunk)
{
    static struct made f;
    static const char graph[] = "\x01\x01\x03\x01\x02";
    static const struct {
        const char *meta;
        size_t n;
        bool found;
    } cases[] = {
        {"\x02z\x01v", 4, false}, /* a known number, then a text that is too long */
        {"\x1f\x01v", 3, false},  {"\x7f", 1, false}, {"\x7fz", 2, false},
        {"\x80", 1, false},       {"", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *value;
        size_t n;
        const struct piece piece[] = {{"GRPH", graph, sizeof graph - 1},
                                      {"meta", cases[i].meta, cases[i].n}};
        seal_full(&f, piece, 2);
        assert_int_equal(pith_blob_meta(f.data, f.bytes, "labels", &value, &n),
                         cases[i].found ? PITH_OK : PITH_ERR_ARGUMENT);
    }
    assert_int_equal(pith_blob_meta("", 0, "labels", NULL, NULL), PITH_ERR_ARGUMENT);
}

/* With checksums nothing passes; without them nothing crashes. */
static void damage(const uint8_t *file, size_t n)
{
    uint8_t *copy = malloc(n);
    for (size_t i = 0; i < n * 8; i++) {
        memcpy(copy, file, n);
        copy[i / 8] ^= (uint8_t)(1u << (i % 8));
        assert_int_not_equal(read_file(copy, n, 0, NULL), PITH_OK);
        read_file(copy, n, PITH_FLAG_NO_CHECKSUM, NULL);
    }
    for (size_t k = 0; k < n; k++) {
        assert_int_not_equal(read_file(file, k, 0, NULL), PITH_OK);
        assert_int_not_equal(read_file(file, k, PITH_FLAG_NO_CHECKSUM, NULL), PITH_OK);
    }
    free(copy);
}

TEST(damage_is_refused)
{
    static struct made f;
    damage(compact_file, sizeof compact_file);
    example_full(&f);
    damage(f.data, f.bytes);
}

TEST(other_versions)
{
    static struct made f;
    static const uint8_t version[] = {0, 2, 4};
    struct pith_error err;
    example_full(&f);
    for (size_t i = 0; i < sizeof version; i++) {
        f.data[FULL_VERSION_AT] = version[i];
        assert_int_equal(read_file(f.data, f.bytes, 0, &err), PITH_ERR_VERSION);
    }
    f.bytes = 0;
    put(&f, compact_file, sizeof compact_file);
    for (size_t i = 0; i < sizeof version; i++) {
        f.data[1] = (uint8_t)(0x50 | version[i]);
        assert_int_equal(read_file(f.data, f.bytes, 0, &err), PITH_ERR_VERSION);
    }
    assert_int_equal(read_file("\x89PTH\n\x1a\n ", 8, 0, &err), PITH_ERR_CORRUPT);
}

TEST(unknown_chunks)
{
    static struct made f;
    struct pith_error err;
    const struct piece critical[] = {
        {"DATA", "", 0}, {"GRPH", compact_file + GRAPH_AT, GRAPH_BYTES}, {"ZZZZ", "x", 1}};
    seal_full(&f, critical, 3);
    assert_int_equal(read_file(f.data, f.bytes, 0, &err), PITH_ERR_VERSION);
    assert_int_equal(err.chunk, FORMAT_TAG('Z', 'Z', 'Z', 'Z'));
    example_full(&f);
    uint8_t data[16];
    memcpy(data, f.data + 128, sizeof data);
    const struct piece ancillary[] = {{"DATA", data, sizeof data},
                                      {"GRPH", compact_file + GRAPH_AT, GRAPH_BYTES},
                                      {"zzzz", "x", 1}};
    seal_full(&f, ancillary, 3);
    assert_int_equal(read_file(f.data, f.bytes, 0, &err), PITH_OK);
    const struct piece unsorted[] = {{"GRPH", compact_file + GRAPH_AT, GRAPH_BYTES},
                                     {"DATA", data, sizeof data}};
    seal_full(&f, unsorted, 2);
    assert_int_equal(read_file(f.data, f.bytes, 0, &err), PITH_ERR_CORRUPT);
    const struct piece no_graph[] = {{"DATA", data, sizeof data}};
    seal_full(&f, no_graph, 1);
    assert_int_equal(read_file(f.data, f.bytes, 0, &err), PITH_ERR_CORRUPT);
}

TEST(graphs)
{
    static const struct {
        const char *what;
        const char *bytes;
        size_t n;
        enum pith_status want;
    } cases[] = {
        {"relu", GRAPH("\x00\x01\x03\x00\x08"), PITH_OK},
        {"relu, wiring written although default", GRAPH("\x00\x01\x03\x00\x88\x01\x02"),
         PITH_ERR_CORRUPT},
        {"operator 0 behind", GRAPH("\x00\x01\x03\x00\x08\x00"), PITH_ERR_UNSUPPORTED},
        {"byte behind the outputs", GRAPH("\x02\x01\x03\x00\x01\x08\x02\x02\x03\x00"),
         PITH_ERR_CORRUPT},
        {"pool", GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x01\x05\x04"), PITH_OK},
        {"pool, strides as kernel", GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x03\x05\x04\x00"),
         PITH_OK},
        {"strides like kernel written",
         GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x03\x05\x04\x05\x04"), PITH_ERR_CORRUPT},
        {"kernel like nothing", GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x01\x00"),
         PITH_ERR_CORRUPT},
        {"second pool like the first",
         GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x01\x05\x04\x52\x00"), PITH_OK},
        {"second pool written",
         GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x01\x05\x04\x52\x01\x05\x04"), PITH_ERR_CORRUPT},
        {"first pool like none", GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x00"), PITH_ERR_CORRUPT},
        {"average pool like a maximum",
         GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x01\x05\x04\x53\x00"), PITH_ERR_CORRUPT},
        {"unknown operator", GRAPH("\x00\x01\x03\x00\x3f\xe8\x07"), PITH_ERR_UNSUPPORTED},
        {"operator 0", GRAPH("\x00\x01\x03\x00\x00"), PITH_ERR_UNSUPPORTED},
        {"attributes of none", GRAPH("\x00\x01\x03\x00\x48\x01"), PITH_ERR_CORRUPT},
        {"long varint", GRAPH("\x80\x00\x01\x03\x00\x08"), PITH_ERR_CORRUPT},
        {"dimension 0", GRAPH("\x00\x01\x00\x00\x08"), PITH_ERR_CORRUPT},
        {"rank 9", GRAPH("\x00\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x08"), PITH_ERR_CORRUPT},
        {"square not said", GRAPH("\x00\x02\x03\x03\x00\x08"), PITH_ERR_CORRUPT},
        {"square", GRAPH("\x00\x22\x03\x00\x08"), PITH_OK},
        {"type f32 written", GRAPH("\x00\x11\x01\x03\x00\x08"), PITH_ERR_CORRUPT},
        {"type 12", GRAPH("\x00\x11\x0c\x03\x00\x08"), PITH_ERR_CORRUPT},
        {"batch open without dimension", GRAPH("\x01\x00\x00\x08"), PITH_ERR_CORRUPT},
        {"add of the input to itself", GRAPH("\x00\x01\x03\x00\x84\x02\x02\x02"), PITH_OK},
        {"add reads itself", GRAPH("\x00\x01\x03\x00\x84\x02\x02\x03"), PITH_ERR_CORRUPT},
        {"add without a constant", GRAPH("\x00\x01\x03\x00\x04"), PITH_ERR_CORRUPT},
        {"needed input left out", GRAPH("\x00\x01\x03\x00\x84\x02\x02\x00"), PITH_ERR_CORRUPT},
        {"three inputs to add", GRAPH("\x00\x01\x03\x00\x84\x03\x02\x02\x02"), PITH_ERR_CORRUPT},
        {"no nodes, no outputs", GRAPH("\x00\x01\x03\x00"), PITH_ERR_CORRUPT},
        {"input is output", GRAPH("\x02\x01\x03\x00\x00\x01\x02"), PITH_OK},
        {"default output written", GRAPH("\x02\x01\x03\x00\x01\x08\x01\x02"), PITH_ERR_CORRUPT},
        {"both are outputs", GRAPH("\x02\x01\x03\x00\x01\x08\x02\x02\x03"), PITH_OK},
        {"tensor without data", GRAPH("\x00\x01\x03\x01\x01\x03\x04"), PITH_ERR_CORRUPT},
        {"unused tensor of no elements kept", GRAPH("\x00\x01\x03\x01\x51\x03\x00\x08"),
         PITH_ERR_CORRUPT},
        {"short head, rows two before", GRAPH("\x00\x01\x03\x01\x82\x02\x02\x04"),
         PITH_ERR_CORRUPT},
        {"short head, maps of none", GRAPH("\x00\x01\x03\x01\x84\x02\x02\x02\x04"),
         PITH_ERR_CORRUPT},
        {"all pruned", GRAPH("\x00\x01\x03\x01\x51\x03\x00\x04"), PITH_OK},
        {"shapes that do not broadcast", GRAPH("\x00\x01\x03\x01\x51\x02\x00\x04"),
         PITH_ERR_CORRUPT},
        {"2^62 elements", GRAPH("\x00\x02\xff\xff\xff\xff\x07\xfe\xff\xff\xff\x07\x00\x08"),
         PITH_ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_error err = {0};
        enum pith_status st = read_graph(cases[i].bytes, cases[i].n, &err);
        if (st != cases[i].want)
            print_error("%s: status %d, want %d (byte %llu)\n", cases[i].what, (int)st,
                        (int)cases[i].want, (unsigned long long)err.offset);
        assert_int_equal(st, cases[i].want);
    }
}

/* The example with another meta chunk. */
static enum pith_status read_meta(const char *meta, size_t n)
{
    static struct made f;
    f.bytes = 0;
    const uint8_t head[] = {0xb9, 0x53, 0x01, GRAPH_BYTES, 0x42, (uint8_t)n, 0x7f};
    put(&f, head, sizeof head);
    put(&f, compact_file + GRAPH_AT, GRAPH_BYTES);
    put(&f, meta, n);
    put(&f, compact_file + DATA_AT, 15);
    seal_compact(&f);
    return read_file(f.data, f.bytes, 0, NULL);
}

TEST(texts)
{
    assert_int_equal(read_meta(GRAPH("\x10z\x01x")), PITH_OK);
    assert_int_equal(read_meta(GRAPH("\x02\x00\x01\x00")), PITH_OK); /* "labels" < "preprocess" */
    assert_int_equal(read_meta(GRAPH("\x01\x00\x02\x00")), PITH_ERR_CORRUPT);
    assert_int_equal(read_meta(GRAPH("\x01\x00\x01\x00")), PITH_ERR_CORRUPT);
    assert_int_equal(read_meta(GRAPH("\x15labels\x00")), PITH_ERR_CORRUPT); /* has a number */
    assert_int_equal(read_meta(GRAPH("\x04\x00")), PITH_ERR_CORRUPT);
    assert_int_equal(read_meta(GRAPH("\x01\x02x")), PITH_ERR_CORRUPT);
    assert_int_equal(read_meta(GRAPH("\x01\x02\xc0\x80")), PITH_ERR_CORRUPT);     /* overlong NUL */
    assert_int_equal(read_meta(GRAPH("\x01\x03\xed\xa0\x80")), PITH_ERR_CORRUPT); /* surrogate */
    assert_int_equal(read_meta(GRAPH("\x01\x04\xf4\x90\x80\x80")), PITH_ERR_CORRUPT);
    assert_int_equal(read_meta(GRAPH("\x01\x04\xf0\x9f\x98\x80")), PITH_OK);
    assert_int_equal(read_meta(GRAPH("\x01\x01\x00")), PITH_ERR_CORRUPT); /* NUL */
}

/* Names of the example's five values and two nodes. */
static enum pith_status read_names(const char *names, size_t n)
{
    static struct made example, f;
    example_full(&example);
    const struct piece piece[] = {{"DATA", example.data + 128, 16},
                                  {"GRPH", compact_file + GRAPH_AT, GRAPH_BYTES},
                                  {"name", names, n}};
    seal_full(&f, piece, 3);
    return read_file(f.data, f.bytes, 0, NULL);
}

TEST(names)
{
    assert_int_equal(read_names(GRAPH("\x01x\x01w\x01v\x01y\x01z\x01n\x01n")), PITH_OK);
    assert_int_equal(read_names(GRAPH("\x01x\x00\x00\x00\x00\x00\x00")), PITH_OK);
    assert_int_equal(read_names(GRAPH("\x01x\x01w\x01x\x01y\x01z\x00\x00")), PITH_ERR_CORRUPT);
    assert_int_equal(read_names(GRAPH("\x00\x00\x00\x00\x00\x00\x00")), PITH_ERR_CORRUPT);
    assert_int_equal(read_names(GRAPH("\x01x\x01w\x01v\x01y\x01z\x01n")), PITH_ERR_CORRUPT);
    assert_int_equal(read_names(GRAPH("\x01x\x01w\x01v\x01y\x01z\x01n\x01n\x00")),
                     PITH_ERR_CORRUPT);
}

RUN_TESTS
