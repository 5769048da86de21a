/* SPDX-License-Identifier: MIT */
/* gzip_read.c - inflating with zlib into bounded memory. Deflate expands at most 1032 times, so
 * what is allocated ahead follows the packed size, and never passes the limit. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data_source.h"

enum { GZIP_WINDOW = 15 + 16, RAW_WINDOW = -15, FIRST_ROOM = 1 << 16 };
#define ZLIB_PIECE (1u << 30) /* zlib counts in 32 bits */

bool pith_is_gzip(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    return n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

struct inflate_job {
    z_stream z;
    const uint8_t *next;
    size_t left;
    struct pith_buffer out; /* bytes: used so far */
    uint64_t room, max_bytes;
    const char *name;
    struct pith_error *err;
};

static enum pith_status grow(struct inflate_job *j)
{
    if (j->room > j->max_bytes)
        return pith_within_bound(j->room, j->max_bytes, 0, j->name, j->err);
    uint64_t room = j->room ? j->room * 2 : FIRST_ROOM;
    if (room > j->max_bytes) /* one more proves the end */
        room = j->max_bytes + 1;
    uint8_t *data = realloc(j->out.data, (size_t)room);
    if (!data)
        return pith_error_no_memory(j->err);
    j->out.data = data;
    j->room = room;
    return PITH_OK;
}

static void feed(struct inflate_job *j)
{
    if (j->z.avail_in > 0)
        return;
    uInt n = (uInt)(j->left < ZLIB_PIECE ? j->left : ZLIB_PIECE);
    j->z.next_in = (Bytef *)(uintptr_t)j->next; /* zlib does not write to its input */
    j->z.avail_in = n;
    j->next += n;
    j->left -= n;
}

/* One call of inflate; *end: the stream is over. */
static enum pith_status step(struct inflate_job *j, bool *end)
{
    if (j->out.bytes == j->room) {
        enum pith_status st = grow(j);
        if (st != PITH_OK)
            return st;
    }
    feed(j);
    uint64_t space = j->room - j->out.bytes;
    uInt give = (uInt)(space < ZLIB_PIECE ? space : ZLIB_PIECE);
    j->z.next_out = j->out.data + j->out.bytes;
    j->z.avail_out = give;
    int rc = inflate(&j->z, Z_NO_FLUSH);
    j->out.bytes += give - j->z.avail_out;
    *end = rc == Z_STREAM_END;
    if (rc == Z_OK || rc == Z_STREAM_END)
        return PITH_OK;
    if (rc == Z_MEM_ERROR)
        return pith_error_no_memory(j->err);
    if (rc == Z_BUF_ERROR && j->left == 0 && j->z.avail_in == 0)
        return pith_error_fill(j->err, PITH_ERR_CORRUPT, "%s: gzip data ends early", j->name);
    return pith_error_fill(j->err, PITH_ERR_CORRUPT, "%s: broken gzip data (%s)", j->name,
                           j->z.msg ? j->z.msg : "unexpected");
}

static bool more_members(struct inflate_job *j)
{
    feed(j);
    return pith_is_gzip(j->z.next_in, j->z.avail_in);
}

/* Until there are `enough` bytes, or to the end. */
static enum pith_status inflate_members(const void *bytes, size_t n, uint64_t enough,
                                        uint64_t max_bytes, const char *name,
                                        struct pith_buffer *out, bool *whole,
                                        struct pith_error *err)
{
    struct inflate_job j = {
        .next = bytes, .left = n, .max_bytes = max_bytes, .name = name, .err = err};
    if (inflateInit2(&j.z, GZIP_WINDOW) != Z_OK)
        return pith_error_no_memory(err);
    enum pith_status st = PITH_OK;
    bool end = false;
    while (st == PITH_OK && !end && j.out.bytes < enough) {
        st = step(&j, &end);
        if (end && more_members(&j)) {
            end = false;
            if (inflateReset(&j.z) != Z_OK)
                st = pith_error_no_memory(err);
        }
    }
    inflateEnd(&j.z);
    if (st == PITH_OK && j.out.bytes > max_bytes)
        st = pith_within_bound(j.out.bytes, max_bytes, 0, name, err);
    *whole = end;
    if (st == PITH_OK)
        *out = j.out;
    else
        free(j.out.data);
    return st;
}

enum pith_status pith_gzip_read(const void *bytes, size_t n, uint64_t max_bytes, const char *name,
                                struct pith_buffer *out, struct pith_error *err)
{
    bool whole;
    return inflate_members(bytes, n, UINT64_MAX, max_bytes, name, out, &whole, err);
}

enum pith_status pith_gzip_begin(const void *bytes, size_t n, uint64_t max_bytes, const char *name,
                                 struct pith_buffer *out, bool *whole, struct pith_error *err)
{
    return inflate_members(bytes, n, max_bytes, max_bytes, name, out, whole, err);
}

enum pith_status pith_inflate_exact(const void *bytes, size_t n, void *out, size_t out_bytes,
                                    const char *name, struct pith_error *err)
{
    struct inflate_job j = {.next = bytes,
                            .left = n,
                            .room = out_bytes,
                            .max_bytes = out_bytes,
                            .name = name,
                            .err = err,
                            .out = {out, 0}};
    if (inflateInit2(&j.z, RAW_WINDOW) != Z_OK)
        return pith_error_no_memory(err);
    enum pith_status st = PITH_OK;
    bool end = false;
    uint8_t none;
    while (st == PITH_OK && !end) {
        feed(&j);
        size_t space = out_bytes - j.out.bytes;
        uInt give = (uInt)(space < ZLIB_PIECE ? space : ZLIB_PIECE);
        j.z.next_out = give ? (Bytef *)out + j.out.bytes : &none;
        j.z.avail_out = give;
        int rc = inflate(&j.z, Z_NO_FLUSH);
        j.out.bytes += give - j.z.avail_out;
        end = rc == Z_STREAM_END;
        if (rc != Z_OK && !end)
            st = pith_error_fill(err, PITH_ERR_CORRUPT, "%s: broken deflate data", name);
    }
    inflateEnd(&j.z);
    if (st == PITH_OK && j.out.bytes != out_bytes)
        st = pith_error_fill(err, PITH_ERR_CORRUPT, "%s: inflates to %zu bytes, %zu declared", name,
                             j.out.bytes, out_bytes);
    return st;
}
