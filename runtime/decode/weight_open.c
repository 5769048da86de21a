/* SPDX-License-Identifier: MIT */
/* weight_open.c - see weight_decoder.h: what decoding a weight takes of memory, and its readers
 * opened in it. */
#include "core/build_choice.h"
#include "decode/plane_decode.h"
#include "decode/weight_decoder.h"

/* 2,048 elements of position, index and value are 18 KB: the first cache of most CPUs. */
#define CHUNK 2048u /* at most; multiples of 8: chunks of packed indices start on bytes */
#define ALIGN 64u

/* ---- scratch --------------------------------------------------------------------------------- */

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Decode table and group buffer of one coded stream; at most 16 KiB + 32 KiB. A code of one symbol
 * or none takes no bits, and so no table. */
static size_t entry_bytes(const struct huff_lengths *lengths, uint64_t n)
{
    return lengths->n_present < 2 ? 0
                                  : aligned(sizeof(uint32_t) << pith_huff_table_bits(lengths, n));
}

static size_t symbol_bytes(uint64_t n)
{
    return aligned(n < HUFF_GROUP_SYMBOLS ? (size_t)n : HUFF_GROUP_SYMBOLS);
}

/* At least one chunk, a multiple of 8. A small weight has buffers for hardly more than its
 * elements. */
static uint32_t chunk_elems(const struct weight *w)
{
    uint64_t n = stored_values(w);
    return n >= CHUNK ? CHUNK : (uint32_t)(n + 8) & ~7u;
}

/* Sparse values are scattered from a buffer, and integers of codebooks made from one. */
static bool uses_pos(const struct weight *w)
{
    return is_sparse(w);
}

static bool uses_value(const struct weight *w)
{
    return uses_pos(w) || (has_codebook(w) && w->type == PITH_I8);
}

static size_t buffer_bytes(const struct weight *w)
{
    uint32_t n = chunk_elems(w);
    return (uses_pos(w) ? aligned(n * sizeof(uint32_t)) : 0) +
           (uses_value(w) ? aligned(n * sizeof(float)) : 0) +
           (has_codebook(w) ? aligned(n) + aligned(w->n_centroids * sizeof(float)) : 0);
}

/* A table that cannot be read needs no room: opening the weight will fail on it. Counted exactly as
 * pith_decoder_open() takes: the two must agree. ALIGN more is for scratch that
 * does not begin on a multiple of it. */
size_t pith_weight_scratch_bytes(const struct weight *w)
{
    size_t bytes = aligned(sizeof(struct decoder)) + ALIGN + buffer_bytes(w);
    struct support_lengths support;
    struct huff_lengths index;
    if (is_plain_dense(w))
        return 0;
    if (has_planes(w))
        return pith_planes_scratch_bytes(w);
    if (has_adaptive_floats(w))
        bytes += aligned(sizeof(struct adaptive));
    if (uses_classes(w))
        return bytes + aligned(sizeof(struct classes)) + aligned(pith_classes_bytes(w, true));
    if (uses_gaps(w))
        bytes += aligned(sizeof(struct support_lengths)) + aligned(sizeof(struct gap_reader));
    if (uses_rans(w))
        bytes += aligned(sizeof(struct rans_coded));
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

/* From a block whose size was computed before: no test. */
static void *take(uint8_t **mem, size_t bytes)
{
    void *p = *mem;
    *mem += bytes;
    return p;
}

/* In the order and of the sizes that buffer_bytes counts. */
static void take_buffers(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    d->chunk = chunk_elems(w);
    if (uses_pos(w))
        d->pos = take(mem, aligned(d->chunk * sizeof *d->pos));
    if (uses_value(w))
        d->value = take(mem, aligned(d->chunk * sizeof *d->value));
    if (has_codebook(w)) {
        d->index = take(mem, aligned(d->chunk));
        d->codebook = take(mem, aligned(w->n_centroids * sizeof *d->codebook));
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* On streams of unknown origin: each open tests what its reader will rely on. */

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
    return pith_gap_open(d->gaps,
                         &(struct coded_support){d->support, d->gap_entries, bits,
                                                 w->support_stream, w->count, w->nnz},
                         d->gap_symbols);
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
        return bitmap_size_ok(w) ? PITH_OK : PITH_ERR_CORRUPT;
    case SUPPORT_GAPS:
        if (uses_gaps(w))
            return open_gaps(d, mem);
        return bytes == 0 ? PITH_OK : PITH_ERR_CORRUPT;
    case SUPPORT_ADAPTIVE:
        return uses_classes(w) ? PITH_OK : PITH_ERR_CORRUPT;
    }
    return PITH_ERR_CORRUPT;
}

/* A table of the validated list, read now. It has to end where the lengths end: bytes behind them
 * would be neither read nor reported. */
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
    return pith_huff_stream_open(&d->indices, w->index_stream, d->n_values, d->index_lengths,
                                 d->index_entries, bits);
}

/* A table of a single symbol needs no entries: the stream then says nothing. */
static enum pith_status open_rans(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    struct rans_coded *c = take(mem, aligned(sizeof *c));
    d->rans_table = &c->table;
    d->rans_entries = c->entries;
    d->rans = &c->stream;
    if (pith_rans_read_table(w->index_table.bytes, w->index_table.n_bytes, &c->table))
        return PITH_ERR_CORRUPT;
    if (!c->table.single)
        pith_rans_build_entries(&c->table, c->entries);
    return pith_rans_open(&c->stream, w->index_stream, d->n_values, &c->table, c->entries, w->cpu);
}

static enum pith_status open_floats(struct decoder *d, uint8_t **mem)
{
    d->floats = take(mem, aligned(sizeof *d->floats));
    return pith_adaptive_open(d->floats, d->w, NULL);
}

static enum pith_status open_classes(struct decoder *d, uint8_t **mem)
{
    d->classes = take(mem, aligned(sizeof *d->classes));
    return pith_classes_open(d->classes, d->w, take(mem, pith_classes_bytes(d->w, true)), true);
}

/* A codebook is read whatever code its indices have, so it is opened before the code's reader.
 * pith_decoder_values() reads from the reader that is opened here. */
static enum pith_status open_values(struct decoder *d, uint8_t **mem)
{
    const struct weight *w = d->w;
    if (has_adaptive_floats(w))
        return open_floats(d, mem);
    if (!has_codebook(w))
        return pith_plain_size_ok(&w->index_stream, d->n_values, 8 * plain_bytes(w))
                   ? PITH_OK
                   : PITH_ERR_CORRUPT;
    if (!codebook_size_ok(w))
        return PITH_ERR_CORRUPT;
    enum pith_status st = pith_codebook_open(&d->codebooks, w->codebook.bytes, w->codebook.n_bytes,
                                             w->n_groups, w->n_centroids);
    if (st)
        return st;
    if (uses_classes(w))
        return open_classes(d, mem);
    if (uses_index_table(w))
        return open_index_stream(d, mem);
    if (uses_rans(w))
        return open_rans(d, mem);
    return pith_plain_indices_ok(w, d->n_values) ? PITH_OK : PITH_ERR_CORRUPT;
}

/* All of the decoder is in scratch: after a failure there is nothing to close. Zeroed, group_end is
 * 0, so that the first value reads the first codebook. Without want_support the support's stream is
 * not opened, and positions must not be requested. */
enum pith_status pith_decoder_open(const struct weight *w, void *scratch, bool want_support,
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
