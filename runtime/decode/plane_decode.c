/* SPDX-License-Identifier: MIT */
/* The decoder of byte planes. Of a trained network's floats only the exponent is not
 * noise, and sometimes the low bits of the mantissa, which are 0 where the numbers were once
 * of 2 bytes. So each byte of the floats is a stream of its own: Huffman codes, or plain where
 * those are no shorter.
 *
 *     sign in bit 0 | mantissa in bits 1-23 | exponent in bits 24-31
 *     plane 0 ............. plane 1 . plane 2 . plane 3
 *
 * A plane is decoded group by group into scratch and laid over the floats, so that four passes
 * over them take one decode table.
 *
 * Order of bytes alone makes them codable: exponents of a trained layer repeat, low bytes of
 * mantissas are noise. No byte depends on another, so a plane is decoded with one table in cache.
 */
#include "decode/plane_decode.h"
#include "decode/huff_decode.h"

/* A cache line, of which each part of the scratch begins a new one. */
#define ALIGN 64u
#define MAX_ENTRIES (1u << HUFF_MAX_LEN)

struct plane_decoder {
    struct huff_lengths lengths;
    struct huff_stream stream;
    uint32_t *entries;
    uint8_t *symbols;
};

bool pith_planes_allow(const struct weight *w)
{
    return w->type == PITH_F32 && w->grid == GRID_PLAIN && w->support == SUPPORT_DENSE &&
           w->nnz == w->count && w->count > 0;
}

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static size_t symbol_bytes(const struct weight *w)
{
    return aligned(w->count < HUFF_GROUP_SYMBOLS ? (size_t)w->count : HUFF_GROUP_SYMBOLS);
}

size_t pith_planes_scratch_bytes(const struct weight *w)
{
    return ALIGN + aligned(sizeof(struct plane_decoder)) + MAX_ENTRIES * sizeof(uint32_t) +
           symbol_bytes(w);
}

/* The word is put together by or: dst was cleared before the first plane. */
static void lay_over(float *dst, const uint8_t *symbol, uint64_t n, uint32_t plane)
{
    for (uint64_t i = 0; i < n; i++)
        dst[i] = f32_from_bits(f32_bits(dst[i]) | (uint32_t)symbol[i] << 8 * plane);
}

/* The last plane is laid over, and the words turned into floats. */
static void lay_last(float *dst, const uint8_t *symbol, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        dst[i] = f32_from_bits(plane_bits(f32_bits(dst[i]) | (uint32_t)symbol[i] << 24));
}

static void lay(float *dst, const uint8_t *symbol, uint64_t n, uint32_t plane)
{
    if (plane + 1 < PLANES)
        lay_over(dst, symbol, n, plane);
    else
        lay_last(dst, symbol, n);
}

/* Table and stream, cut out of r. A table of at most 255 bytes; 0 says that the plane lies there
 * plain. */
static enum pith_status open_coded(struct plane_decoder *d, struct reader *r, size_t table_bytes,
                                   uint64_t n)
{
    const uint8_t *table = rd_bytes(r, table_bytes);
    size_t bytes = (size_t)rd_varint(r, r->left);
    const uint8_t *stream = rd_bytes(r, bytes);
    if (r->bad)
        return PITH_ERR_CORRUPT;
    struct bit_reader t = bit_reader_of(table, table_bytes);
    if (pith_huff_read_lengths(&t, &d->lengths) || !br_at_end(&t))
        return PITH_ERR_CORRUPT;
    uint32_t bits = pith_huff_table_bits(&d->lengths, n);
    if (d->lengths.n_present > 1)
        pith_huff_build_table(&d->lengths, bits, d->entries);
    return pith_huff_stream_open(&d->stream, (struct stream){stream, bytes}, n, &d->lengths,
                                 d->entries, bits);
}

/* A code of one symbol has no bits: its sub-streams are tested to be empty all the same. */
static enum pith_status expand_coded(struct plane_decoder *d, float *dst, uint64_t n,
                                     uint32_t plane)
{
    for (uint64_t at = 0; at < n;) {
        uint32_t m;
        enum pith_status st = pith_huff_stream_symbols(&d->stream, d->symbols, &m);
        if (st)
            return st;
        lay(dst + at, d->symbols, m, plane);
        at += m;
    }
    return PITH_OK;
}

static enum pith_status expand_plane(struct plane_decoder *d, struct reader *r, float *dst,
                                     uint64_t n, uint32_t plane)
{
    size_t table_bytes = rd_u8(r);
    if (r->bad)
        return PITH_ERR_CORRUPT;
    if (table_bytes > 0) {
        enum pith_status st = open_coded(d, r, table_bytes, n);
        return st ? st : expand_coded(d, dst, n, plane);
    }
    if (r->left < n)
        return PITH_ERR_CORRUPT;
    lay(dst, rd_bytes(r, (size_t)n), n, plane);
    return PITH_OK;
}

/* Everything of the stream must be used up. */
enum pith_status pith_planes_expand(const struct weight *w, float *dst, void *scratch)
{
    uint8_t *mem = scratch;
    mem += -(uintptr_t)mem & (ALIGN - 1);
    struct plane_decoder *d = (void *)mem;
    struct reader r = reader_of(w->index_stream.bytes, w->index_stream.n_bytes);
    enum pith_status st = pith_planes_allow(w) ? PITH_OK : PITH_ERR_CORRUPT;
    d->entries = (void *)(mem + aligned(sizeof *d));
    d->symbols = mem + aligned(sizeof *d) + MAX_ENTRIES * sizeof(uint32_t);
    if (!st)
        memset(dst, 0, (size_t)w->count * sizeof *dst);
    for (uint32_t p = 0; p < PLANES && !st; p++)
        st = expand_plane(d, &r, dst, w->count, p);
    return !st && r.left > 0 ? PITH_ERR_CORRUPT : st;
}
