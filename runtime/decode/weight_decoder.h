/* SPDX-License-Identifier: MIT */
/* weight_decoder.h - weights by chunks. Three small pull readers - positions, indices, values -
 * deliver chunks that stay in the first-level cache; each of the calls of weight.h is a loop
 * over chunks that wants some of the three (weight.c).
 *
 *     support: dense | bitmap | gaps ──> pos[]
 *     code: k-bit|Huffman|rANS|classes  > index[] ┐
 *     grid: codebook groups ───────────────────────┴─> value[]   (plain elements: value[] at once)
 *
 * Scratch (weight_open.c): struct decoder, then what this weight needs of readers, decode tables
 * and buffers. Plain elements of dense support need nothing: they are read where they lie. */
#ifndef WEIGHT_DECODER_H
#define WEIGHT_DECODER_H

#include "decode/gap_decode.h"
#include "decode/class_decode.h"
#include "decode/codebook_decode.h"
#include "decode/rans_decode.h"
#include "decode/weight_kind.h"

/* Apart from the decoder, because its entries are 16 KB that other codes do not need. */
struct rans_coded {
    struct rans_table table;
    struct rans_stream stream;
    uint32_t entries[RANS_SLOTS];
};

struct bitmap_reader {
    uint64_t at;         /* bytes consumed */
    uint64_t word, base; /* bits not yet delivered, element of bit 0 */
};

struct decoder {
    const struct weight *w;
    uint64_t n_values; /* elements stored: nnz, or count when dense */
    uint64_t taken;    /* of them delivered as values or indices */
    uint32_t chunk;    /* so many at a time */
    /* support */
    struct support_lengths *support;
    struct gap_reader *gaps;
    struct bitmap_reader bitmap;
    uint64_t pos_taken;
    /* indices */
    struct huff_lengths *index_lengths;
    struct huff_stream indices;
    const uint8_t *block; /* decoded indices not yet delivered */
    uint32_t block_left;
    struct rans_table *rans_table;
    uint32_t *rans_entries;
    struct rans_stream *rans; /* by pointer: a piece goes on with a copy of its own */
    struct adaptive *floats;
    struct classes *classes; /* positions and indices at once */
    /* codebooks */
    struct codebook_reader codebooks;
    uint64_t group_end; /* element where the next group begins */
    float *codebook;    /* [n_centroids] */
    /* buffers of a chunk; NULL where this weight has no use for one */
    uint32_t *pos;
    uint8_t *index;
    float *value;
    uint32_t *gap_entries, *index_entries;
    uint8_t *gap_symbols, *index_symbols;
};

/* *out: a decoder inside scratch (pith_weight_scratch_bytes, aligned here), at the first value. */
enum pith_status pith_decoder_open(const struct weight *w, void *scratch, bool want_support,
                                   struct decoder **out);
/* The next n element numbers; with the last ones the end of the support is checked. */
enum pith_status pith_decoder_positions(struct decoder *d, uint32_t *pos, uint32_t n);
/* The next n <= d->chunk indices; n is a multiple of 8 unless they are the last. */
enum pith_status pith_decoder_indices(struct decoder *d, uint8_t *dst, uint32_t n);
/* The next n <= d->chunk values, of elements pos[0..n) or (NULL) of the elements from `first` on.
 * index: room for n. */
enum pith_status pith_decoder_values(struct decoder *d, const uint32_t *pos, uint64_t first,
                                     uint8_t *index, float *value, uint32_t n);
/* The first call, once: the look-up table of Huffman-coded indices. */
void pith_decoder_build_table(struct decoder *d);
/* The next group's centroids, in d->codebook. */
enum pith_status pith_decoder_codebook(struct decoder *d);
/* May pith_decoder_bytes be called? */
bool pith_decoder_maps(const struct decoder *d);
/* Of a decoder at its beginning: all elements, dst[count], each byte[index] of byte[256]. */
enum pith_status pith_decoder_bytes(struct decoder *d, const uint8_t *byte, uint8_t *dst);
/* Groups without a stored element are checked all the same, so that a change in an unused codebook
 * does not stay unnoticed. */
enum pith_status pith_decoder_finish(struct decoder *d);

/* What lies there whole. */
static inline bool is_plain_dense(const struct weight *w)
{
    return !is_sparse(w) && !has_codebook(w) && !learns(w) && !has_planes(w);
}

#endif
