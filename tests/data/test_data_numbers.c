/* SPDX-License-Identifier: MIT */
/* test_data_numbers.c - stored numbers as integers, and files of samples that are refused: each
 * refusal has bytes that it alone refuses. They end at an unmapped page. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "data/data_source.h"
#include "data/npy_header.h"
#include "data/number_convert.h"
#include "guard_page.h"
#include "pith_data.h"

static struct data_source source_of(const void *bytes, size_t n, struct guarded *g)
{
    static char name[] = "f";
    *g = guard_new(n, 1);
    memcpy(g->data, bytes, n);
    return (struct data_source){.file = {-1, g->data, n, name}};
}

static void expect_idx(const void *bytes, size_t n, enum pith_status status, const char *text)
{
    struct guarded g;
    struct pith_error err = {0};
    struct data_source s = source_of(bytes, n, &g);
    enum pith_status st = pith_idx_open(&s, &err);
    if (st != status || strcmp(err.text, text) != 0)
        fail_msg("status %d '%s', expected %d '%s'", st, err.text, status, text);
    guard_free(&g);
}

/* From 2^53 on a double does not hold every integer. */
TEST(reals_below_2_to_53_are_integers)
{
    static const struct {
        double real;
        bool is_one;
    } cases[] = {{0x1p53 - 1, true}, {1 - 0x1p53, true}, {0x1p53, false},
                 {-0x1p53, false},   {0.5, false},       {-3, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t b[8];
        int64_t v = 77;
        memcpy(b, &cases[i].real, 8);
        assert_int_equal(pith_stored_i64(PITH_F64, false, b, &v), cases[i].is_one);
        assert_int_equal(v, cases[i].is_one ? (int64_t)cases[i].real : 77);
    }
}

TEST(records_have_bytes)
{
    struct guarded g;
    struct pith_error err = {0};
    struct data_source s = source_of("abcd", 4, &g);
    assert_int_equal(pith_raw_open(&s, PITH_U16, 0, &err), PITH_ERR_CORRUPT);
    assert_string_equal(err.text, "f: 4 bytes are not a whole number of records of 0 bytes");
    assert_int_equal(pith_raw_open(&s, PITH_U16, 1, &err), PITH_OK);
    assert_int_equal(s.n_samples, 2);
    guard_free(&g);
}

TEST(idx_is_as_long_as_it_says)
{
    static const uint8_t two[] = {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8, 9};
    expect_idx(two, 14, PITH_OK, "");
    expect_idx(two, 13, PITH_ERR_CORRUPT, "f: header declares 2 bytes of data, the file has 1");
    expect_idx(two, 15, PITH_ERR_CORRUPT, "f: header declares 2 bytes of data, the file has 3");
    expect_idx(two, 11, PITH_ERR_CORRUPT, "f: IDX header ends early");
    expect_idx(two, 8, PITH_ERR_CORRUPT, "f: IDX header ends early");
    expect_idx(two, 7, PITH_ERR_CORRUPT, "f: not an IDX file");
}

/* A picture's sides and area are limited; other files of bytes are numbers. */
TEST(idx_pictures_are_limited)
{
    static const struct {
        uint8_t rows[4], cols[4];
        uint32_t bytes;
        bool pictures;
    } cases[] = {{{0, 0, 0, 1}, {0, 1, 0, 0}, IMAGE_MAX_SIDE, true},
                 {{0, 1, 0, 0}, {0, 0, 0, 1}, IMAGE_MAX_SIDE, true},
                 {{0, 0, 0, 1}, {0, 1, 0, 1}, IMAGE_MAX_SIDE + 1, false},
                 {{0, 1, 0, 1}, {0, 0, 0, 1}, IMAGE_MAX_SIDE + 1, false},
                 {{0, 0, 0x20, 0}, {0, 0, 0x20, 0}, IMAGE_MAX_PIXELS, true},
                 {{0, 0, 0x20, 0}, {0, 0, 0x20, 1}, IMAGE_MAX_PIXELS + 0x2000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct guarded g = guard_new(16 + cases[i].bytes, 1);
        struct pith_error err = {0};
        memcpy(g.data, "\0\0\x08\3\0\0\0\1", 8);
        memcpy((uint8_t *)g.data + 8, cases[i].rows, 4);
        memcpy((uint8_t *)g.data + 12, cases[i].cols, 4);
        struct data_source s = {.file = {-1, g.data, 16 + cases[i].bytes, "f"}};
        assert_int_equal(pith_idx_open(&s, &err), PITH_OK);
        assert_int_equal(s.pictures, cases[i].pictures);
        guard_free(&g);
    }
}

/* What a file begins with is known by as many bytes as its mark has, and none is read behind. */
TEST(marks_are_whole)
{
    static const struct {
        bool (*is)(const void *head, size_t n);
        bool (*is_too)(const uint8_t *head, size_t n);
        const char *mark;
        size_t n;
    } cases[] = {{pith_is_npy, NULL, "\x93NUMPY\1", 8},
                 {pith_is_png, NULL, "\x89PNG\r\n\x1a\n", 8},
                 {pith_is_jpeg, NULL, "\xff\xd8\xff", 3},
                 {NULL, pith_is_zip, "PK\3\4", 4},
                 {NULL, pith_is_idx, "\0\0\x08\1\0\0\0\1", 8},
                 {NULL, pith_is_packed, "\x1f\x8b\x08", 3},
                 {NULL, pith_is_packed, "\xfd\x37zXZ", 5},
                 {NULL, pith_is_packed, "\x28\xb5\x2f\xfd", 4},
                 {NULL, pith_is_packed, "BZh", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t n = 0; n <= cases[i].n; n++) {
            struct guarded g = guard_new(n, 1);
            memcpy(g.data, cases[i].mark, n);
            const bool is = cases[i].is ? cases[i].is(g.data, n) : cases[i].is_too(g.data, n);
            if (is != (n == cases[i].n))
                fail_msg("mark %zu, %zu bytes of it", i, n);
            guard_free(&g);
        }
}

TEST(there_are_samples_and_they_have_values)
{
    static const uint8_t no_values[] = {0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 0};
    static const uint8_t no_samples[] = {0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 3};
    expect_idx(no_values, sizeof no_values, PITH_ERR_CORRUPT, "f: no samples");
    expect_idx(no_samples, sizeof no_samples, PITH_ERR_CORRUPT, "f: no samples");
}

TEST(bytes_are_those_of_the_source)
{
    struct guarded g;
    struct pith_error err = {0};
    char to[5] = "....";
    struct data_source s = source_of("abcd", 4, &g);
    static const struct {
        uint64_t offset;
        size_t n;
        const char *text; /* NULL: they are there */
    } cases[] = {{0, 4, NULL},
                 {1, 3, NULL},
                 {4, 0, NULL},
                 {2, 3, "f: ends at 4 bytes, 3 more are needed at 2"},
                 {4, 1, "f: ends at 4 bytes, 1 more are needed at 4"},
                 {5, 0, "f: ends at 4 bytes, 0 more are needed at 5"},
                 {UINT64_MAX, 2, "f: ends at 4 bytes, 2 more are needed at 18446744073709551615"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const enum pith_status st = pith_source_at(&s.file, cases[i].offset, to, cases[i].n, &err);
        assert_int_equal(st, cases[i].text ? PITH_ERR_CORRUPT : PITH_OK);
        if (cases[i].text)
            assert_string_equal(err.text, cases[i].text);
        else
            assert_memory_equal(to, "abcd" + cases[i].offset, cases[i].n);
    }
    guard_free(&g);
}

TEST(arrays_of_known_types_are_written)
{
    static const uint32_t dim[PITH_MAX_RANK + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const double x = 1;
    struct pith_buffer f = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write((enum pith_type)99, 2, dim, &x, &f, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot write npy: type 99, rank 2");
    assert_int_equal(pith_npy_write(PITH_F32, PITH_MAX_RANK + 1, dim, &x, &f, &err),
                     PITH_ERR_ARGUMENT);
    assert_null(f.data);
    assert_int_equal(pith_npy_write(PITH_F32, PITH_MAX_RANK, dim, &x, &f, &err), PITH_OK);
    pith_buffer_free(&f);
    assert_int_equal(pith_npy_write(PITH_F32, 1, NULL, &x, &f, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_npy_write(PITH_F32, 1, dim, NULL, &f, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_npy_write(PITH_F32, 1, dim, &x, NULL, &err), PITH_ERR_ARGUMENT);
}

RUN_TESTS
