/* SPDX-License-Identifier: MIT */
/* Weights read row by row (runtime/decode/weight_rows.c) are those expanded whole, in all forms
 * that the encoders write, and damage is refused alike. Adaptive streams: test_adaptive.c. */
#include <stdint.h>
#include "test_run.h"
#include "coded_weight.h"
#include "rows_agree.h"
#include "sanitized.h"

#define SEED 20240713u

enum { PARTS = 5 };

/* The tables and streams of a weight. */
struct part {
    const uint8_t **bytes;
    size_t *n;
};

static void parts_of(struct weight *w, struct part part[PARTS])
{
    const struct part all[PARTS] = {{&w->gap_table.bytes, &w->gap_table.n_bytes},
                                    {&w->index_table.bytes, &w->index_table.n_bytes},
                                    {&w->support_stream.bytes, &w->support_stream.n_bytes},
                                    {&w->index_stream.bytes, &w->index_stream.n_bytes},
                                    {&w->codebook.bytes, &w->codebook.n_bytes}};
    memcpy(part, all, sizeof all);
}

/* Everything in memory of just its size, for AddressSanitizer to see where it ends. */
static void compare(const struct weight *w)
{
    struct weight exact = *w;
    struct part part[PARTS];
    parts_of(&exact, part);
    for (int i = 0; i < PARTS; i++) {
        uint8_t *copy = malloc(*part[i].n);
        if (*part[i].n)
            memcpy(copy, *part[i].bytes, *part[i].n);
        *part[i].bytes = copy;
    }
    void *scratch = malloc(pith_weight_scratch_bytes(w));
    float *whole = malloc(w->count * sizeof *whole);
    rows_agree(&exact, pith_weight_expand_f32(&exact, whole, scratch), whole);
    free(scratch);
    free(whole);
    for (int i = 0; i < PARTS; i++)
        free((uint8_t *)(uintptr_t)*part[i].bytes);
}

static const uint64_t counts[] = {1, 9, 60, 1000, 4096, 40000, 70000};
static const uint32_t densities[] = {0, 3, 90, 500, 900, 1000};

TEST(all_forms)
{
    static const uint32_t sizes[] = {0, 1, 2, 16, 32, 256};
    uint64_t seed = SEED;
    for (size_t a = 0; a < sizeof counts / sizeof *counts - TEST_ROUNDS(0, 2); a++)
        for (size_t b = 0; b < sizeof densities / sizeof *densities; b += counts[a] < 40000 ? 1 : 3)
            for (uint32_t form = 0; form < 3 * CASE_CODES; form++) {
                uint64_t n = counts[a];
                struct case_spec s = {.count = n,
                                      .density = densities[b],
                                      .support = (enum weight_support)(form % 3),
                                      .n_centroids = sizes[(a + b + form) % 6],
                                      .n_groups = n % 10 == 0 && (a + b) % 2 ? n / 10 : 1,
                                      .type = a % 2 ? PITH_F32 : PITH_BF16};
                if (s.n_centroids)
                    s.code = case_codes[form / 3];
                struct weight_case c = case_new(&s, &seed);
                compare(&c.w);
                case_free(&c);
            }
}

/* i8, whose centroids are whole numbers. Large ones have tables of their codes, which are of up to
 * 12 bits. */
TEST(integers)
{
    uint64_t seed = SEED;
    for (uint32_t form = 0; form < 6 * CASE_CODES_APART; form++) {
        const bool large = form >= 3 * CASE_CODES_APART;
        const uint32_t count = large ? 12000 : 600, n_centroids = large ? 120 : 15;
        struct case_spec s = {.count = count,
                              .density = 300,
                              .support = (enum weight_support)(form % 3),
                              .code = case_codes[form / 3 % CASE_CODES_APART],
                              .n_centroids = n_centroids,
                              .n_groups = 1};
        struct weight_case c = case_new(&s, &seed);
        uint8_t bytes[481] = {0}; /* raw */
        for (uint32_t i = 0; i < n_centroids; i++)
            store_le32(bytes + 1 + 4 * i, f32_bits(large ? (float)i - 60 : 9 * (float)i - 70));
        c.w.type = PITH_I8;
        c.w.codebook = (struct stream){bytes, 1 + 4 * n_centroids};
        static int8_t whole[12000];
        int8_t row[30];
        void *scratch = malloc(pith_weight_scratch_bytes(&c.w) + 64);
        void *mem = aligned_alloc(64, pith_weight_rows_bytes(&c.w));
        assert_int_equal(pith_weight_expand_plain(&c.w, whole, scratch), PITH_OK);
        assert_int_equal(pith_weight_rows_check(&c.w, mem), PITH_OK);
        struct weight_rows *r = pith_weight_rows_open(&c.w, mem);
        for (uint32_t k = 0; k < count / 30; k++) {
            pith_weight_rows_i8(r, row, 30);
            assert_memory_equal(row, whole + 30 * k, 30);
        }
        store_le32(bytes + 1, f32_bits(-70.5f));
        assert_int_equal(pith_weight_rows_check(&c.w, mem), PITH_ERR_CORRUPT);
        free(scratch);
        free(mem);
        case_free(&c);
    }
}

/* Every stream and table cut at any byte, at an unmapped page. */
TEST(cuts)
{
    uint64_t seed = SEED;
    for (uint32_t form = 0; form < 3 * CASE_CODES; form++) {
        struct case_spec s = {.count = 300,
                              .density = 300,
                              .support = (enum weight_support)(form % 3),
                              .code = case_codes[form / 3],
                              .n_centroids = 20,
                              .n_groups = 1};
        struct weight_case c = case_new(&s, &seed);
        struct part part[PARTS];
        parts_of(&c.w, part);
        void *scratch = malloc(pith_weight_scratch_bytes(&c.w));
        float *whole = malloc(s.count * sizeof *whole);
        for (int i = 0; i < PARTS; i++) {
            const uint8_t *const bytes = *part[i].bytes;
            const size_t all = *part[i].n;
            for (size_t n = 0; n < all; n++) {
                struct guarded g = guard_new(n, 1);
                if (n)
                    memcpy(g.data, bytes, n);
                *part[i].bytes = g.data;
                *part[i].n = n;
                rows_agree(&c.w, pith_weight_expand_f32(&c.w, whole, scratch), whole);
                guard_free(&g);
            }
            *part[i].bytes = bytes;
            *part[i].n = all;
        }
        free(scratch);
        free(whole);
        case_free(&c);
    }
}

/* Bits of every stream and table, each place of a byte in turn, and their lengths. */
TEST(damage)
{
    uint64_t seed = SEED;
    for (uint32_t form = 0; form < 6 * CASE_CODES; form++) {
        struct case_spec s = {.count = form < 3 * CASE_CODES ? 500 : 4200,
                              .density = form % 2 ? 90 : 400,
                              .support = (enum weight_support)(form % 3),
                              .code = case_codes[form / 3 % CASE_CODES],
                              .n_centroids = 20,
                              .n_groups = form % 2 ? 10 : 1};
        struct weight_case c = case_new(&s, &seed);
        struct stream *streams[] = {&c.w.support_stream, &c.w.index_stream, &c.w.codebook};
        for (int i = 0; i < 5; i++) {
            size_t n = i == 0   ? c.w.gap_table.n_bytes
                       : i == 1 ? c.w.index_table.n_bytes
                                : streams[i - 2]->n_bytes;
            for (size_t bit = 0; bit < 8 * n;
                 bit += form < 3 * CASE_CODES ? TEST_ROUNDS(3, 13) : TEST_ROUNDS(23, 61)) {
                c.bytes[i][bit / 8] ^= (uint8_t)(1u << (bit % 8));
                compare(&c.w);
                c.bytes[i][bit / 8] ^= (uint8_t)(1u << (bit % 8));
            }
        }
        for (int i = 0; i < 3; i++)
            for (int more = -1; more <= 1; more += 2) {
                uint8_t *old = (uint8_t *)(uintptr_t)streams[i]->bytes, *copy;
                size_t n = streams[i]->n_bytes;
                if (n == 0)
                    continue;
                copy = calloc((size_t)((int64_t)n + more) + 1, 1);
                memcpy(copy, old, more < 0 ? n - 1 : n);
                streams[i]->bytes = copy;
                streams[i]->n_bytes = (size_t)((int64_t)n + more);
                compare(&c.w);
                *streams[i] = (struct stream){old, n};
                free(copy);
            }
        for (int more = -1; more <= 1; more += 2) {
            c.w.nnz += (uint64_t)(int64_t)more;
            compare(&c.w);
            c.w.nnz -= (uint64_t)(int64_t)more;
            c.w.n_centroids += (uint32_t)more;
            compare(&c.w);
            c.w.n_centroids -= (uint32_t)more;
        }
        case_free(&c);
    }
}

RUN_TESTS
