/* SPDX-License-Identifier: MIT */
/* rANS: what is encoded comes back at every level of the kernels and one symbol at a time; sizes
 * against the entropy; streams and tables that are broken. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "test_run.h"
#include "guard_page.h"
#include "huffman/rans_encode.h"
#include "kernels/crc32c.h"
#include "pith_runtime.h"

#define SEED 5u
#define ROOM 400000u

#if defined(__aarch64__)
static const uint32_t level_mask[] = {0, PITH_CPU_NEON};
#else
static const uint32_t level_mask[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
#endif
enum { LEVELS = sizeof level_mask / sizeof *level_mask };
static uint32_t entries[RANS_SLOTS];

static bool has_level(uint32_t i)
{
    return (level_mask[i] & ~pith_cpu_features()) == 0;
}

/* In pieces of `piece` symbols, a multiple of 32. */
static enum pith_status decode(const struct rans_table *t, const uint8_t *bytes, size_t n_bytes,
                               uint64_t n, uint32_t level, uint32_t piece, uint8_t *dst)
{
    struct rans_stream s;
    if (!t->single)
        pith_rans_build_entries(t, entries);
    enum pith_status st =
        pith_rans_open(&s, (struct stream){bytes, n_bytes}, n, t, entries, level_mask[level]);
    for (uint64_t at = 0; !st && at < n; at += piece)
        st = pith_rans_next(&s, dst + at, n - at < piece ? n - at : piece);
    return st;
}

static enum pith_status pull(const struct rans_table *t, const uint8_t *bytes, size_t n_bytes,
                             uint64_t n, uint8_t *dst)
{
    struct rans_stream s;
    enum pith_status st = pith_rans_open(&s, (struct stream){bytes, n_bytes}, n, t, NULL, 0);
    for (uint64_t i = 0; !st && i < n; i++)
        st = pith_rans_pull(&s, dst + i) ? PITH_OK : PITH_ERR_CORRUPT;
    return st;
}

struct coded {
    struct pith_rans_code code;
    uint8_t *bytes; /* at the end of a page */
    size_t n_bytes;
    struct guarded memory;
};

static uint32_t all_crc; /* of all streams and tables: what old files have does not change */

static struct coded encode(const uint8_t *symbols, size_t n)
{
    struct coded c;
    uint64_t hist[PITH_SYMBOLS] = {0};
    pith_histogram_add(hist, symbols, n);
    pith_rans_build(hist, &c.code);
    size_t cap = pith_rans_bound(n), again;
    uint8_t *out = malloc(cap + 1);
    assert_int_equal(pith_rans_encode(&c.code, symbols, n, out, cap, &c.n_bytes), PITH_OK);
    if (c.n_bytes)
        assert_int_equal(pith_rans_encode(&c.code, symbols, n, out, c.n_bytes - 1, &again),
                         PITH_ERR_SPACE);
    c.memory = guard_new(c.n_bytes + 1, 1);
    c.bytes = (uint8_t *)c.memory.data + 1;
    assert_int_equal(pith_rans_encode(&c.code, symbols, n, c.bytes, c.n_bytes, &again), PITH_OK);
    assert_int_equal(again, c.n_bytes);
    assert_memory_equal(c.bytes, out, again);
    all_crc = pith_crc32c(pith_crc32c(all_crc, c.bytes, again), c.code.table, c.code.table_bytes);
    free(out);
    return c;
}

static void round_trip(const uint8_t *symbols, size_t n)
{
    struct coded c = encode(symbols, n);
    struct guarded out = guard_new(n, 1);
    struct rans_table t;
    assert_int_equal(pith_rans_read_table(c.code.table, c.code.table_bytes, &t), PITH_OK);
    for (uint32_t l = 0; l < LEVELS; l++) {
        if (!has_level(l))
            continue;
        memset(out.data, 77, n);
        assert_int_equal(decode(&t, c.bytes, c.n_bytes, n, l, l % 2 ? 2048 : 96, out.data),
                         PITH_OK);
        assert_memory_equal(out.data, symbols, n);
    }
    memset(out.data, 77, n);
    assert_int_equal(pull(&t, c.bytes, c.n_bytes, n, out.data), PITH_OK);
    assert_memory_equal(out.data, symbols, n);
    if (c.n_bytes) {
        assert_int_equal(decode(&t, c.bytes, c.n_bytes - 1, n, 0, 2048, out.data),
                         PITH_ERR_CORRUPT);
        assert_int_equal(pull(&t, c.bytes, c.n_bytes - 1, n, out.data), PITH_ERR_CORRUPT);
    }
    guard_free(&out);
    guard_free(&c.memory);
}

enum histogram { UNIFORM, GEOMETRIC, NEARLY_ONE, RARE_TAIL, BELL, SHAPES };

static void fill(uint8_t *symbols, size_t n, uint32_t alphabet, enum histogram shape,
                 uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t r = random_u64(seed);
        uint32_t v = (uint32_t)(r % alphabet);
        if (shape == GEOMETRIC)
            v = (uint32_t)__builtin_ctzll(r >> 8 | UINT64_C(1) << 55) % alphabet;
        if ((shape == NEARLY_ONE && r >> 32 & 4095) || (shape == RARE_TAIL && r >> 32 & 63))
            v = alphabet / 2;
        if (shape == BELL)
            v = (uint32_t)((random_f32(seed) + random_f32(seed) + random_f32(seed) + 3) / 6.001f *
                           (float)alphabet);
        symbols[i] = (uint8_t)v;
    }
}

TEST(alphabets)
{
    static uint8_t symbols[6000];
    uint64_t seed = SEED;
    printf("# seed %u\n", SEED);
    for (uint32_t a = 1; a <= 256; a += a < 20 ? 1 : 7)
        for (enum histogram shape = 0; shape < SHAPES; shape++) {
            size_t n = a % 2 ? 701 : 6000;
            fill(symbols, n, a, shape, &seed);
            round_trip(symbols, n);
        }
    assert_int_equal(all_crc, 0x089bf0a5);
}

TEST(lengths)
{
    static const size_t n[] = {65535, 65536, 65537, 100001, 131072, 131105, 300000};
    uint8_t *symbols = malloc(ROOM);
    uint64_t seed = SEED;
    for (size_t i = 1; i < 200; i++) {
        fill(symbols, i, 1 + (uint32_t)i % 40, (enum histogram)(i % SHAPES), &seed);
        round_trip(symbols, i);
    }
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (enum histogram shape = 0; shape < SHAPES; shape++) {
            fill(symbols, n[i], 256u >> i % 8, shape, &seed);
            round_trip(symbols, n[i]);
        }
    free(symbols);
}

/* What a block holds is decoded without those before it. */
TEST(entry_points)
{
    size_t n = 300000;
    uint8_t *symbols = malloc(n), *out = malloc(n);
    uint64_t seed = SEED;
    fill(symbols, n, 200, BELL, &seed);
    struct coded c = encode(symbols, n);
    assert_int_equal(c.bytes[0], 16);
    pith_rans_build_entries(&c.code.frequencies, entries);
    for (uint64_t block = 0; block < 5; block++) {
        struct rans_stream s;
        assert_int_equal(pith_rans_open(&s, (struct stream){c.bytes, c.n_bytes}, n,
                                        &c.code.frequencies, entries, pith_cpu_features()),
                         PITH_OK);
        pith_rans_skip(&s, block);
        assert_int_equal(s.left, n - (block << 16));
        assert_int_equal(pith_rans_next(&s, out, s.left), PITH_OK);
        assert_memory_equal(out, symbols + (block << 16), n - (block << 16));
    }
    guard_free(&c.memory);
    free(symbols);
    free(out);
}

static double entropy_bytes(const uint64_t *hist, double n)
{
    double bits = 0;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        if (hist[s])
            bits -= (double)hist[s] * log2((double)hist[s] / n);
    return bits / 8;
}

/* Within 0.5 % and 256 bytes of the entropy, table included, from 64 K symbols on. */
TEST(close_to_entropy)
{
    static const uint32_t alphabet[] = {2, 3, 4, 8, 15, 16, 32, 100, 255, 256};
    uint8_t *symbols = malloc(ROOM);
    uint64_t seed = SEED;
    for (uint32_t i = 0; i < sizeof alphabet / sizeof *alphabet; i++)
        for (enum histogram shape = 0; shape < SHAPES; shape++)
            for (size_t n = 65536; n <= ROOM; n += 110000) {
                uint64_t hist[PITH_SYMBOLS] = {0};
                fill(symbols, n, alphabet[i], shape, &seed);
                pith_histogram_add(hist, symbols, n);
                struct coded c = encode(symbols, n);
                double least = entropy_bytes(hist, (double)n);
                double bytes = (double)(c.n_bytes + c.code.table_bytes);
                if (bytes > 1.005 * least + 256)
                    fail_msg("%u symbols of shape %u, %zu of them: %.0f bytes, entropy %.0f",
                             alphabet[i], shape, n, bytes, least);
                guard_free(&c.memory);
            }
    free(symbols);
}

/* Distributions with a name take five bytes, whatever the alphabet. */
TEST(curves)
{
    for (uint32_t gauss = 0; gauss < 2; gauss++) {
        uint64_t hist[PITH_SYMBOLS] = {0};
        struct pith_rans_code code;
        double entropy = 0, n = 0;
        for (int s = 0; s < 63; s++) {
            double x = (s - 31) / 12.0;
            hist[s] = (uint64_t)(400 * exp(gauss ? -x * x / 2 : -fabs(x)));
            n += (double)hist[s];
        }
        entropy = 8 * entropy_bytes(hist, n);
        pith_rans_build(hist, &code);
        assert_int_equal(code.table_bytes, 5);
        assert_int_equal(code.table[0] & 3, RANS_CURVE);
        assert_true((double)pith_rans_cost_bits(&code, hist) < 1.01 * entropy);
    }
}

/* Changed streams of one block, at the end of a page: refused by every reader. */
static void refused_by_all(const struct coded *c, const uint8_t *bytes, size_t n_bytes, size_t n)
{
    struct guarded in = guard_new(n_bytes, 1), out = guard_new(n, 1);
    memcpy(in.data, bytes, n_bytes);
    for (uint32_t l = 0; l < LEVELS; l++)
        if (has_level(l))
            assert_int_equal(decode(&c->code.frequencies, in.data, n_bytes, n, l, 2048, out.data),
                             PITH_ERR_CORRUPT);
    assert_int_equal(pull(&c->code.frequencies, in.data, n_bytes, n, out.data), PITH_ERR_CORRUPT);
    guard_free(&in);
    guard_free(&out);
}

/* A block of one word or one byte of escapes more than it needs, or less, or with a bit behind the
 * last escape; its directory says so. */
TEST(blocks_have_what_they_need)
{
    uint64_t seed = SEED;
    uint32_t with_escapes = 0;
    for (uint32_t i = 0; i < 300; i++) {
        static uint8_t symbols[20032], b[20032];
        size_t n = i % 2 ? 20032 - i : 33 + 9 * i;
        fill(symbols, n, 200, i % 2 ? NEARLY_ONE : (enum histogram)(i / 2 % SHAPES), &seed);
        struct coded c = encode(symbols, n);
        const bool escapes = c.code.frequencies.escapes;
        const size_t head = 2 + escapes, end = c.n_bytes;
        const size_t tail = escapes ? c.bytes[2] : 0;
        if (c.code.frequencies.single || c.bytes[1] > 126 || tail > 126 || n >> c.bytes[0]) {
            guard_free(&c.memory); /* sizes of one byte are enough here */
            continue;
        }
        assert_int_equal(head + 4 * RANS_LANES + 2 * c.bytes[1] + tail, end);
        const size_t words_end = end - tail;
        memcpy(b, c.bytes, words_end);
        memset(b + words_end, 0, 2);
        memcpy(b + words_end + 2, c.bytes + words_end, tail);
        b[1]++;
        refused_by_all(&c, b, end + 2, n);
        if (c.bytes[1] > 0) {
            memcpy(b + words_end - 2, c.bytes + words_end, tail);
            b[1] = (uint8_t)(c.bytes[1] - 1);
            refused_by_all(&c, b, end - 2, n);
        }
        if (tail > 0) {
            with_escapes++;
            memcpy(b, c.bytes, end);
            b[end] = 0;
            b[2]++;
            refused_by_all(&c, b, end + 1, n);
            b[2] = (uint8_t)(tail - 1);
            refused_by_all(&c, b, end - 1, n);
        }
        memcpy(b, c.bytes, end);
        b[0] = RANS_MIN_BLOCK - 1;
        refused_by_all(&c, b, end, n);
        b[0] = RANS_MAX_BLOCK + 1;
        refused_by_all(&c, b, end, n);
        for (uint32_t lane = 0; lane < RANS_LANES; lane++) { /* begin and end go together */
            memcpy(b, c.bytes, end);
            b[head + 4 * lane + 3] ^= 0x80;
            struct guarded out = guard_new(n, 1);
            enum pith_status st = decode(&c.code.frequencies, b, end, n, 0, 2048, out.data);
            assert_int_equal(pull(&c.code.frequencies, b, end, n, out.data), st);
            guard_free(&out);
        }
        guard_free(&c.memory);
    }
    assert_true(with_escapes > 5);
}

/* Arbitrary changes are noticed, or change symbols: never what lies outside. */
TEST(broken_streams)
{
    const size_t most = 20032;
    uint8_t *symbols = malloc(most);
    uint64_t seed = SEED;
    for (uint32_t i = 0; i < 600; i++) {
        size_t n = most - i % 33;
        fill(symbols, n, 2 + i % 250, (enum histogram)(i % SHAPES), &seed);
        struct coded c = encode(symbols, n);
        struct guarded out = guard_new(n, 1), again = guard_new(n, 1);
        size_t within = i % 2 && c.n_bytes > 140 ? 140 : c.n_bytes;
        for (uint32_t k = 0; k < 1 + i % 3 && within > 0; k++)
            c.bytes[random_u64(&seed) % within] ^= (uint8_t)(1u << random_u64(&seed) % 8);
        enum pith_status st = decode(&c.code.frequencies, c.bytes, c.n_bytes, n, 0, 2048, out.data);
        assert_int_equal(pull(&c.code.frequencies, c.bytes, c.n_bytes, n, again.data), st);
        for (uint32_t l = 1; l < LEVELS; l++)
            if (has_level(l))
                assert_int_equal(
                    decode(&c.code.frequencies, c.bytes, c.n_bytes, n, l, 2048, again.data), st);
        assert_true(st || !memcmp(out.data, again.data, n));
        guard_free(&out);
        guard_free(&again);
        guard_free(&c.memory);
    }
    free(symbols);
}

/* Whatever the bytes: a table that is accepted has frequencies of 4096 together. */
TEST(random_tables)
{
    uint64_t seed = SEED;
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < 400000; i++) {
        uint8_t bytes[255];
        struct rans_table t;
        size_t n = random_u64(&seed) % (i % 4 ? 8 : 256);
        for (size_t k = 0; k < n; k++)
            bytes[k] = (uint8_t)(random_u64(&seed) >> (i % 7));
        if (n && i % 2)
            bytes[n - 1] &= 1;
        if (pith_rans_read_table(bytes, n, &t) || t.single)
            continue;
        accepted++;
        uint32_t sum = 0;
        for (uint32_t s = 0; s < t.n_symbols; s++) {
            assert_true(t.start[s] <= t.start[s + 1]);
            assert_true(t.start[s + 1] - t.start[s] <= 4095);
            sum += (uint32_t)t.start[s + 1] - t.start[s];
        }
        assert_int_equal(sum, RANS_SLOTS);
        assert_true(!t.escapes || t.start[t.escape + 1] > t.start[t.escape]);
    }
    assert_true(accepted > 100);
}

/* Kernels stop before what they may not read, and say so. */
TEST(rows_stop)
{
    struct rans_table t;
    uint64_t seed = SEED;
    uint8_t symbols[512], out[512];
    fill(symbols, sizeof symbols, 256, UNIFORM, &seed);
    struct coded c = encode(symbols, sizeof symbols);
    t = c.code.frequencies;
    pith_rans_build_entries(&t, entries);
    for (uint32_t l = 0; l < LEVELS; l++)
        for (size_t left = 0; has_level(l) && left < 200; left++) {
            struct guarded in = guard_new(left, 1);
            struct decode_kernels k;
            uint32_t state_at[RANS_LANES];
            const uint8_t *at = in.data;
            for (uint32_t i = 0; i < RANS_LANES; i++)
                state_at[i] = (uint32_t)random_u64(&seed);
            memset(in.data, 1, left);
            pith_decode_kernels_fill(&k, level_mask[l]);
            size_t rows = k.rans_rows(state_at, entries, &at, at + left, out, 16);
            assert_true(rows == 16 || (size_t)((uint8_t *)in.data + left - at) < RANS_ROW_BYTES);
            assert_true(left >= RANS_ROW_BYTES || rows == 0);
            guard_free(&in);
        }
    guard_free(&c.memory);
}

RUN_TESTS
