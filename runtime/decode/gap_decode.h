/* SPDX-License-Identifier: MIT */
/* gap_decode.h - coded supports: from symbols to ascending element numbers
 * (docs/format-streams.md section 5). */
#ifndef GAP_DECODE_H
#define GAP_DECODE_H

#include "decode/huff_decode.h"

struct support_lengths {
    bool patterns;
    uint8_t direct_bits, mantissa_bits; /* relative index */
    uint8_t pattern_bits;               /* patterns: 4 or 8 */
    struct huff_lengths huff;
};

/* bytes: the whole support table. *out is untouched on failure. */
enum pith_status pith_support_read_table(const uint8_t *bytes, size_t n_bytes,
                                         struct support_lengths *out);

/* Symbols in the stream of a support of this kind. */
static inline uint64_t support_symbols(const struct support_lengths *t, uint64_t count,
                                       uint64_t nnz)
{
    uint32_t w = t->pattern_bits;
    return t->patterns ? count / w + (count % w != 0) : nnz;
}

struct gap_reader {
    const struct support_lengths *table;
    uint32_t far_base[HUFF_SYMBOLS]; /* smallest gap of each symbol */
    uint8_t far_bits[HUFF_SYMBOLS];  /* its extra bits */
    struct huff_stream stream;
    struct huff_group group;
    uint8_t *symbols;     /* of the group; room as for pith_huff_stream_group */
    uint32_t sub, at;     /* sub-stream of the group, next symbol of the group */
    uint32_t sub_end;     /* symbols of the group that end this sub-stream */
    uint64_t word;        /* patterns: nonzeros not yet delivered */
    uint64_t word_at;     /* element of bit 0 of `word` */
    uint64_t pos;         /* first element not yet decided */
    uint64_t count, left; /* left: nonzeros to come */
};

struct coded_support {
    const struct support_lengths *table;
    const uint32_t *entries; /* of the table's huff lengths, as table_bits */
    uint32_t table_bits;
    struct stream stream;
    uint64_t count, nnz; /* count < 2^32, 0 < nnz <= count */
};

/* symbols: min(HUFF_GROUP_SYMBOLS, number of symbols) bytes. What c points to is borrowed, c is
 * not. */
enum pith_status pith_gap_open(struct gap_reader *r, const struct coded_support *c,
                               uint8_t *symbols);

/* The next n nonzero element numbers, n <= r->left. PITH_ERR_CORRUPT. With the last one the end of
 * the stream is checked. */
enum pith_status pith_gap_next(struct gap_reader *r, uint32_t *pos, size_t n);

#endif
