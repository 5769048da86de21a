/* SPDX-License-Identifier: MIT */
/* Codebooks: every bit pattern comes back, sizes are what the form promises, wrong order and wrong
 * bytes are refused. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include <math.h>
#include "decode/codebook_decode.h"
#include "pith_huffman.h"
#include "coded_weight.h"

#define SEED 23u

static size_t round_trip(const float *c, uint64_t n_groups, uint32_t k)
{
    size_t cap = pith_codebook_bound(n_groups, k), bytes, again;
    uint8_t *out = malloc(cap);
    float *back = malloc(k * sizeof *back);
    struct codebook_reader r;
    assert_int_equal(pith_codebook_encode(c, n_groups, k, out, cap, &bytes), PITH_OK);
    assert_true(bytes <= cap);
    assert_int_equal(pith_codebook_encode(c, n_groups, k, out, bytes - 1, &again), PITH_ERR_SPACE);
    assert_int_equal(pith_codebook_encode(c, n_groups, k, out, bytes, &again), PITH_OK);
    struct guarded in = guard_new(bytes, 1);
    memcpy(in.data, out, bytes);
    assert_int_equal(pith_codebook_open(&r, in.data, bytes, n_groups, k), PITH_OK);
    for (uint64_t g = 0; g < n_groups; g++) {
        assert_int_equal(pith_codebook_next(&r, back), PITH_OK);
        assert_memory_equal(back, c + g * k, k * sizeof *back);
    }
    for (size_t n = 0; n < bytes; n += 1 + bytes / 64) { /* truncations */
        enum pith_status st = pith_codebook_open(&r, in.data, n, n_groups, k);
        for (uint64_t g = 0; st == PITH_OK && g < n_groups; g++)
            st = pith_codebook_next(&r, back);
        assert_int_equal(st, PITH_ERR_CORRUPT);
    }
    guard_free(&in);
    free(out);
    free(back);
    return bytes;
}

static void sort(float *c, uint32_t n)
{
    qsort(c, n, sizeof *c, compare_f32);
}

TEST(random_codebooks)
{
    uint64_t seed = SEED;
    print_message("# seed %u\n", SEED);
    for (uint32_t round = 0; round < 400; round++) {
        float c[512];
        uint32_t k = 1 + (uint32_t)(random_u64(&seed) % 256);
        for (uint32_t i = 0; i < 2 * k; i++) {
            uint32_t bits = (uint32_t)random_u64(&seed);
            if (round % 4 == 0) /* any finite value but -0, which a sort cannot place */
                c[i] =
                    (bits & 0x7f800000u) == 0x7f800000u || bits << 1 == 0 ? 0 : f32_from_bits(bits);
            else if (round % 4 == 1) /* rounded */
                c[i] = (float)(int32_t)(bits % 65) / 64 - 0.5f;
            else
                c[i] = bell_f32(&seed);
        }
        sort(c, k);
        sort(c + k, k);
        round_trip(c, 2, k);
    }
}

/* Bell-shaped centroids without the pruned middle, full precision: about 20 bits each; of 8
 * mantissa bits: less than 7. */
TEST(sizes)
{
    uint64_t seed = SEED;
    float c[256];
    for (uint32_t i = 0; i < 256; i++)
        do
            c[i] = bell_f32(&seed) / 8;
        while (c[i] > -0.02f && c[i] < 0.02f);
    sort(c, 256);
    assert_in_range(round_trip(c, 1, 256), 1, 256 * 20 / 8);
    for (uint32_t i = 0; i < 256; i++)
        c[i] = f32_from_bits((f32_bits(c[i]) + 0x4000) & ~0x7fffu);
    sort(c, 256);
    assert_in_range(round_trip(c, 1, 256), 1, 256 * 7 / 8);
}

TEST(special_values)
{
    static const float zeros[] = {-0.0f, -0.0f, 0.0f, 0.0f}, one[] = {1.0f},
                       extremes[] = {-3.40282347e38f, -1e-45f, -0.0f, 0.0f, 1e-45f, 3.40282347e38f};
    float many[256];
    round_trip(zeros, 1, 4);
    round_trip(zeros + 2, 1, 1);
    round_trip(zeros + 2, 2, 1);
    round_trip(one, 1, 1);
    round_trip(extremes, 1, 6);
    round_trip(extremes, 3, 2);
    for (uint32_t i = 0; i < 256; i++)
        many[i] = 0.25f;
    assert_true(round_trip(many, 1, 256) <= 2 + 256 / 8 + 3);
}

/* The document's example, written. */
TEST(document_example)
{
    static const float c[] = {-1.5f, 0.0f, 0.5f, 1.0f};
    static const uint8_t expected[] = {0x2d, 0xc8, 0x7f, 0xfc, 0x06};
    uint8_t out[17];
    size_t bytes;
    assert_int_equal(pith_codebook_encode(c, 1, 4, out, sizeof out, &bytes), PITH_OK);
    assert_int_equal(bytes, sizeof expected);
    assert_memory_equal(out, expected, bytes);
}

/* Rows of {-step, 0, step}: 15 bits each and one, or fewer where the steps are close to each other.
 */
TEST(steps_of_rows)
{
    static const uint8_t expected[] = {0xbf, 0xc6, 0x6f, 0xa0, 0x02};
    static const float step[] = {0.5f, 0.75f, 1.25f};
    float c[3 * 64];
    uint8_t out[32];
    size_t bytes;
    for (uint32_t g = 0; g < 64; g++)
        for (uint32_t k = 0; k < 3; k++)
            c[3 * g + k] = ((float)k - 1) * step[g % 3];
    assert_int_equal(pith_codebook_encode(c, 3, 3, out, sizeof out, &bytes), PITH_OK);
    assert_int_equal(bytes, sizeof expected);
    assert_memory_equal(out, expected, bytes);
    assert_int_equal(round_trip(c, 3, 3), bytes);
    assert_int_equal(round_trip(c, 64, 3), (25 + 64 * 3 + 7) / 8);
    for (uint32_t k = 0; k < 3; k++) /* far from the others: 2^-20 */
        c[k] = ((float)k - 1) * f32_from_bits(107u << 23);
    assert_int_equal(round_trip(c, 64, 3), (25 + 64 * 7 + 7) / 8);
    for (uint32_t k = 0; k < 3; k++) /* 8 bits of the mantissa */
        c[k] = ((float)k - 1) * f32_from_bits(126u << 23 | 1u << 15);
    assert_int_equal(round_trip(c, 64, 3), (1 + 64 * 15 + 7) / 8);
}

/* {2, 2}: all but one bit is common, 11 + 2 + 1 + 1 + 1 bits. */
TEST(common_bits_but_one)
{
    static const float twos[] = {2, 2};
    assert_int_equal(round_trip(twos, 1, 2), 2);
}

/* A group of one is written as it is, never by a step: 1 | 30 | 0 | 0 | 1. */
TEST(one_zero)
{
    static const float zero = 0;
    static const uint8_t expected[] = {0x3d, 0x10};
    uint8_t out[8];
    size_t bytes;
    assert_int_equal(pith_codebook_encode(&zero, 1, 1, out, sizeof out, &bytes), PITH_OK);
    assert_int_equal(bytes, sizeof expected);
    assert_memory_equal(out, expected, bytes);
}

/* Multiples of 2^-129, which has no exponent of its own; steps of 2 and more, whose exponent has
 * eight bits. */
TEST(steps_out_of_reach)
{
    float c[3];
    for (int e = -149; e <= -127; e++) {
        for (int k = 0; k < 3; k++)
            c[k] = ldexpf((float)(k - 1), e);
        round_trip(c, 1, 3);
    }
    for (int e = -1; e <= 3; e++) {
        for (int k = 0; k < 3; k++)
            c[k] = ldexpf((float)(k - 1), e);
        round_trip(c, 1, 3);
    }
}

/* Offsets of 15 bits: 15 in that place says that steps are chained. */
TEST(widest_offsets)
{
    float c[3 * 64];
    for (uint32_t g = 0; g < 64; g++)
        for (uint32_t k = 0; k < 3; k++)
            c[3 * g + k] = ((float)k - 1) * f32_from_bits((g % 2 ? 245u : 110u) << 23 | 1u << 16);
    assert_int_equal(round_trip(c, 64, 3), (11 + 64 * (8 + 7 + 2 + 1) + 7) / 8);
}

/* Groups of 0, something small, and something whose bits differ by 3 * 2^29: 32 bits with the
 * largest parameter, 33 with the next. */
TEST(largest_parameter)
{
    float c[3 * 8];
    for (uint32_t g = 0; g < 8; g++) {
        c[3 * g] = 0;
        c[3 * g + 1] = f32_from_bits(1 + g);
        c[3 * g + 2] = f32_from_bits((3u << 29) + 1 + g);
    }
    assert_int_equal(round_trip(c, 8, 3), (11 + 8 * (3 + 31 + 32) + 7) / 8);
}

/* Differences of 205, 205, 1435, 4100 and 205: with 8 bits apart the fourth has a quotient of 16,
 * which is written at 47 bits; with 9 it is 8. */
TEST(quotient_at_the_escape)
{
    static const uint32_t bits[] = {0x3f800000, 0x3f8000cd, 0x3f80019a,
                                    0x3f800735, 0x3f801739, 0x3f801806};
    float c[6];
    memcpy(c, bits, sizeof c);
    assert_int_equal(round_trip(c, 1, 6), (11 + 4 + 31 + 10 + 10 + 12 + 18 + 10 + 7) / 8);
}

/* Steps in order: a bit each, and some where they change. */
TEST(chained_steps)
{
    static const uint8_t expected[] = {0xbf, 0xee, 0xef, 0xf9, 0x00};
    float c[3 * 64];
    uint8_t out[32];
    size_t bytes;
    for (uint32_t g = 0; g < 5; g++)
        for (uint32_t k = 0; k < 3; k++)
            c[3 * g + k] = ((float)k - 1) * (g < 3 ? 1.25f : 0.75f);
    assert_int_equal(pith_codebook_encode(c, 5, 3, out, sizeof out, &bytes), PITH_OK);
    assert_int_equal(bytes, sizeof expected);
    assert_memory_equal(out, expected, bytes);
    assert_int_equal(round_trip(c, 5, 3), bytes);
    for (uint32_t g = 0; g < 64; g++) /* 2^-4 up to 2^11, and down again for the last */
        for (uint32_t k = 0; k < 3; k++)
            c[3 * g + k] = ((float)k - 1) * f32_from_bits((g < 63 ? 123 + g / 4 : 123) << 23);
    assert_int_equal(round_trip(c, 64, 3), (23 + 63 + 15 * 2 + 29 + 7) / 8);
}

TEST(refused_values)
{
    uint32_t nan = 0x7fc00000u, infinity = 0x7f800000u;
    float c[2] = {1.0f, 0.5f};
    uint8_t out[64];
    size_t bytes;
    assert_int_equal(pith_codebook_encode(c, 1, 2, out, 64, &bytes), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_codebook_encode(c, 2, 1, out, 64, &bytes), PITH_OK);
    memcpy(&c[1], &nan, 4);
    assert_int_equal(pith_codebook_encode(c, 1, 2, out, 64, &bytes), PITH_ERR_ARGUMENT);
    memcpy(&c[1], &infinity, 4);
    assert_int_equal(pith_codebook_encode(c, 1, 2, out, 64, &bytes), PITH_ERR_ARGUMENT);
    c[0] = 0.0f;
    c[1] = -0.0f;
    assert_int_equal(pith_codebook_encode(c, 1, 2, out, 64, &bytes), PITH_ERR_ARGUMENT);
}

static enum pith_status read_one(const uint8_t *bytes, size_t n, uint32_t k)
{
    struct codebook_reader r;
    float dst[256];
    enum pith_status st = pith_codebook_open(&r, bytes, n, 1, k);
    return st ? st : pith_codebook_next(&r, dst);
}

static enum pith_status read_two(const uint8_t *bytes, size_t n)
{
    struct codebook_reader r;
    float dst[3];
    enum pith_status st = pith_codebook_open(&r, bytes, n, 2, 3);
    for (uint32_t g = 0; g < 2 && !st; g++)
        st = pith_codebook_next(&r, dst);
    return st;
}

TEST(refused_bytes)
{
    static const uint8_t raw_order[] = {0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x3f},
                         raw_ok[] = {0, 0, 0, 0, 0x3f, 0, 0, 0x80, 0x3f},
                         raw_head[] = {2, 0, 0, 0, 0x3f, 0, 0, 0x80, 0x3f},
                         raw_nan[] = {0, 0, 0, 0xc0, 0x7f}, no_bytes[] = {0},
                         /* z 31; k 31; z 0, k 0: neg 2 of 1 */
        shift[] = {0x3f, 0, 0, 0, 0, 0}, rice[] = {0xc1, 7, 0, 0, 0, 0};
    assert_int_equal(read_one(raw_ok, 9, 2), PITH_OK);
    assert_int_equal(read_one(raw_order, 9, 2), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(raw_head, 9, 2), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(raw_nan, 5, 1), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(no_bytes, 0, 1), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(shift, 6, 1), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(rice, 6, 1), PITH_ERR_CORRUPT);
    /* K = 2, z = 30, k = 0, neg = 3 */
    static const uint8_t negatives[] = {1 | 30 << 1, 3 << 3, 0};
    assert_int_equal(read_one(negatives, 2, 2), PITH_ERR_CORRUPT);
    /* K = 1, z = 30, neg = 0, zero = 0, v = 0: +0 written the long way; v = 1 is 2.0 */
    static const uint8_t long_zero[] = {1 | 30 << 1, 0}, two[] = {1 | 30 << 1, 1 << 5};
    assert_int_equal(read_one(long_zero, 2, 1), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(two, 2, 1), PITH_OK);
    /* near, m = 0: base 254; w 9; base 0; base 255; the sum 255 */
    static const uint8_t near_ok[] = {0x3f, 0xf6, 0x07}, near_wide[] = {0x3f, 0xf6, 0x4f, 0},
                         near_zero[] = {0x3f, 0x06, 0}, near_infinite[] = {0x3f, 0xfe, 0x07},
                         near_sum[] = {0x3f, 0xf6, 0x8f};
    assert_int_equal(read_one(near_ok, 3, 3), PITH_OK);
    assert_int_equal(read_one(near_ok, 3, 7), PITH_ERR_CORRUPT); /* 3 * 2^127 */
    assert_int_equal(read_one(near_wide, 4, 3), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(near_zero, 3, 3), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(near_infinite, 3, 3), PITH_ERR_CORRUPT);
    assert_int_equal(read_one(near_sum, 3, 3), PITH_ERR_CORRUPT);
    /* chained, m = 0: 254 and 254; 254 and 255; 1 and 0, then the string's end in a number */
    static const uint8_t chain_ok[] = {0x3f, 0xf6, 0x7f},
                         chain_infinite[] = {0x3f, 0xf6, 0xff, 0x01},
                         chain_zero[] = {0x3f, 0x0e, 0xf8, 0x00}, chain_end[] = {0x3f, 0xf6, 0xff};
    assert_int_equal(read_two(chain_ok, 3), PITH_OK);
    assert_int_equal(read_two(chain_infinite, 4), PITH_ERR_CORRUPT);
    assert_int_equal(read_two(chain_zero, 4), PITH_ERR_CORRUPT);
    assert_int_equal(read_two(chain_end, 3), PITH_ERR_CORRUPT);
    /* K = 2, z = 30: 2.0 and a step of 1 would be infinite */
    static const uint8_t too_far[] = {1 | 30 << 1, 1 << 6 | 1 << 7};
    assert_int_equal(read_one(too_far, 2, 2), PITH_ERR_CORRUPT);
}

RUN_TESTS
