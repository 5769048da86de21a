/* SPDX-License-Identifier: MIT */
/* tar_read.c - the regular files of a tar: ustar, GNU long names and base-256 sizes, pax paths and
 * sizes. One pass over the headers makes the index; data is read when requested. Names are only
 * labels here: nothing is ever extracted. */
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"

enum { TAR_MAX_NAME = 4096, TAR_MAX_PAX = 65536, TAR_MAX_FILES = 1 << 24 };

void pith_archive_free(struct archive_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->entry[i].name);
    free(list->entry);
    *list = (struct archive_list){0};
}

bool pith_archive_add(struct archive_list *list, const char *name, size_t name_bytes,
                      uint64_t offset, uint64_t bytes)
{
    if (list->n == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        struct archive_entry *entry = realloc(list->entry, room * sizeof *entry);
        if (!entry)
            return false;
        list->entry = entry;
        list->room = room;
    }
    char *copy = malloc(name_bytes + 1);
    if (!copy)
        return false;
    memcpy(copy, name, name_bytes);
    copy[name_bytes] = '\0';
    list->entry[list->n++] = (struct archive_entry){copy, offset, bytes};
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct archive_entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0) /* the same file twice: the order in the archive */
        return x->offset < y->offset ? -1 : x->offset > y->offset;
    return order;
}

void pith_archive_sort(struct archive_list *list)
{
    if (list->n > 1)
        qsort(list->entry, list->n, sizeof *list->entry, compare_names);
}

/* ---- one header ------------------------------------------------------------------------------ */

enum {
    AT_SIZE = 124,
    AT_CHECKSUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
    NAME_BYTES = 100,
    PREFIX_BYTES = 155
};

/* Octal text, or base 256 with the top bit set; false: neither, or above 2^63. */
static bool read_tar_number(const uint8_t *p, size_t n, uint64_t *v)
{
    *v = 0;
    if (p[0] & 0x80) {
        if (p[0] != 0x80)
            return false;
        for (size_t i = 1; i < n; i++) {
            if (*v >> 55)
                return false;
            *v = *v << 8 | p[i];
        }
        return true;
    }
    size_t i = 0;
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        *v = *v << 3 | (uint64_t)(p[i] - '0');
    for (; i < n; i++) {
        if (p[i] != ' ' && p[i] != '\0')
            return false;
    }
    return true;
}

bool pith_is_tar_header(const uint8_t block[TAR_BLOCK])
{
    uint64_t want;
    if (!read_tar_number(block + AT_CHECKSUM, 8, &want) || block[0] == '\0')
        return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= AT_CHECKSUM && i < AT_CHECKSUM + 8 ? ' ' : block[i];
    return sum == want;
}

static size_t bounded_length(const uint8_t *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] != '\0')
        i++;
    return i;
}

/* prefix/name of a header; out: [TAR_MAX_NAME]. */
static size_t header_name(const uint8_t *block, char *out)
{
    size_t n = 0;
    if (memcmp(block + AT_MAGIC, "ustar", 6) == 0) { /* POSIX: GNU's magic continues with spaces */
        n = bounded_length(block + AT_PREFIX, PREFIX_BYTES);
        memcpy(out, block + AT_PREFIX, n);
        if (n > 0)
            out[n++] = '/';
    }
    size_t name_bytes = bounded_length(block, NAME_BYTES);
    memcpy(out + n, block, name_bytes);
    return n + name_bytes;
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct tar_walk {
    const struct file_source *f;
    struct archive_list *list;
    struct pith_error *err;
    uint64_t at;
    char name[TAR_MAX_NAME]; /* of the next file, when an extension gave it */
    size_t name_bytes;
    bool has_name, has_size;
    uint64_t size;
};

static enum pith_status tar_broken(const struct tar_walk *w, const char *what)
{
    return pith_error_fill(w->err, PITH_ERR_CORRUPT, "%s: broken tar at byte %llu: %s", w->f->name,
                           (unsigned long long)w->at, what);
}

static enum pith_status take_name(struct tar_walk *w, const char *name, size_t n)
{
    if (n >= TAR_MAX_NAME)
        return tar_broken(w, "name of more than 4,095 bytes");
    memcpy(w->name, name, n);
    w->name_bytes = bounded_length((const uint8_t *)name, n);
    w->has_name = true;
    return PITH_OK;
}

/* "LENGTH key=value\n": LENGTH counts all of it. Moves *at; false: not such a record. */
static bool pax_record(const char *text, size_t n, size_t *at, const char **key,
                       size_t *record_bytes)
{
    size_t p = *at, length = 0;
    while (p < n && text[p] >= '0' && text[p] <= '9' && length <= n)
        length = length * 10 + (size_t)(text[p++] - '0');
    if (p == *at || p >= n || text[p] != ' ' || length > n - *at || length < p - *at + 2 ||
        text[*at + length - 1] != '\n')
        return false;
    *key = text + p + 1;
    *record_bytes = *at + length - 1 - (p + 1);
    *at += length;
    return true;
}

static enum pith_status read_pax(struct tar_walk *w, const char *text, size_t n)
{
    static const char path[] = "path=", size[] = "size=";
    size_t at = 0, bytes;
    const char *key;
    enum pith_status st = PITH_OK;
    while (st == PITH_OK && at < n && text[at] != '\0') {
        if (!pax_record(text, n, &at, &key, &bytes))
            return tar_broken(w, "pax record");
        if (bytes >= 5 && memcmp(key, path, 5) == 0) {
            st = take_name(w, key + 5, bytes - 5);
        } else if (bytes >= 5 && memcmp(key, size, 5) == 0) {
            w->size = 0;
            w->has_size = true;
            for (size_t i = 5; i < bytes; i++) {
                if (key[i] < '0' || key[i] > '9' || w->size > UINT64_MAX / 32)
                    return tar_broken(w, "pax size");
                w->size = w->size * 10 + (uint64_t)(key[i] - '0');
            }
        }
    }
    return st;
}

/* Extension headers 'L' and 'x': their data describes the next file. */
static enum pith_status read_extension(struct tar_walk *w, char type, uint64_t data, uint64_t size)
{
    if (size > TAR_MAX_PAX)
        return tar_broken(w, "extension header of more than 65,536 bytes");
    char *text = malloc((size_t)size + 1);
    if (!text)
        return pith_error_no_memory(w->err);
    enum pith_status st = pith_source_at(w->f, data, text, (size_t)size, w->err);
    if (st == PITH_OK)
        st = type == 'L' ? take_name(w, text, bounded_length((uint8_t *)text, (size_t)size))
                         : read_pax(w, text, (size_t)size);
    free(text);
    return st;
}

static enum pith_status add_file(struct tar_walk *w, const uint8_t *block, uint64_t data,
                                 uint64_t size)
{
    if (!w->has_name)
        w->name_bytes = header_name(block, w->name);
    if (w->list->n >= TAR_MAX_FILES)
        return pith_error_fill(w->err, PITH_ERR_LIMIT, "%s: more than 16,777,216 files",
                               w->f->name);
    return pith_archive_add(w->list, w->name, w->name_bytes, data, size)
               ? PITH_OK
               : pith_error_no_memory(w->err);
}

/* One header and what belongs to it. */
static enum pith_status tar_step(struct tar_walk *w, const uint8_t *block)
{
    uint64_t size, end, data = w->at + TAR_BLOCK;
    char type = (char)block[AT_TYPE];
    if (!pith_is_tar_header(block) || !read_tar_number(block + AT_SIZE, 12, &size))
        return tar_broken(w, "header checksum or size");
    bool extension = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (w->has_size && !extension)
        size = w->size;
    /* the padding of the last file may be cut off */
    if (!add_ok(data, size, &end) || end > w->f->bytes)
        return tar_broken(w, "file goes beyond the end");
    enum pith_status st = PITH_OK;
    if (type == 'L' || type == 'x')
        st = read_extension(w, type, data, size);
    else if (type == '0' || type == '\0' || type == '7')
        st = add_file(w, block, data, size);
    if (!extension)
        w->has_name = w->has_size = false;
    if (!align_ok(end, TAR_BLOCK, &w->at))
        return tar_broken(w, "size");
    return st;
}

enum pith_status pith_tar_list(const struct file_source *f, struct archive_list *list,
                               struct pith_error *err)
{
    static const uint8_t zeros[TAR_BLOCK];
    struct tar_walk *w = calloc(1, sizeof *w);
    if (!w)
        return pith_error_no_memory(err);
    w->f = f;
    w->list = list;
    w->err = err;
    enum pith_status st = PITH_OK;
    while (st == PITH_OK && w->at < f->bytes) {
        uint8_t block[TAR_BLOCK];
        st = pith_source_at(f, w->at, block, sizeof block, err);
        if (st == PITH_OK && memcmp(block, zeros, sizeof block) == 0)
            break;
        if (st == PITH_OK)
            st = tar_step(w, block);
    }
    free(w);
    return st;
}
