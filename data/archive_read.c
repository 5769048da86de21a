/* SPDX-License-Identifier: MIT */
/* archive_read.c - the regular files in a tar or zip, by libarchive. Names are only labels here:
 * nothing is ever extracted. What is in a tar is read in place, for a tar may be larger than
 * memory; what is in a zip is decoded into memory, which the declared sizes bound beforehand. */
#define _GNU_SOURCE
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"

enum { ARCHIVE_MAX_FILES = 1 << 24, PIECE_BYTES = 8192 };

void pith_list_free(struct file_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->entry[i].name);
    free(list->entry);
    *list = (struct file_list){0};
}

bool pith_list_add(struct file_list *list, const char *name, uint64_t offset, uint64_t bytes)
{
    if (list->n == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        struct listed_file *file = realloc(list->entry, room * sizeof *file);
        if (!file)
            return false;
        list->entry = file;
        list->room = room;
    }
    char *copy = strdup(name);
    if (copy)
        list->entry[list->n++] = (struct listed_file){copy, offset, bytes};
    return copy != NULL;
}

static int compare_names(const void *a, const void *b)
{
    const struct listed_file *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0) /* the same file twice: the order in the archive */
        return x->offset < y->offset ? -1 : x->offset > y->offset;
    return order;
}

void pith_list_sort(struct file_list *list)
{
    if (list->n > 1)
        qsort(list->entry, list->n, sizeof *list->entry, compare_names);
}

bool pith_is_zip(const uint8_t *head, size_t n)
{
    return n >= 4 && load_le32(head) == 0x04034b50u;
}

bool pith_is_tar(const uint8_t *head, size_t n)
{
    enum { SUM_AT = 148, SUM_BYTES = 8 };
    char text[SUM_BYTES + 1] = {0};
    unsigned long sum = 0;
    if (n < TAR_BLOCK)
        return false;
    memcpy(text, head + SUM_AT, SUM_BYTES);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : head[i];
    return strtoul(text, NULL, 8) == sum;
}

/* ---- from file to file ----------------------------------------------------------------------- */

struct archive_walk {
    const struct file_source *f;
    struct pith_error *err;
    enum pith_status st; /* why f could not be read */
    struct archive *archive;
    struct archive_entry *entry; /* the file reached */
    const char *name;            /* its name; NULL: none is left */
    uint64_t number, bytes;      /* of regular files; its size */
    uint64_t at;                 /* place in f */
    locale_t own, before;        /* names are UTF-8, whatever the program's locale is */
    uint8_t piece[PIECE_BYTES];
};

static la_ssize_t give_piece(struct archive *a, void *walk, const void **piece)
{
    (void)a;
    struct archive_walk *w = walk;
    uint64_t n = w->f->bytes - w->at;
    if (w->f->mem) {
        *piece = w->f->mem + w->at;
    } else {
        n = n < PIECE_BYTES ? n : PIECE_BYTES;
        *piece = w->piece;
        w->st = pith_source_at(w->f, w->at, w->piece, (size_t)n, w->err);
    }
    w->at += n;
    return w->st ? ARCHIVE_FATAL : (la_ssize_t)n;
}

static la_int64_t skip_bytes(struct archive *a, void *walk, la_int64_t n)
{
    (void)a;
    struct archive_walk *w = walk;
    uint64_t left = w->f->bytes - w->at, skipped = (uint64_t)n < left ? (uint64_t)n : left;
    w->at += skipped;
    return (la_int64_t)skipped;
}

static la_int64_t seek_to(struct archive *a, void *walk, la_int64_t offset, int whence)
{
    (void)a;
    struct archive_walk *w = walk;
    la_int64_t from = 0, bytes = (la_int64_t)w->f->bytes;
    if (whence != SEEK_SET)
        from = whence == SEEK_CUR ? (la_int64_t)w->at : bytes;
    if (offset < -from || offset > bytes - from)
        return ARCHIVE_FATAL;
    w->at = (uint64_t)(from + offset);
    return from + offset;
}

static enum pith_status broken_archive(const struct archive_walk *w, const char *why)
{
    if (w->st)
        return w->st;
    if (archive_errno(w->archive) == ENOMEM)
        return pith_error_no_memory(w->err);
    if (!why)
        why = archive_error_string(w->archive);
    return pith_error_fill(w->err, PITH_ERR_CORRUPT, "%s: %s%sbroken archive: %s", w->f->name,
                           w->name ? w->name : "", w->name ? ": " : "", why ? why : "unexpected");
}

static void end_walk(struct archive_walk *w)
{
    archive_read_free(w->archive);
    if (w->own) {
        uselocale(w->before);
        freelocale(w->own);
    }
    free(w);
}

static enum pith_status begin_walk(const struct file_source *f, struct archive_walk **walk,
                                   struct pith_error *err)
{
    struct archive_walk *w = *walk = calloc(1, sizeof *w);
    struct archive *a = w ? w->archive = archive_read_new() : NULL;
    if (!a) {
        free(w);
        return pith_error_no_memory(err);
    }
    w->f = f;
    w->err = err;
    w->own = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    if (w->own)
        w->before = uselocale(w->own);
    if (archive_read_support_format_tar(a) || archive_read_support_format_zip_seekable(a) ||
        archive_read_set_read_callback(a, give_piece) ||
        archive_read_set_skip_callback(a, skip_bytes) ||
        archive_read_set_seek_callback(a, seek_to) || archive_read_set_callback_data(a, w) ||
        archive_read_open1(a)) {
        enum pith_status st = broken_archive(w, NULL);
        end_walk(w);
        return st;
    }
    return PITH_OK;
}

/* To the next regular file. */
static enum pith_status next_file(struct archive_walk *w)
{
    int rc;
    do {
        w->name = NULL;
        rc = archive_read_next_header(w->archive, &w->entry);
        if (rc == ARCHIVE_EOF)
            return PITH_OK;
        /* EILSEQ: a name that is not UTF-8, which is taken as it is */
        if (rc && (rc != ARCHIVE_WARN || archive_errno(w->archive) != EILSEQ))
            return broken_archive(w, NULL);
    } while (archive_entry_filetype(w->entry) != AE_IFREG);
    w->name = archive_entry_pathname(w->entry);
    if (!w->name)
        return broken_archive(w, "a name that is not UTF-8");
    if (archive_entry_is_encrypted(w->entry))
        return pith_error_fill(w->err, PITH_ERR_UNSUPPORTED, "%s: %s: encrypted", w->f->name,
                               w->name);
    if (!archive_entry_size_is_set(w->entry) || archive_entry_size(w->entry) < 0)
        return broken_archive(w, "no size");
    if (w->number++ >= ARCHIVE_MAX_FILES)
        return pith_error_fill(w->err, PITH_ERR_LIMIT, "%s: more than 16,777,216 files",
                               w->f->name);
    w->bytes = (uint64_t)archive_entry_size(w->entry);
    return PITH_OK;
}

static enum pith_status list_one(struct archive_walk *w, struct file_list *list)
{
    uint64_t at = w->number - 1;
    if (archive_format(w->archive) != ARCHIVE_FORMAT_ZIP) {
        at = (uint64_t)archive_filter_bytes(w->archive, 0);
        if (archive_entry_sparse_count(w->entry))
            return pith_error_fill(w->err, PITH_ERR_UNSUPPORTED, "%s: %s: a sparse file",
                                   w->f->name, w->name);
        if (at > w->f->bytes || w->bytes > w->f->bytes - at)
            return broken_archive(w, "the file goes beyond the end");
    }
    return pith_list_add(list, w->name, at, w->bytes) ? PITH_OK : pith_error_no_memory(w->err);
}

enum pith_status pith_archive_list(const struct file_source *f, struct file_list *list,
                                   struct pith_error *err)
{
    struct archive_walk *w;
    enum pith_status st = begin_walk(f, &w, err);
    if (st != PITH_OK)
        return st;
    st = next_file(w);
    while (st == PITH_OK && w->name) {
        st = list_one(w, list);
        if (st == PITH_OK)
            st = next_file(w);
    }
    end_walk(w);
    return st;
}

/* All of the file reached, and that it ends there. */
static enum pith_status decode_file(struct archive_walk *w, uint8_t *to)
{
    uint8_t more;
    la_ssize_t n = archive_read_data(w->archive, to, (size_t)w->bytes);
    if (n < 0 || (uint64_t)n != w->bytes)
        return broken_archive(w, n < 0 ? NULL : "shorter than it declares");
    n = archive_read_data(w->archive, &more, 1);
    return n == 0 ? PITH_OK : broken_archive(w, n < 0 ? NULL : "longer than it declares");
}

enum pith_status pith_zip_decode(const struct file_source *f, struct listed_file *file, size_t n,
                                 uint64_t max_bytes, struct pith_buffer *out,
                                 struct pith_error *err)
{
    struct archive_walk *w;
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total = file[i].bytes < UINT64_MAX - total ? total + file[i].bytes : UINT64_MAX;
    enum pith_status st = pith_within_bound(total, max_bytes, f->bytes, f->name, err);
    if (st == PITH_OK)
        st = begin_walk(f, &w, err);
    if (st != PITH_OK)
        return st;
    struct pith_buffer b = {malloc((size_t)total + 1), 0};
    st = b.data ? next_file(w) : pith_error_no_memory(err);
    for (size_t i = 0; st == PITH_OK && i < n && w->name;) {
        if (w->number - 1 == file[i].offset) {
            if (w->bytes != file[i].bytes)
                st = broken_archive(w, "it was changed while it was read");
            if (st == PITH_OK)
                st = decode_file(w, b.data + b.bytes);
            file[i++].offset = b.bytes;
            b.bytes += (size_t)w->bytes;
        }
        if (st == PITH_OK && i < n)
            st = next_file(w);
    }
    if (st == PITH_OK && b.bytes != total)
        st = broken_archive(w, "it was changed while it was read");
    end_walk(w);
    if (st == PITH_OK)
        *out = b;
    else
        free(b.data);
    return st;
}
