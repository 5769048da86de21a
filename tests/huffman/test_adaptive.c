/* SPDX-License-Identifier: MIT */
/* Adaptive streams: every shape, density and codebook comes back exactly; a damaged stream
 * gives an error or other values, never a byte read or written outside. */
#include <stdint.h>
#include "test_run.h"
#include "adaptive_sample.h"

TEST(test_round_trip)
{
    uint32_t crc = 0;
    for (uint64_t round = 0; round < TEST_ROUNDS(4, 1); round++) {
        for (size_t i = 0; i < N_SPECS; i++) {
            uint64_t seed = SEED + round * N_SPECS + i;
            struct sample s = make(&specs[i], &seed);
            check(&s);
            crc = round ? crc : add_stream(crc, &s.w);
            release(&s);
        }
    }
    assert_int_equal(crc, 0x8c12cb5b);
}

/* Signs that go on to the right and below, as kernels' do, and sizes that are those of their rows;
 * zeros of groups, whose share is that of their columns. Without either, shuffled, they take a 25th
 * more. */
TEST(test_neighbours_predict)
{
    static const struct spec kinds[] = {{4, {40, 12, 3, 3}, 1000, 15, 1, 10, 0},
                                        {2, {60, 100}, 1000, 15, 60, 10, 0}};
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t seed = SEED + k;
        struct sample s = make(&kinds[k], &seed);
        while (f32_bits(s.centroid[7]) != 0) {
            release(&s);
            s = make(&kinds[k], &seed);
        }
        uint64_t cols = s.w.count / s.w.shape.dim[0];
        for (uint64_t i = 0, negative = 0; i < s.w.count; i++) {
            bool zero = k == 1 && below(&seed, (uint32_t)cols) < i % cols;
            negative = i % 9 == 0 || below(&seed, 8) == 0 ? below(&seed, 2) : negative;
            uint32_t far = zero ? 0 : 1 + below(&seed, 1 + (uint32_t)(i / cols) % 7);
            s.index[i] = (uint8_t)(negative ? 7 - far : 7 + far);
        }
        size_t near, shuffled;
        assert_int_equal(count_bytes(&s, &near), PITH_OK);
        for (uint64_t i = s.w.count - 1; i > 0; i--) {
            uint64_t other = below(&seed, (uint32_t)i + 1);
            uint8_t index = s.index[i];
            s.index[i] = s.index[other];
            s.index[other] = index;
        }
        assert_int_equal(count_bytes(&s, &shuffled), PITH_OK);
        assert_true(near < shuffled - shuffled / 25);
        release(&s);
    }
}

/* Levels are as many as half of the integers: a bit less for each. What is no level is refused, and
 * what is one of the other trellis. */
TEST(test_levels)
{
    for (uint8_t states = 8; states <= 16; states += 8) {
        const struct spec spec = {2, {40, 100}, 1000, 63, 1, 2, states};
        uint64_t seed = SEED + states;
        struct sample s = make(&spec, &seed);
        while (f32_bits(s.centroid[31]) != 0) { /* as many on each side */
            release(&s);
            s = make(&spec, &seed);
        }
        size_t levels = s.w.index_stream.n_bytes, all, ignored;
        s.w.trellis = 0;
        assert_int_equal(count_bytes(&s, &all), PITH_OK);
        assert_true(levels + 400 < all);
        s.w.trellis = 24 - states;
        assert_int_equal(count_bytes(&s, &ignored), PITH_ERR_ARGUMENT);
        s.w.trellis = states;
        assert_int_equal(count_bytes(&s, &ignored), PITH_OK);
        assert_int_equal(ignored, levels);
        uint64_t last = s.w.count - 1;
        s.index[last] = (uint8_t)(s.index[last] > 40 ? s.index[last] - 1 : s.index[last] + 1);
        assert_int_equal(count_bytes(&s, &ignored), PITH_ERR_ARGUMENT);
        release(&s);
    }
}

TEST(test_damage)
{
    static const struct spec damaged[] = {
        {2, {20, 30}, 150, 6, 1, 0, 0},    {4, {3, 4, 3, 3}, 1000, 20, 3, 50, 0},
        {1, {90}, 1000, 0, 1, 50, 0},      {2, {10, 30}, 1000, 11, 1, 30, 8},
        {2, {10, 30}, 400, 12, 1, 0, 16},  {4, {3, 4, 3, 3}, 1000, 22, 3, 50, 0},
        {2, {10, 30}, 1000, 31, 10, 30, 8}};
    for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++) {
        uint64_t seed = SEED + k;
        struct sample s = make(&damaged[k], &seed);
        damage(&s, 25);
        release(&s);
    }
}

/* Any bytes at all, for any description that the gate lets pass. */
TEST(test_noise)
{
    for (size_t i = 0; i < N_SPECS; i++) {
        uint64_t seed = SEED ^ i;
        struct sample s = make(&specs[i], &seed);
        float *dst = array(s.w.count, sizeof *dst);
        for (uint32_t round = 0; round < TEST_ROUNDS(40, 10); round++) {
            size_t n = 1 + below(&seed, 300);
            struct guarded noise = guard_new(n, 1);
            for (size_t k = 0; k < n; k++)
                ((uint8_t *)noise.data)[k] = (uint8_t)random_u64(&seed);
            s.w.index_stream = (struct stream){noise.data, n};
            s.w.nnz =
                s.w.support == SUPPORT_DENSE ? s.w.count : 1 + below(&seed, (uint32_t)s.w.count);
            decode(&s.w, dst);
            guard_free(&noise);
        }
        free(dst);
        release(&s);
    }
}

/* The bytes are those a writer gives: none more, whatever it is, and no nonzero more than there
 * are. */
TEST(test_end)
{
    static const struct spec small[] = {{2, {20, 30}, 150, 6, 1, 0, 0},
                                        {2, {6, 5}, 1000, 4, 1, 50, 0},
                                        {1, {9}, 1000, 0, 1, 50, 0}};
    for (uint64_t round = 0; round < TEST_ROUNDS(40, 10); round++)
        for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
            uint64_t seed = SEED + 100 * round + k;
            struct sample s = make(&small[k], &seed);
            size_t n = s.w.index_stream.n_bytes;
            uint8_t longer[2048] = {0};
            float *dst = array(s.w.count, sizeof *dst);
            assert_true(n + 8 < sizeof longer);
            memcpy(longer, s.stream, n);
            s.w.index_stream.bytes = longer;
            for (size_t more = 0; more <= 6; more++) {
                s.w.index_stream.n_bytes = n + more;
                assert_int_equal(decode(&s.w, dst), more ? PITH_ERR_CORRUPT : PITH_OK);
            }
            longer[n] = 1;
            s.w.index_stream.n_bytes = n + 1;
            assert_int_equal(decode(&s.w, dst), PITH_ERR_CORRUPT);
            s.w.index_stream.n_bytes = n;
            if (s.w.support != SUPPORT_DENSE) {
                s.w.nnz++;
                assert_int_equal(decode(&s.w, dst), PITH_ERR_CORRUPT);
            }
            free(dst);
            release(&s);
        }
}

/* So that a few bytes do not stand for work without end. */
TEST(test_floats_end_where_bytes_do)
{
    static struct adaptive a;
    const uint8_t few[2] = {0xb8, 0xff};
    struct weight w = {.type = PITH_F32, .count = 1000, .nnz = 1000, .index_stream = {few, 2}};
    float some[10];
    assert_int_equal(pith_adaptive_open(&a, &w, NULL), PITH_OK);
    assert_int_equal(pith_adaptive_floats(&a, some, 10), PITH_ERR_CORRUPT);
}

/* Integers of a codebook, floats of any support that is not in the stream. */
TEST(test_what_is_allowed)
{
    struct weight w = {.type = PITH_F32, .count = (UINT32_C(1) << 28) - 1, .nnz = 1};
    assert_true(pith_adaptive_allows(&w));
    w.support = SUPPORT_GAPS;
    assert_true(pith_adaptive_allows(&w));
    w.support = SUPPORT_ADAPTIVE;
    assert_false(pith_adaptive_allows(&w));
    w.grid = GRID_CODEBOOK;
    assert_true(pith_adaptive_allows(&w));
    w.nnz = 0;
    assert_false(pith_adaptive_allows(&w));
    w.nnz = 1;
    w.count++;
    assert_false(pith_adaptive_allows(&w));
    w.grid = GRID_PLAIN;
    w.support = SUPPORT_DENSE;
    assert_false(pith_adaptive_allows(&w));
    w.count = 4;
    w.type = PITH_I8;
    assert_false(pith_adaptive_allows(&w));
}

RUN_TESTS
