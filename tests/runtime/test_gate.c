/* SPDX-License-Identifier: MIT */
/* test_gate.c - each refusal of the gate meets a file that it alone refuses: a good one with one
 * change, all checksums mended, so that without that one test the file would pass. Where a later
 * test would refuse it too, the reported place shows which one it was. Beside what is refused
 * stands what is just allowed. */
#include <stdint.h>
#include "test_run.h"
#include "made_file.h"
#include "validate/stats_read.h"
#include "pith_runtime.h"

#define ANYWHERE UINT64_MAX

/* ---- the full header ------------------------------------------------------------------------- */

static const char relu[] = "\x00\x01\x03\x00\x08";
enum { RELU_BYTES = sizeof relu - 1 };

static enum pith_status open_at_page(const struct made *f, uint32_t flags, struct image *im,
                                     struct pith_error *err)
{
    struct guarded blob = guard_new(f->bytes, 1);
    memcpy(blob.data, f->data, f->bytes);
    enum pith_status st = pith_image_open(blob.data, f->bytes, flags, im, err);
    guard_free(&blob);
    return st;
}

static void opens(const struct made *f, uint32_t flags)
{
    struct image im;
    struct pith_error err = {0};
    enum pith_status st = open_at_page(f, flags, &im, &err);
    if (st)
        print_error("refused: chunk %08x, byte %llu\n", err.chunk, (unsigned long long)err.offset);
    assert_int_equal(st, PITH_OK);
}

static void is_refused(const struct made *f, uint32_t flags, uint32_t chunk, uint64_t offset)
{
    struct image im;
    struct pith_error err = {0};
    assert_int_equal(open_at_page(f, flags, &im, &err), PITH_ERR_CORRUPT);
    assert_int_equal(err.chunk, chunk);
    if (offset != ANYWHERE)
        assert_int_equal(err.offset, offset);
}

/* DATA (3 bytes), GRPH, then pieces `a` and `b` of two bytes each; NULL: left out. */
static uint32_t make_full(struct made *f, const char *a, const char *b)
{
    const struct piece piece[] = {
        {"DATA", "abc", 3}, {"GRPH", relu, RELU_BYTES}, {a, "xy", 2}, {b, "zz", 2}};
    uint32_t n = b ? 4 : a ? 3 : 2;
    seal_full(f, piece, n);
    return n;
}

/* Tags count as strings: earlier letters weigh more than later ones. */
TEST(chunks_in_order)
{
    static const char *const pair[][2] = {
        {"yzzz", "zaaa"}, {"zazz", "zbaa"}, {"zzaz", "zzba"}, {"zzza", "zzzb"}};
    static struct made f;
    for (size_t i = 0; i < 4; i++) {
        make_full(&f, pair[i][0], pair[i][1]);
        opens(&f, 0);
        make_full(&f, pair[i][1], pair[i][0]);
        is_refused(&f, 0, 0, FULL_TABLE_AT + 3 * FULL_ENTRY_BYTES);
    }
    make_full(&f, "zzzz", "zzzz");
    is_refused(&f, 0, 0, FULL_TABLE_AT + 3 * FULL_ENTRY_BYTES);
}

TEST(tags_of_letters)
{
    static struct made f;
    make_full(&f, "aAzZ", NULL);
    opens(&f, 0);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            char tag[] = "zzzz";
            tag[i] = "@[`{"[k];
            make_full(&f, tag, NULL);
            is_refused(&f, 0, 0, FULL_TABLE_AT + 2 * FULL_ENTRY_BYTES);
        }
}

TEST(first_unknown_chunk_is_reported)
{
    static struct made f;
    struct image im;
    make_full(&f, "yyyy", "zzzz");
    assert_int_equal(open_at_page(&f, 0, &im, NULL), PITH_OK);
    assert_int_equal(im.unknown, FORMAT_TAG('y', 'y', 'y', 'y'));
    make_full(&f, NULL, NULL);
    assert_int_equal(open_at_page(&f, 0, &im, NULL), PITH_OK);
    assert_int_equal(im.unknown, 0);
    const struct piece empty[] = {{"DATA", "", 0}, {"GRPH", relu, RELU_BYTES}, {"meta", "", 0}};
    seal_full(&f, empty, 2);
    opens(&f, 0);
    seal_full(&f, empty, 3);
    is_refused(&f, 0, TAG_META, FULL_TABLE_AT + 2 * FULL_ENTRY_BYTES);
}

/* A chunk that begins before the last one ends, behind a gap, or goes on behind the file. */
TEST(chunks_side_by_side)
{
    static struct made f;
    uint32_t n = make_full(&f, "zzzz", NULL);
    size_t at = f.bytes - 2;
    store_le64(entry_of(&f, 2) + 8, at - 1);
    store_le64(entry_of(&f, 2) + 16, 3);
    store_le32(entry_of(&f, 2) + 4, pith_crc32c(0, f.data + at - 1, 3));
    seal_table(&f, n);
    is_refused(&f, 0, FORMAT_TAG('z', 'z', 'z', 'z'), FULL_TABLE_AT + 2 * FULL_ENTRY_BYTES);

    make_full(&f, "zzzz", NULL);
    f.data[at] = 0; /* the gap */
    store_le64(entry_of(&f, 2) + 8, at + 1);
    store_le64(entry_of(&f, 2) + 16, 1);
    store_le32(entry_of(&f, 2) + 4, pith_crc32c(0, f.data + at + 1, 1));
    seal_table(&f, n);
    is_refused(&f, 0, FORMAT_TAG('z', 'z', 'z', 'z'), FULL_TABLE_AT + 2 * FULL_ENTRY_BYTES);

    make_full(&f, "zzzz", NULL);
    store_le64(entry_of(&f, 2) + 16, 3);
    seal_table(&f, n);
    is_refused(&f, 0, FORMAT_TAG('z', 'z', 'z', 'z'), FULL_TABLE_AT + 2 * FULL_ENTRY_BYTES);
}

TEST(sums_and_padding)
{
    static struct made f;
    uint32_t n = make_full(&f, "zzzz", NULL);
    size_t table_end = FULL_TABLE_AT + (size_t)n * FULL_ENTRY_BYTES,
           end = table_end + FULL_CRC_BYTES;
    assert_true(end % 64 != 0); /* so there is padding before the data */
    for (size_t i = end; i < (end + 63) / 64 * 64; i++) {
        f.data[i] = 0x80;
        is_refused(&f, 0, 0, end);
        f.data[i] = 0;
    }
    opens(&f, 0);
    for (uint32_t i = 0; i < n; i++) {
        entry_of(&f, i)[4] ^= 1;
        seal_table(&f, n);
        is_refused(&f, 0, load_le32(entry_of(&f, i)), load_le64(entry_of(&f, i) + 8));
        opens(&f, PITH_FLAG_NO_CHECKSUM);
        entry_of(&f, i)[4] ^= 1;
    }
    seal_table(&f, n);
    f.data[table_end] ^= 1;
    is_refused(&f, 0, 0, table_end);
    opens(&f, PITH_FLAG_NO_CHECKSUM);
}

TEST(whole_length)
{
    static struct made f;
    uint32_t n = make_full(&f, "zzzz", NULL);
    for (int step = -1; step <= 1; step += 2) {
        store_le64(f.data + FULL_LENGTH_AT, f.bytes + (uint64_t)(int64_t)step);
        seal_table(&f, n);
        is_refused(&f, 0, 0, FULL_LENGTH_AT);
    }
    f.bytes++; /* a byte that belongs to nothing */
    store_le64(f.data + FULL_LENGTH_AT, f.bytes);
    seal_table(&f, n);
    is_refused(&f, 0, 0, f.bytes - 1);
    make_full(&f, NULL, NULL);
    f.bytes = FULL_TABLE_AT + 2 * FULL_ENTRY_BYTES + FULL_CRC_BYTES;
    store_le64(f.data + FULL_LENGTH_AT, f.bytes);
    seal_table(&f, 2);
    is_refused(&f, 0, TAG_DATA, FULL_TABLE_AT); /* ends before the padding in front of the data */
    store_le64(f.data + FULL_LENGTH_AT, --f.bytes); /* ends in the table's sum */
    is_refused(&f, 0, 0, f.bytes);
    is_refused(&f, PITH_FLAG_NO_CHECKSUM, 0, f.bytes);
    f.bytes = FULL_TABLE_AT - 1;
    is_refused(&f, 0, 0, f.bytes);
}

TEST(number_of_chunks)
{
    static struct made f;
    static char tag[FULL_MAX_CHUNKS + 1][5];
    struct piece piece[FULL_MAX_CHUNKS + 1] = {{"DATA", "", 0}, {"GRPH", relu, RELU_BYTES}};
    for (uint32_t i = 2; i <= FULL_MAX_CHUNKS; i++) {
        memcpy(tag[i], (char[]){'z', 'z', (char)('a' + i / 26), (char)('a' + i % 26), 0}, 5);
        piece[i] = (struct piece){tag[i], "x", 1};
    }
    seal_full(&f, piece, FULL_MAX_CHUNKS);
    opens(&f, 0);
    seal_full(&f, piece, FULL_MAX_CHUNKS + 1);
    is_refused(&f, 0, 0, FULL_COUNT_AT);
    seal_full(&f, piece, 0);
    is_refused(&f, 0, 0, FULL_COUNT_AT);
}

TEST(needed_chunks)
{
    static struct made f;
    const struct piece graph = {"GRPH", relu, RELU_BYTES}, data = {"DATA", "", 0};
    struct stream chunk;
    seal_full(&f, &graph, 1);
    is_refused(&f, 0, TAG_DATA, 0);
    seal_full(&f, &data, 1);
    is_refused(&f, 0, TAG_GRAPH, 0);
    make_full(&f, "zzzz", NULL);
    assert_int_equal(pith_chunk_find(f.data, f.bytes, TAG_GRAPH, &chunk), PITH_OK);
    assert_int_equal(chunk.n_bytes, RELU_BYTES);
    assert_int_equal(pith_chunk_find(f.data, f.bytes, TAG_META, &chunk), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_chunk_find(f.data, f.bytes, FORMAT_TAG('z', 'z', 'z', 'z'), &chunk),
                     PITH_ERR_ARGUMENT);
}

/* ---- the compact header ---------------------------------------------------------------------- */

/* Table and chunks as given, sealed. */
static void make_compact(struct made *f, const void *rest, size_t n)
{
    f->bytes = 0;
    put(f, "\xb9\x53", 2);
    put(f, rest, n);
    seal_compact(f);
}

TEST(compact_tables)
{
    static struct made f;
    struct image im;
    struct pith_error err;
    make_compact(&f, GRAPH("\x01\x05\x7f\x00\x01\x03\x00\x08"));
    opens(&f, 0);
    make_compact(&f, GRAPH("\x01\x05\x53\x01\x7f\x00\x01\x03\x00\x08x")); /* ancillary */
    assert_int_equal(open_at_page(&f, 0, &im, NULL), PITH_OK);
    assert_int_equal(im.unknown, 0x53);
    make_compact(&f, GRAPH("\x01\x05\x04\x01\x7f\x00\x01\x03\x00\x08x")); /* critical */
    assert_int_equal(open_at_page(&f, 0, &im, &err), PITH_ERR_VERSION);
    make_compact(&f, GRAPH("\x01\x05\x01\x05\x7f\x00\x01\x03\x00\x08\x00\x01\x03\x00\x08"));
    is_refused(&f, 0, 0, 6); /* twice */
    make_compact(&f, GRAPH("\x02\x01\x01\x05\x7fx\x00\x01\x03\x00\x08"));
    is_refused(&f, 0, 0, 6); /* not in order */
    make_compact(&f, GRAPH("\x01\x05\x80\x05\x81\x05\x00\x01\x03\x00\x08"));
    is_refused(&f, 0, 0, 6); /* no such tag */
    make_compact(&f, GRAPH("\x01\x06\x7f\x00\x01\x03\x00\x08"));
    is_refused(&f, 0, 0, 2); /* goes on into the checksum */
    make_compact(&f, GRAPH("\x01\x00\x7f\x00\x01\x03\x00\x08"));
    is_refused(&f, 0, TAG_GRAPH, 2); /* empty */
    make_compact(&f, GRAPH("\x7f\x00\x01\x03\x00\x08"));
    is_refused(&f, 0, TAG_GRAPH, 0);
}

TEST(compact_lengths)
{
    static struct made f;
    make_compact(&f, "\x7f", 0);
    is_refused(&f, 0, 0, 2); /* a header and nothing else */
    f.bytes = 0;
    put(&f, "\xb9\x53\x7f\x00\x00", 5);
    is_refused(&f, PITH_FLAG_NO_CHECKSUM, 0, 5);
    f.bytes = 2;
    is_refused(&f, PITH_FLAG_NO_CHECKSUM, 0, 2);
}

/* ---- the graph ------------------------------------------------------------------------------- */

struct graph_case {
    const char *what;
    const char *graph;
    size_t n_graph;
    const char *tables;
    size_t n_tables;
    const char *data;
    size_t n_data;
    enum pith_status want;
    uint32_t chunk; /* 0: not checked; that and the byte in it where validation stopped */
    uint32_t at;
};

static void check_cases(const struct graph_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++, c++) {
        struct pith_error err = {0};
        enum pith_status st =
            read_parts(c->graph, c->n_graph, c->tables, c->n_tables, c->data, c->n_data, &err);
        size_t head = c->n_tables ? 7 : 5;
        uint64_t at = head + c->at + (c->chunk == TAG_GRAPH ? 0 : c->n_graph) +
                      (c->chunk == TAG_DATA ? c->n_tables : 0);
        bool placed = c->chunk == 0 || (err.chunk == c->chunk && err.offset == at);
        if (st != c->want || !placed)
            print_error("%s: status %d, want %d (chunk %08x, byte %llu, want %llu)\n", c->what,
                        (int)st, (int)c->want, err.chunk, (unsigned long long)err.offset,
                        (unsigned long long)at);
        assert_int_equal(st, c->want);
        assert_true(placed);
    }
}

#define NONE "", 0
#define GOOD PITH_OK, 0, 0
#define BAD PITH_ERR_CORRUPT, 0, 0
#define BAD_AT(tag, at) PITH_ERR_CORRUPT, tag, at
#define NEWER_AT(at) PITH_ERR_UNSUPPORTED, TAG_GRAPH, at
#define ZEROS_10 "\0\0\0\0\0\0\0\0\0\0"
#define SCALED "\x00\x01\x03\x01\x78\x07\x7f" /* [3] + a tensor of i16 with scales */
#define ZEROS_12 "\0\0\0\0\0\0\0\0\0\0\0\0"

TEST(inputs_and_nodes)
{
    static const struct graph_case cases[] = {
        {"a scalar", GRAPH("\x00\x00\x00\x08"), NONE, NONE, GOOD},
        {"head byte past its flags", GRAPH("\x00\x40\x00\x08"), NONE, NONE, BAD},
        {"open batch and a square", GRAPH("\x01\x23\x03\x00\x08"), NONE, NONE, GOOD},
        {"the batch as side of a square", GRAPH("\x01\x22\x00\x08"), NONE, NONE, BAD},
        {"square of rank 1", GRAPH("\x00\x21\x00\x08"), NONE, NONE, BAD_AT(TAG_GRAPH, 2)},
        {"too many elements", GRAPH("\x00\x02\xff\xff\xff\xff\x07\xfe\xff\xff\xff\x07\x00\x08"),
         NONE, NONE, BAD_AT(TAG_GRAPH, 12)},
        {"list of one", GRAPH("\x00\x03\x01\x02\x04\x00\x52\x01\x02\x04"), NONE, NONE, GOOD},
        {"equal entries written one by one",
         GRAPH("\x00\x04\x01\x01\x04\x05\x00\x52\x01\x04\x04\x04"), NONE, NONE, BAD},
        {"mean over an axis", GRAPH("\x00\x02\x03\x04\x00\x62\x01\x02\x02"), NONE, NONE, GOOD},
        {"list of none", GRAPH("\x00\x02\x03\x04\x00\x62\x01\x00"), NONE, NONE, BAD},
        {"list of none, equal", GRAPH("\x00\x02\x03\x04\x00\x62\x01\x01"), NONE, NONE, BAD},
        {"list of one, equal", GRAPH("\x00\x02\x03\x04\x00\x62\x01\x03\x02"), NONE, NONE, BAD},
        {"list of nine", GRAPH("\x00\x01\x03\x00\x62\x01\x13\x00"), NONE, NONE, BAD},
        {"the list before", GRAPH("\x00\x01\x03\x00\x5a\x07\x02\x00\x00\x02\x02"), NONE, NONE,
         GOOD},
        {"the list before in words", GRAPH("\x00\x01\x03\x00\x5a\x07\x02\x00\x02\x00\x02\x02"),
         NONE, NONE, BAD},
        {"softmax of axis 0", GRAPH("\x00\x01\x03\x00\x50\x01\x00"), NONE, NONE, GOOD},
        {"attributes as of the one before", GRAPH("\x00\x01\x03\x00\x50\x01\x00\x50\x00"), NONE,
         NONE, GOOD},
        {"attributes as of none before", GRAPH("\x00\x02\x03\x04\x00\x50\x00"), NONE, NONE, BAD},
        {"default axis written", GRAPH("\x00\x02\x03\x04\x00\x50\x01\x02"), NONE, NONE, BAD},
        {"rank 9", GRAPH("\x00\x09\x02\x01\x02\x01\x02\x01\x02\x01\x02\x00\x08"), NONE, NONE,
         BAD_AT(TAG_GRAPH, 2)},
        {"constant behind those there are", GRAPH("\x00\x01\x03\x00\x84\x02\x01\x02"), NONE, NONE,
         BAD_AT(TAG_GRAPH, 7)},
        {"constant and input", GRAPH("\x00\x01\x03\x01\x01\x03\x84\x02\x01\x03"), NONE, ZEROS_12,
         12, GOOD},
        {"constant named before its turn", GRAPH("\x00\x01\x03\x01\x01\x03\x84\x02\x02\x01"), NONE,
         ZEROS_12, 12, BAD},
        {"constants run out", GRAPH("\x00\x01\x03\x01\x01\x03\x04\x04\x08"), NONE, ZEROS_12, 12,
         BAD_AT(TAG_GRAPH, 8)},
        {"constant that no node reads", GRAPH("\x00\x01\x03\x01\x01\x03\x08"), NONE, ZEROS_12, 12,
         BAD_AT(TAG_GRAPH, 7)},
        {"too few inputs", GRAPH("\x00\x01\x03\x00\x84\x01\x02"), NONE, NONE, BAD_AT(TAG_GRAPH, 6)},
        {"too few outputs", GRAPH("\x00\x01\x03\x00\x99\x01\x00\x02"), NONE, NONE,
         BAD_AT(TAG_GRAPH, 7)},
        {"concat by default wiring", GRAPH("\x00\x02\x03\x04\x00\x18"), NONE, NONE, BAD},
        {"input left out among any number", GRAPH("\x00\x02\x03\x04\x00\x98\x02\x02\x00"), NONE,
         NONE, BAD_AT(TAG_GRAPH, 9)},
        {"no outputs", GRAPH("\x02\x01\x03\x00\x01\x08\x00"), NONE, NONE, BAD},
        {"output that is no value", GRAPH("\x02\x01\x03\x00\x01\x08\x01\x00"), NONE, NONE,
         BAD_AT(TAG_GRAPH, 8)},
        {"byte behind the outputs", GRAPH("\x02\x01\x03\x00\x01\x08\x02\x02\x03\x00"), NONE, NONE,
         BAD},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

TEST(tensors)
{
    static const struct graph_case cases[] = {
        {"plain", GRAPH("\x00\x01\x03\x01\x01\x03\x04"), NONE, ZEROS_12, 12, GOOD},
        {"data short", GRAPH("\x00\x01\x03\x01\x01\x03\x04"), NONE, ZEROS_12, 11,
         BAD_AT(TAG_DATA, 0)},
        {"data long", GRAPH("\x00\x01\x03\x01\x01\x03\x04"), NONE, ZEROS_12 "\0", 13,
         BAD_AT(TAG_DATA, 12)},
        {"second tensor behind the data", GRAPH("\x00\x01\x03\x02\x01\x03\x00\x04\x04"), NONE,
         ZEROS_12 "\0\0\0\0", 16, BAD_AT(TAG_DATA, 12)},
        {"shape of the one before written again", GRAPH("\x00\x01\x03\x02\x01\x03\x01\x03\x04\x04"),
         NONE, ZEROS_12 ZEROS_12, 24, BAD},
        {"rank written where its code would do", GRAPH("\x00\x01\x03\x01\x07\x01\x03\x04"), NONE,
         ZEROS_12, 12, BAD},
        {"shape of none before", GRAPH("\x00\x01\x03\x01\x00\x04"), NONE, NONE,
         BAD_AT(TAG_GRAPH, 5)},
        {"f16", GRAPH("\x00\x01\x03\x01\x78\x02\x01\x03\x04"), NONE, ZEROS_12, 6, GOOD},
        {"f32 written", GRAPH("\x00\x01\x03\x01\x78\x01\x01\x03\x04"), NONE, ZEROS_12, 12, BAD},
        {"type of none", GRAPH("\x00\x01\x03\x01\x78\x00\x01\x03\x04"), NONE, ZEROS_12, 12, BAD},
        {"a type to come", GRAPH("\x00\x01\x03\x01\x78\x0c\x01\x03\x04"), NONE, ZEROS_12, 12,
         NEWER_AT(6)},
        {"type written twice", GRAPH("\x00\x01\x03\x02\x01\x03\x78\x05\x78\x05\x04\x04"), NONE,
         ZEROS_12 "\0\0\0", 15, BAD_AT(TAG_GRAPH, 9)},
        {"adaptive vector of f16", GRAPH("\x00\x01\x03\x01\x78\x02\x79\x03\x04"), NONE, ZEROS_12, 6,
         BAD},
        {"plain with the centroids before", GRAPH("\x00\x01\x03\x01\x78\x02\x81\x03\x04"), NONE,
         ZEROS_12, 6, BAD},
        {"codebook of f16", GRAPH("\x00\x01\x03\x01\x78\x02\x09\x03\x01\x01\x04"), NONE, "\0\0", 2,
         BAD},
        {"bitmap", GRAPH("\x00\x01\x03\x01\x29\x03\x04"), NONE, "\x05" ZEROS_12, 9, GOOD},
        {"bit behind the tensor", GRAPH("\x00\x01\x03\x01\x29\x03\x04"), NONE, "\x0d" ZEROS_12, 13,
         BAD},
        {"last bit behind the tensor", GRAPH("\x00\x01\x07\x01\x29\x07\x04"), NONE, "\x80" ZEROS_12,
         5, BAD},
        {"bitmap without a tail", GRAPH("\x00\x01\x08\x01\x29\x08\x04"), NONE, "\x81" ZEROS_12, 9,
         GOOD},
        {"codebook", GRAPH("\x00\x01\x03\x01\x09\x03\x02\x01\x04"), NONE, "c\x3f", 2, GOOD},
        {"bit behind the indices", GRAPH("\x00\x01\x03\x01\x09\x03\x02\x01\x04"), NONE, "c\x40", 2,
         BAD},
        {"codebook of no bytes", GRAPH("\x00\x01\x03\x01\x09\x03\x02\x00\x04"), NONE, "\x3f", 1,
         BAD},
        {"centroids of none before", GRAPH("\x00\x01\x03\x01\x89\x03\x01\x04"), NONE, "c\0", 2,
         BAD},
        {"another number of centroids",
         GRAPH("\x00\x01\x03\x02\x09\x03\x02\x01\x08\x01\x01\x04\x04"), NONE,
         "c\x3f"
         "c\x07",
         4, GOOD},
        {"the same number written again",
         GRAPH("\x00\x01\x03\x02\x09\x03\x02\x01\x08\x02\x01\x04\x04"), NONE,
         "c\x3f"
         "c\x3f",
         4, BAD},
        {"two groups", GRAPH("\x00\x01\x04\x01\x19\x04\x01\x02\x01\x04"), NONE, "c\x0f", 2, GOOD},
        {"one group written", GRAPH("\x00\x01\x04\x01\x19\x04\x01\x01\x01\x04"), NONE, "c\x0f", 2,
         BAD},
        {"groups that do not divide", GRAPH("\x00\x01\x04\x01\x19\x04\x01\x03\x01\x04"), NONE,
         "c\x0f", 2, BAD},
        {"2^32 - 2^16 gaps", GRAPH("\x00\x01\x01\x01\x52\x80\x80\x04\xff\xff\x03\x00\x04"), NONE,
         NONE, GOOD},
        {"2^32 + 2^16 gaps", GRAPH("\x00\x01\x01\x01\x52\x80\x80\x04\x81\x80\x04\x00\x04"), NONE,
         NONE, BAD},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* A tensor of gaps takes a table for them, one of coded indices another. */
TEST(tables)
{
    static const struct graph_case cases[] = {
        {"gaps", GRAPH("\x00\x01\x03\x01\x51\x03\x01\x00\x01\x04"), GRAPH("\x01t"), "g" ZEROS_12, 5,
         GOOD},
        {"indices of a plain tensor", GRAPH("\x00\x01\x03\x01\x51\x03\x01\x10\x01\x04"),
         GRAPH("\x01t"), "g" ZEROS_12, 5, BAD},
        {"coded indices", GRAPH("\x00\x01\x03\x01\x11\x03\x02\x01\x00\x01\x04"), GRAPH("\x01t"),
         "ci", 2, GOOD},
        {"gaps of a dense tensor", GRAPH("\x00\x01\x03\x01\x11\x03\x02\x01\x01\x01\x04"),
         GRAPH("\x01t"), "ci", 2, BAD},
        {"table before the first", GRAPH("\x00\x01\x03\x01\x51\x03\x01\x01\x01\x04"), NONE,
         "g" ZEROS_12, 5, BAD_AT(TAG_GRAPH, 8)},
        {"the table before", GRAPH("\x00\x01\x03\x02\x51\x03\x01\x00\x01\x50\x01\x01\x01\x04\x04"),
         GRAPH("\x01t"), "g\0\0\0\0g\0\0\0\0", 10, GOOD},
        {"table two before of one",
         GRAPH("\x00\x01\x03\x02\x51\x03\x01\x00\x01\x50\x01\x02\x01\x04\x04"), GRAPH("\x01t"),
         "g\0\0\0\0g\0\0\0\0", 10, BAD_AT(TAG_GRAPH, 12)},
        {"no chunk of tables", GRAPH("\x00\x01\x03\x01\x51\x03\x01\x00\x01\x04"), NONE,
         "g" ZEROS_12, 5, BAD},
        {"table of no bytes", GRAPH("\x00\x01\x03\x01\x51\x03\x01\x00\x01\x04"), GRAPH("\x00"),
         "g" ZEROS_12, 5, BAD},
        {"table cut", GRAPH("\x00\x01\x03\x01\x51\x03\x01\x00\x01\x04"), GRAPH("\x02t"),
         "g" ZEROS_12, 5, BAD},
        {"byte behind the tables", GRAPH("\x00\x01\x03\x01\x51\x03\x01\x00\x01\x04"),
         GRAPH("\x01tt"), "g" ZEROS_12, 5, BAD},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* A distance past a nibble, from the last of 16 tensors to the first table of 15. */
static enum pith_status far_table(uint8_t far)
{
    char graph[128] = "\x00\x01\x03\x10\x51\x03\x01\x00\x01", tables[30], data[80] = {0};
    size_t n = 9;
    for (uint32_t i = 0; i < 14; i++, n += 4)
        memcpy(graph + n, "\x50\x01\x00\x01", 4);
    memcpy(graph + n, (char[]){0x50, 1, 15, (char)far, 1}, 5);
    n += 5;
    memset(graph + n, 4, 16);
    for (uint32_t i = 0; i < 15; i++)
        memcpy(tables + 2 * i, (char[]){1, (char)i}, 2);
    return read_parts(graph, n + 16, tables, sizeof tables, data, sizeof data, NULL);
}

TEST(far_tables)
{
    assert_int_equal(far_table(15), PITH_OK);
    assert_int_equal(far_table(14), PITH_ERR_CORRUPT);
    assert_int_equal(far_table(16), PITH_ERR_CORRUPT);
}

/* Elements under the full header start at a multiple of 64, behind zeros; fewer than 64 bytes at a
 * multiple of their type. */
static enum pith_status read_full(const char *graph, size_t n, const void *data, size_t n_data)
{
    static struct made f;
    const struct piece piece[] = {{"DATA", data, n_data}, {"GRPH", graph, n}};
    seal_full(&f, piece, 2);
    return read_file(f.data, f.bytes, 0, NULL);
}

TEST(padding_of_elements)
{
    uint8_t data[196] = {0};
#define VECTORS GRAPH("\x00\x01\x11\x02\x01\x11\x00\x04\x04") /* 17 f32 each */
    assert_int_equal(read_full(VECTORS, data, sizeof data), PITH_OK);
    for (uint32_t at = 68; at < 128; at += 59)
        for (uint32_t bit = 0; bit < 8; bit += 7) {
            data[at] = (uint8_t)(1u << bit);
            assert_int_equal(read_full(VECTORS, data, sizeof data), PITH_ERR_CORRUPT);
            data[at] = 0;
        }
}

TEST(few_elements)
{
    static const uint8_t zero[128];
    uint8_t gap[8] = {0, 0x3c};
#define PAIR GRAPH("\x00\x01\x01\x02\x78\x02\x01\x01\x00\x04\x04")
    assert_int_equal(read_full(PAIR, gap, 8), PITH_OK); /* one f16, then one f32 */
    gap[3] = 1;
    assert_int_equal(read_full(PAIR, gap, 8), PITH_ERR_CORRUPT);
#define TWO(n) GRAPH("\x00\x01" n "\x02\x01" n "\x00\x04\x04")
    assert_int_equal(read_full(TWO("\x0f"), zero, 120), PITH_OK); /* 60 bytes, then 60 */
    assert_int_equal(read_full(TWO("\x10"), zero, 128), PITH_OK);
    assert_int_equal(read_full(TWO("\x0f"), zero, 124), PITH_ERR_CORRUPT);
}

/* Two centroids, -1 and 1, and one byte of a stream. */
#define CENTROIDS_AND_S "\0\0\0\x80\xbf\0\0\x80\x3fs"

/* Adaptive tensors: floats, one codebook, what has a shorter head. */
TEST(adaptive_tensors)
{
    static const struct graph_case cases[] = {
        {"adaptive", GRAPH("\x00\x01\x03\x01\x7a\x01\x03\x04"), NONE, "abc", 3, GOOD},
        {"adaptive floats of a bitmap", GRAPH("\x00\x01\x03\x01\x7a\x29\x03\x01\x04"), NONE,
         "\x05s", 2, GOOD},
        {"groups of a bitmap", GRAPH("\x00\x01\x03\x01\x7a\x41\x03\x04"), NONE, "abc", 3,
         NEWER_AT(6)},
        {"one codebook behind the prefix", GRAPH("\x00\x01\x03\x01\x7a\x09\x03\x01\x04"), NONE,
         "abc", 3, NEWER_AT(6)},
        {"same centroids without a codebook", GRAPH("\x00\x01\x03\x01\x7a\x81\x03\x04"), NONE,
         "abc", 3, NEWER_AT(6)},
        {"a prefix that is cut", GRAPH("\x00\x01\x03\x01\x7a"), NONE, "abc", 3,
         BAD_AT(TAG_GRAPH, 5)},
        {"a head without a meaning", GRAPH("\x00\x01\x03\x01\x7b\x03\x04"), NONE, "abc", 3,
         NEWER_AT(5)},
        {"matrix and its bias", GRAPH("\x01\x02\x03\x02\x7a\x02\x02\x03\x01\x79\x02"), NONE, "ab",
         2, GOOD},
        {"the bias without its short head",
         GRAPH("\x01\x02\x03\x02\x7a\x02\x02\x03\x01\x7a\x00\x02"), NONE, "ab", 2, BAD},
        {"matrix of centroids", GRAPH("\x01\x02\x03\x01\x82\x02\x03\x01\x82\x02\x03\x01"), NONE,
         CENTROIDS_AND_S, 10, GOOD},
        {"two of three", GRAPH("\x00\x01\x03\x01\xd1\x03\x01\x02\x04"), NONE, CENTROIDS_AND_S, 10,
         GOOD},
        {"nothing kept", GRAPH("\x00\x01\x03\x01\xd1\x03\x01\x00\x04"), NONE, CENTROIDS_AND_S, 10,
         BAD},
        {"four of three", GRAPH("\x00\x01\x03\x01\xd1\x03\x01\x04\x04"), NONE, CENTROIDS_AND_S, 10,
         BAD},
        {"the same centroids as none before", GRAPH("\x00\x01\x03\x01\xa9\x03\x04"), NONE,
         CENTROIDS_AND_S, 10, BAD},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* Prefixes: byte planes and rANS, levels of a trellis. */
TEST(prefixes)
{
    static const struct graph_case cases[] = {
        {"byte planes", GRAPH("\x00\x01\x03\x01\x7c\x01\x03\x04"), NONE, "abc", 3, GOOD},
        {"byte planes and another tensor", GRAPH("\x01\x02\x03\x02\x7c\x02\x02\x03\x01\x79\x02"),
         NONE, "ab", 2, GOOD},
        {"byte planes longer than the data", GRAPH("\x01\x02\x03\x02\x7c\x02\x02\x03\x03\x79\x02"),
         NONE, "ab", 2, BAD_AT(TAG_GRAPH, 9)},
        {"planes of none before", GRAPH("\x00\x01\x03\x01\x7c\x00\x04"), NONE, "abc", 3,
         BAD_AT(TAG_GRAPH, 6)},
        {"a prefix that is cut", GRAPH("\x00\x01\x03\x01\x7c"), NONE, "abc", 3,
         BAD_AT(TAG_GRAPH, 5)},
        {"planes of the same centroids", GRAPH("\x00\x01\x03\x01\x7c\x81\x03\x04"), NONE, "abc", 3,
         NEWER_AT(6)},
        {"planes of a bitmap", GRAPH("\x00\x01\x03\x01\x7c\x29\x03\x04"), NONE, "abc", 3,
         NEWER_AT(6)},
        {"planes of f64", GRAPH("\x00\x01\x03\x01\x78\x04\x7c\x01\x03\x04"), NONE, "abc", 3,
         NEWER_AT(8)},
        {"indices of a bitmap by classes", GRAPH("\x00\x01\x03\x01\x7c\x31\x03\x02\x01\x04"), NONE,
         "abc", 3, NEWER_AT(6)},
        {"classes", GRAPH("\x00\x01\x03\x01\x7c\x09\x03\x02\x01\x00\x01\x04"), GRAPH("\x01t"), "ci",
         2, GOOD},
        {"classes of no element", GRAPH("\x00\x01\x03\x01\x7c\x59\x03\x02\x00\x01\x04"), NONE, "c",
         1, BAD},
        {"rANS", GRAPH("\x00\x01\x03\x01\x7c\x11\x03\x02\x01\x00\x01\x04"), GRAPH("\x01t"), "ci", 2,
         GOOD},
        {"rANS of i8", GRAPH("\x00\x01\x03\x01\x78\x05\x7c\x11\x03\x02\x01\x00\x01\x04"),
         GRAPH("\x01t"), "ci", 2, BAD},
        {"rANS of f16", GRAPH("\x00\x01\x03\x01\x78\x02\x7c\x11\x03\x02\x01\x00\x01\x04"),
         GRAPH("\x01t"), "ci", 2, NEWER_AT(8)},
        {"rANS and an adaptive tensor", GRAPH("\x00\x01\x03\x01\x7c\xf9\x03\x00\x04"), NONE, "abc",
         3, NEWER_AT(6)},
        {"rANS with as many centroids as before, written again",
         GRAPH("\x00\x01\x03\x02\x09\x03\x02\x01\x7c\x10\x02\x01\x00\x01\x04\x04"), GRAPH("\x01t"),
         "c\x3f"
         "ci",
         4, BAD},
        {"rANS with as many centroids as before",
         GRAPH("\x00\x01\x03\x02\x09\x03\x02\x01\x7c\x90\x01\x00\x01\x04\x04"), GRAPH("\x01t"),
         "c\x3f"
         "ci",
         4, GOOD},
        {"as many centroids as those of rANS",
         GRAPH("\x00\x01\x03\x02\x7c\x11\x03\x02\x01\x00\x01\x88\x01\x04\x04"), GRAPH("\x01t"),
         "cic\x3f", 4, GOOD},
        {"two groups of rANS", GRAPH("\x00\x01\x04\x01\x7c\x21\x04\x01\x02\x01\x00\x01\x04"),
         GRAPH("\x01t"), "ci", 2, GOOD},
        {"one group of rANS", GRAPH("\x00\x01\x04\x01\x7c\x21\x04\x01\x01\x01\x00\x01\x04"),
         GRAPH("\x01t"), "ci", 2, BAD},
        {"three groups of four elements by rANS",
         GRAPH("\x00\x01\x04\x01\x7c\x21\x04\x01\x03\x01\x00\x01\x04"), GRAPH("\x01t"), "ci", 2,
         BAD},
        {"rANS of no element", GRAPH("\x00\x01\x03\x01\x7c\x61\x03\x02\x00\x01\x04"), NONE, "c", 1,
         GOOD},
        {"levels of rANS", GRAPH("\x00\x01\x03\x01\x7d\x7c\x11\x03\x02\x01\x00\x01\x04"),
         GRAPH("\x01t"), "ci", 2, BAD},
        {"levels of plain elements", GRAPH("\x00\x01\x03\x01\x7d\x01\x03\x04"), NONE, ZEROS_12, 12,
         BAD},
        {"levels of adaptive elements", GRAPH("\x00\x01\x03\x01\x7d\x7a\x01\x03\x04"), NONE, "abc",
         3, BAD},
        {"levels of byte planes", GRAPH("\x00\x01\x03\x01\x7d\x7c\x01\x03\x04"), NONE, "abc", 3,
         BAD},
        {"levels of a trellis of 8 states",
         GRAPH("\x01\x02\x03\x01\x7d\x82\x02\x03\x01\x82\x02\x03\x01"), NONE, CENTROIDS_AND_S, 10,
         GOOD},
        {"levels of a trellis of 16 states",
         GRAPH("\x01\x02\x03\x01\x7e\x82\x02\x03\x01\x82\x02\x03\x01"), NONE, CENTROIDS_AND_S, 10,
         GOOD},
        {"levels of levels", GRAPH("\x01\x02\x03\x01\x7e\x7d\x82\x02\x03\x01\x82\x02\x03\x01"),
         NONE, CENTROIDS_AND_S, 10, NEWER_AT(6)},
        {"scales of floats", GRAPH("\x00\x01\x03\x01\x7f\x01\x03\x00\x04"), NONE, ZEROS_12, 12,
         NEWER_AT(6)},
        {"a scale", GRAPH(SCALED "\x01\x03\x00\x04"), NONE, ZEROS_10, 10, GOOD},
        {"a scale prefix that is cut", GRAPH("\x00\x01\x03\x01\x78\x07\x7f"), NONE, ZEROS_10, 10,
         BAD_AT(TAG_GRAPH, 7)},
        {"scales of a codebook", GRAPH(SCALED "\x09\x03\x00\x04"), NONE, ZEROS_10, 10, NEWER_AT(8)},
        {"scales of i32", GRAPH("\x00\x01\x03\x01\x78\x09\x7f\x01\x03\x00\x04"), NONE, ZEROS_10, 10,
         NEWER_AT(8)},
        {"a scale without integers", GRAPH(SCALED "\x01\x03\x00\x04"), NONE, ZEROS_10, 9,
         BAD_AT(TAG_DATA, 4)},
        {"a zero point", GRAPH(SCALED "\x01\x03\x01\x04"), NONE, "ssssz\0iiiiii", 12, GOOD},
        {"a zero point of 0", GRAPH(SCALED "\x01\x03\x01\x04"), NONE, ZEROS_12, 12,
         BAD_AT(TAG_DATA, 6)},
        {"a scale a place", GRAPH(SCALED "\x01\x03\x02\x04"), NONE, ZEROS_10 "ssssssss", 18, GOOD},
        {"scales along the axis behind the last", GRAPH(SCALED "\x01\x03\x06\x04"), NONE, ZEROS_10,
         10, BAD},
        {"blocks along the axis behind the last", GRAPH(SCALED "\x01\x03\x08\x02\x04"), NONE,
         ZEROS_10, 10, BAD},
        {"scales along an axis of one", GRAPH("\x00\x01\x01\x01\x78\x07\x7f\x01\x01\x02\x04"), NONE,
         "ssssii", 6, BAD},
        {"blocks of two", GRAPH(SCALED "\x01\x03\x04\x02\x04"), NONE, ZEROS_10 "ssss", 14, GOOD},
        {"blocks of one", GRAPH(SCALED "\x01\x03\x04\x01\x04"), NONE, ZEROS_10 "ssssssss", 18, BAD},
        {"one block", GRAPH(SCALED "\x01\x03\x04\x03\x04"), NONE, ZEROS_10, 10, BAD},
        {"a layout past all", GRAPH(SCALED "\x01\x03\x22\x04"), NONE, ZEROS_10, 10, BAD},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* Numbers of the caller are for inputs, dimensions and attributes that there are. */
TEST(changes_of_what_there_is)
{
    static struct made f;
    static _Alignas(64) uint8_t mem[1 << 14];
    struct graph g;
    struct tview *shapes;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    make_parts(&f, GRAPH("\x00\x01\x03\x01\x78\x07\x7f\x01\x03\x00\x04"), NONE, ZEROS_10, 10);
    const struct graph_bytes from = {f.data, f.bytes, 0};
    const struct graph_room room = {mem, sizeof mem};
    assert_int_equal(pith_graph_read(from, &opts, room, &g, &shapes, NULL), PITH_OK);
    const uint32_t inputs = g.n_inputs, rank = g.inputs[0].shape.rank, nodes = g.n_nodes;
    const struct {
        struct pith_change change;
        enum pith_status status;
    } cases[] = {
        {{PITH_CHANGE_INPUT, 0, 3}, PITH_OK},
        {{PITH_CHANGE_INPUT, 0, -1}, PITH_ERR_CORRUPT},
        {{PITH_CHANGE_INPUT, rank, 1}, PITH_ERR_CORRUPT},
        {{PITH_CHANGE_INPUT, inputs * PITH_MAX_RANK, 1}, PITH_ERR_CORRUPT},
        {{0, g.nodes[0].info->n_slots, 0}, PITH_ERR_CORRUPT},
        {{nodes, 0, 0}, PITH_ERR_CORRUPT},
    };
    opts.n_changes = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        opts.changes = &cases[i].change;
        enum pith_status st = pith_graph_read(from, &opts, room, &g, &shapes, NULL);
        if (st != cases[i].status)
            fail_msg("change %zu: status %d", i, st);
    }
}

/* Reported in the first pass, which needs no memory: the second would look for the source. */
TEST(source_before_the_first)
{
    static struct made f;
    uint64_t need;
    make_parts(&f, GRAPH("\x00\x01\x03\x01\xf9\x03\x10\x04"), NONE, "abc", 3);
    assert_int_equal(pith_graph_need(f.data, f.bytes, 0, &need, NULL), PITH_ERR_CORRUPT);
}

RUN_TESTS
