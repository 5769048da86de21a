/* SPDX-License-Identifier: MIT */
/* npy_read.c - .npy files.
 *
 *     93 'NUMPY' | major minor | header length (2 bytes LE; from version 2 on 4) | header | data
 *     header: {'descr': '<f4', 'fortran_order': False, 'shape': (60, 28, 28), }
 *
 * Keys may come in any order, each exactly once. Object arrays (pickles) and structured types are
 * refused by construction: the grammar knows only one plain type string. */
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"
#include "npy_header.h"
#include "number_convert.h"

enum { NPY_MAGIC_BYTES = 6, NPY_MAX_HEADER = 65536, NPY_MAX_TEXT = 4096 };

bool pith_is_npy(const void *bytes, size_t n)
{
    return n >= NPY_MAGIC_BYTES + 2 && memcmp(bytes, "\x93NUMPY", NPY_MAGIC_BYTES) == 0;
}

/* ---- the dictionary -------------------------------------------------------------------------- */

struct text_reader {
    const char *p, *end;
    bool bad;
};

static void skip_space(struct text_reader *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r'))
        t->p++;
}

static bool accept_text(struct text_reader *t, const char *word)
{
    skip_space(t);
    size_t n = strlen(word);
    if (t->bad || (size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
        return false;
    t->p += n;
    return true;
}

static void expect_text(struct text_reader *t, const char *word)
{
    if (!accept_text(t, word))
        t->bad = true;
}

/* 'text' or "text", without escapes; out is cut to room - 1 and terminated. */
static void read_quoted(struct text_reader *t, char *out, size_t room)
{
    out[0] = '\0';
    skip_space(t);
    if (t->bad || t->p == t->end || (*t->p != '\'' && *t->p != '"')) {
        t->bad = true;
        return;
    }
    char quote = *t->p++;
    size_t n = 0;
    while (t->p < t->end && *t->p != quote && *t->p != '\\') {
        if (n + 1 < room)
            out[n++] = *t->p;
        t->p++;
    }
    out[n] = '\0';
    expect_text(t, quote == '"' ? "\"" : "'");
}

static uint32_t read_dim(struct text_reader *t)
{
    skip_space(t);
    uint64_t v = 0;
    bool any = false;
    while (t->p < t->end && *t->p >= '0' && *t->p <= '9' && v <= INT32_MAX) {
        v = v * 10 + (uint64_t)(*t->p++ - '0');
        any = true;
    }
    (void)accept_text(t, "L"); /* numpy under Python 2 wrote long integers */
    if (!any || v > INT32_MAX)
        t->bad = true;
    return t->bad ? 0 : (uint32_t)v;
}

static bool read_shape(struct text_reader *t, struct npy_header *h)
{
    expect_text(t, "(");
    h->rank = 0;
    while (!t->bad && !accept_text(t, ")")) {
        if (h->rank == PITH_MAX_RANK)
            return false;
        h->dim[h->rank++] = read_dim(t);
        if (!accept_text(t, ",")) {
            expect_text(t, ")");
            break;
        }
    }
    return true;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool read_type(const char *descr, struct npy_header *h)
{
    static const struct {
        const char *code;
        enum pith_type type;
        uint8_t bytes;
    } types[] = {{"f2", PITH_F16, 2}, {"f4", PITH_F32, 4}, {"f8", PITH_F64, 8},
                 {"i1", PITH_I8, 1},  {"u1", PITH_U8, 1},  {"i2", PITH_I16, 2},
                 {"u2", PITH_U16, 2}, {"i4", PITH_I32, 4}, {"u4", PITH_I64, 4},
                 {"i8", PITH_I64, 8}, {"u8", PITH_I64, 8}, {"b1", PITH_BOOL, 1},
                 {"?", PITH_BOOL, 1}};
    char order = '|';
    if (*descr != '\0' && strchr("<>|=", *descr))
        order = *descr++;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(descr, types[i].code) != 0)
            continue;
        h->type = types[i].type;
        h->item_bytes = types[i].bytes;
        h->wide_unsigned = descr[0] == 'u' && types[i].bytes >= 4;
        h->big_endian = order == '>';
        return order != '|' || types[i].bytes == 1;
    }
    return false;
}

/* 'S5': 5 bytes; '<U3': 3 characters of 4 bytes. */
static bool read_text_type(const char *descr, struct npy_header *h)
{
    struct text_reader t = {descr, descr + strlen(descr), false};
    bool big_endian = accept_text(&t, ">");
    if (!big_endian && !accept_text(&t, "<"))
        (void)accept_text(&t, "|");
    uint32_t char_bytes = accept_text(&t, "S") ? 1 : accept_text(&t, "U") ? 4 : 0;
    uint32_t n = read_dim(&t);
    if (char_bytes == 0 || t.bad || t.p != t.end || n == 0 || n > NPY_MAX_TEXT)
        return false;
    h->type = PITH_U8;
    h->char_bytes = char_bytes;
    h->item_bytes = n * char_bytes;
    h->big_endian = big_endian;
    return true;
}

struct npy_fields {
    char descr[24];
    bool fortran, has_descr, has_order, has_shape, too_many_axes;
};

static void read_field(struct text_reader *t, struct npy_header *h, struct npy_fields *f)
{
    char key[24];
    read_quoted(t, key, sizeof key);
    expect_text(t, ":");
    if (strcmp(key, "descr") == 0 && !f->has_descr) {
        f->has_descr = true;
        read_quoted(t, f->descr, sizeof f->descr);
    } else if (strcmp(key, "fortran_order") == 0 && !f->has_order) {
        f->has_order = true;
        f->fortran = accept_text(t, "True");
        if (!f->fortran)
            expect_text(t, "False");
    } else if (strcmp(key, "shape") == 0 && !f->has_shape) {
        f->has_shape = true;
        f->too_many_axes = !read_shape(t, h);
        t->bad = t->bad || f->too_many_axes;
    } else {
        t->bad = true;
    }
}

static bool read_dictionary(struct text_reader *t, struct npy_header *h, struct npy_fields *f)
{
    expect_text(t, "{");
    while (!t->bad && !accept_text(t, "}")) {
        read_field(t, h, f);
        if (!t->bad && !accept_text(t, ",")) {
            expect_text(t, "}");
            break;
        }
    }
    skip_space(t);
    return !t->bad && t->p == t->end && f->has_descr && f->has_order && f->has_shape;
}

/* Where the dictionary lies; false: no such header. */
static bool find_dictionary(const uint8_t *b, size_t n, struct text_reader *t, size_t *data_offset)
{
    if (!pith_is_npy(b, n) || b[6] < 1 || b[6] > 3 || n < 12)
        return false;
    size_t at = b[6] == 1 ? 10 : 12;
    size_t length = b[6] == 1 ? load_le16(b + 8) : load_le32(b + 8);
    if (length > NPY_MAX_HEADER || length > n - at)
        return false;
    *t = (struct text_reader){(const char *)b + at, (const char *)b + at + length, false};
    *data_offset = at + length;
    return true;
}

/* count and file_bytes; false: more than 2^64. */
static bool count_bytes(struct npy_header *h)
{
    uint64_t count = 1;
    bool ok = true, empty = false;
    for (uint32_t i = 0; i < h->rank; i++) {
        empty = empty || h->dim[i] == 0;
        ok = ok && mul_ok(count, h->dim[i] ? h->dim[i] : 1, &count);
    }
    h->count = empty ? 0 : count;
    return ok && mul_ok(h->count, h->item_bytes, &h->file_bytes) &&
           add_ok(h->file_bytes, h->data_offset, &h->file_bytes);
}

static enum pith_status parse(const void *bytes, size_t n, const char *name, bool may_be_text,
                              struct npy_header *h, struct pith_error *err)
{
    struct npy_header head = {0};
    struct npy_fields f = {0};
    struct text_reader t;
    if (!find_dictionary(bytes, n, &t, &head.data_offset))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: not a .npy file of version 1 to 3",
                               name);
    bool ok = read_dictionary(&t, &head, &f);
    if (f.too_many_axes)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: more than 8 axes", name);
    if (!ok)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: npy header is not a plain type, order and shape", name);
    if (!read_type(f.descr, &head) && !(may_be_text && read_text_type(f.descr, &head)))
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: npy type '%s' is not a plain number (f2 f4 f8, i1 to i8, u1 to "
                               "u8, bool)",
                               name, f.descr);
    if (f.fortran && head.rank > 1)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: npy in Fortran order; save it with numpy.ascontiguousarray",
                               name);
    if (!count_bytes(&head))
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: shape and type need more than 2^64 bytes", name);
    *h = head;
    return PITH_OK;
}

static enum pith_status parse_whole(const void *bytes, size_t n, const char *name, bool may_be_text,
                                    struct npy_header *h, struct pith_error *err)
{
    struct npy_header head;
    enum pith_status st = parse(bytes, n, name, may_be_text, &head, err);
    if (st != PITH_OK)
        return st;
    if (head.file_bytes != n)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: shape and type need %llu bytes of data, the file has %llu",
                               name, (unsigned long long)(head.file_bytes - head.data_offset),
                               (unsigned long long)(n - head.data_offset));
    *h = head;
    return PITH_OK;
}

enum pith_status pith_npy_parse(const void *bytes, size_t n, const char *name, struct npy_header *h,
                                struct pith_error *err)
{
    return parse_whole(bytes, n, name, false, h, err);
}

enum pith_status pith_npy_parse_text(const void *bytes, size_t n, const char *name,
                                     struct npy_header *h, struct pith_error *err)
{
    return parse_whole(bytes, n, name, true, h, err);
}

enum pith_status pith_npy_head(const void *head, size_t n, const char *name, struct npy_header *h,
                               struct pith_error *err)
{
    return parse(head, n, name, false, h, err);
}

enum pith_status pith_npy_bytes(const void *head, size_t n, const char *name, uint64_t *bytes,
                                struct pith_error *err)
{
    struct npy_header h;
    enum pith_status st = parse(head, n, name, true, &h, err);
    if (!st)
        *bytes = h.file_bytes;
    return st;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static enum pith_status copy_items(const struct npy_header *h, const uint8_t *from, uint8_t *to,
                                   const char *name, struct pith_error *err)
{
    uint32_t to_bytes = h->wide_unsigned ? 8 : h->item_bytes;
    for (uint64_t i = 0; i < h->count; i++) {
        uint64_t v = pith_load_stored(from + i * h->item_bytes, h->item_bytes, h->big_endian);
        if (h->wide_unsigned && v > INT64_MAX)
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "%s: element %llu does not fit 64-bit signed integers", name,
                                   (unsigned long long)i);
        pith_store_low_bytes(to + i * to_bytes, to_bytes, h->type == PITH_BOOL ? v != 0 : v);
    }
    return PITH_OK;
}

enum pith_status pith_npy_read(const void *bytes, size_t n, const char *name,
                               struct pith_array *array, struct pith_error *err)
{
    if (!bytes || !name || !array)
        return PITH_ERR_ARGUMENT;
    struct npy_header h;
    enum pith_status st = pith_npy_parse(bytes, n, name, &h, err);
    if (st != PITH_OK)
        return st;
    uint64_t room;
    if (!mul_ok(h.count, h.wide_unsigned ? 8 : h.item_bytes, &room) || room > SIZE_MAX - 1)
        return pith_error_no_memory(err);
    uint8_t *data = malloc((size_t)room + 1);
    if (!data)
        return pith_error_no_memory(err);
    st = copy_items(&h, (const uint8_t *)bytes + h.data_offset, data, name, err);
    if (st != PITH_OK) {
        free(data);
        return st;
    }
    *array = (struct pith_array){.type = h.type, .rank = h.rank, .count = h.count, .data = data};
    memcpy(array->dim, h.dim, sizeof h.dim);
    return PITH_OK;
}

void pith_array_free(struct pith_array *array)
{
    if (!array)
        return;
    free(array->data);
    *array = (struct pith_array){0};
}
