/* SPDX-License-Identifier: MIT */
/* Constants that are integers times scales: found again after their elements were moved, tested to
 * the bit, and decoded from a file by the same layouts. */
#include <string.h>
#include "test_run.h"

#include "core/bytes.h"
#include "core/f32_bits.h"
#include "decode/weight.h"
#include "model/integers.h"

/* [2, 3]: (q - 1) * 0.5 in row 0, (q + 2) * 0.25 in row 1, of q = 5 -3 1 | 0 32767 -32768 */
static float rows_of_words[6] = {2.0f, -2.0f, 0.0f, 0.5f, 8192.25f, -8191.5f};
static const int16_t words[6] = {5, -3, 1, 0, 32767, -32768};
static float two_scales[2] = {0.5f, 0.25f};
static int32_t two_zeros[2] = {1, -2};
static struct pith_integers by_row = {PITH_I16, 2, 0, 0, two_scales, two_zeros};

TEST(test_hold)
{
    int16_t q[6];
    struct pith_const k = {.count = 6, .data = rows_of_words, .integers = &by_row};
    struct pith_value v = {.type = PITH_F32, .rank = 2, .dim = {2, 3}, .constant = &k};
    assert_true(pith_integers_hold(&v, &k, q));
    assert_memory_equal(q, words, sizeof q);
    float changed[6];
    memcpy(changed, rows_of_words, sizeof changed);
    k.data = changed;
    changed[4] = 8192.5f; /* 32768 + 2 quarters: one more than i16 has */
    assert_false(pith_integers_hold(&v, &k, NULL));
    changed[4] = 8192.25f;
    changed[0] = 2.25f; /* between two multiples of 0.5 */
    assert_false(pith_integers_hold(&v, &k, NULL));
    changed[0] = 2.0f;
    changed[2] = -0.0f;
    assert_false(pith_integers_hold(&v, &k, NULL));
    k.data = rows_of_words;
    v.dim[0] = 3;
    v.dim[1] = 2; /* two scales for three rows */
    assert_false(pith_integers_hold(&v, &k, NULL));
    k.integers = NULL;
    assert_false(pith_integers_hold(&v, &k, NULL));
}

/* u8 has 255 and not 256; a scale of 0 gives 0 alone. */
TEST(test_bounds)
{
    float scale[2] = {2.0f, 0.0f};
    int32_t zero[2] = {0, 7};
    struct pith_integers g = {PITH_U8, 2, 0, 0, scale, zero};
    float x[2] = {510.0f, 0.0f};
    uint8_t q[2];
    struct pith_const k = {.count = 2, .data = x, .integers = &g};
    struct pith_value v = {.type = PITH_F32, .rank = 1, .dim = {2}, .constant = &k};
    assert_true(pith_integers_hold(&v, &k, q));
    assert_int_equal(q[0], 255);
    assert_int_equal(q[1], 7);
    x[0] = 512.0f;
    assert_false(pith_integers_hold(&v, &k, NULL));
    x[0] = -2.0f;
    assert_false(pith_integers_hold(&v, &k, NULL));
    x[0] = 0.0f;
    x[1] = 1.0f;
    assert_false(pith_integers_hold(&v, &k, NULL));
    assert_int_equal(pith_integer_lowest(PITH_I8), -128);
    assert_int_equal(pith_integer_highest(PITH_I8), 127);
    assert_int_equal(pith_integer_lowest(PITH_I16), -32768);
    assert_int_equal(pith_integer_highest(PITH_I16), 32767);
    assert_int_equal(pith_integer_lowest(PITH_U16), 0);
    assert_int_equal(pith_integer_highest(PITH_U16), 65535);
}

/* The matrix of rows_of_words, transposed: its scales lie along axis 1. */
TEST(test_adopt_transposed)
{
    struct pith_model *m;
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    float x[6];
    for (uint32_t i = 0; i < 6; i++)
        x[i % 3 * 2 + i / 3] = rows_of_words[i];
    struct pith_const k = {.count = 6, .data = x};
    struct pith_value v = {.type = PITH_F32, .rank = 2, .dim = {3, 2}, .constant = &k};
    assert_int_equal(pith_integers_adopt(m, &v, &by_row), PITH_OK);
    assert_non_null(k.integers);
    assert_int_equal(k.integers->axis, 1);
    x[0] = 0.1f;
    k.integers = NULL;
    assert_int_equal(pith_integers_adopt(m, &v, &by_row), PITH_OK);
    assert_null(k.integers);
    pith_model_free(m);
}

/* [2, 3] in blocks of 2 along axis 1, the last one short: scales [2, 2]; transposed, [3, 2]. */
TEST(test_adopt_blocks)
{
    struct pith_model *m;
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    float scale[4] = {1.0f, 10.0f, 100.0f, 1000.0f};
    int32_t zero[4] = {0, 1, 2, 3};
    const struct pith_integers g = {PITH_I8, 4, 1, 2, scale, zero};
    float x[6] = {1, 2, 90, 600, 700, 3000}, turned[6]; /* q 1 2 10 | 8 9 6 */
    for (uint32_t i = 0; i < 6; i++)
        turned[i % 3 * 2 + i / 3] = x[i];
    struct pith_const k = {.count = 6, .data = x};
    struct pith_value v = {.type = PITH_F32, .rank = 2, .dim = {2, 3}, .constant = &k};
    int8_t q[6];
    assert_int_equal(pith_integers_adopt(m, &v, &g), PITH_OK);
    assert_non_null(k.integers);
    assert_true(pith_integers_hold(&v, &k, q));
    assert_memory_equal(q, ((int8_t[]){1, 2, 10, 8, 9, 6}), 6);
    k = (struct pith_const){.count = 6, .data = turned};
    v.dim[0] = 3;
    v.dim[1] = 2;
    assert_int_equal(pith_integers_adopt(m, &v, &g), PITH_OK);
    assert_non_null(k.integers);
    assert_int_equal(k.integers->axis, 0);
    assert_true(pith_integers_hold(&v, &k, q));
    assert_memory_equal(q, ((int8_t[]){1, 8, 2, 9, 10, 6}), 6);
    assert_true(k.integers->scale[1] == 100.0f && k.integers->zero[2] == 1);
    pith_model_free(m);
}

/* What a file holds of the two above, from each element on. */
TEST(test_decode)
{
    uint8_t scales[8 + 4], elements[12];
    for (uint32_t i = 0; i < 2; i++) {
        store_le32(scales + 4 * i, f32_bits(two_scales[i]));
        store_le16(scales + 8 + 2 * i, (uint16_t)two_zeros[i]);
    }
    for (uint32_t i = 0; i < 6; i++)
        store_le16(elements + 2 * i, (uint16_t)words[i]);
    struct weight w = {.type = PITH_F32,
                       .shape = {2, {2, 3}},
                       .count = 6,
                       .nnz = 6,
                       .grid = GRID_SCALED,
                       .scaled = PITH_I16,
                       .n_groups = 2,
                       .codebook = {scales, sizeof scales},
                       .index_stream = {elements, sizeof elements}};
    for (uint32_t from = 0; from < 6; from++)
        for (uint32_t n = 1; from + n <= 6; n++) {
            float x[6];
            pith_weight_elements(&w, from, n, x);
            assert_memory_equal(x, rows_of_words + from, n * sizeof *x);
        }
    const uint8_t bytes[6] = {1, 2, 10, 8, 9, 6};
    uint8_t four[16];
    for (uint32_t i = 0; i < 4; i++)
        store_le32(four + 4 * i, f32_bits((float)(i + 1)));
    w.scaled = PITH_U8;
    w.n_groups = 4;
    w.index_bits = 1;
    w.group_elems = 2;
    w.codebook = (struct stream){four, sizeof four};
    w.index_stream = (struct stream){bytes, sizeof bytes};
    float x[6];
    pith_weight_elements(&w, 0, 6, x);
    assert_memory_equal(x, ((float[]){1, 2, 20, 24, 27, 24}), sizeof x);
}

RUN_TESTS
