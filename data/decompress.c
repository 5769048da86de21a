/* SPDX-License-Identifier: MIT */
/* decompress.c - the bytes in a compressed file, as a stream: gzip by zlib, which checks its CRC-32
 * (libarchive 3.6 does not), and behind it xz, zstd and bzip2 by libarchive. What is compressed by
 * none of them passes through unchanged, so that pipes take the same way. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data_source.h"

enum { PIECE_BYTES = 1 << 16 };

struct unpacker {
    gzFile gzip;
    struct archive *archive;
    const char *name;
    struct pith_error *err; /* of the call that runs */
    enum pith_status st;    /* why the file could not be read */
    bool empty;
    size_t at, n; /* of the piece: used, filled */
    uint8_t piece[PIECE_BYTES];
};

bool pith_is_packed(const uint8_t *head, size_t n)
{
    static const char *const magic[] = {"\x1f\x8b\x08",
                                        "\xfd"
                                        "7zXZ",
                                        "\x28\xb5\x2f\xfd", "BZh"};
    bool is = false;
    for (size_t i = 0; i < sizeof magic / sizeof magic[0]; i++)
        is |= n >= strlen(magic[i]) && memcmp(head, magic[i], strlen(magic[i])) == 0;
    return is;
}

static enum pith_status gzip_error(struct unpacker *u, int code)
{
    if (code == Z_MEM_ERROR)
        return pith_error_no_memory(u->err);
    if (code == Z_ERRNO)
        return pith_error_fill(u->err, PITH_ERR_IO, "%s: %s", u->name, strerror(errno));
    return pith_error_fill(u->err, PITH_ERR_CORRUPT, "%s: broken gzip data: %s", u->name,
                           code == Z_BUF_ERROR ? "it ends early" : "contents or checksum");
}

/* The next piece of what gzip holds, or of what is not gzip. */
static enum pith_status fill(struct unpacker *u)
{
    int code = Z_OK, n = gzread(u->gzip, u->piece, PIECE_BYTES);
    if (n < PIECE_BYTES)
        (void)gzerror(u->gzip, &code);
    u->at = 0;
    u->n = n > 0 ? (size_t)n : 0;
    return code == Z_OK || code == Z_STREAM_END ? PITH_OK : gzip_error(u, code);
}

static la_ssize_t give_piece(struct archive *a, void *unpacker, const void **piece)
{
    (void)a;
    struct unpacker *u = unpacker;
    if (u->at == u->n)
        u->st = fill(u);
    *piece = u->piece + u->at;
    size_t n = u->n - u->at;
    u->at = u->n;
    return u->st ? ARCHIVE_FATAL : (la_ssize_t)n;
}

static enum pith_status unpack_error(const struct unpacker *u)
{
    const char *why = archive_error_string(u->archive);
    if (u->st)
        return u->st;
    if (archive_errno(u->archive) == ENOMEM)
        return pith_error_no_memory(u->err);
    return pith_error_fill(u->err, PITH_ERR_CORRUPT,
                           "%s: broken or incomplete xz, zstd or bzip2 data: %s", u->name,
                           why ? why : "unexpected");
}

void pith_unpack_close(struct unpacker *u)
{
    if (u && u->archive)
        archive_read_free(u->archive);
    if (u && u->gzip)
        gzclose_r(u->gzip);
    free(u);
}

/* libarchive only where it is needed: it ends the process where memory runs out. */
static enum pith_status begin(struct unpacker *u)
{
    gzbuffer(u->gzip, PIECE_BYTES);
    enum pith_status st = fill(u);
    if (st != PITH_OK || !pith_is_packed(u->piece, u->n))
        return st;
    struct archive_entry *whole;
    struct archive *a = u->archive = archive_read_new();
    if (!a)
        return pith_error_no_memory(u->err);
    int rc = archive_read_support_filter_xz(a) | archive_read_support_filter_zstd(a) |
             archive_read_support_filter_bzip2(a) | archive_read_support_format_raw(a) |
             archive_read_support_format_empty(a) | archive_read_open(a, u, NULL, give_piece, NULL);
    if (rc == ARCHIVE_OK)
        rc = archive_read_next_header(a, &whole);
    u->empty = rc == ARCHIVE_EOF;
    return rc == ARCHIVE_OK || u->empty ? PITH_OK : unpack_error(u);
}

enum pith_status pith_unpack_open(int fd, const char *name, struct unpacker **unpacker,
                                  struct pith_error *err)
{
    int own = dup(fd);
    if (own < 0)
        return pith_error_fill(err, PITH_ERR_IO, "%s: %s", name, strerror(errno));
    struct unpacker *u = calloc(1, sizeof *u);
    if (u) {
        u->name = name;
        u->err = err;
        u->gzip = gzdopen(own, "rb");
    }
    if (!u || !u->gzip)
        close(own);
    enum pith_status st = u && u->gzip ? begin(u) : pith_error_no_memory(err);
    if (st == PITH_OK)
        *unpacker = u;
    else
        pith_unpack_close(u);
    return st;
}

enum pith_status pith_unpack_read(struct unpacker *u, void *to, size_t n, size_t *got,
                                  struct pith_error *err)
{
    u->err = err;
    *got = 0;
    if (u->archive) {
        la_ssize_t r = u->empty ? 0 : archive_read_data(u->archive, to, n);
        *got = r > 0 ? (size_t)r : 0;
        return r < 0 ? unpack_error(u) : PITH_OK;
    }
    while (*got < n) {
        enum pith_status st = u->at == u->n ? fill(u) : PITH_OK;
        size_t left = u->n - u->at, piece = left < n - *got ? left : n - *got;
        if (st != PITH_OK || piece == 0)
            return st;
        memcpy((uint8_t *)to + *got, u->piece + u->at, piece);
        u->at += piece;
        *got += piece;
    }
    return PITH_OK;
}
