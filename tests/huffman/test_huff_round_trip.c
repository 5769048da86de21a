/* SPDX-License-Identifier: MIT */
/* decode(encode(x)) = x for alphabets of 1 to 256 symbols and up to 200,000 of them; and what the
 * encoder promises about sizes. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "test_run.h"
#include "guard_page.h"
#include "decode/huff_decode.h"
#include "huffman/gap_symbols.h"
#include "huffman/huff_write.h"
#include "huffman/package_merge.h"
#include "pith_huffman.h"

#define SEED 3u

static enum pith_status decode(const struct pith_huff_code *code, const uint8_t *bytes,
                               size_t n_bytes, size_t n, uint8_t *dst)
{
    static uint32_t entries[1 << HUFF_MAX_LEN];
    uint8_t table[PITH_HUFF_TABLE_MAX];
    struct huff_lengths t;
    struct huff_stream s;
    pith_huff_table_write(code, table);
    struct bit_reader r = bit_reader_of(table, pith_huff_table_bytes(code));
    assert_int_equal(pith_huff_read_lengths(&r, &t), PITH_OK);
    assert_true(br_at_end(&r));
    assert_int_equal(t.n_symbols, code->n_symbols);
    assert_int_equal(t.n_present, code->n_present);
    assert_memory_equal(t.len, code->len, PITH_SYMBOLS);
    uint32_t bits = pith_huff_table_bits(&t, n), got;
    if (t.n_present > 1)
        pith_huff_build_table(&t, bits, entries);
    enum pith_status st =
        pith_huff_stream_open(&s, (struct stream){bytes, n_bytes}, n, &t, entries, bits);
    for (size_t at = 0; st == PITH_OK && at < n; at += got)
        st = pith_huff_stream_symbols(&s, dst + at, &got);
    return st;
}

static void round_trip(const uint8_t *symbols, size_t n, uint32_t max_len)
{
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct pith_huff_code code;
    pith_histogram_add(hist, symbols, n);
    if (max_len)
        assert_int_equal(pith_huff_build_limited(hist, max_len, &code), PITH_OK);
    else
        assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    size_t bound = pith_huff_bound(&code, hist, n), bytes, again;
    uint8_t *big = malloc(bound + 1);
    assert_int_equal(pith_huff_encode(&code, symbols, n, big, bound, &bytes), PITH_OK);
    assert_true(bytes <= bound);
    struct guarded in = guard_new(bytes + 1, 1), out = guard_new(n, 1);
    uint8_t *exact = (uint8_t *)in.data + 1;
    assert_int_equal(pith_huff_encode(&code, symbols, n, exact, bytes, &again), PITH_OK);
    assert_int_equal(again, bytes);
    assert_memory_equal(exact, big, bytes);
    if (n)
        assert_int_equal(decode(&code, exact, bytes, n, out.data), PITH_OK);
    assert_memory_equal(out.data, symbols, n);
    if (bytes) {
        assert_int_equal(pith_huff_encode(&code, symbols, n, big, bytes - 1, &again),
                         PITH_ERR_SPACE);
        assert_int_equal(decode(&code, exact + 1, bytes - 1, n, out.data) == PITH_OK &&
                             memcmp(out.data, symbols, n) == 0,
                         0);
        assert_int_equal(decode(&code, exact, bytes - 1, n, out.data), PITH_ERR_CORRUPT);
        assert_int_equal(decode(&code, exact - 1, bytes + 1, n, out.data) == PITH_OK &&
                             memcmp(out.data, symbols, n) == 0,
                         0);
    }
    free(big);
    guard_free(&in);
    guard_free(&out);
}

/* shape 0: uniform, 1: geometric, 2: nearly one symbol, 3: sparse alphabet */
static void fill(uint8_t *symbols, size_t n, uint32_t alphabet, uint32_t shape, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t r = random_u64(seed);
        uint32_t v = (uint32_t)(r % alphabet);
        if (shape == 1)
            v = (uint32_t)__builtin_ctzll(r >> 8 | UINT64_C(1) << 55) * alphabet / 24 % alphabet;
        if (shape == 2 && r >> 32 & 1023)
            v = alphabet / 2;
        if (shape == 3)
            v = v * v % alphabet;
        symbols[i] = (uint8_t)v;
    }
}

TEST(alphabets)
{
    static uint8_t symbols[5000];
    uint64_t seed = SEED;
    print_message("# seed %u\n", SEED);
    for (uint32_t a = 1; a <= 256; a++)
        for (uint32_t shape = 0; shape < 4; shape++) {
            size_t n = a % 2 ? 700 : 5000;
            fill(symbols, n, a, shape, &seed);
            round_trip(symbols, n, 0);
            round_trip(symbols, n, 8 + a % 5);
        }
}

TEST(lengths)
{
    static const size_t n[] = {4094,  4095,  4096,  4097,  8191,   32767,  32768,
                               32769, 65535, 65536, 65537, 100001, 131072, 200000};
    static uint8_t symbols[200000];
    uint64_t seed = SEED;
    for (size_t i = 0; i < 300; i++) {
        fill(symbols, i, 1 + (uint32_t)i % 40, (uint32_t)i % 4, &seed);
        round_trip(symbols, i, 0);
    }
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (uint32_t shape = 0; shape < 4; shape++) {
            fill(symbols, n[i], shape == 1 ? 24u : 256u >> i % 8, shape, &seed);
            round_trip(symbols, n[i], 0);
            round_trip(symbols, n[i], 12);
        }
}

static double entropy_bytes(const uint64_t *hist, double n)
{
    double bits = 0;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        if (hist[s])
            bits -= (double)hist[s] * log2((double)hist[s] / n);
    return bits / 8;
}

/* Bell-shaped indices: within 2 % of the entropy, table included, from 20,000 symbols on. */
TEST(close_to_entropy)
{
    static uint8_t symbols[200000], out[200000];
    uint64_t seed = SEED;
    for (uint32_t alphabet = 16; alphabet <= 256; alphabet *= 2)
        for (size_t n = 20000; n <= 200000; n += 60000) {
            uint64_t hist[PITH_SYMBOLS] = {0};
            struct pith_huff_code code;
            size_t bytes;
            for (size_t i = 0; i < n; i++) {
                float f = (random_f32(&seed) + random_f32(&seed) + random_f32(&seed)) / 6 + 0.5f;
                symbols[i] = (uint8_t)(f * (float)(alphabet - 1));
            }
            pith_histogram_add(hist, symbols, n);
            assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
            assert_int_equal(pith_huff_encode(&code, symbols, n, out, sizeof out, &bytes), PITH_OK);
            double limit = 1.02 * entropy_bytes(hist, (double)n);
            assert_true((double)(bytes + pith_huff_table_bytes(&code)) <= limit);
        }
}

/* A table of a bell-shaped 16- or 32-symbol alphabet: about half a byte a symbol or less. */
TEST(small_tables)
{
    for (uint32_t alphabet = 16; alphabet <= 32; alphabet *= 2) {
        uint64_t hist[PITH_SYMBOLS] = {0};
        struct pith_huff_code code;
        for (uint32_t s = 0; s < alphabet; s++) {
            double x = ((double)s - (alphabet - 1) / 2.0) / (alphabet / 5.0);
            hist[s] = (uint64_t)(500 * exp(-x * x / 2)) + 1;
        }
        assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
        assert_true(pith_huff_table_bytes(&code) <= (alphabet == 16 ? 8 : 12));
    }
}

/* 134 bits with their table both with codes of up to 3 bits and with codes of 2: the longer limit
 * wins. */
TEST(longer_limit_at_equal_cost)
{
    static const uint64_t hist[PITH_SYMBOLS] = {9, 6, 21, 23};
    static const uint8_t want[] = {3, 3, 2, 1};
    struct pith_huff_code code, flat;
    assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    assert_int_equal(pith_huff_build_limited(hist, 2, &flat), PITH_OK);
    assert_int_equal(pith_huff_cost_bits(&code, hist) + 8 * pith_huff_table_bytes(&code), 134);
    assert_int_equal(pith_huff_cost_bits(&flat, hist) + 8 * pith_huff_table_bytes(&flat), 134);
    assert_memory_equal(code.len, want, sizeof want);
}

/* Codes of 12 bits, which decode more slowly, must save a thousandth: of 2,690 bits one is too few.
 */
TEST(twelve_bits_must_pay)
{
    static const uint64_t hist[PITH_SYMBOLS] = {2, 2, 3, 5, 8, 13, 21, 34, 55, 91, 150, 247, 408};
    struct pith_huff_code code, longest;
    assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    assert_int_equal(pith_huff_build_limited(hist, 12, &longest), PITH_OK);
    assert_int_equal(pith_huff_table_bytes(&code), 5);
    assert_int_equal(pith_huff_table_bytes(&longest), 5);
    assert_int_equal(pith_huff_cost_bits(&longest, hist), 2649);
    assert_int_equal(pith_huff_cost_bits(&code, hist), 2650);
    assert_int_equal(code.len[0], 11);
}

/* Lengths 2, 1, 2 as differences -1 and +1: 5 bits as unary numbers, 5 with one bit of each apart.
 * The first way is taken: 0 | 2 | 0 | 0 | 1 | 1 0 | 1 1 0, from the lowest bit on. */
TEST(first_way_at_equal_bits)
{
    static const uint64_t hist[PITH_SYMBOLS] = {1, 2, 1};
    static const uint8_t want[] = {0x04, 0x20, 0x1a};
    struct pith_huff_code code;
    uint8_t table[PITH_HUFF_TABLE_MAX];
    assert_int_equal(pith_huff_build_limited(hist, 11, &code), PITH_OK);
    assert_int_equal(pith_huff_table_bytes(&code), sizeof want);
    pith_huff_table_write(&code, table);
    assert_memory_equal(table, want, sizeof want);
}

/* Four sub-streams of 16,368 bytes: 0x7f0 | 0x7f as a varint ends with its second byte. */
TEST(directory_of_a_full_varint)
{
    enum { N = 4 * 8184, SUB = 8184 * 2 };
    static uint8_t symbols[N], extra_bits[PITH_SYMBOLS] = {16}, out[3 + 4 * SUB + 64];
    static uint32_t extra[N];
    static const uint8_t want[] = {0xf0, 0x7f, 0};
    static const uint64_t hist[PITH_SYMBOLS] = {N};
    const struct symbol_source src = {symbols, N, extra, extra_bits};
    struct pith_huff_code code;
    size_t bytes;
    assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    assert_int_equal(pith_huff_encode_source(&code, &src, out, sizeof out, &bytes), PITH_OK);
    assert_int_equal(bytes, sizeof want + 4 * SUB);
    assert_memory_equal(out, want, sizeof want);
}

/* Two bytes, a directory and nothing else, into fewer. */
TEST(no_room_for_the_directory)
{
    static const uint8_t symbols[4096];
    static const uint64_t hist[PITH_SYMBOLS] = {4096};
    struct pith_huff_code code;
    size_t bytes = 0;
    assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    for (size_t room = 0; room <= 2; room++) {
        struct guarded out = guard_new(room, 1);
        assert_int_equal(pith_huff_encode(&code, symbols, 4096, out.data, room, &bytes),
                         room < 2 ? PITH_ERR_SPACE : PITH_OK);
        guard_free(&out);
    }
    assert_int_equal(bytes, 2);
}

TEST(without_code)
{
    static const uint8_t symbols[] = {1, 2, 1, 1, 3};
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct pith_huff_code code, empty;
    uint8_t out[64];
    size_t bytes;
    assert_int_equal(pith_huff_build(hist, &empty), PITH_OK);
    assert_int_equal(empty.n_present, 0);
    assert_int_equal(pith_huff_table_bytes(&empty), 0);
    assert_int_equal(pith_huff_encode(&empty, symbols, 0, out, 0, &bytes), PITH_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(pith_huff_encode(&empty, symbols, 1, out, 64, &bytes), PITH_ERR_ARGUMENT);
    pith_histogram_add(hist, symbols, 4);
    assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    assert_int_equal(pith_huff_encode(&code, symbols, 5, out, 64, &bytes), PITH_ERR_ARGUMENT);
    hist[3] = 1;
    assert_int_equal(pith_huff_bound(&code, hist, 5), SIZE_MAX);
}

RUN_TESTS
