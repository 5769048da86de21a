/* SPDX-License-Identifier: MIT */
/* Weights from file form to dense or to parts. Three small pull readers - positions, indices,
 * values - deliver chunks that stay in the first-level cache; each of the public calls is a loop
 * over chunks that wants some of the three.
 *
 *     support: dense | bitmap | gaps ──> pos[]
 *     code: k-bit|Huffman|rANS|context > index[] ┐
 *     grid: codebook groups ───────────────────────┴─> value[]   (plain elements: value[] at once)
 *
 * Scratch: struct decoder, then what this weight needs of readers, decode tables and buffers. Plain
 * elements of dense support need nothing: they are read where they lie. Byte planes go another way
 * (pith_plane_decode.h). */
#include "build_choice.h"
#include "pith_weight.h"
#include "pith_adaptive_decode.h"
#include "pith_codebook_decode.h"
#include "pith_context_decode.h"
#include "pith_element_f32.h"
#include "gap_decode.h"
#include "pith_plane_decode.h"
#include "pith_rans_decode.h"

/* 2,048 elements of position, index and value are 18 KB: the first cache of most CPUs. */
#define CHUNK 2048u /* at most; multiples of 8: chunks of packed indices start on bytes */
#define ALIGN 64u

/* Apart from the decoder, because its entries are 16 KB that other codes do not need. */
struct rans_coded {
    struct rans_table table;
    struct rans_stream stream;
    uint32_t entries[RANS_SLOTS];
};

struct decoder {
    const struct weight *w;
    uint64_t n_values; /* elements stored: nnz, or count when dense */
    uint64_t taken;    /* of them delivered as values or indices */
    uint32_t chunk;    /* so many at a time */
    /* support */
    struct support_lengths *support;
    struct gap_reader *gaps;
    uint64_t bitmap_at;                /* bytes of the bitmap consumed */
    uint64_t bitmap_word, bitmap_base; /* bits not yet delivered, element of bit 0 */
    uint64_t pos_taken;
    /* indices */
    struct huff_lengths *index_lengths;
    struct huff_stream indices;
    const uint8_t *block; /* decoded indices not yet delivered */
    uint32_t block_left;
    struct rans_coded *rans;
    struct context_stream *contexts;
    /* codebooks */
    struct codebook_reader codebooks;
    uint64_t group_end; /* element where the next group begins */
    float *codebook;    /* [n_centroids] */
    /* buffers of a chunk; NULL where this weight has no use for one */
    uint32_t *pos;
    uint8_t *index;
    float *value;
    struct adaptive *adaptive; /* positions, indices and elements at once */
    uint32_t *gap_entries, *index_entries;
    uint8_t *gap_symbols, *index_symbols;
};

/* ---- scratch --------------------------------------------------------------------------------- */

/* These predicates are asked when scratch is counted and when it is cut: alike both
 * times. */
static bool uses_gaps(const struct weight *w)
{
    return w->support == SUPPORT_GAPS && w->nnz > 0;
}

static uint64_t stored_values(const struct weight *w)
{
    return w->support == SUPPORT_DENSE ? w->count : w->nnz;
}

static bool uses_index_table(const struct weight *w)
{
    return w->grid == GRID_CODEBOOK && w->code == CODE_HUFFMAN && stored_values(w) > 0;
}

static bool uses_rans(const struct weight *w)
{
    return PITH_BUILD_RANS && w->grid == GRID_CODEBOOK && w->code == CODE_RANS &&
           stored_values(w) > 0;
}

static bool uses_contexts(const struct weight *w)
{
    return PITH_BUILD_CONTEXT && w->grid == GRID_CODEBOOK && w->code == CODE_CONTEXT;
}

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Decode table and group buffer of one coded stream; at most 16 KiB + 32 KiB. */
static size_t entry_bytes(const struct huff_lengths *lengths, uint64_t n)
{
    return lengths->n_present < 2 ? 0
                                  : aligned(sizeof(uint32_t) << pith_huff_table_bits(lengths, n));
}

static size_t symbol_bytes(uint64_t n)
{
    return aligned(n < HUFF_GROUP_SYMBOLS ? (size_t)n : HUFF_GROUP_SYMBOLS);
}

/* What lies there whole. */
static bool is_plain_dense(const struct weight *w)
{
    return w->support == SUPPORT_DENSE && w->grid == GRID_PLAIN && w->code != CODE_ADAPTIVE &&
           w->code != CODE_PLANES;
}

/* At least one chunk, a multiple of 8. */
static uint32_t chunk_elems(const struct weight *w)
{
    uint64_t n = stored_values(w);
    return n >= CHUNK ? CHUNK : (uint32_t)(n + 8) & ~7u;
}

/* Sparse values are scattered from a buffer, and integers of codebooks made from one. */
static bool uses_pos(const struct weight *w)
{
    return w->support != SUPPORT_DENSE;
}

static bool uses_value(const struct weight *w)
{
    return uses_pos(w) || (w->grid == GRID_CODEBOOK && w->type == PITH_I8);
}

static size_t buffer_bytes(const struct weight *w)
{
    uint32_t n = chunk_elems(w);
    return (uses_pos(w) ? aligned(n * sizeof(uint32_t)) : 0) +
           (uses_value(w) ? aligned(n * sizeof(float)) : 0) +
           (w->grid == GRID_CODEBOOK ? aligned(n) + aligned(w->n_centroids * sizeof(float)) : 0);
}

/* A table that cannot be read needs no room: opening the weight will fail on it. Counted exactly
 * as open_weight() takes: whoever changes one changes the other. */
size_t pith_weight_scratch_bytes(const struct weight *w)
{
    size_t bytes = aligned(sizeof(struct decoder)) + ALIGN + buffer_bytes(w);
    struct support_lengths support;
    struct huff_lengths index;
    if (is_plain_dense(w))
        return 0;
    if (w->code == CODE_PLANES)
        return pith_planes_scratch_bytes(w);
    if (w->code == CODE_ADAPTIVE)
        return bytes + aligned(sizeof(struct adaptive)) + aligned(pith_adaptive_bytes(w));
    if (uses_gaps(w))
        bytes += aligned(sizeof(struct support_lengths)) + aligned(sizeof(struct gap_reader));
    if (uses_rans(w))
        bytes += aligned(sizeof(struct rans_coded));
    if (uses_contexts(w))
        bytes += aligned(sizeof(struct context_stream)) + aligned(pith_context_bytes(w));
    if (uses_gaps(w) &&
        pith_support_read_table(w->gap_table.bytes, w->gap_table.n_bytes, &support) == PITH_OK) {
        uint64_t n = support_symbols(&support, w->count, w->nnz);
        bytes += entry_bytes(&support.huff, n) + symbol_bytes(n);
    }
    struct bit_reader r = bit_reader_of(w->index_table.bytes, w->index_table.n_bytes);
    if (uses_index_table(w))
        bytes += aligned(sizeof(struct huff_lengths));
    if (uses_index_table(w) && pith_huff_read_lengths(&r, &index) == PITH_OK)
        bytes += entry_bytes(&index, stored_values(w)) + symbol_bytes(stored_values(w));
    return bytes;
}

/* From a block whose size was told before: no test. */
static void *take(uint8_t **mem, size_t bytes)
{
    void *p = *mem;
    *mem += bytes;
    return p;
}

static void take_buffers(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    d->chunk = chunk_elems(w);
    if (uses_pos(w))
        d->pos = take(mem, aligned(d->chunk * sizeof *d->pos));
    if (uses_value(w))
        d->value = take(mem, aligned(d->chunk * sizeof *d->value));
    if (w->grid == GRID_CODEBOOK) {
        d->index = take(mem, aligned(d->chunk));
        d->codebook = take(mem, aligned(w->n_centroids * sizeof *d->codebook));
    }
}

/* All that follows is on streams of unknown origin; each open tests what its reader will rely
 * on. */
/* ---- opening --------------------------------------------------------------------------------- */

/* Positions are 32 bits. */
static enum pith_status open_gaps(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    d->support = take(mem, aligned(sizeof *d->support));
    d->gaps = take(mem, aligned(sizeof *d->gaps));
    enum pith_status st =
        pith_support_read_table(w->gap_table.bytes, w->gap_table.n_bytes, d->support);
    if (st)
        return st;
    if (w->count > UINT32_MAX)
        return PITH_ERR_CORRUPT;
    uint64_t n = support_symbols(d->support, w->count, w->nnz);
    uint32_t bits = pith_huff_table_bits(&d->support->huff, n);
    d->gap_entries = take(mem, entry_bytes(&d->support->huff, n));
    d->gap_symbols = take(mem, symbol_bytes(n));
    if (d->support->huff.n_present > 1)
        pith_huff_build_table(&d->support->huff, bits, d->gap_entries);
    return pith_gap_open(d->gaps, d->support, d->gap_entries, bits, w->support_stream.bytes,
                         w->support_stream.n_bytes, w->count, w->nnz, d->gap_symbols);
}

/* A bitmap's length follows from the count; gaps must be there where elements are stored. */
static enum pith_status open_support(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    size_t bytes = w->support_stream.n_bytes;
    switch (w->support) {
    case SUPPORT_DENSE:
        return bytes == 0 && w->nnz == w->count ? PITH_OK : PITH_ERR_CORRUPT;
    case SUPPORT_BITMAP:
        return w->count <= UINT32_MAX && bytes == w->count / 8 + (w->count % 8 != 0)
                   ? PITH_OK
                   : PITH_ERR_CORRUPT;
    case SUPPORT_GAPS:
        if (w->nnz > 0)
            return open_gaps(d, mem);
        return bytes == 0 ? PITH_OK : PITH_ERR_CORRUPT;
    case SUPPORT_ADAPTIVE:
        return w->code == CODE_ADAPTIVE || uses_contexts(w) ? PITH_OK : PITH_ERR_CORRUPT;
    }
    return PITH_ERR_CORRUPT;
}

/* A table of the gate's list, read now. */
static enum pith_status open_index_stream(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    struct bit_reader r = bit_reader_of(w->index_table.bytes, w->index_table.n_bytes);
    d->index_lengths = take(mem, aligned(sizeof *d->index_lengths));
    enum pith_status st = pith_huff_read_lengths(&r, d->index_lengths);
    if (st)
        return st;
    if (!br_at_end(&r))
        return PITH_ERR_CORRUPT;
    uint32_t bits = pith_huff_table_bits(d->index_lengths, d->n_values);
    d->index_entries = take(mem, entry_bytes(d->index_lengths, d->n_values));
    d->index_symbols = take(mem, symbol_bytes(d->n_values));
    if (d->index_lengths->n_present > 1)
        pith_huff_build_table(d->index_lengths, bits, d->index_entries);
    return pith_huff_stream_open(&d->indices, w->index_stream.bytes, w->index_stream.n_bytes,
                                 d->n_values, d->index_lengths, d->index_entries, bits);
}

static enum pith_status open_rans(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    struct rans_coded *c = d->rans = take(mem, aligned(sizeof *d->rans));
    if (pith_rans_read_table(w->index_table.bytes, w->index_table.n_bytes, &c->table))
        return PITH_ERR_CORRUPT;
    if (!c->table.single)
        pith_rans_build_entries(&c->table, c->entries);
    return pith_rans_open(&c->stream, w->index_stream.bytes, w->index_stream.n_bytes, d->n_values,
                          &c->table, c->entries, w->cpu);
}

/* The stored bytes of a plain stream must be exactly n fields of `bits`. The gate cut the stream
 * to this length; who made a weight otherwise has not. */
static bool plain_size_ok(const struct stream *s, uint64_t n, uint32_t bits)
{
    uint64_t n_bits;
    return mul_ok(n, bits, &n_bits) && s->n_bytes == n_bits / 8 + (n_bits % 8 != 0);
}

static enum pith_status open_adaptive(struct decoder *d, uint8_t **mem)
{
    d->adaptive = take(mem, aligned(sizeof *d->adaptive));
    return pith_adaptive_open(d->adaptive, d->w, take(mem, aligned(pith_adaptive_bytes(d->w))));
}

static enum pith_status open_contexts(struct decoder *d, uint8_t **mem)
{
    d->contexts = take(mem, aligned(sizeof *d->contexts));
    return pith_context_open(d->contexts, d->w, take(mem, aligned(pith_context_bytes(d->w))));
}

static enum pith_status open_values(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    if (w->grid == GRID_PLAIN && w->code == CODE_ADAPTIVE)
        return open_adaptive(d, mem);
    if (w->grid == GRID_PLAIN)
        return plain_size_ok(&w->index_stream, d->n_values, 8 * pith_type_bytes(w->type))
                   ? PITH_OK
                   : PITH_ERR_CORRUPT;
    /* n_centroids in 1..256, by one comparison of the unsigned difference. */
    if (w->n_centroids - 1 > 255 || w->group_elems == 0)
        return PITH_ERR_CORRUPT;
    enum pith_status st = pith_codebook_open(&d->codebooks, w->codebook.bytes, w->codebook.n_bytes,
                                             w->n_groups, w->n_centroids);
    if (st)
        return st;
    if (w->code == CODE_ADAPTIVE)
        return open_adaptive(d, mem);
    if (uses_index_table(w))
        return open_index_stream(d, mem);
    if (uses_rans(w))
        return open_rans(d, mem);
    if (uses_contexts(w))
        return open_contexts(d, mem);
    bool ok =
        w->code != CODE_PLAIN
            ? w->index_stream.n_bytes == 0
            : w->index_bits - 1 < 8 && plain_size_ok(&w->index_stream, d->n_values, w->index_bits);
    return ok ? PITH_OK : PITH_ERR_CORRUPT;
}

/* *out: a decoder inside scratch, at the first value. Aligned here, so that callers need not. */
static enum pith_status open_weight(const struct weight *w, void *scratch, bool want_support,
                                    struct decoder **out)
{
    uint8_t *mem = scratch;
    mem += -(uintptr_t)mem & (ALIGN - 1);
    struct decoder *d = take(&mem, aligned(sizeof *d));
    memset(d, 0, sizeof *d);
    d->w = w;
    d->n_values = stored_values(w);
    take_buffers(d, &mem);
    enum pith_status st = want_support ? open_support(d, &mem) : PITH_OK;
    if (st == PITH_OK)
        st = open_values(d, &mem);
    *out = d;
    return st;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Eight bytes at a time; bits behind the end are 0. */
static bool next_bitmap_word(struct decoder *d)
{
    const struct stream *s = &d->w->support_stream;
    size_t at = (size_t)d->bitmap_at, left = s->n_bytes - at;
    if (left == 0)
        return false;
    d->bitmap_word = 0;
    d->bitmap_base = (uint64_t)at * 8;
    if (left >= 8) {
        d->bitmap_word = load_le64(s->bytes + at);
        d->bitmap_at += 8;
        return true;
    }
    for (size_t i = 0; i < left; i++)
        d->bitmap_word |= (uint64_t)s->bytes[at + i] << (8 * i);
    d->bitmap_at += left;
    return true;
}

/* Trailing zeros, one element a turn. */
static bool next_bitmap_positions(struct decoder *d, uint32_t *pos, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        while (d->bitmap_word == 0)
            if (!next_bitmap_word(d))
                return false;
        for (; d->bitmap_word && i < n; i++) {
            pos[i] = (uint32_t)(d->bitmap_base + (uint64_t)__builtin_ctzll(d->bitmap_word));
            d->bitmap_word &= d->bitmap_word - 1;
        }
    }
    /* ascending, so the last one tells whether a tail bit is set */
    return n == 0 || pos[n - 1] < d->w->count;
}

static bool bitmap_ends(struct decoder *d)
{
    while (d->bitmap_word == 0)
        if (!next_bitmap_word(d))
            return true;
    return false;
}

/* The next n element numbers; with the last ones the end of the support is checked. Whatever the
 * support, it is tested to end where its last element is. */
static enum pith_status next_positions(struct decoder *d, uint32_t *pos, uint32_t n)
{
    bool ok = true;
    switch (d->w->support) {
    case SUPPORT_DENSE:
        for (uint32_t i = 0; i < n; i++)
            pos[i] = (uint32_t)d->pos_taken + i;
        break;
    case SUPPORT_BITMAP:
        ok = next_bitmap_positions(d, pos, n) && (d->pos_taken + n < d->n_values || bitmap_ends(d));
        break;
    case SUPPORT_GAPS:
        ok = n == 0 || pith_gap_next(d->gaps, pos, n) == PITH_OK;
        break;
    case SUPPORT_ADAPTIVE:
        ok = (uses_contexts(d->w)
                  ? pith_context_stored(d->contexts, pos, d->index, n)
                  : pith_adaptive_next(d->adaptive, pos, d->index, d->value, n)) == PITH_OK;
        break;
    }
    d->pos_taken += n;
    return ok ? PITH_OK : PITH_ERR_CORRUPT;
}

/* ---- indices --------------------------------------------------------------------------------- */

/* Eight fields of b bits are b bytes, so every eighth index begins on a byte. Words of 8 bytes
 * hold eight fields of up to 8 bits. */
static void unpack_indices(const struct stream *s, uint64_t first, uint32_t bits, uint8_t *dst,
                           uint32_t n)
{
    size_t at = (size_t)(first / 8 * bits);
    uint64_t mask = (1u << bits) - 1;
    for (uint32_t i = 0; i < n; i += 8, at += bits) {
        uint64_t word = 0;
        uint32_t m = n - i < 8 ? n - i : 8;
        if (s->n_bytes - at >= 8)
            word = load_le64(s->bytes + at);
        else
            for (size_t k = at; k < s->n_bytes; k++)
                word |= (uint64_t)s->bytes[k] << (8 * (k - at));
        for (uint32_t k = 0; k < m; k++, word >>= bits)
            dst[i + k] = (uint8_t)(word & mask);
    }
}

static bool plain_padding_ok(const struct decoder *d)
{
    const struct stream *s = &d->w->index_stream;
    uint64_t used = d->n_values * d->w->index_bits; /* plain_size_ok: no overflow */
    return used % 8 == 0 || s->bytes[s->n_bytes - 1] >> (used % 8) == 0;
}

/* A group of the stream is decoded into scratch, and chunks are cut from it. */
static bool next_huffman_indices(struct decoder *d, uint8_t *dst, uint32_t n)
{
    while (n) {
        if (d->block_left == 0) {
            if (pith_huff_stream_symbols(&d->indices, d->index_symbols, &d->block_left))
                return false;
            d->block = d->index_symbols;
        }
        uint32_t m = n < d->block_left ? n : d->block_left;
        memcpy(dst, d->block, m);
        d->block += m;
        d->block_left -= m;
        dst += m;
        n -= m;
    }
    return true;
}

static uint32_t largest(const uint8_t *v, uint32_t n)
{
    uint8_t max = 0;
    for (uint32_t i = 0; i < n; i++)
        max = v[i] > max ? v[i] : max;
    return max;
}

/* Indices, or values of a plain grid. With positions they came along with those. The adaptive
 * code has decoded them together with the positions. */
static enum pith_status next_adaptive(struct decoder *d, uint8_t *index, float *value, uint32_t n)
{
    if (d->w->support != SUPPORT_ADAPTIVE)
        return uses_contexts(d->w) ? pith_context_next(d->contexts, index, n)
                                   : pith_adaptive_next(d->adaptive, NULL, index, value, n);
    if (index && index != d->index)
        memcpy(index, d->index, n);
    if (value && value != d->value)
        memcpy(value, d->value, n * sizeof *value);
    return PITH_OK;
}

/* The next n <= d->chunk indices; n is a multiple of 8 unless they are the last. */
static enum pith_status next_indices(struct decoder *d, uint8_t *dst, uint32_t n)
{
    const struct weight *w = d->w;
    /* Only where an index could name no centroid is the chunk looked through. */
    uint32_t possible;
    if (w->code == CODE_ADAPTIVE || uses_contexts(w))
        return next_adaptive(d, dst, NULL, n);
    if (w->code == CODE_HUFFMAN) {
        if (!next_huffman_indices(d, dst, n))
            return PITH_ERR_CORRUPT;
        possible = d->index_lengths ? d->index_lengths->n_symbols : 0;
    } else if (uses_rans(w)) {
        if (n && pith_rans_next(&d->rans->stream, dst, n))
            return PITH_ERR_CORRUPT;
        possible = n ? d->rans->table.n_symbols : 0;
    } else {
        unpack_indices(&w->index_stream, d->taken, w->index_bits, dst, n);
        possible = 1u << w->index_bits;
    }
    d->taken += n;
    if (possible > w->n_centroids && n && largest(dst, n) >= w->n_centroids)
        return PITH_ERR_CORRUPT;
    if (w->code == CODE_PLAIN && d->taken == d->n_values && n && !plain_padding_ok(d))
        return PITH_ERR_CORRUPT;
    return PITH_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The centroids of integers are some of these. i8 weights have codebooks of whole numbers. */
static bool are_integers(const float *v, uint32_t n)
{
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++)
        ok = v[i] >= -128.0f && v[i] <= 127.0f &&
             f32_bits((float)(int32_t)v[i]) == f32_bits(v[i]); /* -0 is none */
    return ok;
}

static enum pith_status next_codebook(struct decoder *d)
{
    enum pith_status st = pith_codebook_next(&d->codebooks, d->codebook);
    d->group_end += d->w->group_elems;
    if (!st && d->w->type == PITH_I8 && !are_integers(d->codebook, d->w->n_centroids))
        st = PITH_ERR_CORRUPT;
    return st;
}

/* value[i] of element pos[i], or of element first + i when pos is NULL. A run of elements shares
 * a group, and a group's codebook is read when its first element comes. */
static enum pith_status look_up_values(struct decoder *d, const uint32_t *pos, uint64_t first,
                                       const uint8_t *index, float *value, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        while ((pos ? pos[i] : first + i) >= d->group_end) {
            enum pith_status st = next_codebook(d);
            if (st)
                return st;
        }
        uint32_t end = n;
        if (!pos && d->group_end - first < n)
            end = (uint32_t)(d->group_end - first);
        if (pos && pos[n - 1] >= d->group_end)
            for (end = i + 1; pos[end] < d->group_end; end++)
                ;
        for (; i < end; i++)
            value[i] = d->codebook[index[i]];
    }
    return PITH_OK;
}

/* Groups without a stored element are checked all the same. So that a change in an unused
 * codebook does not stay unseen. */
static enum pith_status finish_codebooks(struct decoder *d)
{
    enum pith_status st = PITH_OK;
    while (d->w->grid == GRID_CODEBOOK && st == PITH_OK && d->codebooks.groups_left)
        st = next_codebook(d);
    return st;
}

/* The next n <= d->chunk values, of elements pos[0..n) or (NULL) of the elements from `first` on.
 * index: room for n. */
static enum pith_status next_values(struct decoder *d, const uint32_t *pos, uint64_t first,
                                    uint8_t *index, float *value, uint32_t n)
{
    const struct weight *w = d->w;
    if (w->grid == GRID_PLAIN && w->code == CODE_ADAPTIVE)
        return next_adaptive(d, NULL, value, n);
    if (w->grid == GRID_PLAIN) {
        pith_elements_to_f32(w->type, w->index_stream.bytes + d->taken * pith_type_bytes(w->type),
                             n, value);
        d->taken += n;
        return PITH_OK;
    }
    enum pith_status st = next_indices(d, index, n);
    return st ? st : look_up_values(d, pos, first, index, value, n);
}

static uint32_t chunk_of(const struct decoder *d, uint64_t left)
{
    return left < d->chunk ? (uint32_t)left : d->chunk;
}

/* Each call below is one loop over chunks, with the readers it wants. */
/* ---- the public calls ------------------------------------------------------------------------ */

/* Plain elements of dense support, which nothing codes, lie there whole. */
static enum pith_status check_plain_dense(const struct weight *w)
{
    bool ok = w->support_stream.n_bytes == 0 && w->nnz == w->count &&
              plain_size_ok(&w->index_stream, w->count, 8 * pith_type_bytes(w->type));
    return ok ? PITH_OK : PITH_ERR_CORRUPT;
}

/* Dense: the values are written where they belong. */
static enum pith_status expand_dense(struct decoder *d, float *dst)
{
    for (uint64_t at = 0; at < d->n_values;) {
        uint32_t n = chunk_of(d, d->n_values - at);
        enum pith_status st = next_values(d, NULL, at, d->index, dst + at, n);
        if (st)
            return st;
        at += n;
    }
    return PITH_OK;
}

/* Runs at least once, so that an empty support is checked too. */
static enum pith_status expand_sparse(struct decoder *d, float *dst)
{
    uint64_t at = 0;
    memset(dst, 0, (size_t)d->w->count * sizeof *dst);
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        enum pith_status st = next_positions(d, d->pos, n);
        if (st == PITH_OK)
            st = next_values(d, d->pos, 0, d->index, d->value, n);
        if (st)
            return st;
        for (uint32_t i = 0; i < n; i++)
            dst[d->pos[i]] = d->value[i];
        at += n;
    } while (at < d->n_values);
    return PITH_OK;
}

/* The three ways: bytes in planes, bytes as they lie, everything else. */
enum pith_status pith_weight_expand_f32(const struct weight *w, float *dst, void *scratch)
{
    struct decoder *d;
    enum pith_status st;
    if (w->code == CODE_PLANES)
        return pith_planes_expand(w, dst, scratch);
    if (is_plain_dense(w)) {
        st = check_plain_dense(w);
        if (!st)
            pith_elements_to_f32(w->type, w->index_stream.bytes, (size_t)w->count, dst);
        return st;
    }
    st = open_weight(w, scratch, true, &d);
    if (st)
        return st;
    st = w->support == SUPPORT_DENSE ? expand_dense(d, dst) : expand_sparse(d, dst);
    return st ? st : finish_codebooks(d);
}

/* each: 1, 2, 4 or 8 memcpy of a constant few bytes, which compilers make a move of. */
static void scatter(uint8_t *dst, const uint32_t *pos, const uint8_t *src, uint32_t n, size_t each)
{
    for (uint32_t i = 0; i < n; i++)
        memcpy(dst + pos[i] * each, src + i * each, each);
}

/* The integers of codebooks. */
static enum pith_status expand_integers(const struct weight *w, int8_t *dst, void *scratch)
{
    struct decoder *d;
    bool sparse = w->support != SUPPORT_DENSE;
    enum pith_status st = open_weight(w, scratch, true, &d);
    uint64_t at = 0;
    if (st)
        return st;
    if (sparse)
        memset(dst, 0, (size_t)w->count);
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        if (sparse)
            st = next_positions(d, d->pos, n);
        if (!st)
            st = next_values(d, sparse ? d->pos : NULL, at, d->index, d->value, n);
        if (st)
            return st;
        for (uint32_t i = 0; i < n; i++)
            dst[sparse ? d->pos[i] : at + i] = (int8_t)d->value[i];
        at += n;
    } while (at < d->n_values);
    return finish_codebooks(d);
}

/* Types other than f32 are stored plain, or as i8 by codebooks. */
enum pith_status pith_weight_expand_plain(const struct weight *w, void *dst, void *scratch)
{
    struct decoder *d;
    size_t each = pith_type_bytes(w->type);
    if (w->grid != GRID_PLAIN)
        return w->type == PITH_I8 ? expand_integers(w, dst, scratch) : PITH_ERR_ARGUMENT;
    if (w->code == CODE_ADAPTIVE || w->code == CODE_PLANES) /* f32 alone is coded so */
        return pith_weight_expand_f32(w, dst, scratch);
    const uint8_t *src = w->index_stream.bytes;
    enum pith_status st;
    if (w->support == SUPPORT_DENSE) {
        st = check_plain_dense(w);
        if (!st)
            memcpy(dst, src, (size_t)w->count * each);
        return st;
    }
    st = open_weight(w, scratch, true, &d);
    if (st)
        return st;
    memset(dst, 0, (size_t)w->count * each);
    uint64_t at = 0;
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        st = next_positions(d, d->pos, n);
        if (st)
            return st;
        scatter(dst, d->pos, src + at * each, n, each);
        at += n;
    } while (at < d->n_values);
    return PITH_OK;
}

/* Run forms want parts without the dense tensor in between: a matrix of 99 % zeros is never
 * expanded. */
enum pith_status pith_weight_expand_parts(const struct weight *w, uint32_t *pos, uint8_t *index,
                                          float *value, void *scratch)
{
    struct decoder *d;
    bool sparse = w->support != SUPPORT_DENSE, codebook = w->grid == GRID_CODEBOOK;
    /* codebook groups follow positions; adaptive elements come with theirs */
    bool want_pos = pos || (sparse && value && codebook) || w->support == SUPPORT_ADAPTIVE;
    if (pos && w->count > UINT32_MAX)
        return PITH_ERR_LIMIT;
    if (is_plain_dense(w) || w->code == CODE_PLANES) {
        for (uint64_t i = 0; pos && i < w->count; i++)
            pos[i] = (uint32_t)i;
        return value                    ? pith_weight_expand_f32(w, value, scratch)
               : w->code == CODE_PLANES ? PITH_OK
                                        : check_plain_dense(w);
    }
    enum pith_status st = open_weight(w, scratch, want_pos, &d);
    uint64_t at = 0;
    if (st)
        return st;
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        uint32_t *chunk_pos = pos ? pos + at : d->pos;
        uint8_t *chunk_index = index ? index + at : d->index;
        if (want_pos)
            st = next_positions(d, chunk_pos, n);
        if (st == PITH_OK && value)
            st = next_values(d, sparse ? chunk_pos : NULL, at, chunk_index, value + at, n);
        else if (st == PITH_OK && index && codebook)
            st = next_indices(d, chunk_index, n);
        if (st)
            return st;
        at += n;
    } while (at < d->n_values);
    return value ? finish_codebooks(d) : PITH_OK;
}

/* Groups one behind the other. */
enum pith_status pith_weight_codebooks(const struct weight *w, float *dst)
{
    struct codebook_reader r;
    if (w->grid != GRID_CODEBOOK || w->n_centroids - 1 > 255)
        return PITH_ERR_ARGUMENT;
    enum pith_status st =
        pith_codebook_open(&r, w->codebook.bytes, w->codebook.n_bytes, w->n_groups, w->n_centroids);
    for (uint64_t g = 0; st == PITH_OK && g < w->n_groups; g++)
        st = pith_codebook_next(&r, dst + g * w->n_centroids);
    return st;
}
