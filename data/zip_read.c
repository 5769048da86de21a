/* SPDX-License-Identifier: MIT */
/* zip_read.c - the members of a zip in memory, as numpy's .npz needs them: stored or deflated,
 * zip64 sizes, no encryption, one volume. Everything comes from the central directory; the local
 * header is read for its length only. A member inflates to exactly its declared size, which the
 * caller bounds, and its CRC-32 is checked. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/bytes.h"
#include "data_source.h"

enum {
    END_BYTES = 22,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    END64_LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    MAX_COMMENT = 65535,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    FLAG_ENCRYPTED = 1
};
#define END_TAG 0x06054b50u
#define END64_LOCATOR_TAG 0x07064b50u
#define END64_TAG 0x06064b50u
#define CENTRAL_TAG 0x02014b50u
#define LOCAL_TAG 0x04034b50u

struct zip_file {
    const uint8_t *b;
    size_t n;
    const char *name;
    struct pith_error *err;
};

static enum pith_status broken(const struct zip_file *z, const char *what)
{
    return pith_error_fill(z->err, PITH_ERR_CORRUPT, "%s: broken zip: %s", z->name, what);
}

static bool inside(const struct zip_file *z, uint64_t at, uint64_t n)
{
    return at <= z->n && n <= z->n - at;
}

struct zip_directory {
    uint64_t at, entries;
};

static bool find_end64(const struct zip_file *z, size_t end, struct zip_directory *d)
{
    if (end < END64_LOCATOR_BYTES ||
        load_le32(z->b + end - END64_LOCATOR_BYTES) != END64_LOCATOR_TAG)
        return false;
    uint64_t at = load_le64(z->b + end - END64_LOCATOR_BYTES + 8);
    if (!inside(z, at, END64_BYTES) || load_le32(z->b + at) != END64_TAG)
        return false;
    d->entries = load_le64(z->b + at + 32);
    d->at = load_le64(z->b + at + 48);
    return true;
}

static enum pith_status find_directory(const struct zip_file *z, struct zip_directory *d)
{
    size_t tried = 0;
    for (size_t end = z->n - END_BYTES; z->n >= END_BYTES; end--) {
        if (load_le32(z->b + end) == END_TAG &&
            load_le16(z->b + end + 20) == z->n - end - END_BYTES) {
            d->entries = load_le16(z->b + end + 10);
            d->at = load_le32(z->b + end + 16);
            if (d->at == UINT32_MAX || d->entries == UINT16_MAX)
                return find_end64(z, end, d) ? PITH_OK : broken(z, "no zip64 directory");
            return PITH_OK;
        }
        if (end == 0 || tried++ == MAX_COMMENT)
            break;
    }
    return broken(z, "no end of directory");
}

/* Sizes that did not fit 32 bits, in the order the format gives them. */
static bool read_zip64_extra(const uint8_t *extra, size_t n, uint64_t *bytes, uint64_t *packed,
                             uint64_t *local)
{
    uint64_t *wanted[] = {bytes, packed, local};
    struct reader r = reader_of(extra, n);
    while (r.left >= 4) {
        const uint8_t *head = rd_bytes(&r, 4);
        const uint8_t *body = rd_bytes(&r, load_le16(head + 2));
        if (!body)
            return false;
        if (load_le16(head) != 1)
            continue;
        size_t at = 0, room = load_le16(head + 2);
        for (size_t i = 0; i < 3; i++) {
            if (*wanted[i] != UINT32_MAX)
                continue;
            if (room - at < 8)
                return false;
            *wanted[i] = load_le64(body + at);
            at += 8;
        }
        return true;
    }
    return *bytes != UINT32_MAX && *packed != UINT32_MAX && *local != UINT32_MAX;
}

/* One entry of the central directory at *at. */
static enum pith_status read_entry(const struct zip_file *z, uint64_t *at, struct zip_member *m)
{
    if (!inside(z, *at, CENTRAL_BYTES) || load_le32(z->b + *at) != CENTRAL_TAG)
        return broken(z, "directory entry");
    const uint8_t *e = z->b + *at;
    size_t name_bytes = load_le16(e + 28), extra_bytes = load_le16(e + 30);
    uint64_t total = CENTRAL_BYTES + name_bytes + extra_bytes + load_le16(e + 32);
    if (!inside(z, *at, total))
        return broken(z, "directory entry");
    uint64_t packed = load_le32(e + 20), bytes = load_le32(e + 24), local = load_le32(e + 42);
    if (!read_zip64_extra(e + CENTRAL_BYTES + name_bytes, extra_bytes, &bytes, &packed, &local))
        return broken(z, "zip64 sizes");
    if (load_le16(e + 8) & FLAG_ENCRYPTED)
        return pith_error_fill(z->err, PITH_ERR_UNSUPPORTED, "%s: encrypted zip", z->name);
    if (!inside(z, local, LOCAL_BYTES) || load_le32(z->b + local) != LOCAL_TAG)
        return broken(z, "member header");
    uint64_t data = local + LOCAL_BYTES + load_le16(z->b + local + 26) +
                    load_le16(z->b + local + 28); /* local < 2^63: no overflow */
    if (!inside(z, data, packed))
        return broken(z, "member data");
    *m = (struct zip_member){(const char *)e + CENTRAL_BYTES,
                             name_bytes,
                             z->b + data,
                             packed,
                             bytes,
                             load_le16(e + 10),
                             load_le32(e + 16)};
    *at += total;
    return PITH_OK;
}

bool pith_is_zip(const uint8_t *head, size_t n)
{
    return n >= 4 && load_le32(head) == 0x04034b50u;
}

enum pith_status pith_zip_list(const void *bytes, size_t n, const char *name,
                               struct zip_member *members, size_t *n_members,
                               struct pith_error *err)
{
    struct zip_file z = {bytes, n, name, err};
    struct zip_directory d = {0, 0};
    if (n < END_BYTES)
        return broken(&z, "too short");
    enum pith_status st = find_directory(&z, &d);
    if (st != PITH_OK)
        return st;
    if (d.entries > ZIP_MAX_MEMBERS)
        return pith_error_fill(err, PITH_ERR_LIMIT, "%s: zip of %llu members, at most %d", name,
                               (unsigned long long)d.entries, ZIP_MAX_MEMBERS);
    for (uint64_t i = 0; st == PITH_OK && i < d.entries; i++)
        st = read_entry(&z, &d.at, &members[i]);
    if (st == PITH_OK)
        *n_members = (size_t)d.entries;
    return st;
}

enum pith_status pith_zip_extract(const struct zip_member *m, uint64_t max_bytes, const char *name,
                                  struct pith_buffer *out, struct pith_error *err)
{
    if (m->method != METHOD_STORED && m->method != METHOD_DEFLATED)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: zip method %u", name, m->method);
    enum pith_status st = pith_within_bound(m->bytes, max_bytes, 0, name, err);
    if (st != PITH_OK)
        return st;
    const uint64_t most_ratio = 1032; /* of deflate */
    if ((m->method == METHOD_STORED && m->bytes != m->packed_bytes) ||
        m->bytes / most_ratio > m->packed_bytes)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: broken zip: member size", name);
    uint8_t *data = malloc((size_t)m->bytes + 1);
    if (!data)
        return pith_error_no_memory(err);
    if (m->method == METHOD_STORED)
        memcpy(data, m->packed, (size_t)m->bytes);
    else
        st = pith_inflate_exact(m->packed, (size_t)m->packed_bytes, data, (size_t)m->bytes, name,
                                err);
    if (st == PITH_OK && crc32_z(0, data, (size_t)m->bytes) != m->crc)
        st = pith_error_fill(err, PITH_ERR_CORRUPT, "%s: zip checksum differs", name);
    if (st == PITH_OK)
        *out = (struct pith_buffer){data, (size_t)m->bytes};
    else
        free(data);
    return st;
}
