/* SPDX-License-Identifier: MIT */
/* Tables: every length vector of up to five symbols and six bits is accepted exactly when it is a
 * complete prefix code; every decode table entry agrees with codes assigned by the rule of
 * docs/format-streams.md; malformed tables are refused. */
#include <stdint.h>
#include "test_run.h"
#include "decode/huff_table.h"

struct bits {
    uint8_t bytes[512];
    uint32_t n;
};

static void put(struct bits *b, uint32_t v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, b->n++)
        if (v >> i & 1)
            b->bytes[b->n / 8] |= (uint8_t)(1u << b->n % 8);
}

static size_t n_bytes(const struct bits *b)
{
    return (b->n + 7) / 8;
}

/* Alphabet size, presence as a bitmap, raw lengths: any vector whose last length is not 0. */
static struct bits raw_table(const uint8_t *len, uint32_t n)
{
    struct bits b = {{0}, 0};
    uint32_t log2 = 0;
    while (1u << (log2 + 1) <= n)
        log2++;
    if (n > 1 && n == 1u << log2) {
        put(&b, 1, 1);
        put(&b, log2 - 1, 3);
    } else {
        put(&b, 0, 1);
        put(&b, n - 1, 8);
    }
    put(&b, 1, 2);
    for (uint32_t s = 0; s + 1 < n; s++)
        put(&b, len[s] != 0, 1);
    put(&b, 3, 2);
    for (uint32_t s = 0; s < n; s++)
        if (len[s])
            put(&b, len[s] - 1u, 4);
    return b;
}

static enum pith_status read_table(const struct bits *b, struct huff_lengths *t)
{
    struct bit_reader r = bit_reader_of(b->bytes, n_bytes(b));
    enum pith_status st = pith_huff_read_lengths(&r, t);
    if (st == PITH_OK)
        assert_true(br_at_end(&r));
    return st;
}

/* The symbol whose code begins `bits`, found with the canonical rule alone; 256 when none does. */
static uint32_t slow_decode(const uint8_t *len, uint32_t n, uint32_t bits, uint32_t *used)
{
    uint32_t code = 0, next = 0;
    for (uint32_t l = 1; l <= HUFF_MAX_LEN; l++) {
        code = code << 1 | (bits >> (l - 1) & 1);
        next <<= 1;
        for (uint32_t s = 0; s < n; s++)
            if (len[s] == l && next++ == code) {
                *used = l;
                return s;
            }
    }
    return 256;
}

static void check_entries(const struct huff_lengths *t, uint32_t bits)
{
    static uint32_t entries[1 << HUFF_MAX_LEN];
    pith_huff_build_table(t, bits, entries);
    for (uint32_t i = 0; i < 1u << bits; i++) {
        uint32_t e = entries[i], at = 0, count = 0, l = 0, s;
        while (count < 3 && (s = slow_decode(t->len, t->n_symbols, i >> at, &l)) < 256 &&
               at + l <= bits) {
            if (count < HUFF_ENTRY_COUNT(e))
                assert_int_equal(e >> (8 * count) & 255, s);
            at += l;
            count++;
        }
        assert_int_equal(HUFF_ENTRY_COUNT(e), count);
        assert_int_equal(HUFF_ENTRY_BITS(e), at);
    }
}

TEST(every_short_vector)
{
    uint32_t accepted = 0;
    for (uint32_t v = 0; v < 16807; v++) {
        uint8_t len[5];
        uint32_t n = 0, present = 0, kraft = 0;
        for (uint32_t s = 0, rest = v; s < 5; s++, rest /= 7) {
            len[s] = (uint8_t)(rest % 7);
            if (len[s]) {
                n = s + 1;
                present++;
                kraft += 64u >> len[s];
            }
        }
        if (n == 0)
            continue;
        struct bits b = raw_table(len, n);
        struct huff_lengths t;
        bool complete = present >= 2 && kraft == 64;
        assert_int_equal(read_table(&b, &t), complete ? PITH_OK : PITH_ERR_CORRUPT);
        if (!complete)
            continue;
        accepted++;
        assert_int_equal(t.n_symbols, n);
        assert_int_equal(t.n_present, present);
        assert_memory_equal(t.len, len, n);
        check_entries(&t, t.max_len);
        check_entries(&t, 7);
    }
    /* complete codes of 2, 3, 4, 5 ordered symbols: 1, 3, 13, 75; times the choices of places */
    assert_int_equal(accepted, 10 * 1 + 10 * 3 + 5 * 13 + 1 * 75);
}

TEST(longest_codes)
{
    uint8_t len[256] = {0};
    struct huff_lengths t;
    for (uint32_t s = 0; s < 12; s++)
        len[s] = (uint8_t)(s + 1);
    len[12] = 12;
    struct bits b = raw_table(len, 13);
    assert_int_equal(read_table(&b, &t), PITH_OK);
    assert_int_equal(t.max_len, 12);
    check_entries(&t, 12);
    for (uint32_t s = 0; s < 256; s++)
        len[s] = 8;
    b = raw_table(len, 256);
    assert_int_equal(read_table(&b, &t), PITH_OK);
    check_entries(&t, 8);
    check_entries(&t, 11);
    assert_int_equal(pith_huff_table_bits(&t, 0), 8);
    assert_int_equal(pith_huff_table_bits(&t, (1u << 13) - 1), 8); /* 32 symbols an entry */
    assert_int_equal(pith_huff_table_bits(&t, 1u << 13), 9);
    assert_int_equal(pith_huff_table_bits(&t, UINT64_C(1) << 40), 11);
}

/* Two codes of 13 bits beside two of one: a sum of units of 2^-12 would not see them. */
TEST(no_longer_codes)
{
    static const uint8_t len[] = {13, 13, 1, 1},
                         longest[] = {12, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    struct huff_lengths t;
    struct bits b = raw_table(len, 4);
    assert_int_equal(read_table(&b, &t), PITH_ERR_CORRUPT);
    b = raw_table(longest, 13);
    assert_int_equal(read_table(&b, &t), PITH_OK);
}

TEST(document_example)
{
    static const uint8_t bytes[] = {0x03, 0xd1, 0x03}, len[] = {2, 1, 3, 3};
    struct bit_reader r = bit_reader_of(bytes, sizeof bytes);
    struct huff_lengths t;
    assert_int_equal(pith_huff_read_lengths(&r, &t), PITH_OK);
    assert_true(br_at_end(&r));
    assert_int_equal(t.n_symbols, 4);
    assert_memory_equal(t.len, len, 4);
}

TEST(one_symbol)
{
    for (uint32_t n = 1; n <= 256; n++) {
        struct bits b = {{0}, 0};
        struct huff_lengths t;
        bool power = n > 1 && (n & (n - 1)) == 0;
        put(&b, 0, 1);
        put(&b, n - 1, 8);
        put(&b, 3, 2);
        assert_int_equal(read_table(&b, &t), power ? PITH_ERR_CORRUPT : PITH_OK);
        if (power)
            continue;
        assert_int_equal(t.n_symbols, n);
        assert_int_equal(t.n_present, 1);
        assert_int_equal(t.len[n - 1], 0);
        assert_int_equal(t.max_len, 0);
    }
}

/* 3 symbols of 8: presence runs as written, then lengths 1, 2, 2. */
static enum pith_status with_runs(uint32_t first, const uint32_t *run, uint32_t n_runs)
{
    struct bits b = {{0}, 0};
    struct huff_lengths t;
    put(&b, 1 | 2 << 1, 4); /* 8 symbols */
    put(&b, 2, 2);
    put(&b, first, 1);
    for (uint32_t i = 0; i < n_runs; i++) {
        uint32_t nb = 31 - (uint32_t)__builtin_clz(run[i]);
        put(&b, (1u << nb) - 1, nb + 1);
        put(&b, run[i] - (1u << nb), nb);
    }
    put(&b, 3, 2);
    put(&b, 0 | 1 << 4 | 1 << 8, 12);
    return read_table(&b, &t);
}

TEST(presence_runs)
{
    assert_int_equal(with_runs(1, (uint32_t[]){2, 5, 1}, 3), PITH_OK);
    assert_int_equal(with_runs(0, (uint32_t[]){5, 3}, 2), PITH_OK);
    assert_int_equal(with_runs(0, (uint32_t[]){5, 4}, 2), PITH_ERR_CORRUPT);
    assert_int_equal(with_runs(1, (uint32_t[]){3, 5}, 2), PITH_ERR_CORRUPT);
    assert_int_equal(with_runs(0, (uint32_t[]){7, 1}, 2), PITH_ERR_CORRUPT);
    assert_int_equal(with_runs(0, (uint32_t[]){1u << 31, 1}, 2), PITH_ERR_CORRUPT);
}

/* 13 symbols of lengths 1, 12, 12, 11 .. 2, by differences; `end` behind the 22 ones of +11. */
static struct bits falling_lengths(uint32_t end)
{
    struct bits b = {{0}, 0};
    put(&b, 12 << 1, 9);
    put(&b, 0, 4); /* all, delta 0 */
    put(&b, 0, 4); /* 1 */
    put(&b, (1u << 22) - 1, 22);
    put(&b, end, 1);
    put(&b, 0, 1); /* 12 again */
    for (uint32_t s = 3; s < 13; s++)
        put(&b, 1, 2);
    return b;
}

/* The largest difference is coded by 22 ones. One more, in the place of the zero that ends them, is
 * refused. */
TEST(largest_difference)
{
    struct huff_lengths t;
    struct bits b = falling_lengths(0);
    assert_int_equal(read_table(&b, &t), PITH_OK);
    assert_int_equal(t.len[1], 12);
    assert_int_equal(t.len[12], 2);
    b = falling_lengths(1);
    assert_int_equal(read_table(&b, &t), PITH_ERR_CORRUPT);
}

/* Differences of 0 are bits of 0, as what lies behind the end is read. */
TEST(truncated_differences)
{
    struct bits b = {{0}, 0};
    struct huff_lengths t;
    put(&b, 1 | 3 << 1, 4); /* 16 symbols */
    put(&b, 0, 4);
    put(&b, 3, 4); /* 4 bits each */
    b.n += 15;
    assert_int_equal(n_bytes(&b), 4);
    assert_int_equal(read_table(&b, &t), PITH_OK);
    b.n = 24;
    assert_int_equal(read_table(&b, &t), PITH_ERR_CORRUPT);
}

/* Rice-coded differences that leave 1..12, or are too long. */
TEST(bad_lengths)
{
    struct huff_lengths t;
    for (uint32_t first = 1; first <= 16; first++)
        for (uint32_t z = 0; z <= 30; z++) {
            struct bits b = {{0}, 0};
            put(&b, 1, 4); /* 2 symbols */
            put(&b, 0, 4); /* all, delta 0 */
            put(&b, first - 1, 4);
            put(&b, (1u << z) - 1, z + 1);
            bool ok = first == 1 && z == 0;
            assert_int_equal(read_table(&b, &t), ok ? PITH_OK : PITH_ERR_CORRUPT);
        }
    struct bits b = {{0}, 0};
    put(&b, 0, 9); /* one symbol, but not said so */
    put(&b, 0, 2);
    put(&b, 0, 6);
    assert_int_equal(read_table(&b, &t), PITH_ERR_CORRUPT);
}

TEST(truncated)
{
    uint8_t len[40];
    struct huff_lengths t;
    for (uint32_t s = 0; s < 40; s++)
        len[s] = s < 24 ? 5 : 6;
    struct bits b = raw_table(len, 40);
    assert_int_equal(read_table(&b, &t), PITH_OK);
    for (size_t n = 0; n < n_bytes(&b); n++) {
        struct bit_reader r = bit_reader_of(b.bytes, n);
        assert_int_equal(pith_huff_read_lengths(&r, &t), PITH_ERR_CORRUPT);
    }
}

RUN_TESTS
