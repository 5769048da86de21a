/* SPDX-License-Identifier: MIT */
/* weight_read.c - a tensor: its description (weight_head.c), then its streams, cut out of the data
 * chunk (docs/format.md, section 6).
 *
 * Nothing is decoded here: a stream's length must equal what shape, type and coding imply, or,
 * where it is entropy-coded, what the description says; its decoder takes exactly that many bytes.
 *
 * All arithmetic is on bounded numbers: lengths are at most those of the data chunk. */
#include "decode/codebook_decode.h"
#include "decode/weight_kind.h"
#include "core/build_choice.h"
#include "validate/graph_parse.h"

/* Ones of a nibble, for the bytes behind the last whole word. */
static const uint8_t byte_bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

/* Offsets of errors count from the file's first byte. */
static enum pith_status data_corrupt(const struct graph_parse *p)
{
    const struct stream *data = &p->im->chunk[CHUNK_DATA];
    return pith_fail(p->err, PITH_ERR_CORRUPT, TAG_DATA,
                     (uint64_t)(data->bytes - p->im->blob) + p->data_at);
}

/* A chunk that is missing has no place. */
static enum pith_status tables_corrupt(const struct graph_parse *p)
{
    uint64_t at = p->tables.p ? (uint64_t)(p->tables.p - p->im->blob) : 0; /* 0: no such chunk */
    return pith_fail(p->err, PITH_ERR_CORRUPT, TAG_TABLES, at);
}

/* data_at <= n_bytes always, so the difference cannot wrap. */
static enum pith_status cut_stream(struct graph_parse *p, uint64_t bytes, struct stream *s)
{
    const struct stream *data = &p->im->chunk[CHUNK_DATA];
    if (bytes > data->n_bytes - p->data_at)
        return data_corrupt(p);
    *s = (struct stream){data->bytes + p->data_at, (size_t)bytes};
    p->data_at += bytes;
    return PITH_OK;
}

/* Its bits from `bits` on, in the last byte, are zero. Else bits of a file could change unnoticed
 * by any decoder. */
static bool tail_is_zero(const struct stream *s, uint64_t bits)
{
    uint32_t used = (uint32_t)(bits % 8);
    return used == 0 || s->bytes[s->n_bytes - 1] >> used == 0;
}

/* The number of stored elements is not written: the bitmap gives it. */
static uint64_t count_ones(const struct stream *s)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i + 8 <= s->n_bytes; i += 8)
        n += count_ones64(load_le64(s->bytes + i));
    for (; i < s->n_bytes; i++)
        n += (uint64_t)byte_bits[s->bytes[i] & 15] + byte_bits[s->bytes[i] >> 4];
    return n;
}

/* One bit an element, the last byte filled up with zeros. */
static enum pith_status cut_bitmap(struct graph_parse *p, struct weight *w)
{
    enum pith_status st = cut_stream(p, (w->count + 7) / 8, &w->support_stream);
    if (st)
        return st;
    if (!tail_is_zero(&w->support_stream, w->count))
        return data_corrupt(p);
    w->nnz = count_ones(&w->support_stream);
    return PITH_OK;
}

/* 1 for a single centroid: an index always has a bit. */
static uint32_t bits_for(uint32_t n_centroids)
{
    uint32_t bits = 1;
    while (1u << bits < n_centroids)
        bits++;
    return bits;
}

/* Plain elements start at a multiple of 64 in files with the full header, fewer bytes at one of
 * their type, so that they can be used where they lie. Padding is tested to be zero. */
static enum pith_status cut_elements(struct graph_parse *p, struct weight *w)
{
    uint64_t bytes = w->nnz * pith_type_bytes(w->type); /* <= 2^43 */
    uint64_t start = p->data_at;
    struct stream pad = {0};
    size_t align = bytes < FULL_ALIGN ? pith_type_bytes(w->type) : FULL_ALIGN;
    if (!p->im->compact && bytes > 0 && !align_ok(start, align, &start))
        return data_corrupt(p);
    enum pith_status st = cut_stream(p, start - p->data_at, &pad);
    if (st)
        return st;
    for (size_t i = 0; i < pad.n_bytes; i++)
        if (pad.bytes[i] != 0)
            return data_corrupt(p);
    return cut_stream(p, bytes, &w->index_stream);
}

/* Scales, zero points, integers. Zero points that are all 0 must be left out. */
static enum pith_status cut_scaled(struct graph_parse *p, struct weight *w)
{
    size_t each = pith_type_bytes((enum pith_type)w->scaled);
    uint64_t scales = 4 * w->n_groups, zeros = w->codebook.n_bytes * each * w->n_groups;
    enum pith_status st = cut_stream(p, scales + zeros, &w->codebook);
    if (st)
        return st;
    bool any = zeros == 0;
    for (uint64_t i = scales; i < scales + zeros && !any; i++)
        any = w->codebook.bytes[i] != 0;
    return any ? cut_stream(p, w->count * each, &w->index_stream) : data_corrupt(p);
}

/* nnz < 2^41 elements of at most 8 bits. */
static enum pith_status cut_plain_index(struct graph_parse *p, struct weight *w)
{
    uint64_t bits = w->nnz * w->index_bits; /* <= 2^43 */
    enum pith_status st = cut_stream(p, (bits + 7) / 8, &w->index_stream);
    if (st)
        return st;
    return tail_is_zero(&w->index_stream, bits) ? PITH_OK : data_corrupt(p);
}

/* ref: 0 the next table of the list, else distance back from the newest one (1). References
 * count back, so that tables shared by neighbours are one nibble. */
static enum pith_status take_table(struct graph_parse *p, uint32_t ref, struct huff_table *t)
{
    if (ref == TABLE_FAR) {
        uint64_t far = rd_varint(&p->r, (uint64_t)MAX_TABLES);
        if (p->r.bad || far < TABLE_FAR)
            return pith_parse_corrupt(p);
        ref = (uint32_t)far;
    }
    if (ref > p->n_tables)
        return pith_parse_corrupt(p);
    if (ref > 0) {
        if (p->fill)
            *t = p->table[p->n_tables - ref];
        return PITH_OK;
    }
    size_t n = (size_t)rd_varint(&p->tables, MAX_TABLE_BYTES);
    /* A table is never empty; its contents are tested when a decoder
     * builds it. */
    struct huff_table fresh = {rd_bytes(&p->tables, n), n};
    if (p->tables.bad || n == 0)
        return tables_corrupt(p);
    if (p->fill)
        p->table[p->n_tables] = fresh;
    *t = fresh;
    p->n_tables++;
    return PITH_OK;
}

/* One nibble for each of the two tables a tensor may have, 0 where it has none. */
static enum pith_status parse_tables(struct graph_parse *p, struct weight *w)
{
    bool gaps = uses_gaps(w);
    bool index = has_codebook(w) &&
                 (w->code == CODE_HUFFMAN || w->code == CODE_RANS || w->code == CODE_CLASSES) &&
                 w->nnz > 0;
    enum pith_status st;
    if (!gaps && !index)
        return PITH_OK;
    uint8_t refs = rd_u8(&p->r);
    if (p->r.bad || (!gaps && (refs & 15) != 0) || (!index && refs >> 4 != 0))
        return pith_parse_corrupt(p);
    if (gaps && (st = take_table(p, refs & 15, &w->gap_table)))
        return st;
    if (index && (st = take_table(p, refs >> 4, &w->index_table)))
        return st;
    return PITH_OK;
}

/* A length by the description; then that many bytes of data. min: a codebook has at
 * least a byte. */
static enum pith_status cut_coded(struct graph_parse *p, uint64_t min, struct stream *s)
{
    uint64_t bytes = rd_varint(&p->r, p->im->chunk[CHUNK_DATA].n_bytes);
    if (p->r.bad || bytes < min)
        return pith_parse_corrupt(p);
    return cut_stream(p, bytes, s);
}

/* One length for codebook and stream, none for those of the last tensor; the codebook's end
 * follows from its content. The last stream needs no length: it takes what is left. */
static enum pith_status cut_adaptive(struct graph_parse *p, struct weight *w)
{
    size_t length;
    bool is_last = p->weight_at + 1 == p->g.n_weights;
    enum pith_status st =
        is_last ? cut_stream(p, p->im->chunk[CHUNK_DATA].n_bytes - p->data_at, &w->index_stream)
                : cut_coded(p, 0, &w->index_stream);
    if (st || !has_codebook(w))
        return st;
    if (pith_codebook_length(w->index_stream.bytes, w->index_stream.n_bytes, w->n_groups,
                             w->n_centroids, &length))
        return data_corrupt(p);
    w->codebook = (struct stream){w->index_stream.bytes, length};
    w->index_stream.bytes += length;
    w->index_stream.n_bytes -= length;
    return PITH_OK;
}

/* The order of streams is that of docs/format.md, section 6. */
static enum pith_status cut_streams(struct graph_parse *p, struct weight *w)
{
    enum pith_status st;
    if (is_scaled(w))
        return cut_scaled(p, w);
    if (has_codebook(w) && (st = cut_coded(p, 1, &w->codebook)))
        return st;
    if (has_bitmap(w) && (st = cut_bitmap(p, w)))
        return st;
    if ((st = parse_tables(p, w)))
        return st;
    if (uses_gaps(w) && (st = cut_coded(p, 0, &w->support_stream)))
        return st;
    if (!has_codebook(w))
        return learns(w) ? cut_coded(p, 0, &w->index_stream) : cut_elements(p, w);
    if (w->code == CODE_PLAIN) {
        w->index_bits = bits_for(w->n_centroids);
        return cut_plain_index(p, w);
    }
    return w->nnz > 0 ? cut_coded(p, 0, &w->index_stream) : PITH_OK;
}

/* Both kinds of tensor end by becoming "the tensor before". */
enum pith_status pith_parse_weight(struct graph_parse *p, struct weight *w)
{
    memset(w, 0, sizeof *w);
    enum pith_status st = pith_parse_head(p, w);
    if (st)
        return st;
    bool alone = has_planes(w) || (learns(w) && (has_codebook(w) || !is_sparse(w)));
    st = alone ? cut_adaptive(p, w) : cut_streams(p, w);
    p->prev_shape = w->shape;
    p->has_prev = true;
    return st;
}

/* Unread bytes are refused. */
enum pith_status pith_parse_weights_end(struct graph_parse *p)
{
    if (p->data_at != p->im->chunk[CHUNK_DATA].n_bytes)
        return data_corrupt(p);
    if (p->tables.left != 0)
        return tables_corrupt(p);
    return PITH_OK;
}
