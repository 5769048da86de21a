/* SPDX-License-Identifier: MIT */
/* test_archives.c - zip, tar, compressed files and tables of labels: cut at every byte, with any
 * byte changed, with sizes that are not so. The bytes end at an unmapped page, so that an overread
 * is noticed. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "archive_bytes.h"
#include "core/bytes.h"
#include "data/data_source.h"
#include "data/npy_header.h"
#include "data/number_convert.h"
#include "guard_page.h"
#include "open_data.h"

static void *guarded_copy(const void *bytes, size_t n, struct guarded *g)
{
    *g = guard_new(n, 1);
    memcpy(g->data, bytes, n);
    return g->data;
}

static void expect(const char *what, enum pith_status st, const struct pith_error *err,
                   enum pith_status status, const char *text)
{
    if (st != status || (st && !strstr(err->text, text)))
        fail_msg("%s: status %d '%s', expected %d '%s'", what, st, st ? err->text : "", status,
                 text);
}

/* ---- zip and tar ----------------------------------------------------------------------------- */

static struct archive_bytes z;

static const struct {
    const char *name, *data;
    size_t bytes;
} files[] = {{"a", "xyz", 3},
             {"deep/\303\251", "0123456789012345678901234567890123456789", 40},
             {"empty", NULL, 0}};
enum { FILES = sizeof files / sizeof *files };

static void begin_files(const char *format)
{
    archive_begin(&z, format, NULL);
    for (size_t i = 0; i < FILES; i++)
        archive_add(&z, files[i].name, files[i].data, files[i].bytes);
    archive_end(&z);
}

static bool is_zip(void)
{
    return pith_is_zip(z.b, z.n);
}

/* Lists n bytes of z and reads all files in them. max_bytes: of those in a zip. */
static enum pith_status read_files(size_t n, uint64_t max_bytes, struct file_list *list,
                                   struct pith_buffer *all, struct pith_error *err)
{
    struct guarded g;
    const struct file_source f = {
        .fd = -1, .mem = guarded_copy(z.b, n, &g), .bytes = n, .name = (char *)"z"};
    enum pith_status st = pith_archive_list(&f, list, err);
    if (st == PITH_OK && is_zip())
        st = pith_zip_decode(&f, list->entry, list->n, max_bytes, all, err);
    for (size_t i = 0; st == PITH_OK && !is_zip() && i < list->n; i++) {
        all->data = realloc(all->data, all->bytes + (size_t)list->entry[i].bytes + 1);
        assert_int_equal(pith_source_at(&f, list->entry[i].offset, all->data + all->bytes,
                                        (size_t)list->entry[i].bytes, err),
                         PITH_OK);
        all->bytes += (size_t)list->entry[i].bytes;
    }
    guard_free(&g);
    return st;
}

/* What the first n bytes of z hold is refused, or it is all files as they were: *whole. */
static enum pith_status expect_files(size_t n, uint64_t max_bytes, bool *whole,
                                     struct pith_error *err)
{
    struct file_list list = {0};
    struct pith_buffer all = {0};
    enum pith_status st = read_files(n, max_bytes, &list, &all, err);
    *whole = st == PITH_OK && list.n == FILES && all.bytes == 43 &&
             memcmp(all.data, "xyz0123456789", 13) == 0 && (!is_zip() || list.entry[1].offset == 3);
    for (size_t i = 0; *whole && i < FILES; i++)
        *whole =
            !strcmp(list.entry[i].name, files[i].name) && list.entry[i].bytes == files[i].bytes;
    if (st && strncmp(err->text, "z: ", 3) != 0)
        fail_msg("%zu bytes: status %d '%s'", n, st, err->text);
    pith_list_free(&list);
    pith_buffer_free(&all);
    return st;
}

TEST(a_cut_archive_is_refused)
{
    static const char *const formats[] = {"zip", "gnutar", "pax"};
    struct pith_error err = {0};
    for (size_t i = 0; i < 3; i++) {
        bool whole;
        begin_files(formats[i]);
        assert_int_equal(expect_files(z.n, 0, &whole, &err), PITH_OK);
        assert_true(whole);
        for (size_t n = 0; n < z.n; n++) {
            enum pith_status st = expect_files(n, 0, &whole, &err);
            /* a tar has no count of its files: one that ends between two is whole */
            if (is_zip() ? st != PITH_ERR_CORRUPT : st == PITH_OK && !whole && n % TAR_BLOCK)
                fail_msg("%s of %zu bytes: status %d", formats[i], n, st);
        }
    }
}

/* The contents of a zip have checksums. Its names have two copies, of which that in the directory
 * counts; a tar has checksums of headers alone. */
TEST(a_changed_byte_loses_no_content)
{
    static const char *const formats[] = {"zip", "gnutar", "pax"};
    struct pith_error err = {0};
    for (size_t i = 0; i < 3; i++) {
        begin_files(formats[i]);
        const size_t n = z.n;
        for (size_t at = 0; at < n; at++) {
            struct file_list list = {0};
            struct pith_buffer all = {0};
            z.b[at] ^= 1 << at % 8;
            if (read_files(n, 1 << 20, &list, &all, &err) == PITH_OK && list.n == FILES &&
                is_zip() && (all.bytes != 43 || memcmp(all.data, "xyz0123456789", 13) != 0))
                fail_msg("byte %zu changed: other contents", at);
            z.b[at] ^= 1 << at % 8;
            pith_list_free(&list);
            pith_buffer_free(&all);
        }
    }
}

/* Names that are declared to be UTF-8 are taken as they are, in any locale. */
TEST(names_in_utf8)
{
    struct pith_error err = {0};
    bool whole;
    begin_files("zip");
    for (size_t i = 0; i + 10 < z.n; i++) {
        if (memcmp(z.b + i, "PK\1\2", 4) == 0)
            z.b[i + 9] |= 8;
        else if (memcmp(z.b + i, "PK\3\4", 4) == 0)
            z.b[i + 7] |= 8;
    }
    assert_int_equal(expect_files(z.n, 0, &whole, &err), PITH_OK);
    assert_true(whole);
}

/* Sizes are those of the directory, added up and checked before anything is allocated. */
TEST(sizes_of_a_zip)
{
    struct pith_error err = {0};
    bool whole;
    begin_files("zip");
    assert_int_equal(expect_files(z.n, 43, &whole, &err), PITH_OK);
    expect("small bound", expect_files(z.n, 42, &whole, &err), &err, PITH_ERR_LIMIT,
           "z: 43 bytes or more");
    uint8_t *directory = memmem(z.b, z.n, "PK\1\2", 4);
    store_le32(directory + 24, UINT32_MAX - 1);
    store_le32(z.b + 22, UINT32_MAX - 1);
    expect("4 GB declared", expect_files(z.n, 0, &whole, &err), &err, PITH_ERR_LIMIT,
           "z: 4,294,967,334 bytes or more");
    store_le32(directory + 24, 4);
    store_le32(z.b + 22, 4);
    expect("one byte more", expect_files(z.n, 0, &whole, &err), &err, PITH_ERR_CORRUPT,
           "z: a: broken archive: ");
    store_le32(directory + 24, 2);
    store_le32(z.b + 22, 2);
    expect("one byte less", expect_files(z.n, 0, &whole, &err), &err, PITH_ERR_CORRUPT,
           "z: a: broken archive: ");
    store_le32(directory + 24, 3);
    store_le32(z.b + 22, 3);
    store_le16(directory + 10, 99);
    store_le16(z.b + 8, 99);
    expect("method", expect_files(z.n, 0, &whole, &err), &err, PITH_ERR_CORRUPT,
           "z: a: broken archive: Unsupported ZIP compression method");
    store_le16(directory + 8, 1);
    store_le16(z.b + 6, 1);
    expect("encrypted", expect_files(z.n, 0, &whole, &err), &err, PITH_ERR_UNSUPPORTED,
           "z: a: encrypted");
}

TEST(files_of_a_tar)
{
    struct pith_error err = {0};
    bool whole;
    begin_files("gnutar");
    assert_true(pith_is_tar(z.b, TAR_BLOCK) && !pith_is_tar(z.b, TAR_BLOCK - 1));
    z.b[0] ^= 1;
    assert_false(pith_is_tar(z.b, TAR_BLOCK));
    expect("checksum", expect_files(z.n, 0, &whole, &err), &err, PITH_ERR_CORRUPT,
           "z: broken archive: ");
    memset(z.b, 0, TAR_BLOCK);
    assert_false(pith_is_tar(z.b, TAR_BLOCK));
    /* a link is no file */
    archive_begin(&z, "gnutar", NULL);
    struct archive_entry *link = archive_entry_new();
    archive_entry_set_pathname(link, "link.png");
    archive_entry_set_filetype(link, AE_IFREG);
    archive_entry_set_hardlink(link, "/etc/passwd");
    assert_int_equal(archive_write_header(z.a, link), ARCHIVE_OK);
    archive_entry_clear(link);
    archive_entry_set_pathname(link, "soft.png");
    archive_entry_set_filetype(link, AE_IFLNK);
    archive_entry_set_symlink(link, "/etc/passwd");
    assert_int_equal(archive_write_header(z.a, link), ARCHIVE_OK);
    archive_entry_clear(link);
    archive_entry_set_pathname(link, "holes");
    archive_entry_set_filetype(link, AE_IFREG);
    archive_entry_set_size(link, 10000);
    archive_entry_sparse_add_entry(link, 9000, 1000);
    archive_end(&z);
    struct file_list list = {0};
    struct pith_buffer all = {0};
    assert_int_equal(read_files(z.n, 0, &list, &all, &err), PITH_OK);
    assert_int_equal(list.n, 0);
    archive_begin(&z, "pax", NULL);
    assert_int_equal(archive_write_header(z.a, link), ARCHIVE_OK);
    static const uint8_t zeros[10000];
    assert_int_equal(archive_write_data(z.a, zeros, sizeof zeros), sizeof zeros);
    archive_entry_free(link);
    archive_end(&z);
    expect("holes", read_files(z.n, 0, &list, &all, &err), &err, PITH_ERR_UNSUPPORTED,
           "z: holes: a sparse file");
    pith_list_free(&list);
    free(all.data);
}

TEST(lists_are_sorted_by_names)
{
    struct file_list list = {0};
    static const char *const names[] = {"c", "a/b", "c", "B"};
    for (uint64_t i = 0; i < 4; i++)
        assert_true(pith_list_add(&list, names[i], 9 - i, i));
    for (uint64_t i = 0; i < 200; i++)
        assert_true(pith_list_add(&list, "many", i, 0));
    pith_list_sort(&list);
    assert_string_equal(list.entry[0].name, "B");
    assert_string_equal(list.entry[1].name, "a/b");
    /* one name twice: in the order of the archive */
    assert_true(list.entry[2].offset == 7 && list.entry[3].offset == 9);
    assert_true(list.entry[203].offset == 199 && list.n == 204);
    pith_list_free(&list);
}

/* ---- compressed ------------------------------------------------------------------------------ */

enum { MANY = 200000 };

static uint8_t plain[MANY];

static enum pith_status unpack(const void *bytes, size_t n, uint64_t max_bytes,
                               struct pith_error *err)
{
    put("packed", bytes, n);
    struct pith_buffer out;
    enum pith_status st = pith_file_read(at("packed"), max_bytes, &out, err);
    if (st == PITH_OK) {
        if (out.bytes % MANY != 0 || memcmp(out.data, plain, out.bytes ? MANY : 0) != 0)
            fail_msg("%zu bytes in, %zu out", n, out.bytes);
        free(out.data);
    } else if (!strstr(err->text, "/packed: ")) {
        fail_msg("%s", err->text);
    }
    return st;
}

TEST(packed_files)
{
    enum { ZSTD = 3 }; /* libarchive writes no checksum into it */
    static const char *const filters[] = {"gzip", "xz", "bzip2", "zstd"};
    struct pith_error err = {0};
    for (size_t i = 0; i < MANY; i++)
        plain[i] = (uint8_t)(i % 251 * (i / 9999));
    for (size_t f = 0; f < 4; f++) {
        archive_begin(&z, "raw", filters[f]);
        archive_add(&z, "data", plain, MANY);
        archive_end(&z);
        const size_t n = z.n;
        assert_true(2 * n <= sizeof z.b);
        assert_int_equal(unpack(z.b, n, 0, &err), PITH_OK);
        assert_int_equal(unpack(z.b, n, MANY, &err), PITH_OK);
        expect(filters[f], unpack(z.b, n, MANY - 1, &err), &err, PITH_ERR_LIMIT,
               "200,000 bytes or more");
        for (size_t cut = 1; cut < 9; cut++)
            assert_int_equal(unpack(z.b, n - cut, 0, &err), PITH_ERR_CORRUPT);
        if (f == 0) {
            z.b[n - 8] ^= 1; /* CRC-32 */
            expect("checksum", unpack(z.b, n, 0, &err), &err, PITH_ERR_CORRUPT, "broken gzip data");
            z.b[n - 8] ^= 1;
        }
        assert_int_equal(unpack(z.b, n / 2, 0, &err), PITH_ERR_CORRUPT);
        for (size_t at = 10; at < n && f != ZSTD; at += 1 + n / 50) {
            z.b[at] ^= 0x10;
            (void)unpack(z.b, n, 0, &err); /* refused, or the same bytes */
            z.b[at] ^= 0x10;
        }
        /* one behind the other is one file */
        memcpy(z.b + n, z.b, n);
        expect(filters[f], unpack(z.b, 2 * n, 2 * MANY - 1, &err), &err, PITH_ERR_LIMIT,
               "400,000 bytes or more");
        assert_int_equal(unpack(z.b, 2 * n, 0, &err), PITH_OK);
    }
}

/* ---- tables of labels ------------------------------------------------------------------------ */

static enum pith_status parse_labels(const void *text, size_t n, uint64_t n_samples, int64_t *first,
                                     struct pith_error *err)
{
    struct guarded g;
    struct data_source s = {.file = {.fd = -1, .name = (char *)"d"}, .n_samples = n_samples};
    const uint8_t *bytes = guarded_copy(text, n, &g);
    enum pith_status st = pith_labels_parse(&s, bytes, n, "l", err);
    if (!st && first)
        *first = s.labels[0];
    free(s.labels);
    free(s.targets);
    guard_free(&g);
    return st;
}

/* Any number of bytes of a table is read or refused; nothing behind it is looked at. */
TEST(labels_cut_at_any_byte)
{
    static const char *const tables[] = {
        "\xef\xbb\xbf"
        "file,class\r\n\"a \"\"b\"\".png\",3\r\nc,4\n",
        "class\n7\n\n8\n",
        "a.png,1\nb.png,2\n",
        "12\n13",
    };
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        size_t n = strlen(tables[t]);
        struct pith_error err = {0};
        int64_t first = -1;
        for (size_t cut = 0; cut < n; cut++)
            (void)parse_labels(tables[t], cut, 2, NULL, &err);
        SUCCEEDS(parse_labels(tables[t], n, 2, &first, &err));
        static const int firsts[] = {3, 7, 1, 12};
        assert_int_equal(first, firsts[t]);
        expect("one sample more", parse_labels(tables[t], n, 3, NULL, &err), &err, PITH_ERR_CORRUPT,
               "2 labels for 3 samples");
        expect("one sample less", parse_labels(tables[t], n, 1, NULL, &err), &err, PITH_ERR_CORRUPT,
               "2 labels for 1 samples");
    }
    static const struct {
        const char *text, *want;
    } bad[] = {
        {"class\n2147483648\n1\n", "line 2: '2147483648' is not a class number"},
        {"class\n1\n-1\n", "line 3: '-1' is not a class number"},
        {"class\n\"1\n1\n", "quotes do not match"},
        {"class\n\"1\"x\n1\n", "quotes do not match"},
        {"file,size\na,1\n", "nor is it a line of column names"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pith_error err = {0};
        expect(bad[i].text, parse_labels(bad[i].text, strlen(bad[i].text), 2, NULL, &err), &err,
               PITH_ERR_CORRUPT, bad[i].want);
    }
    struct pith_error err = {0};
    int64_t first = 0;
    assert_int_equal(parse_labels("2147483647\n1\n", 13, 2, &first, &err), PITH_OK);
    assert_int_equal(first, 2147483647);
}

/* Fields as long as the buffer, one byte shorter and longer; also in quotes; also 256 columns. */
TEST(long_fields_of_labels)
{
    static char text[10000];
    for (size_t n = 1022; n <= 1026; n++) {
        for (uint32_t quoted = 0; quoted < 2; quoted++) {
            char *p = text + sprintf(text, "file,class\n%s", quoted ? "\"" : "");
            memset(p, 'f', n);
            p += n;
            p += sprintf(p, "%s,5\nb,6\n", quoted ? "\"" : "");
            int64_t first = 0;
            struct pith_error err = {0};
            SUCCEEDS(parse_labels(text, (size_t)(p - text), 2, &first, &err));
            assert_int_equal(first, 5);
        }
    }
    for (uint32_t more = 0; more < 2; more++) {
        char *p = text + sprintf(text, "class,x\n5");
        for (uint32_t i = 1; i < 256 + more; i++)
            p += sprintf(p, ",%u", i);
        *p++ = '\n';
        struct pith_error err = {0};
        enum pith_status st = parse_labels(text, (size_t)(p - text), 1, NULL, &err);
        assert_int_equal(st, more ? PITH_ERR_CORRUPT : PITH_OK);
    }
}

RUN_TESTS_WITH(make_folder, remove_folder)
