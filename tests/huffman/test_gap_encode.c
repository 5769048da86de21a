/* SPDX-License-Identifier: MIT */
/* Supports: the mapping of gaps to symbols, size against the order-0 entropy of true gaps, the
 * choice of patterns for dense and structured masks, far gaps, and refusals. (That every mask comes
 * back is test_weight.c's business.) */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "huffman/gap_symbols.h"
#include "huffman/huff_write.h"
#include "huffman/package_merge.h"
#include "coded_weight.h"

#define SEED 5u

TEST(symbols_of_gaps)
{
    assert_int_equal(pith_gap_symbol(13, 4, 2), 13); /* the document's examples */
    assert_int_equal(pith_gap_symbol(100, 4, 2), 26);
    assert_int_equal(pith_gap_extra_bits(26, 4, 2), 4);
    assert_int_equal(pith_gap_symbol(6, 1, 1), 5);
    for (uint32_t d = 0; d < 8; d++)
        for (uint32_t m = 0; m <= d && m < 4; m++) {
            uint32_t last = 0;
            for (uint64_t gap = 0; gap < UINT64_C(1) << 32;
                 gap = gap < 5000 ? gap + 1 : gap * 33 / 32) {
                uint32_t s = pith_gap_symbol((uint32_t)gap, d, m);
                assert_true(s == last || s == last + 1);
                assert_true(gap >> d ? s >= 1u << d : s == gap);
                assert_true(pith_gap_extra_bits(s, d, m) <= 31);
                last = s;
            }
        }
}

struct sizes {
    double gap_entropy; /* bytes */
    size_t bytes;       /* table and stream */
    struct pith_support_code code;
};

static struct sizes measure(const uint8_t *mask, uint64_t count)
{
    struct sizes z = {0};
    struct pith_support_profile *p = calloc(1, sizeof *p);
    uint64_t *hist = calloc(count + 1, sizeof *hist), next = 0;
    pith_support_profile_add(p, mask, count);
    assert_int_equal(pith_support_build(p, &z.code), PITH_OK);
    size_t cap = pith_support_bound(&z.code, p), bytes;
    uint8_t *out = malloc(cap + 1);
    assert_int_equal(pith_support_encode(&z.code, mask, count, out, cap, &bytes), PITH_OK);
    assert_true(bytes <= cap);
    if (bytes)
        assert_int_equal(pith_support_encode(&z.code, mask, count, out, bytes - 1, &cap),
                         PITH_ERR_SPACE);
    z.bytes = bytes + pith_support_table_bytes(&z.code);
    for (uint64_t i = 0; i < count; i++)
        if (mask[i]) {
            hist[i - next]++;
            next = i + 1;
        }
    for (uint64_t i = 0; i < count; i++)
        if (hist[i])
            z.gap_entropy -= (double)hist[i] * log2((double)hist[i] / (double)p->nnz) / 8;
    free(hist);
    free(out);
    free(p);
    return z;
}

/* Random masks, 0.3 % to 50 %, from 20,000 nonzeros on: within 2 % with the table. */
TEST(close_to_entropy)
{
    static const uint32_t per_mille[] = {3, 10, 30, 60, 90, 130, 180, 250, 330, 400, 500};
    uint64_t seed = SEED;
    print_message("# seed %u\n", SEED);
    for (size_t k = 0; k < sizeof per_mille / sizeof *per_mille; k++) {
        uint64_t count = 20000000u / per_mille[k];
        uint8_t *mask = malloc(count);
        for (uint64_t i = 0; i < count; i++)
            mask[i] = random_u64(&seed) % 1000 < per_mille[k];
        struct sizes z = measure(mask, count);
        if ((double)z.bytes > 1.02 * z.gap_entropy)
            fail_msg("density %u: %zu bytes, entropy %.0f", per_mille[k], z.bytes, z.gap_entropy);
        free(mask);
    }
}

/* Two of every four: the entropy is log2(6) bits a group; patterns find it, gaps cannot. */
TEST(two_of_four)
{
    static const uint8_t two[6] = {3, 5, 6, 9, 10, 12};
    static uint8_t mask[80000];
    uint64_t seed = SEED;
    for (uint32_t i = 0; i < sizeof mask; i += 4)
        for (uint32_t k = 0, p = two[random_u64(&seed) % 6]; k < 4; k++)
            mask[i + k] = p >> k & 1;
    struct sizes z = measure(mask, sizeof mask);
    assert_int_equal(z.code.kind, PITH_SUPPORT_PATTERNS);
    assert_true((double)z.bytes < 1.02 * 20000 * log2(6) / 8 + 40);
}

/* 1 behind each of n gaps. Returns where the last one ends. */
static uint64_t mask_of_gaps(const uint8_t *gap, uint32_t n, uint8_t *mask, uint64_t n_mask)
{
    uint64_t at = 0;
    memset(mask, 0, n_mask);
    for (uint32_t i = 0; i < n; i++) {
        at += gap[i];
        assert_true(at < n_mask);
        mask[at++] = 1;
    }
    return at;
}

/* Gaps 7, 12, 3, 10, 2 and 4: 22 bits and a table of 4 bytes without direct gaps, as with some. */
TEST(fewest_direct_gaps_at_equal_cost)
{
    static const uint8_t gap[] = {7, 12, 3, 10, 2, 4};
    uint8_t mask[45];
    assert_int_equal(mask_of_gaps(gap, 6, mask, sizeof mask), 44);
    struct sizes z = measure(mask, 45);
    assert_int_equal(z.code.kind, PITH_SUPPORT_GAPS);
    assert_int_equal(z.code.direct_bits, 0);
    assert_int_equal(z.code.mantissa_bits, 0);
    assert_int_equal(pith_support_table_bytes(&z.code), 4);
}

/* Gaps 2 and 3 in no order: two symbols without extra bits with two direct bits, and with one and
 * one of mantissa, which decode more slowly. */
TEST(direct_gaps_before_far_ones)
{
    uint8_t gap[400], mask[1600];
    uint64_t seed = SEED;
    for (uint32_t i = 0; i < 400; i++)
        gap[i] = (uint8_t)(2 + random_u64(&seed) % 2);
    struct sizes z = measure(mask, mask_of_gaps(gap, 400, mask, sizeof mask));
    assert_int_equal(z.code.kind, PITH_SUPPORT_GAPS);
    assert_int_equal(z.code.direct_bits, 2);
}

/* Gaps 70, 71, 100 and 101, two bits each: fewer direct bits take 70 and 71 for one symbol. */
TEST(seven_direct_bits)
{
    static const uint8_t some[] = {70, 71, 100, 101};
    static uint8_t gap[1000], mask[102000];
    uint64_t seed = SEED;
    for (uint32_t i = 0; i < sizeof gap; i++)
        gap[i] = some[random_u64(&seed) % 4];
    struct sizes z = measure(mask, mask_of_gaps(gap, sizeof gap, mask, sizeof mask));
    assert_int_equal(z.code.kind, PITH_SUPPORT_GAPS);
    assert_int_equal(z.code.direct_bits, 7);
    assert_in_range(z.bytes, 240, 270);
}

/* With seven direct bits and eighths a gap of 2^23 would be symbol 256, which no code has; the gap
 * before it is the last with a symbol. */
TEST(the_first_gap_without_symbol)
{
    uint64_t count = (UINT64_C(1) << 23) + 1;
    uint8_t *mask = calloc(count, 1), out[64];
    struct pith_support_profile *p = calloc(1, sizeof *p);
    struct pith_support_code code;
    size_t bytes;
    assert_int_equal(pith_gap_symbol((uint32_t)count - 1, 7, 3), 256);
    mask[count - 1] = 1;
    pith_support_profile_add(p, mask, count - 1);
    pith_support_profile_add(p, (const uint8_t[]){1}, 1);
    assert_int_equal(pith_support_build(p, &code), PITH_OK);
    code.kind = PITH_SUPPORT_GAPS;
    code.direct_bits = 7;
    code.mantissa_bits = 3;
    memset(code.huff.len, 1, sizeof code.huff.len); /* every symbol has one */
    code.huff.n_symbols = code.huff.n_present = PITH_SYMBOLS;
    assert_int_equal(pith_support_encode(&code, mask, count, out, sizeof out, &bytes),
                     PITH_ERR_ARGUMENT);
    assert_int_equal(pith_support_encode(&code, mask + 1, count - 1, out, sizeof out, &bytes),
                     PITH_OK);
    free(p);
    free(mask);
}

TEST(far_apart)
{
    uint64_t count = UINT64_C(50) << 20;
    uint8_t *mask = calloc(count, 1);
    mask[0] = mask[1] = mask[300] = mask[70000] = mask[count - 1] = 1;
    struct sizes z = measure(mask, count);
    assert_true(z.bytes <= 24);
    /* with seven direct bits and eighths, gaps from 2^23 on have no symbol */
    z.code.direct_bits = 7;
    z.code.mantissa_bits = 3;
    size_t bytes;
    uint8_t out[64];
    assert_int_equal(pith_support_encode(&z.code, mask, count, out, sizeof out, &bytes),
                     PITH_ERR_ARGUMENT);
    struct pith_support_profile *p = calloc(1, sizeof *p);
    pith_support_profile_add(p, mask, count);
    assert_int_equal(pith_support_cost_bits(&z.code, p), UINT64_MAX);
    assert_int_equal(pith_support_bound(&z.code, p), SIZE_MAX);
    free(p);
    free(mask);
}

TEST(nothing_kept)
{
    static const uint8_t mask[100];
    struct pith_support_profile p;
    struct pith_support_code code;
    size_t bytes = 9;
    memset(&p, 0, sizeof p);
    pith_support_profile_add(&p, mask, sizeof mask);
    assert_int_equal(pith_support_build(&p, &code), PITH_OK);
    assert_int_equal(pith_support_table_bytes(&code), 0);
    assert_int_equal(pith_support_bound(&code, &p), 0);
    assert_int_equal(pith_support_encode(&code, mask, sizeof mask, NULL, 0, &bytes), PITH_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(pith_support_cost_bits(&code, &p), 0);
    assert_int_equal(pith_support_encode(&code, (const uint8_t[]){1}, 1, NULL, 0, &bytes),
                     PITH_ERR_ARGUMENT);
}

/* cost_bits is what the stream takes, to the padding of its sub-streams and their directory. */
TEST(cost_is_size)
{
    uint64_t seed = SEED;
    static uint8_t mask[300000], out[300000];
    for (uint32_t density = 1; density < 1000; density += 111) {
        struct pith_support_profile p;
        struct pith_support_code code;
        size_t bytes;
        memset(&p, 0, sizeof p);
        for (uint32_t i = 0; i < sizeof mask; i++)
            mask[i] = random_u64(&seed) % 1000 < density;
        pith_support_profile_add(&p, mask, sizeof mask);
        assert_int_equal(pith_support_build(&p, &code), PITH_OK);
        assert_int_equal(pith_support_encode(&code, mask, sizeof mask, out, sizeof out, &bytes),
                         PITH_OK);
        uint64_t bits = pith_support_cost_bits(&code, &p);
        assert_in_range(8 * bytes, bits, bits + 8 * pith_huff_stream_overhead(300000));
    }
}

/* Every bit of a small support flipped: refused, or other positions, all inside and ascending. */
TEST(flipped_bits)
{
    uint64_t seed = SEED;
    struct case_spec s = {
        .count = 3000, .density = 60, .support = SUPPORT_GAPS, .n_centroids = 4, .n_groups = 1};
    struct weight_case c = case_new(&s, &seed);
    struct weight *w = &c.w;
    uint32_t *pos = malloc(w->nnz * sizeof *pos), refused = 0;
    void *scratch = malloc(131072);
    for (size_t bit = 0; bit < 8 * (w->support_stream.n_bytes + w->gap_table.n_bytes); bit++) {
        size_t at = bit / 8, n = w->support_stream.n_bytes;
        uint8_t *byte = at < n ? &c.bytes[2][at] : &c.bytes[0][at - n];
        *byte ^= (uint8_t)(1u << bit % 8);
        assert_true(pith_weight_scratch_bytes(w) <= 131072);
        if (pith_weight_expand_parts(w, pos, NULL, NULL, scratch)) {
            refused++;
        } else {
            for (uint64_t i = 0; i < w->nnz; i++) {
                assert_true(pos[i] < w->count);
                assert_true(i == 0 || pos[i] > pos[i - 1]);
            }
        }
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refused > 0);
    free(pos);
    free(scratch);
    case_free(&c);
}

/* Positions of near nonzeros come in blocks of 16: some numbers of them end with a block, and pos
 * there. */
TEST(positions_end_with_a_block)
{
    uint64_t seed = SEED;
    uint32_t whole_blocks = 0;
    for (uint32_t count = 64; count < 192; count++) {
        struct case_spec s = {.count = count,
                              .density = 500,
                              .support = SUPPORT_GAPS,
                              .n_centroids = 4,
                              .n_groups = 1};
        struct weight_case c = case_new(&s, &seed);
        uint32_t *pos = malloc(c.w.nnz * sizeof *pos + 1);
        void *scratch = malloc(pith_weight_scratch_bytes(&c.w));
        assert_int_equal(pith_weight_expand_parts(&c.w, pos, NULL, NULL, scratch), PITH_OK);
        whole_blocks += c.w.nnz % 16 == 0;
        free(pos);
        free(scratch);
        case_free(&c);
    }
    assert_true(whole_blocks > 0);
}

RUN_TESTS
