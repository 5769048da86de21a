/* SPDX-License-Identifier: MIT */
/* Code lengths: against a search over all complete codes for small alphabets, and the properties
 * of any result for large ones. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "guard_page.h"
#include "huffman/gap_symbols.h"
#include "huffman/huff_write.h"
#include "huffman/package_merge.h"

#define SEED 11u

/* Least cost of a complete code for n symbols: every vector of lengths 1..max_len is tried. */
static uint64_t search(const uint64_t *hist, uint32_t n, uint32_t max_len)
{
    uint64_t best = UINT64_MAX;
    uint32_t len[5] = {1, 1, 1, 1, 1}, at = 0;
    while (at < n) {
        uint64_t cost = 0, kraft = 0;
        for (uint32_t s = 0; s < n; s++) {
            cost += hist[s] * len[s];
            kraft += 1u << (max_len - len[s]);
        }
        if (kraft == 1u << max_len && cost < best)
            best = cost;
        for (at = 0; at < n && ++len[at] > max_len; at++)
            len[at] = 1;
    }
    return best;
}

TEST(optimal_when_small)
{
    uint64_t seed = SEED;
    print_message("# seed %u\n", SEED);
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t n = 2 + round % 4, max_len = n <= 2   ? 1 + round % 4
                                              : n == 5 ? 3 + round % 3
                                                       : 2 + round % 3;
        uint64_t hist[PITH_SYMBOLS] = {0}, cost = 0;
        uint8_t len[PITH_SYMBOLS];
        for (uint32_t s = 0; s < n; s++)
            hist[s] = 1 + random_u64(&seed) % (1u << (1 + random_u64(&seed) % 10));
        assert_int_equal(pith_package_merge(hist, max_len, len), PITH_OK);
        for (uint32_t s = 0; s < n; s++)
            cost += hist[s] * len[s];
        assert_int_equal(cost, search(hist, n, max_len));
    }
}

TEST(complete_when_large)
{
    uint64_t seed = SEED;
    for (uint32_t round = 0; round < 600; round++) {
        uint64_t hist[PITH_SYMBOLS] = {0}, last_cost = UINT64_MAX;
        uint32_t n = 2 + (uint32_t)(random_u64(&seed) % 255);
        for (uint32_t s = 0; s < n; s++)
            hist[s] = 1 + (random_u64(&seed) >> (24 + random_u64(&seed) % 40));
        for (uint32_t max_len = 8; max_len <= 12; max_len++) {
            uint8_t len[PITH_SYMBOLS];
            uint64_t kraft = 0, cost = 0;
            assert_int_equal(pith_package_merge(hist, max_len, len), PITH_OK);
            for (uint32_t s = 0; s < PITH_SYMBOLS; s++) {
                assert_int_equal(len[s] != 0, hist[s] != 0);
                assert_true(len[s] <= max_len);
                kraft += len[s] ? 4096u >> len[s] : 0;
                cost += hist[s] * len[s];
            }
            assert_int_equal(kraft, 4096);
            assert_true(cost <= last_cost); /* a looser limit never costs more */
            last_cost = cost;
        }
    }
}

/* Among equal counts the first symbols get the longer codes. */
TEST(ties)
{
    static const uint64_t hist[PITH_SYMBOLS] = {4, 1, 1, 1};
    static const uint8_t want[] = {1, 3, 3, 2};
    uint8_t len[PITH_SYMBOLS];
    assert_int_equal(pith_package_merge(hist, 12, len), PITH_OK);
    assert_memory_equal(len, want, 4);
    assert_int_equal(pith_package_merge(hist, 3, len), PITH_OK);
    assert_memory_equal(len, want, 4);
}

/* Fibonacci counts make the deepest tree; equal counts the flattest. */
TEST(known_answers)
{
    uint64_t hist[PITH_SYMBOLS] = {1, 1, 2, 3, 5, 8};
    static const uint8_t free_len[] = {5, 5, 4, 3, 2, 1}, four[] = {4, 4, 3, 2, 2, 2},
                         three[] = {3, 3, 3, 3, 2, 2};
    uint8_t len[PITH_SYMBOLS];
    assert_int_equal(pith_package_merge(hist, 12, len), PITH_OK);
    assert_memory_equal(len, free_len, 6);
    assert_int_equal(pith_package_merge(hist, 4, len), PITH_OK);
    assert_memory_equal(len, four, 6);
    assert_int_equal(pith_package_merge(hist, 3, len), PITH_OK);
    assert_memory_equal(len, three, 6);
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        hist[s] = 9;
    assert_int_equal(pith_package_merge(hist, 8, len), PITH_OK);
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        assert_int_equal(len[s], 8);
}

RUN_TESTS
