/* SPDX-License-Identifier: MIT */
/* Streams by classes: every shape, density, codebook and trellis comes back exactly, one lane and
 * four; what predicts an element makes it shorter; a damaged stream or model gives an error or
 * other values, never a byte read or written outside. */
#include <stdint.h>
#include "test_run.h"
#include "adaptive_sample.h"
#include "huffman/class_encode.h"

/* The adaptive stream of a sample becomes one by classes. false: it has none. */
static bool recode(struct sample *s, struct class_code *code)
{
    s->w.code = CODE_CLASSES;
    struct class_input in = input_of(s);
    size_t counted = 0, bytes = 0;
    if (!pith_classes_allow(&s->w) || pith_class_check(&in))
        return false;
    assert_int_equal(pith_class_fit(&in, 1, code), PITH_OK);
    assert_int_equal(pith_class_encode(&code->model, &in, NULL, 0, &counted), PITH_OK);
    free(s->stream);
    s->stream = array(counted, 1);
    assert_int_equal(pith_class_encode(&code->model, &in, s->stream, counted - 1, &bytes),
                     PITH_ERR_SPACE);
    assert_int_equal(pith_class_encode(&code->model, &in, s->stream, counted, &bytes), PITH_OK);
    assert_int_equal(bytes, counted);
    s->w.index_stream = (struct stream){s->stream, bytes};
    s->w.index_table = (struct huff_table){code->table, code->table_bytes};
    return true;
}

static const struct spec large[] = {
    {4, {64, 16, 3, 3}, 1000, 15, 1, 40, 0}, {2, {5, 2001}, 1000, 255, 1, 5, 0},
    {3, {40, 51, 5}, 300, 32, 1, 0, 0},      {4, {30, 7, 5, 9}, 1000, 9, 30, 0, 0},
    {1, {9001}, 1000, 31, 1, 50, 0},         {2, {3001, 3}, 100, 7, 1, 0, 0},
};

static void check_spec(const struct spec *spec, uint64_t seed, uint32_t *coded, uint32_t *crc)
{
    struct class_code code;
    struct sample s = make(spec, &seed);
    if (recode(&s, &code)) {
        check(&s);
        *crc = add_stream(*crc, &s.w);
        ++*coded;
    }
    release(&s);
}

TEST(test_round_trip)
{
    uint32_t coded = 0, crc = 0;
    for (uint64_t round = 0; round < 2; round++)
        for (size_t i = 0; i < N_SPECS; i++)
            check_spec(&specs[i], SEED + round * N_SPECS + i, &coded, &crc);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        check_spec(&large[i], SEED + i, &coded, &crc);
    assert_true(coded > N_SPECS);
    assert_int_equal(crc, 0x47800c61);
}

static size_t bytes_of(struct sample *s)
{
    struct class_code code;
    assert_true(recode(s, &code));
    check(s);
    return s->w.index_stream.n_bytes + code.table_bytes;
}

/* Signs that go on to the right and sizes that are those of their rows, and of their columns:
 * shuffled, they take a tenth more. */
TEST(test_neighbours_predict)
{
    static const struct spec kinds[] = {{4, {60, 20, 3, 3}, 1000, 15, 1, 10, 0},
                                        {2, {80, 150}, 1000, 15, 1, 10, 0}};
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t seed = SEED + k;
        struct sample s = make(&kinds[k], &seed);
        while (f32_bits(s.centroid[7]) != 0) {
            release(&s);
            s = make(&kinds[k], &seed);
        }
        uint64_t cols = s.w.count / s.w.shape.dim[0];
        for (uint64_t i = 0, negative = 0; i < s.w.count; i++) {
            uint32_t size = (uint32_t)(k ? i % cols : i / cols) % 7;
            negative = i % 9 == 0 || below(&seed, 8) == 0 ? below(&seed, 2) : negative;
            uint32_t far = below(&seed, 1 + size);
            s.index[i] = (uint8_t)(negative ? 7 - far : 7 + far);
        }
        size_t near = bytes_of(&s);
        for (uint64_t i = s.w.count - 1; i > 0; i--) {
            uint64_t other = below(&seed, (uint32_t)i + 1);
            uint8_t index = s.index[i];
            s.index[i] = s.index[other];
            s.index[other] = index;
        }
        assert_true(near + near / 10 < bytes_of(&s));
        release(&s);
    }
}

/* One model for two tensors is one table. */
TEST(test_shared_model)
{
    struct class_code code;
    uint64_t seed = SEED;
    struct sample s[2] = {make(&large[0], &seed), make(&specs[4], &seed)};
    for (uint32_t i = 0; i < 2; i++)
        s[i].w.code = CODE_CLASSES;
    const struct class_input in[2] = {input_of(&s[0]), input_of(&s[1])};
    assert_int_equal(pith_class_fit(in, 2, &code), PITH_OK);
    for (uint32_t i = 0; i < 2; i++) {
        size_t cap = 6 * s[i].w.count + 100;
        free(s[i].stream);
        s[i].stream = array(cap, 1);
        assert_int_equal(
            pith_class_encode(&code.model, &in[i], s[i].stream, cap, &s[i].w.index_stream.n_bytes),
            PITH_OK);
        s[i].w.index_stream.bytes = s[i].stream;
        s[i].w.index_table = (struct huff_table){code.table, code.table_bytes};
        check(&s[i]);
        release(&s[i]);
    }
}

/* What has no code is refused: a 0 that is stored, integers of no state of the trellis, a level
 * that the model never saw. */
TEST(test_refused)
{
    static const struct spec zeros = {2, {20, 30}, 1000, 9, 1, 60, 0};
    uint64_t seed = SEED;
    struct class_code code;
    size_t bytes;
    struct sample s = make(&zeros, &seed);
    s.w.support = SUPPORT_ADAPTIVE;
    struct class_input in = input_of(&s);
    assert_int_equal(pith_class_check(&in), PITH_ERR_ARGUMENT);
    release(&s);
    s = make(&large[0], &seed);
    in = input_of(&s);
    s.w.trellis = 8;
    assert_int_equal(pith_class_check(&in), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_class_fit(&in, 1, &code), PITH_ERR_ARGUMENT);
    s.w.trellis = 0;
    struct sample few = make(&specs[7], &seed); /* one centroid */
    struct class_input other = input_of(&few);
    assert_int_equal(pith_class_fit(&other, 1, &code), PITH_OK);
    assert_int_equal(pith_class_encode(&code.model, &in, NULL, 0, &bytes), PITH_ERR_ARGUMENT);
    release(&few);
    release(&s);
}

TEST(test_damage)
{
    static const struct spec damaged[] = {{2, {20, 30}, 150, 6, 1, 0, 0},
                                          {4, {3, 4, 3, 3}, 1000, 20, 3, 50, 0},
                                          {2, {10, 30}, 1000, 11, 1, 30, 8},
                                          {2, {10, 30}, 400, 12, 1, 0, 16}};
    for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++) {
        uint64_t seed = SEED + k;
        struct class_code code;
        struct sample s = make(&damaged[k], &seed);
        if (recode(&s, &code))
            damage(&s, 25);
        float *dst = array(s.w.count, sizeof *dst);
        for (size_t bit = 0; bit < 8 * code.table_bytes; bit++) {
            code.table[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            decode(&s.w, dst);
            code.table[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
        for (size_t n = 0; n < code.table_bytes; n++) {
            s.w.index_table.n_bytes = n;
            assert_int_equal(decode(&s.w, dst), PITH_ERR_CORRUPT);
        }
        free(dst);
        release(&s);
    }
}

/* Any bytes under a good model, for one lane and for four. */
TEST(test_noise)
{
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        uint64_t seed = SEED ^ i;
        struct class_code code;
        struct sample s = make(&large[i], &seed);
        float *dst = array(s.w.count, sizeof *dst);
        assert_true(recode(&s, &code));
        for (uint32_t round = 0; round < 20; round++) {
            size_t n = 1 + below(&seed, 3000);
            struct guarded noise = guard_new(n, 1);
            for (size_t k = 0; k < n; k++)
                ((uint8_t *)noise.data)[k] = (uint8_t)random_u64(&seed);
            ((uint8_t *)noise.data)[0] = round % 2 ? 1 : CLASS_LANES;
            s.w.index_stream = (struct stream){noise.data, n};
            decode(&s.w, dst);
            guard_free(&noise);
        }
        free(dst);
        release(&s);
    }
}

RUN_TESTS
