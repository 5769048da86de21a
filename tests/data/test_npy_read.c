/* SPDX-License-Identifier: MIT */
/* test_npy_read.c - headers of .npy files: each refusal has a file that it alone refuses. The bytes
 * end at an unmapped page, so that an overread is noticed. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "core/bytes.h"
#include "data/data_source.h"
#include "data/npy_header.h"
#include "data/number_convert.h"
#include "guard_page.h"

#define GRAMMAR "a.npy: npy header is not a plain type, order and shape"
#define NO_NPY "a.npy: not a .npy file of version 1 to 3"
#define NO_NUMBER "' is not a plain number (f2 f4 f8, i1 to i8, u1 to u8, bool)"

struct npy_bytes {
    uint8_t b[512];
    size_t n;
};

/* Version 1 has two bytes for the length of the dictionary, the later ones four. */
static struct npy_bytes npy(uint8_t version, const char *dictionary, size_t data_bytes)
{
    struct npy_bytes f = {.b = "\x93NUMPY"};
    size_t length = strlen(dictionary), at = version == 1 ? 10 : 12;
    f.b[6] = version;
    if (version == 1)
        store_le16(f.b + 8, (uint16_t)length);
    else
        store_le32(f.b + 8, (uint32_t)length);
    memcpy(f.b + at, dictionary, length);
    f.n = at + length + data_bytes;
    assert_true(f.n <= sizeof f.b);
    return f;
}

static enum pith_status parse(const struct npy_bytes *f, struct npy_header *h,
                              struct pith_error *err)
{
    struct guarded g = guard_new(f->n, 1);
    memcpy(g.data, f->b, f->n);
    enum pith_status st = pith_npy_parse(g.data, f->n, "a.npy", h, err);
    guard_free(&g);
    return st;
}

static void expect_refusal(const struct npy_bytes *f, enum pith_status status, const char *text)
{
    struct npy_header h;
    struct pith_error err = {0};
    enum pith_status st = parse(f, &h, &err);
    if (st != status || strcmp(err.text, text) != 0)
        fail_msg("status %d '%s', expected %d '%s'", st, err.text, status, text);
}

static struct npy_header expect_header(const struct npy_bytes *f)
{
    struct npy_header h = {0};
    struct pith_error err = {0};
    SUCCEEDS(parse(f, &h, &err));
    return h;
}

#define DICTIONARY(descr, shape)                                                                   \
    "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }"

TEST(versions_1_to_3_are_read)
{
    for (uint8_t version = 0; version <= 4; version++) {
        struct npy_bytes f = npy(version, DICTIONARY("<f4", "(2,)"), 8);
        if (version >= 1 && version <= 3)
            assert_int_equal(expect_header(&f).count, 2);
        else
            expect_refusal(&f, PITH_ERR_CORRUPT, NO_NPY);
    }
}

/* A length that reaches one byte behind the file. */
TEST(a_header_ends_with_the_file_at_the_latest)
{
    for (uint8_t version = 1; version <= 2; version++) {
        struct npy_bytes f = npy(version, DICTIONARY("<f4", "(0,)"), 0);
        assert_int_equal(expect_header(&f).count, 0);
        f.b[8]++;
        expect_refusal(&f, PITH_ERR_CORRUPT, NO_NPY);
    }
}

TEST(a_dictionary_is_whole)
{
    for (size_t n = 2; n < sizeof DICTIONARY("<f4", "(12, 3)") - 1; n++) {
        char cut[] = DICTIONARY("<f4", "(12, 3)");
        cut[n] = 0;
        struct npy_bytes f = npy(1, cut, 0);
        expect_refusal(&f, PITH_ERR_CORRUPT, GRAMMAR);
    }
}

TEST(an_axis_is_below_2_to_31)
{
    struct npy_bytes f = npy(1, DICTIONARY("<f4", "(0, 2147483647)"), 0);
    assert_int_equal(expect_header(&f).dim[1], 2147483647);
    f = npy(1, DICTIONARY("<f4", "(0, 2147483648)"), 0);
    expect_refusal(&f, PITH_ERR_CORRUPT, GRAMMAR);
    f = npy(1, DICTIONARY("<f4", "(0, 99999999999999999999)"), 0);
    expect_refusal(&f, PITH_ERR_CORRUPT, GRAMMAR);
}

TEST(eight_axes_are_read)
{
    struct npy_bytes f = npy(1, DICTIONARY("<f4", "(1, 1, 1, 1, 1, 1, 1, 2)"), 8);
    struct npy_header h = expect_header(&f);
    assert_int_equal(h.rank, 8);
    assert_int_equal(h.dim[7], 2);
    f = npy(1, DICTIONARY("<f4", "(1, 1, 1, 1, 1, 1, 1, 2, 1)"), 8);
    expect_refusal(&f, PITH_ERR_UNSUPPORTED, "a.npy: more than 8 axes");
}

/* A single byte has no order. */
TEST(numbers_of_many_bytes_have_an_order)
{
    struct npy_bytes f = npy(1, DICTIONARY("|u1", "(4,)"), 4);
    assert_int_equal(expect_header(&f).type, PITH_U8);
    f = npy(1, DICTIONARY("i1", "(4,)"), 4);
    assert_int_equal(expect_header(&f).type, PITH_I8);
    f = npy(1, DICTIONARY(">f4", "(1,)"), 4);
    assert_true(expect_header(&f).big_endian);
    f = npy(1, DICTIONARY("|f4", "(1,)"), 4);
    expect_refusal(&f, PITH_ERR_UNSUPPORTED, "a.npy: npy type '|f4" NO_NUMBER);
    f = npy(1, DICTIONARY("f4", "(1,)"), 4);
    expect_refusal(&f, PITH_ERR_UNSUPPORTED, "a.npy: npy type 'f4" NO_NUMBER);
    f = npy(1, DICTIONARY("|O", "(1,)"), 4);
    expect_refusal(&f, PITH_ERR_UNSUPPORTED, "a.npy: npy type '|O" NO_NUMBER);
    f = npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", 8);
    expect_refusal(&f, PITH_ERR_UNSUPPORTED,
                   "a.npy: npy in Fortran order; save it with numpy.ascontiguousarray");
}

TEST(data_have_exactly_the_stated_bytes)
{
    struct npy_bytes f = npy(1, DICTIONARY("<f4", "(2,)"), 7);
    expect_refusal(&f, PITH_ERR_CORRUPT,
                   "a.npy: shape and type need 8 bytes of data, the file has 7");
    f.n += 2;
    expect_refusal(&f, PITH_ERR_CORRUPT,
                   "a.npy: shape and type need 8 bytes of data, the file has 9");
    f = npy(1, DICTIONARY("<f4", "(2147483647, 2147483647, 2147483647)"), 8);
    expect_refusal(&f, PITH_ERR_CORRUPT, "a.npy: shape and type need more than 2^64 bytes");
}

/* With four bytes of data behind: those of a single number, where the shape is what is missing. */
TEST(each_key_stands_exactly_once)
{
    static const char *const wrong[] = {
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'shape': ()}",
        "{'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'other': ()}",
        "__import__('os')"};
    struct npy_bytes f = npy(1, "{'shape': (), 'fortran_order': False, 'descr': '<f4'}", 4);
    assert_int_equal(expect_header(&f).count, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f = npy(1, wrong[i], 4);
        expect_refusal(&f, PITH_ERR_CORRUPT, GRAMMAR);
    }
}

RUN_TESTS
