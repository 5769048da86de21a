/* SPDX-License-Identifier: MIT */
/* Streams as bytes: the examples of docs/format-streams.md, and arbitrary bytes, which must never
 * make a decoder read or write outside its buffers. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include "decode/codebook_decode.h"
#include "decode/gap_decode.h"
#include "guard_page.h"
#include "pith_runtime.h"

#define SEED 7u

/* lengths 2, 1, 3, 3 */
static struct huff_lengths example_lengths(void)
{
    static const uint8_t bytes[] = {0x03, 0xd1, 0x03};
    struct bit_reader r = bit_reader_of(bytes, sizeof bytes);
    struct huff_lengths t;
    assert_int_equal(pith_huff_read_lengths(&r, &t), PITH_OK);
    return t;
}

/* pith_huff_stream_bytes says what decode() says, to the byte, with its kernels and without. */
static void check_bytes(const struct huff_lengths *t, const uint8_t *bytes, size_t n_bytes,
                        uint64_t n, enum pith_status expected, const uint8_t *symbols)
{
    static uint16_t entries[1 << HUFF_MAX_LEN];
    const uint32_t features[] = {0, pith_cpu_features()};
    struct guarded out = guard_new((size_t)n, 1);
    uint8_t byte[HUFF_SYMBOLS], *dst = out.data;
    for (uint32_t i = 0; i < HUFF_SYMBOLS; i++)
        byte[i] = (uint8_t)(i * 7 + 90);
    pith_huff_build_bytes(t, byte, entries);
    for (uint32_t k = 0; k < 2; k++) {
        struct huff_stream s;
        memset(dst, 0, (size_t)n);
        enum pith_status st =
            pith_huff_stream_open(&s, (struct stream){bytes, n_bytes}, n, t, NULL, 0);
        st = st ? st : pith_huff_stream_bytes(&s, entries, dst, features[k]);
        assert_int_equal(st, expected);
        for (uint64_t i = 0; i < n && st == PITH_OK; i++)
            assert_int_equal(dst[i], byte[symbols[i]]);
    }
    guard_free(&out);
}

static enum pith_status decode(const struct huff_lengths *t, const uint8_t *bytes, size_t n_bytes,
                               uint64_t n, uint8_t *dst)
{
    static uint32_t entries[1 << HUFF_MAX_LEN];
    struct huff_stream s;
    uint32_t bits = pith_huff_table_bits(t, n), got = 1;
    if (t->n_present > 1)
        pith_huff_build_table(t, bits, entries);
    enum pith_status st =
        pith_huff_stream_open(&s, (struct stream){bytes, n_bytes}, n, t, entries, bits);
    for (uint64_t at = 0; st == PITH_OK && at < n; at += got)
        st = pith_huff_stream_symbols(&s, dst + at, &got);
    if (st == PITH_OK) {
        st = pith_huff_stream_symbols(&s, dst, &got);
        assert_int_equal(got, 0);
    }
    if (t->n_present > 1)
        check_bytes(t, bytes, n_bytes, n, st, dst);
    return st;
}

TEST(stream_example)
{
    static const uint8_t good[] = {0x3a, 0}, long_padding[] = {0x3a, 0x00}, bad_padding[] = {0xba},
                         expected[] = {1, 0, 3, 1};
    struct huff_lengths t = example_lengths();
    uint8_t dst[8];
    assert_int_equal(decode(&t, good, 1, 4, dst), PITH_OK);
    assert_memory_equal(dst, expected, 4);
    assert_int_equal(decode(&t, long_padding, 2, 4, dst), PITH_ERR_CORRUPT);
    assert_int_equal(decode(&t, bad_padding, 1, 4, dst), PITH_ERR_CORRUPT);
    assert_int_equal(decode(&t, good, 0, 4, dst), PITH_ERR_CORRUPT);
    assert_int_equal(decode(&t, good, 1, 6, dst), PITH_ERR_CORRUPT);
    assert_int_equal(decode(&t, good, 0, 0, dst), PITH_OK);
    assert_int_equal(decode(&t, good, 1, 0, dst), PITH_ERR_CORRUPT);
}

TEST(support_example)
{
    static const uint8_t table[] = {0x92, 0x82, 0x06, 0xd1, 0x00}, stream[] = {0x32};
    static const uint32_t expected[] = {1, 2, 4, 11};
    struct support_lengths t;
    struct gap_reader r;
    uint32_t entries[4], pos[4];
    uint8_t symbols[4];
    assert_int_equal(pith_support_read_table(table, sizeof table, &t), PITH_OK);
    assert_int_equal(t.huff.max_len, 2);
    pith_huff_build_table(&t.huff, 2, entries);
    for (uint64_t count = 11; count <= 12; count++) { /* 11: element 11 is outside */
        assert_int_equal(
            pith_gap_open(
                &r, &(struct coded_support){&t, entries, 2, (struct stream){stream, 1}, count, 4},
                symbols),
            PITH_OK);
        assert_int_equal(pith_gap_next(&r, pos, 2), PITH_OK);
        assert_int_equal(pith_gap_next(&r, pos + 2, 2), count == 12 ? PITH_OK : PITH_ERR_CORRUPT);
    }
    assert_memory_equal(pos, expected, sizeof pos);
    assert_int_equal(pith_gap_next(&r, pos, 1), PITH_ERR_CORRUPT);
    for (size_t n = 0; n < sizeof table; n++)
        assert_int_equal(pith_support_read_table(table, n, &t), PITH_ERR_CORRUPT);
}

/* kind 0, d, m, then a table of the single symbol n - 1 */
static enum pith_status single_symbol_support(uint32_t d, uint32_t m, uint32_t n)
{
    uint32_t bits = d << 1 | m << 4 | (n - 1) << 7 | 3u << 15;
    uint8_t bytes[3] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16)};
    struct support_lengths t;
    return pith_support_read_table(bytes, 3, &t);
}

TEST(support_limits)
{
    assert_int_equal(single_symbol_support(3, 3, 201), PITH_OK);
    /* 8 + 29 * 8 = 240 symbols: gaps below 2^32 */
    assert_int_equal(single_symbol_support(3, 3, 240), PITH_OK);
    assert_int_equal(single_symbol_support(3, 3, 241), PITH_ERR_CORRUPT);
    assert_int_equal(single_symbol_support(0, 0, 33), PITH_OK);
    assert_int_equal(single_symbol_support(0, 0, 34), PITH_ERR_CORRUPT);
    assert_int_equal(single_symbol_support(0, 1, 3), PITH_ERR_CORRUPT);
    assert_int_equal(single_symbol_support(2, 3, 3), PITH_ERR_CORRUPT);
    assert_int_equal(single_symbol_support(7, 3, 255), PITH_OK);
}

/* The table's own bytes end with it: no bit of padding set, no byte more. */
TEST(support_table_end)
{
    uint32_t bits = 3u << 1 | 3u << 4 | 200u << 7 | 3u << 15; /* 17 of 24 bits */
    uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), 0};
    struct support_lengths t;
    assert_int_equal(pith_support_read_table(bytes, 3, &t), PITH_OK);
    assert_int_equal(pith_support_read_table(bytes, 4, &t), PITH_ERR_CORRUPT);
    for (uint32_t i = 17; i < 24; i++) {
        bytes[2] = (uint8_t)(bits >> 16 | 1u << (i - 16));
        assert_int_equal(pith_support_read_table(bytes, 3, &t), PITH_ERR_CORRUPT);
    }
}

TEST(codebook_example)
{
    static const uint8_t bytes[] = {0x2d, 0xc8, 0x7f, 0xfc, 0x06};
    static const float expected[] = {-1.5f, 0.0f, 0.5f, 1.0f};
    struct codebook_reader r;
    float dst[4];
    assert_int_equal(pith_codebook_open(&r, bytes, sizeof bytes, 1, 4), PITH_OK);
    assert_int_equal(pith_codebook_next(&r, dst), PITH_OK);
    assert_memory_equal(dst, expected, sizeof dst);
    assert_int_equal(pith_codebook_next(&r, dst), PITH_ERR_CORRUPT);
}

/* As whole numbers, where i8 holds all of them - raw, lists, multiples of a step, symmetric -;
 * refused where the floats are no such numbers. */
TEST(codebooks_of_i8)
{
    uint64_t seed = SEED;
    uint32_t accepted = 0, refused = 0;
    for (uint32_t round = 0; round < 40000; round++) {
        uint8_t bytes[24];
        uint32_t n = 1 + (uint32_t)(random_u64(&seed) % 4), head = round % 5;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = head == 4 ? 0 : (uint8_t)random_u64(&seed);
        uint32_t exponent = 126 + round / 5 % 8;
        if (head == 1) /* symmetric, a step of 0.5 or 1 */
            bytes[0] = (uint8_t)((126 + round / 5 % 2) << 1), bytes[1] = 0;
        if (head == 2) { /* multiples of 0.5 .. 64 */
            bytes[0] = 0x3f;
            bytes[1] = (uint8_t)(exponent << 3);
            bytes[2] = (uint8_t)(exponent >> 5 | (bytes[2] & 0xf8u));
        }
        if (head == 4) { /* raw, one of the numbers -130 .. 129 */
            float v = (float)((int)(random_u64(&seed) % 260) - 130);
            uint64_t bits = (uint64_t)f32_bits(v) << 8;
            n = 1;
            memcpy(bytes, &bits, sizeof bits);
        }
        struct codebook_reader r, r8;
        float dst[4];
        int8_t dst8[4];
        if (pith_codebook_open(&r, bytes, sizeof bytes, 2, n))
            continue;
        r8 = r;
        bool ok = pith_codebook_next(&r, dst) == PITH_OK;
        for (uint32_t i = 0; i < n && ok; i++)
            ok = dst[i] >= -128.0f && dst[i] <= 127.0f && dst[i] == rintf(dst[i]) &&
                 (dst[i] != 0.0f || !signbit(dst[i]));
        assert_int_equal(pith_codebook_next_i8(&r8, dst8), ok ? PITH_OK : PITH_ERR_CORRUPT);
        for (uint32_t i = 0; i < n && ok; i++)
            assert_int_equal(dst8[i], (int)dst[i]);
        accepted += ok;
        refused += !ok;
    }
    assert_true(accepted > 100 && refused > 100);
}

static void check_group(const float *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_true((f32_bits(c[i]) & 0x7f800000u) != 0x7f800000u);
        assert_true(i == 0 || c[i - 1] <= c[i]);
    }
}

/* Whatever the bytes: ascending and finite, or refused. */
TEST(random_codebooks)
{
    uint64_t seed = SEED;
    uint32_t accepted = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t n = 1 + (uint32_t)(random_u64(&seed) % 6);
        size_t bytes = (size_t)(random_u64(&seed) % 30);
        struct guarded g = guard_new(bytes + 1, 1);
        uint8_t *p = (uint8_t *)g.data + 1;
        struct codebook_reader r;
        float dst[6];
        for (size_t i = 0; i < bytes; i++)
            p[i] = (uint8_t)random_u64(&seed);
        if (bytes && round % 2)
            p[0] = 0;
        if (pith_codebook_open(&r, p, bytes, 1, n) == PITH_OK &&
            pith_codebook_next(&r, dst) == PITH_OK) {
            check_group(dst, n);
            accepted++;
        }
        guard_free(&g);
    }
    assert_true(accepted > 0);
}

/* Random bytes under many tables: refused or not, never outside of the guarded buffers. */
TEST(random_streams)
{
    static const uint64_t counts[] = {1, 30, 2000, 4095, 4096, 20000, 70000};
    uint64_t seed = SEED;
    print_message("# seed %u\n", SEED);
    for (uint32_t round = 0; round < 3000; round++) {
        struct huff_lengths t = example_lengths();
        uint64_t n = counts[random_u64(&seed) % 7];
        size_t bytes =
            (size_t)(random_u64(&seed) % (n * 2 / 5 + 4)); /* 3.2 bits a symbol at most */
        struct guarded in = guard_new(bytes + 1, 1), out = guard_new((size_t)n, 1);
        uint8_t *p = (uint8_t *)in.data + 1;
        for (size_t i = 0; i < bytes; i++)
            p[i] = (uint8_t)(random_u64(&seed) & random_u64(&seed));
        if (n >= 4096 &&
            bytes > 100) { /* a directory that fits: equal sizes, the last takes the rest */
            uint64_t subs = pith_huff_sub_streams(n);
            uint32_t each = (uint32_t)(bytes / (subs + round % 3));
            p[0] = (uint8_t)(each | 0x80);
            p[1] = (uint8_t)((each >> 7 & 0x7f) | (each >= 16384 ? 0x80 : 0));
            if (each >= 16384)
                p[2] = (uint8_t)(each >> 14);
            p[each >= 16384 ? 3 : 2] = 0;
        }
        (void)decode(&t, p, bytes, n, out.data);
        guard_free(&in);
        guard_free(&out);
    }
}

/* 5000 symbols of a two-symbol table are 4 sub-streams of 157 bytes, 1250 bits each. */
TEST(directories)
{
    static uint8_t bytes[4096];
    uint8_t dst[5000];
    struct huff_lengths t = example_lengths();
    t.n_symbols = t.n_present = 2;
    t.len[0] = t.len[1] = t.max_len = 1;
    t.len[2] = t.len[3] = 0;
#define DIRECTORY(n_bytes, ...)                                                                    \
    (memset(bytes, 0, sizeof bytes),                                                               \
     memcpy(bytes, (uint8_t[]){__VA_ARGS__}, sizeof(uint8_t[]){__VA_ARGS__}),                      \
     decode(&t, bytes, n_bytes, 5000, dst))
    assert_int_equal(DIRECTORY(3 + 4 * 157, 0x9d, 0x01, 0), PITH_OK);
    assert_int_equal(DIRECTORY(3 + 4 * 157 - 1, 0x9d, 0x01, 0), PITH_ERR_CORRUPT);
    assert_int_equal(DIRECTORY(3 + 4 * 157 + 1, 0x9d, 0x01, 0), PITH_ERR_CORRUPT);
    assert_int_equal(DIRECTORY(3 + 3 * 157 - 1, 0x9d, 0x01, 0), PITH_ERR_CORRUPT);
    assert_int_equal(DIRECTORY(2, 0x9d, 0x01), PITH_ERR_CORRUPT);
    assert_int_equal(DIRECTORY(4 + 4 * 157, 0x9d, 0x81, 0, 0), PITH_ERR_CORRUPT); /* long varint */
    assert_int_equal(DIRECTORY(4 + 4 * 157, 0x9d, 0x01, 1, 0), PITH_ERR_CORRUPT); /* wide fields */
    assert_int_equal(DIRECTORY(4 + 4 * 157, 0x9c, 0x01, 1, 7),
                     PITH_ERR_CORRUPT); /* no zero field */
    assert_int_equal(DIRECTORY(4 + 4 * 157, 0x9d, 0x01, 1, 8), PITH_ERR_CORRUPT); /* padding */
    assert_int_equal(DIRECTORY(3 + 9 + 4 * 157, 0x9d, 0x01, 24), PITH_ERR_CORRUPT);
    assert_int_equal(DIRECTORY(3 + 10 + 4 * 157, 0x9d, 0x01, 25), PITH_ERR_CORRUPT);
    assert_int_equal(DIRECTORY(3, 0x9d, 0x01, 24), PITH_ERR_CORRUPT);
    /* one sub-stream a byte longer than its symbols: the sizes fit, the padding does not */
    assert_int_equal(DIRECTORY(4 + 4 * 157, 0x9d, 0x01, 1, 1), PITH_ERR_CORRUPT);
}

/* Bytes that end at a page which nothing follows. */
static enum pith_status decode_at_page(const struct huff_lengths *t, const uint8_t *bytes, size_t n,
                                       uint64_t count)
{
    static uint8_t dst[5000];
    struct guarded g = guard_new(n, 1);
    memcpy(g.data, bytes, n);
    enum pith_status st = decode(t, g.data, n, count, dst);
    guard_free(&g);
    return st;
}

/* 4994 symbols of one bit: sub-streams of 156, 157, 156 and 157 bytes. */
TEST(uneven_directories)
{
    static uint8_t bytes[4 + 626];
    struct huff_lengths t = example_lengths();
    t.n_symbols = t.n_present = 2;
    t.len[0] = t.len[1] = t.max_len = 1;
    t.len[2] = t.len[3] = 0;
    assert_int_equal(pith_huff_sub_streams(4095), 1);
    assert_int_equal(pith_huff_sub_streams(4096), 4);
    memcpy(bytes, (uint8_t[]){0x9c, 0x01, 1, 2}, 4); /* 156, one bit each: 0 1 0 */
    assert_int_equal(decode_at_page(&t, bytes, sizeof bytes, 4994), PITH_OK);
    for (uint32_t bit = 3; bit < 8; bit++) {
        bytes[3] = (uint8_t)(2 | 1u << bit);
        assert_int_equal(decode_at_page(&t, bytes, sizeof bytes, 4994), PITH_ERR_CORRUPT);
    }
    bytes[3] = 2;
    for (size_t n = 4 + 460; n < 4 + 480; n++) /* three take 469; the last needs 157 */
        assert_int_equal(decode_at_page(&t, bytes, n, 4994), PITH_ERR_CORRUPT);
}

/* Only the directory is read: sub-streams of 16 MB need not be there. */
TEST(widest_directories)
{
    static const uint8_t of_24[12] = {0, 24, [2 + 8] = 0x80}, of_25[13] = {0, 25, [2 + 9] = 0x04};
    struct huff_lengths t = example_lengths();
    struct huff_stream s;
    assert_int_equal(pith_huff_stream_open(&s, (struct stream){of_24, 1u << 26}, 5000, &t, NULL, 3),
                     PITH_OK);
    assert_int_equal(pith_huff_stream_open(&s, (struct stream){of_25, 1u << 26}, 5000, &t, NULL, 3),
                     PITH_ERR_CORRUPT);
    /* all but the last take 2^23 bytes: that much, and not one less */
    assert_int_equal(
        pith_huff_stream_open(&s, (struct stream){of_24, 11 + (1u << 23)}, 5000, &t, NULL, 3),
        PITH_OK);
    assert_int_equal(
        pith_huff_stream_open(&s, (struct stream){of_24, 10 + (1u << 23)}, 5000, &t, NULL, 3),
        PITH_ERR_CORRUPT);
}

/* ---- codebooks, bit by bit ------------------------------------------------------------------- */

struct bits {
    uint8_t bytes[256];
    uint32_t n;
};

static void put_bits(struct bits *b, uint64_t v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, b->n++)
        if (v >> i & 1)
            b->bytes[b->n / 8] |= (uint8_t)(1u << b->n % 8);
}

/* Coded, with what stands for the common zero bits and for the Rice parameter. */
static struct bits coded_book(uint32_t zero_bits, uint32_t rice_bits)
{
    struct bits b = {{0}, 0};
    put_bits(&b, 1 | zero_bits << 1 | rice_bits << 6, 11);
    return b;
}

static enum pith_status read_books(const struct bits *b, uint64_t n_groups, uint32_t k)
{
    struct codebook_reader r;
    float dst[256];
    enum pith_status st = pith_codebook_open(&r, b->bytes, (b->n + 7) / 8, n_groups, k);
    for (uint64_t g = 0; g < n_groups && st == PITH_OK; g++)
        st = pith_codebook_next(&r, dst);
    return st;
}

TEST(raw_books)
{
    static const struct {
        uint32_t first, second;
        enum pith_status want;
    } cases[] = {{0x3f800000, 0x3f800000, PITH_OK}, {0x3f800001, 0x3f800000, PITH_ERR_CORRUPT},
                 {0xbf800001, 0xbf800000, PITH_OK}, {0xbf800000, 0xbf800001, PITH_ERR_CORRUPT},
                 {0x80000000, 0x00000000, PITH_OK}, {0x00000000, 0x80000000, PITH_ERR_CORRUPT},
                 {0x3f800000, 0x7f7fffff, PITH_OK}, {0x3f800000, 0x7f800000, PITH_ERR_CORRUPT},
                 {0xff7fffff, 0x3f800000, PITH_OK}, {0xff800000, 0x3f800000, PITH_ERR_CORRUPT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bits b = {{0}, 0};
        put_bits(&b, 0, 8);
        put_bits(&b, cases[i].first, 32);
        put_bits(&b, cases[i].second, 32);
        assert_int_equal(read_books(&b, 1, 2), cases[i].want);
    }
}

TEST(heads_of_books)
{
    struct codebook_reader r;
    struct bits b = coded_book(0, 30);
    assert_int_equal(pith_codebook_open(&r, b.bytes, 2, 1, 2), PITH_OK);
    b = coded_book(0, 31);
    assert_int_equal(pith_codebook_open(&r, b.bytes, 2, 1, 2), PITH_ERR_CORRUPT);
    assert_int_equal(pith_codebook_open(&r, b.bytes, 1, 1, 2), PITH_ERR_CORRUPT);
    assert_int_equal(pith_codebook_open(&r, b.bytes, 0, 1, 2), PITH_ERR_CORRUPT);
    for (uint32_t offset_bits = 0; offset_bits < 16; offset_bits++) { /* of near steps of 8 bits */
        b = coded_book(31, 24);
        put_bits(&b, 1, 8);
        put_bits(&b, offset_bits, 4);
        assert_int_equal(pith_codebook_open(&r, b.bytes, 3, 1, 2),
                         offset_bits <= 8 || offset_bits == 15 ? PITH_OK : PITH_ERR_CORRUPT);
    }
}

/* Multiples of a step 2^(exponent - 127): n_negative below zero, then one that is zero or none. */
static enum pith_status uniform_book(uint32_t exponent, uint32_t k, uint32_t n_negative,
                                     uint32_t zero, uint32_t padding)
{
    struct bits b = coded_book(31, 0);
    put_bits(&b, exponent, 8);
    put_bits(&b, n_negative, 32 - (uint32_t)__builtin_clz(k));
    if (n_negative < k)
        put_bits(&b, zero, 1);
    size_t length;
    enum pith_status st = read_books(&b, 1, k);
    put_bits(&b, padding, b.n % 8 ? 8 - b.n % 8 : 0);
    enum pith_status all = pith_codebook_length(b.bytes, sizeof b.bytes, 1, k, &length);
    assert_true(st == all || padding);
    if (all == PITH_OK)
        assert_int_equal(length, (b.n + 7) / 8);
    return padding ? all : st;
}

TEST(uniform_books)
{
    assert_int_equal(uniform_book(127, 2, 1, 1, 0), PITH_OK);
    assert_int_equal(uniform_book(127, 2, 1, 1, 1), PITH_ERR_CORRUPT); /* a bit behind the book */
    assert_int_equal(uniform_book(127, 2, 3, 0, 0), PITH_ERR_CORRUPT); /* three of two below zero */
    assert_int_equal(uniform_book(0, 1, 0, 1, 0), PITH_ERR_CORRUPT);
    assert_int_equal(uniform_book(0, 2, 1, 1, 0), PITH_ERR_CORRUPT);
    assert_int_equal(uniform_book(255, 1, 0, 1, 0), PITH_ERR_CORRUPT);
    assert_int_equal(uniform_book(253, 2, 0, 0, 0), PITH_OK); /* 2^126 and 2^127 */
    assert_int_equal(uniform_book(254, 2, 0, 0, 0), PITH_ERR_CORRUPT);
    assert_int_equal(uniform_book(253, 2, 2, 0, 0), PITH_OK);
    assert_int_equal(uniform_book(254, 2, 2, 0, 0), PITH_ERR_CORRUPT);
}

/* Near steps of eight bits, the exponent alone: 0 and 255 are none, and a difference that leaves
 * the eight bits is none although 2^9 more of them are the same bits of a float. */
TEST(near_books)
{
    for (uint32_t exponent = 0; exponent < 256; exponent += exponent == 1 ? 254 : 1) {
        struct bits b = coded_book(31, 24);
        put_bits(&b, exponent, 8);
        put_bits(&b, 0, 4);
        assert_int_equal(read_books(&b, 1, 1), exponent == 1 ? PITH_OK : PITH_ERR_CORRUPT);
    }
    for (uint32_t more = 2; more <= 512; more += 510) {
        struct bits b = coded_book(31, 24);
        put_bits(&b, 1, 8);
        put_bits(&b, 15, 4);
        for (uint32_t i = 0; i < 2 * more; i++)
            put_bits(&b, 1, 1);
        put_bits(&b, 0, 1);
        assert_int_equal(read_books(&b, 2, 2), more == 2 ? PITH_OK : PITH_ERR_CORRUPT);
    }
}

/* One symbol takes no bits, however many there are. */
TEST(no_bits)
{
    struct huff_lengths t = example_lengths();
    static uint8_t dst[100000];
    static const uint8_t directory[] = {0, 0, 0};
    t.n_symbols = 8;
    t.n_present = 1;
    t.max_len = 0;
    memset(t.len, 0, sizeof t.len);
    assert_int_equal(decode(&t, directory, 2, sizeof dst, dst), PITH_OK);
    for (size_t i = 0; i < sizeof dst; i++)
        assert_int_equal(dst[i], 7);
    assert_int_equal(decode(&t, directory, 3, sizeof dst, dst), PITH_ERR_CORRUPT);
    assert_int_equal(decode(&t, directory, 0, 100, dst), PITH_OK);
    assert_int_equal(decode(&t, directory, 1, 100, dst), PITH_ERR_CORRUPT);
}

RUN_TESTS
