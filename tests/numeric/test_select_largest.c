/* SPDX-License-Identifier: MIT */
/* test_select_largest.c - the k-th largest of floats is what sorting them says; of keys the k
 * largest stay, of equal ones the first. */
#include <stdint.h>
#include <stdlib.h>
#include "test_run.h"
#include "numeric/select_largest.h"

enum { MOST = 1000 };

static int descending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void holds_for(uint64_t n, uint32_t seed, uint32_t kinds)
{
    float v[MOST], sorted[MOST];
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        v[i] = sorted[i] = ((float)(seed >> 8) - 8388608.0f) * 0x1p-20f;
        if (kinds) /* many are equal */
            v[i] = sorted[i] = (float)(seed >> 16) / 65536 < 0.5f ? 0.0f : (float)(seed >> 20 & 3);
    }
    qsort(sorted, n, sizeof *sorted, descending);
    for (uint64_t k = 1; k <= n; k++)
        assert_true(pith_kth_largest(v, n, k) == sorted[k - 1]);
}

static void keys_by_rank(uint64_t n, uint64_t k, uint32_t kinds)
{
    uint32_t keys[MOST] = {0}, seed = (uint32_t)n;
    uint8_t keep[MOST];
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        keys[i] = kinds ? seed >> 29 : seed;
    }
    pith_largest(keys, n, k, keep);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t ahead = 0;
        for (uint64_t j = 0; j < n; j++)
            ahead += keys[j] > keys[i] || (keys[j] == keys[i] && j < i);
        assert_int_equal(keep[i], ahead < k);
    }
}

TEST(as_sorting)
{
    static const uint64_t counts[] = {1, 2, 31, 255, 256, 257, MOST};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        holds_for(counts[i], (uint32_t)i, 0);
        holds_for(counts[i], (uint32_t)i, 1);
        for (uint32_t kinds = 0; kinds < 2; kinds++)
            for (uint64_t quarter = 0; quarter <= 4; quarter++)
                keys_by_rank(counts[i], counts[i] * quarter / 4, kinds);
    }
}

RUN_TESTS
