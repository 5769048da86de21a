/* SPDX-License-Identifier: MIT */
/* test_made_weight.c - weights that a program makes, without validation: what decoders rely on
 * they test themselves, one by one, in either way of reading. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "decode/adaptive_decode.h"
#include "decode/adaptive_decode.h"
#include "decode/plane_decode.h"
#include "decode/gap_decode.h"
#include "decode/weight_f32.h"
#include "decode/weight_rows.h"

enum { N = 8 };

static const float number[N + 1] = {1, 2, 3, 4, 5, 6, 7, 8};
static const uint8_t two_centroids[] = {0, 0, 0, 0x80, 0xbf, 0, 0, 0x80, 0x3f}; /* -1, 1 */
static const uint8_t indices[] = {0x55};
static const uint8_t one_bit[] = {0x10};

/* Eight numbers as they are. */
static struct weight plain(void)
{
    return (struct weight){.type = PITH_F32,
                           .shape = {2, {2, N / 2}},
                           .count = N,
                           .nnz = N,
                           .group_elems = N,
                           .n_groups = 1,
                           .index_stream = {(const uint8_t *)number, N * sizeof *number}};
}

/* Eight indices of one bit. */
static struct weight coded(void)
{
    struct weight w = plain();
    w.grid = GRID_CODEBOOK;
    w.n_centroids = 2;
    w.index_bits = 1;
    w.codebook = (struct stream){two_centroids, sizeof two_centroids};
    w.index_stream = (struct stream){indices, 1};
    return w;
}

/* One index of an element of a bitmap. */
static struct weight sparse(void)
{
    struct weight w = coded();
    w.support = SUPPORT_BITMAP;
    w.support_stream = (struct stream){one_bit, 1};
    w.nnz = 1;
    w.index_stream = (struct stream){(const uint8_t *)"\1", 1};
    return w;
}

/* Whole, and by rows: both say the same. */
static enum pith_status read(const struct weight *w)
{
    static uint8_t scratch[1u << 18] __attribute__((aligned(64)));
    static float dst[N];
    bool fits = pith_weight_scratch_bytes(w) <= sizeof scratch &&
                pith_weight_rows_bytes(w) <= sizeof scratch;
    assert_true(fits);
    enum pith_status st = pith_weight_expand_f32(w, dst, scratch);
    assert_int_equal(pith_weight_rows_check(w, scratch), st);
    return st;
}

#define BAD(make, ...)                                                                             \
    do {                                                                                           \
        struct weight w = make();                                                                  \
        __VA_ARGS__;                                                                               \
        assert_int_equal(read(&w), PITH_ERR_CORRUPT);                                              \
    } while (0)

TEST(lengths_and_counts)
{
    struct weight good[] = {plain(), coded(), sparse()};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(read(&good[i]), PITH_OK);
    BAD(plain, w.nnz--);
    BAD(plain, w.index_stream.n_bytes--);
    BAD(plain, w.support_stream = (struct stream){one_bit, 1});
    BAD(coded, w.nnz--);
    BAD(coded, w.index_stream.n_bytes++);
    BAD(coded, w.support_stream = (struct stream){one_bit, 1});
    BAD(coded, w.n_centroids = 0);
    BAD(coded, w.n_centroids = 257);
    BAD(coded, w.group_elems = 0);
    BAD(coded, w.codebook.n_bytes--);
    BAD(coded, w.support = SUPPORT_ADAPTIVE);
    BAD(sparse, w.support_stream.n_bytes++);
    BAD(sparse, w.count = UINT64_C(1) << 32);
    BAD(sparse, w.index_stream.n_bytes = 0);
    BAD(sparse, w.nnz = 2);
}

TEST(lengths_of_elements)
{
    uint8_t scratch[64] __attribute__((aligned(64)));
    float y[N];
    uint32_t pos[N];
    struct weight w = plain();
    assert_int_equal(pith_weight_expand_plain(&w, y, scratch), PITH_OK);
    assert_memory_equal(y, number, sizeof y);
    assert_int_equal(pith_weight_expand_parts(&w, pos, NULL, NULL, scratch), PITH_OK);
    assert_int_equal(pos[N - 1], N - 1);
    w.nnz--;
    assert_int_equal(pith_weight_expand_plain(&w, y, scratch), PITH_ERR_CORRUPT);
    w = coded();
    assert_int_equal(pith_weight_expand_plain(&w, y, scratch), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_weight_codebooks(&w, y), PITH_OK);
    assert_true(y[0] == -1 && y[1] == 1);
    w.n_centroids = 257;
    assert_int_equal(pith_weight_codebooks(&w, y), PITH_ERR_ARGUMENT);
    w = plain();
    assert_int_equal(pith_weight_codebooks(&w, y), PITH_ERR_ARGUMENT);
    w.count = UINT64_C(1) << 32;
    assert_int_equal(pith_weight_expand_parts(&w, pos, NULL, NULL, scratch), PITH_ERR_LIMIT);
}

/* What each code can be of. */
TEST(codes)
{
    BAD(plain, w.code = CODE_ADAPTIVE; w.type = PITH_I32);
    BAD(plain, w.code = CODE_ADAPTIVE; w.type = PITH_I8);
    BAD(plain, w.code = CODE_ADAPTIVE; w.count = w.nnz = 0);
    BAD(coded, w.code = CODE_ADAPTIVE; w.type = PITH_I32);
    BAD(coded, w.code = CODE_ADAPTIVE; w.n_centroids = 0);
    BAD(coded, w.code = CODE_ADAPTIVE; w.group_elems = 0);
    BAD(coded, w.code = CODE_ADAPTIVE; w.nnz = w.count = 0);
    BAD(plain, w.code = CODE_PLANES; w.type = PITH_I32);
    BAD(plain, w.code = CODE_PLANES; w.nnz--);
    BAD(plain, w.code = CODE_PLANES; w.count = w.nnz = 0);
    struct weight w = plain();
    assert_true(pith_planes_allow(&w));
    w.support = SUPPORT_BITMAP;
    assert_false(pith_planes_allow(&w));
    w = coded();
    assert_false(pith_planes_allow(&w));
    assert_true(pith_adaptive_allows(&w));
    w.type = PITH_I8;
    assert_true(pith_adaptive_allows(&w));
    w.count = w.nnz = UINT32_C(1) << 28;
    assert_false(pith_adaptive_allows(&w));
}

/* Where they lie are elements that are computed with as they are. */
TEST(borrowed)
{
    static const enum pith_type converted[] = {PITH_F16, PITH_BF16, PITH_F64};
    uint64_t bytes;
    struct weight w = plain();
    assert_ptr_equal(pith_weight_borrow(&w), number);
    assert_ptr_equal(pith_weight_f32_borrow(&w), number);
    assert_int_equal(pith_weight_f32_scratch(&w, &bytes), PITH_OK);
    assert_int_equal(bytes, 0);
    for (uint32_t i = 0; i < 3; i++) {
        w.type = converted[i];
        assert_null(pith_weight_borrow(&w));
        assert_null(pith_weight_f32_borrow(&w));
    }
    w.type = PITH_I32;
    assert_ptr_equal(pith_weight_borrow(&w), number);
    assert_null(pith_weight_f32_borrow(&w));
    w = plain();
    w.index_stream.bytes++;
    assert_null(pith_weight_borrow(&w));
    assert_int_equal(pith_weight_f32_scratch(&w, &bytes), PITH_OK);
    assert_int_equal(bytes, 64);
    w.code = CODE_PLANES;
    assert_null(pith_weight_borrow(&w));
    w = coded();
    assert_null(pith_weight_borrow(&w));
    w = sparse();
    w.grid = GRID_PLAIN;
    assert_null(pith_weight_borrow(&w));
    w.count = UINT64_MAX / 4 + 1;
    assert_int_equal(pith_weight_f32_scratch(&w, &bytes), PITH_ERR_LIMIT);
    w.count = UINT64_MAX / 4 - 8; /* 64 more than the last multiple of a line */
    assert_int_equal(pith_weight_f32_scratch(&w, &bytes), PITH_ERR_LIMIT);
}

/* Element by element, in rows of four. */
TEST(one_by_one)
{
    uint8_t mem[4096] __attribute__((aligned(64)));
    uint32_t k;
    float value;
    struct weight w = sparse();
    assert_true(pith_weight_rows_bytes(&w) <= sizeof mem);
    struct weight_rows *r = pith_weight_rows_open(&w, mem);
    pith_weight_rows_begin(r, N / 2);
    assert_false(pith_weight_rows_next(r, &k, &value));
    pith_weight_rows_begin(r, N / 2);
    assert_true(pith_weight_rows_next(r, &k, &value));
    assert_int_equal(k, 0);
    assert_true(value == 1);
    assert_false(pith_weight_rows_next(r, &k, &value));
    /* A weight that changed since it was checked: nothing more is stored. */
    w.codebook.n_bytes = 1;
    r = pith_weight_rows_open(&w, mem);
    pith_weight_rows_begin(r, N);
    assert_false(pith_weight_rows_next(r, &k, &value));
}

RUN_TESTS
