/* SPDX-License-Identifier: MIT */
/* test_archives.c - zip, tar, gzip and tables of labels: every field at its limits, and files cut
 * at every byte. The bytes end at an unmapped page, so that an overread is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>
#include "core/bytes.h"
#include "data/data_source.h"
#include "data/npy_header.h"
#include "data/number_convert.h"
#include "guard_page.h"

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

/* ---- zip ------------------------------------------------------------------------------------- */

static struct zip_member members[ZIP_MAX_MEMBERS];

struct zip_bytes {
    uint8_t b[1024];
    size_t n, directory;
};

static uint8_t *zip_room(struct zip_bytes *z, size_t n)
{
    uint8_t *p = z->b + z->n;
    z->n += n;
    assert_true(z->n <= sizeof z->b);
    return p;
}

enum { LOCAL = 30, CENTRAL = 46, END = 22, LOCATOR = 20, END64 = 56 };

/* The member "a" of three stored bytes. */
static struct zip_bytes zip_begin(void)
{
    struct zip_bytes z = {.n = 0};
    uint8_t *local = zip_room(&z, LOCAL + 1 + 3);
    store_le32(local, 0x04034b50u);
    store_le16(local + 26, 1);
    memcpy(local + LOCAL, "axyz", 4);
    z.directory = z.n;
    return z;
}

static uint8_t *zip_entry(struct zip_bytes *z, const void *extra, size_t extra_bytes)
{
    uint8_t *e = zip_room(z, CENTRAL + 1 + extra_bytes);
    store_le32(e, 0x02014b50u);
    store_le32(e + 16, (uint32_t)crc32_z(0, (const uint8_t *)"xyz", 3));
    store_le32(e + 20, 3);
    store_le32(e + 24, 3);
    store_le16(e + 28, 1);
    store_le16(e + 30, (uint16_t)extra_bytes);
    e[CENTRAL] = 'a';
    if (extra_bytes)
        memcpy(e + CENTRAL + 1, extra, extra_bytes);
    return e;
}

static uint8_t *zip_end(struct zip_bytes *z, uint16_t entries)
{
    uint8_t *e = zip_room(z, END);
    store_le32(e, 0x06054b50u);
    store_le16(e + 10, entries);
    store_le32(e + 16, (uint32_t)z->directory);
    return e;
}

/* The members, or the refusal whose text holds `text`. */
static void expect_list(const char *what, const struct zip_bytes *z, enum pith_status status,
                        const char *text)
{
    struct guarded g;
    struct pith_error err = {0};
    size_t n = 0;
    void *bytes = guarded_copy(z->b, z->n, &g);
    enum pith_status st = pith_zip_list(bytes, z->n, "z", members, &n, &err);
    expect(what, st, &err, status, text);
    if (st == PITH_OK && members[0].bytes == 3) {
        struct pith_buffer out = {0};
        assert_int_equal(pith_zip_extract(&members[0], 3, "z", &out, &err), PITH_OK);
        assert_int_equal(out.bytes, 3);
        assert_memory_equal(out.data, "xyz", 3);
        free(out.data);
    }
    guard_free(&g);
}

static void a_zip_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    struct zip_bytes z = zip_begin();
    zip_entry(&z, NULL, 0);
    zip_end(&z, 1);
    size_t n = z.n;
    expect_list("whole", &z, PITH_OK, "");
    for (z.n = 0; z.n < n; z.n++)
        expect_list("cut", &z, PITH_ERR_CORRUPT, "broken zip");
}

/* Extras give the sizes that are 2^32 - 1 in the entry, in order, those alone. */
static void zip64_extras_cut_at_any_byte(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 8; which++) {
        uint8_t extra[4 + 24 + 9] = {0x55, 0x54, 5}, *body = extra + 9 + 4;
        for (uint32_t i = 0; i < 3; i++) {
            if (which >> i & 1) {
                store_le64(body, i < 2 ? 3 : 0);
                body += 8;
            }
        }
        size_t full = (size_t)(body - extra) - 9 - 4;
        extra[9] = 1;
        for (size_t cut = 0; cut <= full; cut++) {
            struct zip_bytes z = zip_begin();
            extra[9 + 2] = (uint8_t)cut;
            uint8_t *e = zip_entry(&z, extra, 9 + 4 + cut);
            for (uint32_t i = 0; i < 3; i++)
                if (which >> i & 1)
                    store_le32(e + (i == 0 ? 24 : i == 1 ? 20 : 42), UINT32_MAX);
            zip_end(&z, 1);
            if (cut == full)
                expect_list("whole extra", &z, PITH_OK, "");
            else
                expect_list("cut extra", &z, PITH_ERR_CORRUPT, "zip64 sizes");
            /* its length reaches beyond the field */
            e[CENTRAL + 1 + 9 + 2] = (uint8_t)(cut + 1);
            if (full)
                expect_list("long extra", &z, PITH_ERR_CORRUPT, "zip64 sizes");
            store_le16(e + 30, 9);
            if (full)
                expect_list("no extra", &z, PITH_ERR_CORRUPT, "zip64 sizes");
        }
    }
}

/* Tables at the end of the file, up to the byte where they no longer fit: the comment holds them.
 */
static void zip_tables_end_with_the_file(void **state)
{
    (void)state;
    static const struct {
        uint32_t tag;
        size_t bytes;
        const char *text;
    } tables[] = {{0x02014b50u, CENTRAL, "directory entry"}, {0x04034b50u, LOCAL, "member header"}};
    for (size_t t = 0; t < 2; t++) {
        for (size_t left = tables[t].bytes + 2; left > 0; left--) {
            struct zip_bytes z = zip_begin();
            uint8_t *e = zip_entry(&z, NULL, 0), *end = zip_end(&z, 1);
            store_le16(end + 20, 60);
            uint8_t *comment = zip_room(&z, 60), tag[4];
            store_le32(tag, tables[t].tag);
            memcpy(comment + 60 - left, tag, left < 4 ? left : 4);
            uint32_t at = (uint32_t)(z.n - left);
            store_le32(t == 0 ? end + 16 : e + 42, at);
            bool fits = left >= tables[t].bytes;
            if (t == 0) {
                /* an entry that fits names local bytes that are no member, one name byte too many
                 * does not */
                expect_list("entry", &z, fits ? PITH_OK : PITH_ERR_CORRUPT, tables[t].text);
                if (fits) {
                    store_le16(comment + 60 - left + 28, (uint16_t)(left - CENTRAL + 1));
                    expect_list("name", &z, PITH_ERR_CORRUPT, "directory entry");
                    store_le16(comment + 60 - left + 28, 0);
                    store_le16(comment + 60 - left + 30, (uint16_t)(left - CENTRAL + 1));
                    expect_list("extra", &z, PITH_ERR_CORRUPT, "directory entry");
                    store_le16(comment + 60 - left + 30, 0);
                    store_le16(comment + 60 - left + 32, (uint16_t)(left - CENTRAL + 1));
                    expect_list("comment", &z, PITH_ERR_CORRUPT, "directory entry");
                }
            } else {
                store_le32(e + 20, (uint32_t)(fits ? left - LOCAL + 1 : 0));
                expect_list("data", &z, PITH_ERR_CORRUPT, fits ? "member data" : tables[t].text);
            }
        }
    }
}

static void zip64_directories(void **state)
{
    (void)state;
    for (size_t left = END64 + 2; left > 0; left--) {
        struct zip_bytes z = zip_begin();
        zip_entry(&z, NULL, 0);
        uint8_t *locator = zip_room(&z, LOCATOR), *end = zip_end(&z, UINT16_MAX);
        store_le32(locator, 0x07064b50u);
        store_le16(end + 20, 70);
        uint8_t *comment = zip_room(&z, 70), table[END64] = {0};
        store_le32(table, 0x06064b50u);
        store_le64(table + 32, 1);
        store_le64(table + 48, z.directory);
        memcpy(comment + 70 - left, table, left < END64 ? left : END64);
        store_le64(locator + 8, z.n - left);
        expect_list("end64", &z, left >= END64 ? PITH_OK : PITH_ERR_CORRUPT, "no zip64 directory");
        store_le64(locator + 8, UINT64_MAX - left);
        expect_list("far end64", &z, PITH_ERR_CORRUPT, "no zip64 directory");
    }
    /* No locator fits before the end of the directory: nothing before the file is read. */
    struct zip_bytes z = {.n = 0};
    store_le32(zip_end(&z, 1) + 16, UINT32_MAX);
    struct guarded g = guard_new(z.n, 0);
    struct pith_error err;
    size_t n;
    memcpy(g.data, z.b, z.n);
    assert_int_equal(pith_zip_list(g.data, z.n, "z", members, &n, &err), PITH_ERR_CORRUPT);
    guard_free(&g);
}

static void comments_and_counts_of_a_zip(void **state)
{
    (void)state;
    enum { MOST = 65535 };
    static uint8_t file[END + MOST + 1];
    struct pith_error err = {0};
    size_t n = 1;
    store_le32(file, 0x06054b50u);
    store_le16(file + 20, MOST);
    assert_int_equal(pith_zip_list(file, END + MOST, "z", members, &n, &err), PITH_OK);
    assert_int_equal(n, 0);
    expect("a byte more", pith_zip_list(file, END + MOST + 1, "z", members, &n, &err), &err,
           PITH_ERR_CORRUPT, "no end of directory");
    /* as many members as there is room for, and one more */
    for (uint32_t more = 0; more < 2; more++) {
        struct zip_bytes z = zip_begin();
        zip_entry(&z, NULL, 0);
        zip_end(&z, (uint16_t)(ZIP_MAX_MEMBERS + more));
        expect_list("count", &z, more ? PITH_ERR_LIMIT : PITH_ERR_CORRUPT,
                    more ? "at most 4096" : "directory entry");
    }
    struct zip_bytes z = zip_begin();
    store_le16(zip_entry(&z, NULL, 0) + 8, 1);
    zip_end(&z, 1);
    expect_list("encrypted", &z, PITH_ERR_UNSUPPORTED, "encrypted");
}

static void what_a_member_says_of_itself(void **state)
{
    (void)state;
    static const uint8_t packed[] = {0x4b, 0x04, 0x00}; /* deflated "a" */
    const struct zip_member m = {
        "a", 1, packed, 3, 1, 8, (uint32_t)crc32_z(0, (const uint8_t *)"a", 1)};
    static const struct {
        uint64_t packed_bytes, bytes, limit;
        uint32_t method, crc_changes;
        enum pith_status status;
        const char *text;
    } cases[] = {
        {3, 1, 1, 8, 0, PITH_OK, ""},
        {3, 2, 1, 8, 0, PITH_ERR_LIMIT, "2 bytes or more"},
        {3, 1, 1, 8, 1, PITH_ERR_CORRUPT, "checksum"},
        {3, 1, 1, 9, 0, PITH_ERR_UNSUPPORTED, "zip method 9"},
        {3, 1, 1, 0, 0, PITH_ERR_CORRUPT, "member size"},
        {3, 3, 3, 0, 0, PITH_ERR_CORRUPT, "checksum"},
        {2, 1, 1, 8, 0, PITH_ERR_CORRUPT, "deflate data"},
        {3, 2, 2, 8, 0, PITH_ERR_CORRUPT, "inflates to 1 bytes, 2 declared"},
        {3, 0, 2, 8, 0, PITH_ERR_CORRUPT, "deflate data"},
        {3, 4 * 1032, 9999, 8, 0, PITH_ERR_CORRUPT, "member size"},
        {3, 4 * 1032 - 1, 9999, 8, 0, PITH_ERR_CORRUPT, "inflates to 1 bytes, 4127 declared"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zip_member stated = m;
        struct guarded g;
        struct pith_buffer out = {0};
        struct pith_error err = {0};
        stated.packed_bytes = cases[i].packed_bytes;
        stated.packed = guarded_copy(packed, (size_t)stated.packed_bytes, &g);
        stated.bytes = cases[i].bytes;
        stated.method = cases[i].method;
        stated.crc ^= cases[i].crc_changes;
        char what[16];
        snprintf(what, sizeof what, "case %zu", i);
        expect(what, pith_zip_extract(&stated, cases[i].limit, "z", &out, &err), &err,
               cases[i].status, cases[i].text);
        assert_true(cases[i].status == PITH_OK ? *out.data == 'a' : !out.data);
        free(out.data);
        guard_free(&g);
    }
}

/* ---- tar ------------------------------------------------------------------------------------- */

struct tar_bytes {
    uint8_t *b; /* owned */
    size_t n;
};

static uint8_t *tar_add(struct tar_bytes *t, const char *name, char type, const void *data,
                        size_t bytes)
{
    size_t padded = (bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    t->b = realloc(t->b, t->n + TAR_BLOCK + padded);
    assert_non_null(t->b);
    uint8_t *h = t->b + t->n;
    memset(h, 0, TAR_BLOCK + padded);
    memcpy(h, name, strlen(name));
    snprintf((char *)h + 124, 12, "%011zo", bytes);
    h[156] = (uint8_t)type;
    memcpy(h + 257, "ustar", 6);
    if (bytes)
        memcpy(h + TAR_BLOCK, data, bytes);
    t->n += TAR_BLOCK + padded;
    return h;
}

static void tar_sum(uint8_t *h)
{
    uint32_t sum = 0;
    memset(h + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
}

static void tar_sums(struct tar_bytes *t) /* of all blocks that are headers */
{
    for (size_t at = 0; at < t->n; at += TAR_BLOCK)
        if (memcmp(t->b + at + 257, "ustar", 6) == 0)
            tar_sum(t->b + at);
}

/* The name and the size of the first file; NULL: none. Frees t. */
static void expect_tar(const char *what, struct tar_bytes *t, enum pith_status status,
                       const char *text, size_t name_bytes, uint64_t bytes)
{
    struct guarded g;
    struct archive_list list = {0};
    struct pith_error err = {0};
    struct file_source f = {
        .fd = -1, .mem = guarded_copy(t->b, t->n, &g), .bytes = t->n, .name = (char *)"t"};
    enum pith_status st = pith_tar_list(&f, &list, &err);
    expect(what, st, &err, status, text);
    if (st == PITH_OK && list.n &&
        (strlen(list.entry[0].name) != name_bytes || list.entry[0].bytes != bytes))
        fail_msg("%s: name of %zu bytes, %llu bytes", what, strlen(list.entry[0].name),
                 (unsigned long long)list.entry[0].bytes);
    assert_true(st || list.n == 1);
    pith_archive_free(&list);
    guard_free(&g);
    free(t->b);
    *t = (struct tar_bytes){0};
}

#define BEYOND "file goes beyond the end"
#define HEADER "header checksum or size"

static void tar_sizes_near_2_to_63(void **state)
{
    (void)state;
    static const struct {
        uint8_t field[12];
        const char *text;
    } sizes[] = {
        {{0x80, 0, 0, 0, 0x7f, 255, 255, 255, 255, 255, 255, 255}, BEYOND}, /* 2^63 - 1 */
        {{0x80, 0, 0, 0, 0x80}, HEADER},                                    /* 2^63 */
        {{0x80, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255}, HEADER},  /* 2^64 - 1 */
        {{0x80, 0, 0, 1}, HEADER},                                          /* 2^64 */
        {{0x80, 1}, HEADER},
        {{0x81}, HEADER},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 254, 0}, HEADER}, /* -512 */
        {"777777777777", BEYOND}, /* all digits, no terminator: 2^36 - 1 */
        {"0000000000 8", HEADER},
        {"00000000007x", HEADER},
    };
    struct tar_bytes t = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(tar_add(&t, "f", '0', "x", 1) + 124, sizes[i].field, 12);
        tar_sums(&t);
        char what[16];
        snprintf(what, sizeof what, "size %zu", i);
        expect_tar(what, &t, PITH_ERR_CORRUPT, sizes[i].text, 0, 0);
    }
    /* base 256 and octal behind blanks */
    memcpy(tar_add(&t, "f", '0', "xyz", 3) + 124, "\x80\0\0\0\0\0\0\0\0\0\0\3", 12);
    tar_sums(&t);
    expect_tar("base 256", &t, PITH_OK, "", 1, 3);
    memcpy(tar_add(&t, "f", '0', "xyz", 3) + 124, "          3 ", 12);
    tar_sums(&t);
    expect_tar("blanks", &t, PITH_OK, "", 1, 3);
}

static void pax_sizes_near_2_to_64(void **state)
{
    (void)state;
    static const struct {
        const char *record, *text;
    } sizes[] = {
        {"10 size=3\n", NULL},
        {"17 size=000000512\n", "pax record"},
        {"28 size=5764607523034234879\n", BEYOND},
        {"28 size=5764607523034234880\n", "pax size"}, /* another digit could pass 2^64 */
        {"28 size=9223372036854775807\n", "pax size"},
        {"29 size=18446744073709551104\n", "pax size"}, /* 2^64 - 512: with the header 2^64 */
        {"29 size=18446744073709551616\n", "pax size"},
        {"30 size=184467440737095516160\n", "pax size"},
        {"11 size=3x\n", "pax size"},
        {"11 size=-3\n", "pax size"},
    };
    struct tar_bytes t = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tar_add(&t, "x", 'x', sizes[i].record, strlen(sizes[i].record));
        tar_add(&t, "f", '0', "xyz", 3);
        tar_sums(&t);
        expect_tar(sizes[i].record, &t, sizes[i].text ? PITH_ERR_CORRUPT : PITH_OK,
                   sizes[i].text ? sizes[i].text : "", 1, 3);
    }
}

/* A record whose length does not end at a line's end, at each length of what follows. */
static void pax_records_cut_at_any_byte(void **state)
{
    (void)state;
    static const char records[] = "12 path=abc\n9 size=3\n", wrong[] = "10 size=3\n";
    struct tar_bytes t = {0};
    for (size_t n = 0; n < sizeof records; n++) {
        tar_add(&t, "x", 'x', records, n);
        tar_add(&t, "f", '0', "xyz", 3);
        tar_sums(&t);
        bool whole = n == 0 || n == 12 || n == 21;
        expect_tar("cut", &t, whole ? PITH_OK : PITH_ERR_CORRUPT, "pax record", n ? 3 : 1, 3);
    }
    static const char *const bad[] = {"0 size=3\n", "1 \n", " 9 size=3\n",
                                      "x\n",        "9\n",  "9999999999999999999999 a=b\n",
                                      "11 size=3\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tar_add(&t, "x", 'x', bad[i], strlen(bad[i]));
        tar_add(&t, "f", '0', "xyz", 3);
        tar_sums(&t);
        expect_tar(bad[i], &t, PITH_ERR_CORRUPT, "pax record", 0, 0);
    }
    tar_add(&t, "x", 'x', wrong, sizeof wrong - 1);
    tar_add(&t, "f", '0', "xyz", 3);
    tar_sums(&t);
    expect_tar(wrong, &t, PITH_OK, "", 1, 3);
}

static void names_of_4095_to_4097_bytes(void **state)
{
    (void)state;
    static char text[8192];
    struct tar_bytes t = {0};
    for (size_t n = 4094; n <= 4097; n++) {
        for (uint32_t pax = 0; pax < 2; pax++) {
            size_t length = pax ? (size_t)snprintf(text, sizeof text, "%zu path=", n + 11) : 0;
            memset(text + length, 'a', n);
            text[length + n] = pax ? '\n' : '\0';
            tar_add(&t, "long", pax ? 'x' : 'L', text, length + n + 1);
            tar_add(&t, "f", '0', "xyz", 3);
            tar_sums(&t);
            expect_tar(pax ? "pax" : "GNU", &t, n < 4096 ? PITH_OK : PITH_ERR_CORRUPT,
                       "more than 4,095", n, 3);
        }
    }
    /* the header's own: 155 bytes of prefix and 100 of name, neither terminated; the prefix is
     * POSIX's alone */
    for (uint32_t posix = 0; posix < 2; posix++) {
        uint8_t *h = tar_add(&t, "", '0', "xyz", 3);
        memset(h, 'n', 100);
        memset(h + 345, 'p', 155);
        tar_sums(&t);
        if (!posix) {
            memcpy(h + 257, "ustar  ", 8);
            tar_sum(h);
        }
        expect_tar("prefix", &t, PITH_OK, "", posix ? 256 : 100, 3);
    }
    /* extensions: 65,536 bytes and one more */
    static char many[65537];
    for (uint32_t more = 0; more < 2; more++) {
        tar_add(&t, "x", 'x', many, 65536 + more);
        tar_add(&t, "f", '0', "xyz", 3);
        tar_sums(&t);
        expect_tar("extension", &t, more ? PITH_ERR_CORRUPT : PITH_OK, "more than 65,536", 1, 3);
    }
}

/* What a name or a size of an extension is for: the next file, not those behind it. */
static void extensions_are_for_one_file(void **state)
{
    (void)state;
    struct tar_bytes t = {0};
    tar_add(&t, "x", 'x', "17 path=long.png\n9 size=3\n", 26);
    tar_add(&t, "a", '0', "xyz", 3);
    memcpy(t.b + 2 * TAR_BLOCK + 124, "00000001000", 11); /* the extension's size counts */
    tar_add(&t, "b", '\0', "12", 2);
    tar_add(&t, "dir", '5', NULL, 0);
    tar_add(&t, "c", '7', NULL, 0);
    tar_sums(&t);
    struct guarded g;
    struct archive_list list = {0};
    struct pith_error err = {0};
    struct file_source f = {
        .fd = -1, .mem = guarded_copy(t.b, t.n, &g), .bytes = t.n, .name = (char *)"t"};
    if (pith_tar_list(&f, &list, &err))
        fail_msg("%s", err.text);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.entry[0].name, "long.png");
    assert_int_equal(list.entry[0].bytes, 3);
    assert_int_equal(list.entry[0].offset, 3 * TAR_BLOCK);
    assert_string_equal(list.entry[1].name, "b");
    assert_int_equal(list.entry[1].bytes, 2);
    assert_string_equal(list.entry[2].name, "c");
    pith_archive_sort(&list);
    assert_string_equal(list.entry[0].name, "b");
    /* one name twice: in the order of the archive */
    assert_true(pith_archive_add(&list, "c", 1, 1, 0));
    pith_archive_sort(&list);
    assert_int_equal(list.entry[1].offset, 1);
    for (uint32_t i = 0; i < 200; i++)
        assert_true(pith_archive_add(&list, "many", 3, i, 0));
    assert_string_equal(list.entry[203].name, "man");
    pith_archive_free(&list);
    guard_free(&g);
    free(t.b);
}

static void a_tar_cut_at_any_byte(void **state)
{
    (void)state;
    struct tar_bytes t = {0};
    tar_add(&t, "a", '0', "xyz", 3);
    tar_sums(&t);
    uint8_t *whole = t.b;
    t.b = NULL;
    for (size_t n = 1; n <= 2 * TAR_BLOCK; n++) {
        struct tar_bytes cut = {malloc(n), n};
        memcpy(cut.b, whole, n);
        bool fits = n >= TAR_BLOCK + 3; /* padding may be missing */
        expect_tar("cut", &cut, fits ? PITH_OK : PITH_ERR_CORRUPT,
                   n < TAR_BLOCK ? "more are needed" : BEYOND, 1, 3);
    }
    free(whole);
}

/* ---- gzip ------------------------------------------------------------------------------------ */

static size_t gzip_of(const uint8_t *bytes, size_t n, uint8_t *out, size_t room)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes,
                  .avail_in = (uInt)n,
                  .next_out = out,
                  .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return z.total_out;
}

static void gzip_cut_bounded_and_continued(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    static uint8_t plain[MANY], packed[4096];
    memset(plain, 'p', sizeof plain);
    size_t n = gzip_of((const uint8_t *)"abc", 3, packed, sizeof packed);
    struct pith_error err = {0};
    struct pith_buffer out = {0};
    struct guarded g;
    for (size_t cut = 0; cut < n; cut++) {
        void *bytes = guarded_copy(packed, cut, &g);
        expect("cut", pith_gzip_read(bytes, cut, 99, "g", &out, &err), &err, PITH_ERR_CORRUPT,
               cut ? "g: gzip data ends early" : "g: ");
        guard_free(&g);
    }
    /* two members, then what is none; at most as much as allowed */
    size_t more = gzip_of(plain, MANY, packed + n, sizeof packed - n);
    for (size_t behind = 0; behind < 3; behind++) {
        void *bytes = guarded_copy(packed, n + more + behind, &g);
        for (uint64_t max = MANY + 2; max <= MANY + 4; max++) {
            enum pith_status st = pith_gzip_read(bytes, n + more + behind, max, "g", &out, &err);
            expect("bounded", st, &err, max < MANY + 3 ? PITH_ERR_LIMIT : PITH_OK,
                   "g: 200,003 bytes or more");
            if (st == PITH_OK) {
                assert_int_equal(out.bytes, MANY + 3);
                assert_memory_equal(out.data, "abcp", 4);
                assert_memory_equal(out.data + 3, plain, MANY);
                free(out.data);
            }
        }
        guard_free(&g);
    }
    packed[12] ^= 0x40;
    expect("broken", pith_gzip_read(packed, n, 9, "g", &out, &err), &err, PITH_ERR_CORRUPT,
           "broken gzip data");
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
static void labels_cut_at_any_byte(void **state)
{
    (void)state;
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
        if (parse_labels(tables[t], n, 2, &first, &err))
            fail_msg("%s", err.text);
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
static void long_fields_of_labels(void **state)
{
    (void)state;
    static char text[10000];
    for (size_t n = 1022; n <= 1026; n++) {
        for (uint32_t quoted = 0; quoted < 2; quoted++) {
            char *p = text + sprintf(text, "file,class\n%s", quoted ? "\"" : "");
            memset(p, 'f', n);
            p += n;
            p += sprintf(p, "%s,5\nb,6\n", quoted ? "\"" : "");
            int64_t first = 0;
            struct pith_error err = {0};
            if (parse_labels(text, (size_t)(p - text), 2, &first, &err))
                fail_msg("%s", err.text);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zip_cut_at_any_byte_is_refused),
        cmocka_unit_test(zip64_extras_cut_at_any_byte),
        cmocka_unit_test(zip_tables_end_with_the_file),
        cmocka_unit_test(zip64_directories),
        cmocka_unit_test(comments_and_counts_of_a_zip),
        cmocka_unit_test(what_a_member_says_of_itself),
        cmocka_unit_test(tar_sizes_near_2_to_63),
        cmocka_unit_test(pax_sizes_near_2_to_64),
        cmocka_unit_test(pax_records_cut_at_any_byte),
        cmocka_unit_test(names_of_4095_to_4097_bytes),
        cmocka_unit_test(extensions_are_for_one_file),
        cmocka_unit_test(a_tar_cut_at_any_byte),
        cmocka_unit_test(gzip_cut_bounded_and_continued),
        cmocka_unit_test(labels_cut_at_any_byte),
        cmocka_unit_test(long_fields_of_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
