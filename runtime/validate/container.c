/* SPDX-License-Identifier: MIT */
/* container.c - the outermost layer of a file: which header it has, where its chunks lie, whether
 * its checksums hold (docs/format.md, sections 2 and 3).
 *
 * Chunks are contiguous and cover the file exactly, so every byte is header, chunk, padding that
 * is tested to be zero, or checksum: nothing can hide in a file, and no bit can change unnoticed.
 *
 * Offsets in the full table are redundant: each is compared with where its chunk must lie. A
 * compact file has lengths alone. */
#include "validate/format.h"
#include "pith_runtime.h"

/* In the order of enum chunk_kind; tags as strings are the order in the file. */
struct chunk_name {
    uint32_t tag;
    uint8_t compact; /* byte of the compact chunk table */
};

static const struct chunk_name chunk_names[CHUNK_KINDS] = {
    [CHUNK_DATA] = {TAG_DATA, COMPACT_DATA},
    [CHUNK_GRAPH] = {TAG_GRAPH, 1},
    [CHUNK_TABLES] = {TAG_TABLES, 2},
    [CHUNK_HISTORY] = {TAG_HISTORY, COMPACT_ANCILLARY | 1},
    [CHUNK_META] = {TAG_META, COMPACT_ANCILLARY | 2},
    [CHUNK_NAMES] = {TAG_NAMES, COMPACT_ANCILLARY | 4},
    [CHUNK_STATS] = {TAG_STATS, COMPACT_ANCILLARY | 3},
};

uint32_t pith_chunk_tag(enum chunk_kind kind)
{
    return chunk_names[kind].tag;
}

uint8_t pith_chunk_compact_tag(enum chunk_kind kind)
{
    return chunk_names[kind].compact;
}

/* Errors of the runtime are a status, a chunk and an offset from the start of the file: no text,
 * which would have to be linked on a microcontroller. */
enum pith_status pith_fail(struct pith_error *err, enum pith_status status, uint32_t chunk,
                           uint64_t offset)
{
    if (err) {
        err->status = status;
        err->chunk = chunk;
        err->offset = offset;
        err->text[0] = 0;
    }
    return status;
}

static enum pith_status corrupt(struct pith_error *err, uint32_t chunk, uint64_t offset)
{
    return pith_fail(err, PITH_ERR_CORRUPT, chunk, offset);
}

/* The order of chunks in a full file: by their tags as strings. So that there is one order and
 * none twice. */
static uint32_t tag_rank(uint32_t tag)
{
    return tag >> 24 | (tag >> 8 & 0xff00u) | (tag << 8 & 0xff0000u) | tag << 24;
}

/* Letters only: a tag is printed in messages as it is. */
static bool tag_well_formed(uint32_t tag)
{
    for (unsigned i = 0; i < 4; i++) {
        uint32_t letter = (tag >> (8 * i) & 0xff) | TAG_ANCILLARY;
        if (letter < 'a' || letter > 'z')
            return false;
    }
    return true;
}

/* Without a branch in the loop: padding is at most 63 bytes, streams are not read here. */
static bool all_zero(const uint8_t *p, size_t bytes)
{
    uint8_t any = 0;
    for (size_t i = 0; i < bytes; i++)
        any |= p[i];
    return any == 0;
}

/* A chunk this reader does not know: critical ones need a newer reader, others are passed over.
 * As PNG does it with its chunks. im->unknown remembers one for `info`. */
static enum pith_status pass_over(struct image *im, uint32_t tag, bool ancillary, uint64_t at,
                                  struct pith_error *err)
{
    if (!ancillary)
        return pith_fail(err, PITH_ERR_VERSION, tag, at);
    if (im->unknown == 0)
        im->unknown = tag;
    return PITH_OK;
}

static enum pith_status place_chunk(struct image *im, uint32_t kind, struct stream s, uint64_t at,
                                    struct pith_error *err)
{
    /* Only the data may be empty: an empty chunk of another kind would be a second way to write
     * its absence. */
    if (s.n_bytes == 0 && kind != CHUNK_DATA)
        return corrupt(err, chunk_names[kind].tag, at);
    im->chunk[kind] = s;
    return PITH_OK;
}

static uint32_t kind_of_tag(uint32_t tag)
{
    uint32_t k = 0;
    while (k < CHUNK_KINDS && chunk_names[k].tag != tag)
        k++;
    return k;
}

static uint32_t kind_of_compact(uint8_t tag)
{
    uint32_t k = 0;
    while (k < CHUNK_KINDS && chunk_names[k].compact != tag)
        k++;
    return k;
}

/* Entry i of the table; *end: where the chunk before it ended, moved on. rank <= last_rank also
 * refuses a tag twice; no tag of letters has the first last_rank, 0. */
static enum pith_status read_full_entry(struct image *im, uint32_t i, uint32_t flags,
                                        uint32_t *last_rank, uint64_t *end, struct pith_error *err)
{
    uint64_t at = FULL_TABLE_AT + (uint64_t)i * FULL_ENTRY_BYTES;
    const uint8_t *e = im->blob + at;
    uint32_t tag = load_le32(e), crc = load_le32(e + 4), rank = tag_rank(tag);
    uint64_t offset = load_le64(e + 8), length = load_le64(e + 16), start = *end;
    /* length > bytes - offset, not offset + length > bytes: the sum could wrap. */
    if (!tag_well_formed(tag) || rank <= *last_rank)
        return corrupt(err, 0, at);
    if (tag == TAG_DATA && !align_ok(start, FULL_ALIGN, &start))
        return corrupt(err, tag, at);
    if (offset != start || offset > im->bytes || length > im->bytes - offset)
        return corrupt(err, tag, at);
    if (!all_zero(im->blob + *end, (size_t)(start - *end)))
        return corrupt(err, 0, *end);
    /* The chunk's own checksum stands in the table, so one damaged chunk is named. */
    struct stream s = {im->blob + offset, (size_t)length};
    if (!(flags & PITH_FLAG_NO_CHECKSUM) && pith_crc32c(0, s.bytes, s.n_bytes) != crc)
        return corrupt(err, tag, offset);
    *last_rank = rank;
    *end = offset + length;
    const uint32_t kind = kind_of_tag(tag);
    return kind == CHUNK_KINDS ? pass_over(im, tag, (tag & TAG_ANCILLARY) != 0, at, err)
                               : place_chunk(im, kind, s, at, err);
}

/* Fields are tested in the order of the most useful error: a newer version before anything that it
 * might have changed, the length before the table, the table's checksum before its contents. */
static enum pith_status open_full(struct image *im, uint32_t flags, struct pith_error *err)
{
    const uint8_t *b = im->blob;
    if (im->bytes < FULL_TABLE_AT)
        return corrupt(err, 0, im->bytes);
    if (load_le32(b + FULL_VERSION_AT) != FORMAT_VERSION)
        return pith_fail(err, PITH_ERR_VERSION, 0, FULL_VERSION_AT);
    uint32_t n = load_le32(b + FULL_COUNT_AT);
    if (n == 0 || n > FULL_MAX_CHUNKS)
        return corrupt(err, 0, FULL_COUNT_AT);
    if (load_le64(b + FULL_LENGTH_AT) != im->bytes)
        return corrupt(err, 0, FULL_LENGTH_AT);
    uint64_t table_end = FULL_TABLE_AT + (uint64_t)n * FULL_ENTRY_BYTES;
    uint64_t end = table_end + FULL_CRC_BYTES;
    if (im->bytes < end)
        return corrupt(err, 0, im->bytes);
    if (!(flags & PITH_FLAG_NO_CHECKSUM) &&
        pith_crc32c(0, b, (size_t)table_end) != load_le32(b + table_end))
        return corrupt(err, 0, table_end);
    /* bench and reports count what a header costs without its checksums. */
    im->header_bytes = table_end - (uint64_t)n * 4; /* the table's checksums are not header */
    uint32_t last_rank = 0;
    for (uint32_t i = 0; i < n; i++) {
        enum pith_status st = read_full_entry(im, i, flags, &last_rank, &end, err);
        if (st)
            return st;
    }
    return end == im->bytes ? PITH_OK : corrupt(err, 0, end);
}

/* The table first, then the chunks: contents have no offsets, so lengths are kept on the way.
 * The table is read a second time: tags and lengths were tested in open_compact(), where only
 * their syntax can be wrong, while lengths must sum to the body here. */
static enum pith_status open_compact_chunks(struct image *im, struct reader table, size_t body,
                                            struct pith_error *err)
{
    size_t at = body, end = im->bytes - COMPACT_CRC_BYTES;
    uint8_t tag;
    do {
        size_t entry_at = (size_t)(table.p - im->blob);
        tag = rd_u8(&table);
        uint64_t length = tag == COMPACT_DATA ? end - at : rd_varint(&table, im->bytes);
        if (length > end - at)
            return corrupt(err, 0, entry_at);
        struct stream s = {im->blob + at, (size_t)length};
        uint32_t kind = kind_of_compact(tag);
        enum pith_status st = kind == CHUNK_KINDS
                                  ? pass_over(im, tag, tag & COMPACT_ANCILLARY, entry_at, err)
                                  : place_chunk(im, kind, s, entry_at, err);
        if (st)
            return st;
        at += (size_t)length;
    } while (tag != COMPACT_DATA);
    return PITH_OK;
}

/* One checksum covers the file: nothing is read past it. */
static enum pith_status open_compact(struct image *im, uint32_t flags, struct pith_error *err)
{
    if (im->blob[1] != (COMPACT_MAGIC_1 | FORMAT_VERSION))
        return pith_fail(err, PITH_ERR_VERSION, 0, 1);
    if (im->bytes < 2 + COMPACT_CRC_BYTES)
        return corrupt(err, 0, im->bytes);
    size_t end = im->bytes - COMPACT_CRC_BYTES;
    if (!(flags & PITH_FLAG_NO_CHECKSUM) &&
        pith_crc32c(0, im->blob, end) != load_le32(im->blob + end))
        return corrupt(err, 0, end);
    struct reader table = reader_of(im->blob + 2, end - 2), r = table;
    uint8_t tag, last = 0;
    do {
        tag = rd_u8(&r);
        if (tag != COMPACT_DATA)
            rd_varint(&r, im->bytes);
        /* Rising tags, closed by the data chunk, which is the highest. */
        if (r.bad || tag <= last || tag > COMPACT_DATA)
            return corrupt(err, 0, (uint64_t)(r.p - im->blob));
        last = tag;
    } while (tag != COMPACT_DATA);
    im->header_bytes = (uint64_t)(r.p - im->blob);
    return open_compact_chunks(im, table, (size_t)im->header_bytes, err);
}

/* The first bytes decide. 0x89 and the line ends of the full magic catch transfers as text, as
 * PNG's do. */
enum pith_status pith_image_open(const void *blob, size_t bytes, uint32_t flags, struct image *im,
                                 struct pith_error *err)
{
    memset(im, 0, sizeof *im);
    im->blob = blob;
    im->bytes = bytes;
    enum pith_status st;
    if (bytes >= FULL_MAGIC_BYTES && memcmp(blob, FULL_MAGIC, FULL_MAGIC_BYTES) == 0) {
        st = open_full(im, flags, err);
    } else if (bytes >= 2 && im->blob[0] == COMPACT_MAGIC_0 &&
               (im->blob[1] & 0xf0) == COMPACT_MAGIC_1) {
        im->compact = true;
        st = open_compact(im, flags, err);
    } else {
        st = corrupt(err, 0, 0);
    }
    if (st)
        return st;
    /* A graph without data would have nothing to compute with; an empty data chunk is there,
     * with a length of 0. */
    if (!im->chunk[CHUNK_GRAPH].bytes)
        return corrupt(err, TAG_GRAPH, 0);
    if (!im->chunk[CHUNK_DATA].bytes)
        return corrupt(err, TAG_DATA, 0);
    return PITH_OK;
}

/* For those who look at one chunk of an image that a plan has accepted: checksums were tested
 * then. */
enum pith_status pith_chunk_find(const void *blob, size_t bytes, uint32_t tag, struct stream *chunk)
{
    struct image im;
    uint32_t kind = kind_of_tag(tag);
    if (kind == CHUNK_KINDS || pith_image_open(blob, bytes, PITH_FLAG_NO_CHECKSUM, &im, NULL) ||
        !im.chunk[kind].bytes)
        return PITH_ERR_ARGUMENT;
    *chunk = im.chunk[kind];
    return PITH_OK;
}
