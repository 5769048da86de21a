/* SPDX-License-Identifier: MIT */
/* Byte planes: what is written is read again, to the bit; damage is refused, and nothing is written
 * beyond. */
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "core/bytes.h"
#include "guard_page.h"
#include "pith_huffman.h"
#include "huffman/plane_encode.h"
#include "rows_agree.h"

#define MOST 70000u

static float value[MOST];
static uint8_t stream[PLANES * (MOST + 1)];

enum kind { SAME, ZEROS, BELL, HALVES, ANY, KINDS };

static uint32_t bits_of_kind(enum kind k, uint64_t *seed)
{
    switch (k) {
    case SAME:
        return f32_bits(-1.5f);
    case ZEROS:
        return random_u64(seed) % 50 ? 0 : 0x80000000u;
    case BELL:
        return f32_bits(random_f32(seed) + random_f32(seed) + random_f32(seed));
    case HALVES:
        return f32_bits(random_f32(seed) + random_f32(seed)) & 0xffffe000u;
    default:
        return (uint32_t)random_u64(seed); /* infinities and NaN too */
    }
}

static struct weight weight_of(uint64_t n, size_t bytes)
{
    return (struct weight){.type = PITH_F32,
                           .shape = {.rank = 1, .dim = {(uint32_t)n}},
                           .count = n,
                           .nnz = n,
                           .code = CODE_PLANES,
                           .n_groups = 1,
                           .index_stream = {stream, bytes}};
}

static size_t make(uint64_t n, enum kind k, uint64_t seed)
{
    size_t bytes;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = bits_of_kind(k, &seed);
        memcpy(&value[i], &bits, sizeof bits);
    }
    assert_int_equal(pith_planes_encode(value, n, stream, &bytes), PITH_OK);
    assert_true(bytes <= pith_planes_bound(n));
    return bytes;
}

/* The public call, in scratch and to memory that end at a guard page; and float by float. */
static enum pith_status expand(const struct weight *w, const float *expect)
{
    struct guarded dst = guard_new((size_t)w->count * sizeof(float), 1);
    size_t scratch_bytes = pith_weight_scratch_bytes(w);
    struct guarded scratch = guard_new(scratch_bytes, 1);
    enum pith_status st = pith_weight_expand_f32(w, (float *)(void *)dst.data, scratch.data);
    if (!st && expect)
        assert_memory_equal(dst.data, expect, (size_t)w->count * sizeof(float));
    rows_agree(w, st, (const float *)(const void *)dst.data);
    guard_free(&dst);
    guard_free(&scratch);
    return st;
}

TEST(read_again)
{
    static const uint64_t counts[] = {1, 2, 100, 4095, 4096, 32767, 32769, MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint32_t k = 0; k < KINDS; k++) {
            struct weight w = weight_of(counts[c], make(counts[c], (enum kind)k, 7 * c + k));
            assert_int_equal(expand(&w, value), PITH_OK);
        }
}

/* An exponent has about 2.6 bits in a trained layer, here; three bytes stay what they are. */
TEST(sizes)
{
    assert_true(make(MOST, BELL, 3) < MOST * 34 / 10);
    assert_true(make(MOST, HALVES, 3) < MOST * 21 / 10);
    assert_true(make(MOST, SAME, 3) < 100);
    assert_int_equal(make(MOST, ANY, 3), PLANES * (MOST + 1));
}

/* 1.0, -1.0, 1.0, 0.5, 2.0 are the words 7F000000, 7F000001, 7F000000, 7E000000, 80000000: a plain
 * plane, two of zeros as tables of one symbol, a plain one. */
TEST(by_hand)
{
    static const uint8_t example[] = {0, 0, 1, 0, 0, 0,    2,    0,    6,    0,
                                      2, 0, 6, 0, 0, 0x7f, 0x7f, 0x7f, 0x7e, 0x80};
    static const float expect[] = {1, -1, 1, 0.5f, 2};
    struct weight w = weight_of(5, sizeof example);
    w.index_stream.bytes = example;
    assert_int_equal(expand(&w, expect), PITH_OK);
}

/* Each is refused for what was changed alone. */
TEST(refused)
{
    static const uint8_t good[] = {0, 0, 1, 0, 0, 0,    2,    0,    6,    0,
                                   2, 0, 6, 0, 0, 0x7f, 0x7f, 0x7f, 0x7e, 0x80};
    uint8_t bad[sizeof good + 1] = {0};
    struct weight w = weight_of(5, sizeof good);
    w.index_stream.bytes = bad;
    memcpy(bad, good, sizeof good);
    assert_int_equal(expand(&w, NULL), PITH_OK);
    for (size_t n = 0; n < sizeof good; n++) { /* cut anywhere */
        w.index_stream.n_bytes = n;
        assert_int_equal(expand(&w, NULL), PITH_ERR_CORRUPT);
    }
    w.index_stream.n_bytes = sizeof good + 1; /* a byte too many */
    assert_int_equal(expand(&w, NULL), PITH_ERR_CORRUPT);
    w.index_stream.n_bytes = sizeof good;
    bad[8] = 0x0e; /* padding of a table */
    assert_int_equal(expand(&w, NULL), PITH_ERR_CORRUPT);
    static const uint8_t long_table[] = {0, 0, 1, 0, 0, 0,    3,    0,    6,    0,   0,
                                         2, 0, 6, 0, 0, 0x7f, 0x7f, 0x7f, 0x7e, 0x80};
    memcpy(bad, long_table, sizeof long_table); /* of three bytes where two are one */
    w.index_stream.n_bytes = sizeof long_table;
    assert_int_equal(expand(&w, NULL), PITH_ERR_CORRUPT);
    static const uint8_t long_stream[] = {0, 0, 1, 0, 0, 0,    2,    0,    6,    1,   0,
                                          2, 0, 6, 0, 0, 0x7f, 0x7f, 0x7f, 0x7e, 0x80};
    memcpy(bad, long_stream, sizeof long_stream); /* a byte in a sub-stream without bits */
    assert_int_equal(expand(&w, NULL), PITH_ERR_CORRUPT);
    memcpy(bad, good, sizeof good);
    w.index_stream.n_bytes = sizeof good;
    struct weight other = w; /* what the gate refuses, too */
    other.type = PITH_I32;
    assert_int_equal(expand(&other, NULL), PITH_ERR_CORRUPT);
    other = w;
    other.nnz--;
    assert_int_equal(expand(&other, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(expand(&w, NULL), PITH_OK);
}

/* Any byte changed: refused, or other floats, and no byte outside touched. */
TEST(damaged)
{
    uint64_t seed = 11;
    struct weight w = weight_of(5000, make(5000, HALVES, 5));
    for (uint32_t i = 0; i < 4000; i++) {
        size_t at = (size_t)(i < 600 ? i % w.index_stream.n_bytes
                                     : random_u64(&seed) % w.index_stream.n_bytes);
        uint8_t was = stream[at];
        stream[at] ^= (uint8_t)(1 + random_u64(&seed) % 255);
        enum pith_status st = expand(&w, NULL);
        assert_true(st == PITH_OK || st == PITH_ERR_CORRUPT);
        stream[at] = was;
    }
    assert_int_equal(expand(&w, value), PITH_OK);
}

/* Positions are all elements; values may be left out. */
TEST(parts)
{
    static uint32_t pos[5000];
    static float read[5000];
    struct weight w = weight_of(5000, make(5000, BELL, 6));
    void *scratch = malloc(pith_weight_scratch_bytes(&w));
    assert_non_null(scratch);
    assert_int_equal(pith_weight_expand_parts(&w, pos, NULL, read, scratch), PITH_OK);
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(pos[i], i);
    assert_memory_equal(read, value, sizeof read);
    memset(read, 0, sizeof read);
    assert_int_equal(pith_weight_expand_plain(&w, read, scratch), PITH_OK);
    assert_memory_equal(read, value, sizeof read);
    free(scratch);
}

RUN_TESTS
