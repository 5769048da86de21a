/* SPDX-License-Identifier: MIT */
/* huff_write.h - what support tables and support streams share with plain ones. */
#ifndef HUFF_WRITE_H
#define HUFF_WRITE_H

#include "bit_writer.h"
#include "pith_huffman.h"

#define HUFF_WRITE_MAX_ZIGZAG 24u /* bits of the longest length difference, rounded up */

static inline bool huff_has_code(const struct pith_huff_code *code, uint32_t s)
{
    return code->n_present == 1 ? s + 1 == code->n_symbols : code->len[s] != 0;
}

/* The bits of a Huffman table, without padding. n_present >= 1. */
void pith_huff_write_code(struct bit_writer *w, const struct pith_huff_code *code);

/* Symbols with extra bits: symbol s is followed, behind the codes of its sub-stream, by the low
 * extra_bits[s] bits of extra[i]. extra NULL: none. */
struct symbol_source {
    const uint8_t *symbols;
    size_t n;
    const uint32_t *extra;
    const uint8_t *extra_bits; /* [256], <= 31 */
};

/* As pith_huff_encode. */
enum pith_status pith_huff_encode_source(const struct pith_huff_code *code,
                                         const struct symbol_source *source, uint8_t *dst,
                                         size_t cap, size_t *bytes);

#endif
