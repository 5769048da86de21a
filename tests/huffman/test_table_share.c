/* SPDX-License-Identifier: MIT */
/* Sharing: alike histograms share, unlike ones do not, the total never grows, and the answer is
 * the same each time. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "guard_page.h"
#include "pith_huffman.h"

#define SEED 31u
#define N 40u
#define REFERENCE_BITS 8u

static uint64_t own_bits(const uint64_t *hist)
{
    struct pith_huff_code code;
    assert_int_equal(pith_huff_build(hist, &code), PITH_OK);
    return pith_huff_cost_bits(&code, hist) + 8 * pith_huff_table_bytes(&code);
}

/* Bits of all under the shared tables, and a reference for all but the first of each. */
static uint64_t shared_bits(const uint64_t (*hist)[PITH_SYMBOLS], const uint32_t *table,
                            uint32_t n_tables)
{
    uint64_t bits = 0;
    for (uint32_t t = 0; t < n_tables; t++) {
        uint64_t sum[PITH_SYMBOLS] = {0};
        uint32_t members = 0;
        for (uint32_t i = 0; i < N; i++)
            if (table[i] == t) {
                members++;
                for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
                    sum[s] += hist[i][s];
            }
        assert_true(members > 0);
        bits += own_bits(sum) + (members - 1) * REFERENCE_BITS;
    }
    return bits;
}

/* Bell-shaped over `alphabet` symbols, n of them. */
static void fill(uint64_t *hist, uint32_t alphabet, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; i++) {
        float f = (random_f32(seed) + random_f32(seed) + random_f32(seed)) / 6 + 0.5f;
        hist[(uint32_t)(f * (float)(alphabet - 1) + 0.5f)]++;
    }
}

TEST(never_larger)
{
    static uint64_t hist[N][PITH_SYMBOLS];
    uint64_t seed = SEED;
    print_message("# seed %u\n", SEED);
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t table[N], again[N], n_tables, n_again;
        uint64_t alone = 0;
        memset(hist, 0, sizeof hist);
        for (uint32_t i = 0; i < N; i++)
            if (random_u64(&seed) % 8)
                fill(hist[i], 2u << random_u64(&seed) % 6,
                     (uint32_t)(random_u64(&seed) % (round % 2 ? 200 : 20000)), &seed);
        const uint64_t(*h)[PITH_SYMBOLS] = (const uint64_t(*)[PITH_SYMBOLS])hist;
        assert_int_equal(pith_huff_share(N, h, REFERENCE_BITS, table, &n_tables), PITH_OK);
        assert_int_equal(pith_huff_share(N, h, REFERENCE_BITS, again, &n_again), PITH_OK);
        assert_int_equal(n_tables, n_again);
        assert_memory_equal(table, again, sizeof table);
        uint32_t n_used = 0;
        for (uint32_t i = 0; i < N; i++) {
            uint64_t n = 0;
            for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
                n += hist[i][s];
            if (n == 0) {
                assert_int_equal(table[i], UINT32_MAX);
                continue;
            }
            alone += own_bits(hist[i]);
            assert_true(table[i] <= n_used); /* numbered in order of first use */
            n_used += table[i] == n_used;
        }
        assert_int_equal(n_used, n_tables);
        assert_true(shared_bits(h, table, n_tables) <= alone);
        assert_true(round % 2 == 0 || n_tables < N / 2); /* small alike ones do share */
    }
}

TEST(alike_and_unlike)
{
    static uint64_t hist[4][PITH_SYMBOLS];
    uint32_t table[4], n;
    for (uint32_t s = 0; s < 16; s++) {
        hist[0][s] = hist[2][s] = 5 + s * s;
        hist[1][s] = hist[3][s] = 5000 + 40000 * (15 - s);
    }
    assert_int_equal(pith_huff_share(4, (const uint64_t(*)[PITH_SYMBOLS])hist, 8, table, &n),
                     PITH_OK);
    assert_int_equal(n, 2);
    assert_int_equal(table[0], table[2]);
    assert_int_equal(table[1], table[3]);
    assert_int_not_equal(table[0], table[1]);
    assert_int_equal(pith_huff_share(0, NULL, 8, table, &n), PITH_OK);
    assert_int_equal(n, 0);
}

/* Four masks of one density, small; one of another, large; one empty. */
TEST(supports)
{
    struct pith_support_profile *p = calloc(6, sizeof *p);
    uint8_t *mask = malloc(200000);
    uint64_t seed = SEED;
    uint32_t table[6], n;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t count = i == 4 ? 200000 : 1500, density = i == 4 ? 400 : i == 5 ? 0 : 90;
        for (uint32_t k = 0; k < count; k++)
            mask[k] = random_u64(&seed) % 1000 < density;
        pith_support_profile_add(&p[i], mask, count);
    }
    assert_int_equal(pith_support_share(6, p, 8, table, &n), PITH_OK);
    assert_int_equal(n, 2);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(table[i], 0);
    assert_int_equal(table[4], 1);
    assert_int_equal(table[5], UINT32_MAX);
    /* the shared code writes each of them */
    struct pith_support_code code;
    struct pith_support_profile sum = p[0];
    for (uint32_t i = 1; i < 4; i++)
        pith_support_profile_sum(&sum, &p[i]);
    assert_int_equal(pith_support_build(&sum, &code), PITH_OK);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(pith_support_cost_bits(&code, &p[i]) != UINT64_MAX);
    free(p);
    free(mask);
}

RUN_TESTS
