/* SPDX-License-Identifier: MIT */
/* test_support_ends.c - where a coded support ends: the tensor's last element, the last nonzero
 * that the description declares, the last bit of each sub-stream. What lies one beyond is refused
 * wherever in the stream it is met. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "decode/gap_decode.h"
#include "huffman/gap_symbols.h"
#include "huffman/huff_write.h"
#include "huffman/package_merge.h"
#include "guard_page.h"
#include "pith_huffman.h"

#define MOST 40000u

struct coded {
    struct support_lengths table;
    uint32_t entries[1 << HUFF_MAX_LEN], bits;
    uint8_t stream[MOST];
    size_t bytes;
    uint32_t nonzero[MOST]; /* where */
    uint64_t count, nnz;
};

static void encode(struct coded *c, const uint8_t *mask, uint32_t count,
                   struct pith_support_code code)
{
    static struct pith_support_profile p;
    struct support_histogram h;
    uint8_t table[PITH_HUFF_TABLE_MAX + 2];
    memset(&p, 0, sizeof p);
    memset(c, 0, sizeof *c);
    pith_support_profile_add(&p, mask, count);
    assert_true(pith_support_histogram(&p, &code, &h));
    assert_int_equal(pith_huff_build(h.hist, &code.huff), PITH_OK);
    assert_int_equal(
        pith_support_encode(&code, mask, count, c->stream, sizeof c->stream, &c->bytes), PITH_OK);
    pith_support_table_write(&code, table);
    assert_int_equal(pith_support_read_table(table, pith_support_table_bytes(&code), &c->table),
                     PITH_OK);
    for (uint32_t i = 0; i < count; i++)
        if (mask[i])
            c->nonzero[c->nnz++] = i;
    c->count = count;
    c->bits = pith_huff_table_bits(&c->table.huff, c->nnz);
    if (c->table.huff.n_present > 1)
        pith_huff_build_table(&c->table.huff, c->bits, c->entries);
}

/* Of a tensor of `count` with `nnz` declared nonzeros, `step` at a time; the room for symbols and
 * for positions ends at pages that nothing follows. */
static enum pith_status decode(const struct coded *c, uint64_t count, uint64_t nnz, size_t step)
{
    struct gap_reader r;
    uint64_t n = support_symbols(&c->table, count, nnz);
    n = n < HUFF_GROUP_SYMBOLS ? n : HUFF_GROUP_SYMBOLS;
    struct guarded symbols = guard_new(n, 1), stream = guard_new(c->bytes ? c->bytes : 1, 1);
    struct guarded pos = guard_new(nnz * sizeof(uint32_t), 1);
    memset(symbols.data, 0xff, n);
    memcpy(stream.data, c->stream, c->bytes);
    uint32_t *at = pos.data;
    enum pith_status st =
        pith_gap_open(&r,
                      &(struct coded_support){&c->table, c->entries, c->bits,
                                              (struct stream){stream.data, c->bytes}, count, nnz},
                      symbols.data);
    for (uint64_t done = 0; done < nnz && st == PITH_OK; done += step)
        st = pith_gap_next(&r, at + done, nnz - done < step ? nnz - done : step);
    if (st == PITH_OK && nnz == c->nnz && count == c->count)
        assert_memory_equal(at, c->nonzero, nnz * sizeof *at);
    guard_free(&symbols);
    guard_free(&stream);
    guard_free(&pos);
    return st;
}

static uint32_t random_mask(uint8_t *mask, uint32_t count, uint32_t per_mille, uint64_t *seed)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += mask[i] = random_u64(seed) % 1000 < per_mille;
    mask[count - 1] = 1;
    return n;
}

/* Whichever nonzero is the first behind the tensor's end, direct or far, in a block or alone. */
TEST(gaps_past_the_tensor)
{
    static struct coded c;
    static uint8_t mask[MOST];
    static const uint32_t density[] = {8, 60, 300};
    uint64_t seed = 11;
    for (size_t d = 0; d < 3; d++)
        for (uint32_t direct = 0; direct <= 6; direct += 2) {
            random_mask(mask, 20000, density[d], &seed);
            encode(&c, mask, 20000, (struct pith_support_code){.direct_bits = direct});
            assert_int_equal(decode(&c, c.count, c.nnz, 100), PITH_OK);
            for (uint64_t k = 0; k < c.nnz; k += k < 40 || k + 40 > c.nnz ? 1 : 1 + c.nnz / 30)
                assert_int_equal(decode(&c, c.nonzero[k], c.nnz, c.nnz), PITH_ERR_CORRUPT);
        }
}

/* Sixteen gaps of the largest direct symbol fill a block to its last element. */
TEST(widest_block)
{
    static struct coded c;
    static uint8_t mask[8 * 64];
    memset(mask, 0, sizeof mask);
    for (uint32_t i = 7; i < sizeof mask; i += 8)
        mask[i] = 1;
    encode(&c, mask, sizeof mask, (struct pith_support_code){.direct_bits = 3});
    assert_int_equal(decode(&c, sizeof mask, c.nnz, c.nnz), PITH_OK);
    for (uint32_t less = 1; less <= 9; less++)
        assert_int_equal(decode(&c, sizeof mask - less, c.nnz, c.nnz), PITH_ERR_CORRUPT);
}

static struct pith_support_code patterns_of(uint32_t bits)
{
    return (struct pith_support_code){.kind = PITH_SUPPORT_PATTERNS, .pattern_bits = bits};
}

/* However many are requested at a time, and however many symbols are left at the end. */
TEST(patterns_in_steps)
{
    static struct coded c;
    static uint8_t mask[MOST];
    uint64_t seed = 12;
    for (uint32_t bits = 4; bits <= 8; bits += 4)
        for (uint32_t count = 49; count <= 121; count += 3)
            for (size_t step = 1; step < 130; step = 2 * step + 1) {
                random_mask(mask, count, 700, &seed);
                encode(&c, mask, count, patterns_of(bits));
                assert_int_equal(decode(&c, count, c.nnz, step), PITH_OK);
            }
    random_mask(mask, MOST, 500, &seed);
    encode(&c, mask, MOST, patterns_of(8));
    for (size_t step = 1; step < 20000; step = 5 * step + 3)
        assert_int_equal(decode(&c, MOST, c.nnz, step), PITH_OK);
}

/* A last pattern that reaches behind the tensor, and nonzeros that the description does not
 * declare.
 */
TEST(patterns_past_the_end)
{
    static struct coded c;
    static uint8_t mask[MOST];
    uint64_t seed = 13;
    for (uint32_t bits = 4; bits <= 8; bits += 4)
        for (uint32_t count = 162; count < 168; count++) {
            random_mask(mask, count, 400, &seed);
            encode(&c, mask, count, patterns_of(bits));
            assert_int_equal(decode(&c, count, c.nnz, c.nnz), PITH_OK);
            assert_int_equal(decode(&c, count - 1, c.nnz, c.nnz), PITH_ERR_CORRUPT);
            for (uint64_t nnz = 1; nnz < c.nnz; nnz++)
                assert_int_equal(decode(&c, count, nnz, nnz), PITH_ERR_CORRUPT);
            assert_int_equal(decode(&c, count, c.nnz + 1, c.nnz + 1), PITH_ERR_CORRUPT);
        }
}

/* More than are left are not given, though the stream has them. */
TEST(more_than_left)
{
    static struct coded c;
    uint8_t mask[64], symbols[64];
    uint32_t pos[64 + 8];
    struct gap_reader r;
    memset(mask, 1, sizeof mask);
    mask[3] = 0;
    encode(&c, mask, sizeof mask, patterns_of(8));
    assert_int_equal(
        pith_gap_open(&r,
                      &(struct coded_support){&c.table, c.entries, c.bits,
                                              (struct stream){c.stream, c.bytes}, 64, 62},
                      symbols),
        PITH_OK);
    assert_int_equal(pith_gap_next(&r, pos, 63), PITH_ERR_CORRUPT);
}

/* Bits that nothing reads are zero, in each sub-stream: whatever bit is turned, the stream is
 * refused or gives other positions; and no byte follows. */
TEST(no_bit_is_idle)
{
    static struct coded c;
    static uint8_t mask[MOST];
    static const struct pith_support_code kind[] = {
        {.kind = PITH_SUPPORT_PATTERNS, .pattern_bits = 4}, {.direct_bits = 2}, {.direct_bits = 0}};
    uint64_t seed = 14;
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t big = 0; big < 2; big++) {
            random_mask(mask, big ? 16500 : 700, big ? 270 : 100, &seed);
            if (big && k == 0) /* two patterns, one bit each */
                for (uint32_t i = 0; i < 16500; i++)
                    mask[i] = i % 4 == 0 && random_u64(&seed) % 2;
            encode(&c, mask, big ? 16500 : 700, kind[k]);
            assert_int_equal(decode(&c, c.count, c.nnz, c.nnz), PITH_OK);
            for (size_t bit = 0; bit < 8 * c.bytes; bit += big && k ? 7 : 1) {
                c.stream[bit / 8] ^= (uint8_t)(1u << bit % 8);
                struct gap_reader r;
                static uint8_t symbols[HUFF_GROUP_SYMBOLS];
                static uint32_t pos[MOST];
                if (pith_gap_open(&r,
                                  &(struct coded_support){&c.table, c.entries, c.bits,
                                                          (struct stream){c.stream, c.bytes},
                                                          c.count, c.nnz},
                                  symbols) == PITH_OK &&
                    pith_gap_next(&r, pos, c.nnz) == PITH_OK)
                    assert_memory_not_equal(pos, c.nonzero, c.nnz * sizeof *pos);
                c.stream[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
            c.stream[c.bytes++] = 0;
            assert_int_equal(decode(&c, c.count, c.nnz, c.nnz), PITH_ERR_CORRUPT);
        }
}

RUN_TESTS
