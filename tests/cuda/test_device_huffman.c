/* SPDX-License-Identifier: MIT */
/* Codes of weights made on the device from their Huffman codes: the same bytes as the CPU makes of
 * them, and damaged streams refused wherever the CPU refuses them. */
#include "runtime/weight_case.h"
#include "device_case.h"
#include "pith_huffman.h"

static uint64_t seed = 5;

/* A matrix whose indices are Huffman-coded; low ones are frequent, so that codes differ in length.
 */
struct coded {
    struct weight_case k;
    uint8_t *table, *stream;
    bool turned;
};

static struct coded coded_new(const struct weight_want *want)
{
    struct coded c = {.k = case_new(want, &seed)};
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct pith_huff_code code;
    struct weight *w = &c.k.w;
    size_t n = (size_t)w->nnz, bytes;
    for (size_t i = 0; i < n; i++)
        c.k.stream[i] = (uint8_t)(c.k.stream[i] * (random_u64(&seed) % 256) / 256);
    pith_histogram_add(hist, c.k.stream, n);
    assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    size_t room = pith_huff_bound(&code, hist, n), table = pith_huff_table_bytes(&code);
    c.table = malloc(table);
    c.stream = malloc(room);
    pith_huff_table_write(&code, c.table);
    assert_int_equal(pith_huff_encode(&code, c.k.stream, n, c.stream, room, &bytes), PITH_OK);
    w->code = CODE_HUFFMAN;
    w->index_table = (struct huff_table){c.table, table};
    w->index_stream = (struct stream){c.stream, bytes};
    return c;
}

static void coded_free(struct coded *c)
{
    free(c->table);
    free(c->stream);
    case_free(&c->k);
}

/* What the device makes of it, in the order; the codebooks by the host. */
static enum pith_status on_device(const struct coded *c, uint32_t order, uint8_t *form)
{
    const struct weight *w = &c->k.w;
    struct huffman_layout h;
    struct huffman_args decode;
    struct symbols_args make;
    assert_true(pith_device_huffman_layout(w, &h));
    struct guarded room = guard_new(h.all, 1);
    memset(room.data, 0xff, h.all);
    enum pith_status st = pith_device_huffman_pack(w, &h, room.data);
    if (!st)
        st = pith_device_codes_books(w, form);
    if (!st) {
        pith_device_huffman_args(w, c->turned, &h, (uintptr_t)room.data, (uintptr_t)form, &decode,
                                 &make);
        const uint32_t subs[3] = {(h.subs + HUFFMAN_SUBS - 1) / HUFFMAN_SUBS, 1, 1};
        const uint32_t words[3] = {(make.n + LAUNCH_THREADS - 1) / LAUNCH_THREADS, 1, 1};
        ptx_launch(LAUNCH_huffman_symbols, subs, &decode, order);
        ptx_launch(LAUNCH_codes_of_symbols, words, &make, order);
        for (uint32_t i = 0; i < h.subs; i++)
            st = decode.fault[i] ? PITH_ERR_CORRUPT : st;
    }
    guard_free(&room);
    return st;
}

static const struct weight_want wants[] = {
    {.rows = 7, .cols = 90, .dense = true, .n_centroids = 16, .n_groups = 1, .scale = 1},
    {.rows = 50, .cols = 100, .dense = true, .n_centroids = 16, .n_groups = 1, .scale = 1},
    {.rows = 40, .cols = 257, .dense = true, .n_centroids = 32, .n_groups = 8, .scale = 1},
    {.rows = 90, .cols = 1000, .dense = true, .n_centroids = 200, .n_groups = 1, .scale = 1},
    {.rows = 37, .cols = 300, .density = 0.6, .n_centroids = 15, .n_groups = 1, .scale = 1},
    {.rows = 33, .cols = 511, .density = 0.4, .n_centroids = 31, .n_groups = 1, .scale = 1},
    {.rows = 64, .cols = 700, .density = 0.9, .n_centroids = 255, .n_groups = 2, .scale = 1},
    {.rows = 40,
     .cols = 400,
     .pattern = PATTERN_TRIANGLE,
     .n_centroids = 15,
     .n_groups = 1,
     .scale = 1},
    {.rows = 20,
     .cols = 999,
     .pattern = PATTERN_LAST_COLS,
     .n_centroids = 9,
     .n_groups = 1,
     .scale = 1},
};
enum { N_WANTS = sizeof wants / sizeof *wants };

/* As constants lie, at multiples of 256. */
static size_t constant_bytes(const struct codes_layout *l)
{
    return (l->bytes + 255) & ~(size_t)255;
}

/* Byte for byte, to the last that kernels read. */
TEST(test_same_codes)
{
    for (size_t i = 0; i < 2 * N_WANTS; i++) { /* in the second half integers, turned */
        const struct weight_want *want = &wants[i % N_WANTS];
        if (i >= N_WANTS && (want->n_groups > 1 || want->n_centroids > 15))
            continue;
        struct coded c = coded_new(want);
        c.turned = i >= N_WANTS;
        c.k.w.type = c.turned ? PITH_I8 : PITH_F32;
        struct codes_layout l;
        assert_true(pith_device_codes_layout(&c.k.w, c.turned, &l));
        struct guarded expected = guard_new(l.bytes, 1), form = guard_new(constant_bytes(&l), 1);
        assert_int_equal(pith_device_codes_pack(&c.k.w, c.turned, expected.data), PITH_OK);
        for (size_t k = 0; k < (ptx_given() ? 1 : N_ORDERS); k++) {
            memset(form.data, 0, l.bytes);
            memset((uint8_t *)form.data + l.words, 0, l.bytes - l.words);
            assert_int_equal(on_device(&c, ptx_given() ? ON_PTX : orders[k], form.data), PITH_OK);
            assert_memory_equal(form.data, expected.data, l.bytes);
        }
        guard_free(&expected);
        guard_free(&form);
        coded_free(&c);
    }
}

/* Flips a bit, or cuts the stream short; the CPU's decoder runs, too. */
static void damage(struct coded *c, uint32_t round)
{
    struct weight *w = &c->k.w;
    uint64_t r = random_u64(&seed);
    if (round % 4 == 0)
        w->index_stream.n_bytes -= 1 + r % 3;
    else if (round % 4 == 1 && w->support == SUPPORT_BITMAP)
        c->k.support[r % w->support_stream.n_bytes] ^= (uint8_t)(1u << r % 8);
    else if (round % 8 == 2) /* the directory, mostly */
        c->stream[r % 8] ^= (uint8_t)(1u << r / 8 % 8);
    else
        c->stream[r % w->index_stream.n_bytes] ^= (uint8_t)(1u << (r >> 40) % 8);
}

/* Which of the damages still are codes, and of what, both decoders have to agree on. */
TEST(test_damaged)
{
    uint32_t refused = 0, taken = 0;
    for (uint32_t round = 0; round < 240; round++) {
        struct coded c = coded_new(&wants[round % N_WANTS]);
        struct codes_layout l;
        damage(&c, round / N_WANTS);
        assert_true(pith_device_codes_layout(&c.k.w, c.turned, &l));
        uint8_t *expected = malloc(l.bytes);
        struct guarded form = guard_new(constant_bytes(&l), 1);
        memset(form.data, 0, l.bytes);
        enum pith_status by_cpu = pith_device_codes_pack(&c.k.w, c.turned, expected);
        enum pith_status there = on_device(&c, 0, form.data);
        assert_int_equal(there, by_cpu);
        if (!there)
            assert_memory_equal(form.data, expected, l.bytes);
        refused += there == PITH_ERR_CORRUPT;
        taken += there == PITH_OK;
        free(expected);
        guard_free(&form);
        coded_free(&c);
    }
    assert_true(refused > 100);
    assert_true(taken > 5); /* one bit of a code may make another as long */
}

/* One centroid more than the codebook has is refused, although the table has a code for them. */
TEST(test_no_such_centroid)
{
    struct coded c = coded_new(&wants[1]);
    struct codes_layout l;
    uint8_t largest = 0;
    for (uint64_t i = 0; i < c.k.w.nnz; i++)
        largest = c.k.stream[i] > largest ? c.k.stream[i] : largest;
    c.k.w.n_centroids = largest; /* which are numbered from 0 */
    c.k.w.codebook.n_bytes = 1 + 4 * (size_t)largest;
    assert_true(pith_device_codes_layout(&c.k.w, c.turned, &l));
    struct guarded form = guard_new(constant_bytes(&l), 1);
    memset(form.data, 0, l.bytes);
    assert_int_equal(on_device(&c, 0, form.data), PITH_ERR_CORRUPT);
    guard_free(&form);
    coded_free(&c);
}

/* Other codes and supports are the CPU's. */
TEST(test_not_taken)
{
    struct huffman_layout h;
    struct coded c = coded_new(&wants[4]);
    struct weight w = c.k.w;
    assert_true(pith_device_huffman_layout(&w, &h));
    w.code = CODE_RANS;
    assert_false(pith_device_huffman_layout(&w, &h));
    w = c.k.w;
    w.support = SUPPORT_GAPS;
    assert_false(pith_device_huffman_layout(&w, &h));
    w = c.k.w;
    w.index_table.n_bytes--;
    assert_false(pith_device_huffman_layout(&w, &h));
    coded_free(&c);
}

RUN_TESTS
