/* SPDX-License-Identifier: MIT */
/* test_adaptive_slices.c - adaptive streams in slices of rows: every tensor comes back, whole and
 * in pieces; what is broken is refused in whatever order pieces are decoded. */
#include <stdint.h>
#include "test_run.h"
#include "adaptive_sample.h"

/* Every tensor of two rows or more, in slices of one row, of a third, of all but one; with few
 * stored elements some slices store none. */
TEST(test_slices)
{
    uint32_t tensors = 0, empty = 0;
    for (size_t i = 0; i < N_SPECS; i++) {
        const struct spec spec = specs[i];
        uint64_t seed = SEED + i;
        if (spec.rank < 2 || spec.dim[0] < 2)
            continue;
        struct sample s = make(&spec, NULL, &seed);
        for (uint32_t k = 0; k < 3; k++) {
            uint64_t all = spec.dim[0], rows = k == 0 ? 1 : k == 1 ? (all + 2) / 3 : all - 1;
            encode_sliced(&s, rows);
            check(&s);
            for (uint64_t at = 0; at < (all + rows - 1) / rows; at++)
                empty += pith_slices_stored(&s.w, at) == pith_slices_stored(&s.w, at + 1);
            tensors++;
        }
        release(&s);
    }
    assert_true(tensors > 50 && empty > 10);
}

/* A slice has the bytes of a tensor of its rows alone, but for its groups, which are
 * those of the tensor: so all of them cost what the directory does. */
TEST(test_slices_are_tensors)
{
    static const struct spec spec = {2, {60, 90}, 300, 16, 1, 0, 0};
    uint64_t seed = SEED, sum = 0, cols = 90;
    struct sample s = make(&spec, NULL, &seed);
    for (uint64_t row = 0; row < 60; row += 25) {
        struct sample one = s;
        size_t bytes;
        one.w.shape.dim[0] = row < 50 ? 25 : 10;
        one.w.count = one.w.group_elems = one.w.shape.dim[0] * cols;
        one.w.nnz = 0;
        for (uint64_t i = 0; i < one.w.count; i++)
            one.w.nnz += s.mask[row * cols + i];
        struct adaptive_input in = {
            .w = &one.w, .mask = s.mask + row * cols, .index = s.index + row * cols};
        assert_int_equal(pith_adaptive_encode(&in, NULL, 0, &bytes), PITH_OK);
        sum += bytes;
    }
    encode_sliced(&s, 25);
    assert_int_equal(s.w.index_stream.n_bytes, sum + 1 + 2 * 2 + 2 * 2);
    release(&s);
}

TEST(test_damaged_slices)
{
    static const struct spec damaged[] = {
        {2, {20, 30}, 150, 6, 1, 0, 0},     {4, {5, 4, 3, 3}, 1000, 20, 3, 50, 0},
        {2, {9, 10}, 1000, 0, 1, 50, 0},    {2, {10, 30}, 400, 12, 1, 30, 16},
        {2, {10, 30}, 1000, 31, 10, 30, 8}, {2, {10, 12}, 20, 12, 1, 0, 0}};
    for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++) {
        uint64_t seed = SEED + k;
        struct sample s = make(&damaged[k], NULL, &seed);
        encode_sliced(&s, 3); /* of some 12 bytes */
        damage(&s, 6);
        s.w.nnz += s.w.support != SUPPORT_DENSE;
        float *dst = array(s.w.count, sizeof *dst);
        if (s.w.support != SUPPORT_DENSE)
            assert_int_equal(decode(&s.w, dst), PITH_ERR_CORRUPT);
        free(dst);
        release(&s);
    }
}

/* Directories that no writer gives: 20 rows of 30, in slices of 7 rows, two of which are listed. */
TEST(test_directories)
{
    static const struct spec spec = {2, {20, 30}, 150, 6, 1, 0, 0};
    static const uint8_t wrong[][8] = {
        {0, 9, 9, 9, 9, 9, 9, 9},       /* no rows */
        {20, 9, 9, 9, 9, 9, 9, 9},      /* all of them */
        {7, 0xff, 0x7f, 9, 1, 9, 9, 9}, /* longer than all there is */
        {7, 1, 0xd3, 1, 1, 1, 9, 9},    /* 211 stored of 210 */
        {7, 1, 0xd2, 1, 1, 0xd2, 1, 9}, /* more than all */
        {7, 1, 0, 1, 0, 9, 9, 9},       /* none: more than the last one has */
        {1, 1, 1, 1, 1, 1, 1, 1},       /* the directory is not there whole */
        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
    };
    uint64_t seed = SEED;
    struct sample s = make(&spec, NULL, &seed);
    float *dst = array(s.w.count, sizeof *dst);
    s.w.sliced = true;
    s.w.nnz = 200;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t n = 0; n <= sizeof *wrong; n++) {
            struct row_slices slices;
            struct guarded g = guard_new(n, 1);
            memcpy(g.data, wrong[i], n);
            s.w.index_stream = (struct stream){g.data, n};
            assert_int_equal(decode(&s.w, dst), PITH_ERR_CORRUPT);
            assert_false(pith_slices_open(&slices, &s.w));
            assert_int_equal(pith_slices_stored(&s.w, 1), 0);
            guard_free(&g);
        }
    free(dst);
    release(&s);
}

/* Both may be in slices, the rows of a slice one: flags are those of the tensor all the same. */
TEST(test_sliced_source)
{
    static const struct spec first[] = {{4, {20, 1, 5, 5}, 60, 5, 1, 0, 0},
                                        {2, {20, 40}, 1000, 5, 1, 90, 0}};
    static const struct spec second[] = {{4, {10, 20, 3, 3}, 100, 5, 1, 0, 0},
                                         {2, {50, 320}, 50, 5, 1, 0, 0},
                                         {1, {20}, 1000, 0, 1, 70, 0}};
    for (size_t i = 0; i < 18; i++) {
        uint64_t seed = SEED + i, rows[] = {1, 7, 10};
        struct sample a = make(&first[i % 2], NULL, &seed);
        struct sample whole = make(&second[i / 2 % 3], &a.w, &seed);
        encode_sliced(&a, rows[i / 6]);
        uint64_t again = SEED + i;
        struct sample same = make(&first[i % 2], NULL, &again);
        struct sample b = make(&second[i / 2 % 3], &a.w, &again);
        assert_int_equal(b.w.source_rows, pith_adaptive_flags_rows(&a.w) ? 20 : 0);
        if (i >= 6) /* a slice of one row says that there is something */
            assert_int_equal(b.w.index_stream.n_bytes, whole.w.index_stream.n_bytes);
        check(&b);
        if (b.w.shape.rank > 1) {
            encode_sliced(&b, 4);
            check(&b);
        }
        a.w.index_stream.n_bytes = 1; /* no directory */
        b.w.source_stream.n_bytes = b.w.source_rows ? 1 : 0;
        float *dst = array(b.w.count, sizeof *dst);
        if (b.w.source_rows)
            assert_int_equal(decode(&b.w, dst), PITH_ERR_CORRUPT);
        free(dst);
        release(&a);
        release(&b);
        release(&same);
        release(&whole);
    }
}

/* Any slice can be entered, and goes on with those behind it. */
TEST(test_entry_points)
{
    static const struct spec spec = {2, {61, 30}, 1000, 9, 61, 40, 0};
    uint64_t seed = SEED;
    struct sample s = make(&spec, NULL, &seed);
    encode_sliced(&s, 4);
    struct adaptive *a = array(1, sizeof *a);
    void *mem = array(pith_adaptive_bytes(&s.w), 1);
    uint8_t *index = array(s.w.count, 1);
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t at = 4 * 30 * i, n = (uint32_t)s.w.count - at;
        assert_int_equal(pith_adaptive_enter(a, &s.w, mem, i), PITH_OK);
        assert_int_equal(pith_adaptive_next(a, NULL, index, NULL, n), PITH_OK);
        assert_memory_equal(index, s.index + at, n);
        assert_int_equal(pith_adaptive_next(a, NULL, index, NULL, 1), PITH_ERR_CORRUPT);
    }
    struct adaptive_input in = {.w = &s.w, .index = s.index};
    size_t bytes;
    assert_int_equal(pith_adaptive_encode_sliced(&in, 61, NULL, 0, &bytes), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_adaptive_encode_sliced(&in, 0, NULL, 0, &bytes), PITH_ERR_ARGUMENT);
    free(a);
    free(mem);
    free(index);
    release(&s);
}

RUN_TESTS
