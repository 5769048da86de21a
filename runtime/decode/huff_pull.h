/* SPDX-License-Identifier: MIT */
/* huff_pull.h - Huffman-coded symbols one at a time, in half a KB of memory: for machines without
 * room for a decode table and a buffer of symbols (huff_decode.h is the fast way). */
#ifndef HUFF_PULL_H
#define HUFF_PULL_H

#include "decode/huff_decode.h"

struct huff_pull {
    struct huff_stream stream;
    struct bit_reader bits; /* of the sub-stream at hand */
    uint32_t left;          /* symbols of it to come */
    bool extra;             /* extra bits follow the codes of each sub-stream */
    bool single;            /* one symbol alone, symbol[0]: its code has no bits */
    uint8_t max_len;
    uint16_t count[HUFF_MAX_LEN + 1]; /* codes of each length */
    uint8_t symbol[];                 /* those present, in canonical order */
};

/* Memory of a pull, a multiple of 8. */
static inline size_t huff_pull_bytes(const struct huff_lengths *lengths)
{
    return (sizeof(struct huff_pull) + lengths->n_present + 7u) & ~(size_t)7;
}

/* A stream of n symbols. p: huff_pull_bytes. lengths is not kept; bytes are borrowed. extra: what
 * follows the codes of a sub-stream is not looked at. PITH_ERR_CORRUPT. */
enum pith_status pith_huff_pull_open(struct huff_pull *p, const struct huff_lengths *lengths,
                                     struct stream stream, uint64_t n, bool extra);

/* The next symbol. false: the stream is at its end, or broken. */
bool pith_huff_pull(struct huff_pull *p, uint8_t *symbol);

/* Begins the next sub-stream: its bits and the number of its symbols. pith_huff_pull does so by
 * itself. false: there is none, or the one before did not end as it must. */
bool pith_huff_pull_sub(struct huff_pull *p);

/* A table for pith_huff_pull_bytes, of two levels. Entry: bits of a code << 8 | its symbol's byte;
 * by the first 9 bits of longer codes: number of a table of their further bits, < 128. At most
 * 1,536 entries, as each further table has two codes or more. p: open, of several symbols. */
#define HUFF_PULL_BITS 9u
uint32_t pith_huff_pull_table_entries(const struct huff_lengths *lengths);
void pith_huff_pull_table(const struct huff_pull *p, const int8_t *byte, uint16_t *entries);

/* The bytes of at most n symbols, as far as they are in the sub-stream at hand. Returns how many.
 */
uint32_t pith_huff_pull_bytes(struct huff_pull *p, const uint16_t *entries, int8_t *dst,
                              uint32_t n);

/* All symbols were taken and the last sub-stream ended as it must (extra: as the caller knows). */
bool pith_huff_pull_ended(const struct huff_pull *p);

#endif
