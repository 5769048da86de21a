/* SPDX-License-Identifier: MIT */
/* huff_table.h - canonical Huffman tables: reading them from a file, and the look-up table
 * that decodes them (docs/format-streams.md section 2). */
#ifndef PITH_HUFF_TABLE_H
#define PITH_HUFF_TABLE_H

#include "decode/bit_reader.h"
#include "pith_types.h"

#define HUFF_MAX_LEN 12u
#define HUFF_SYMBOLS 256u

/* len[s] 0: s does not occur. n_present >= 1; n_present 1: the only symbol is n_symbols - 1, its
 * code has no bits and all len are 0. */
struct huff_lengths {
    uint16_t n_symbols; /* largest symbol present + 1 */
    uint16_t n_present;
    uint8_t max_len;
    uint8_t len[HUFF_SYMBOLS];
};

/* Reads a table and checks that it is a complete prefix code. *out is unspecified on failure. */
enum pith_status pith_huff_read_lengths(struct bit_reader *r, struct huff_lengths *out);

/* The decode table has 2^bits entries of 32 bits, indexed by the next `bits` bits of the stream.
 * An entry holds up to three symbols whose codes lie wholly in these bits:
 *
 *     31 30 | 29 28 | 27..24               | 23..16 | 15..8 | 7..0
 *     count | 0     | bits of these codes  | third  | second | first symbol
 *
 * so that one 4-byte store writes them all and entry >> 24 is the shift. A decoder that wants one
 * symbol takes the lowest byte and its length from the lengths. */
#define HUFF_ENTRY_COUNT(e) ((e) >> 30)
#define HUFF_ENTRY_BITS(e) ((e) >> 24 & 15u)

/* Bits of the index for a stream of n symbols: enough for the longest code, and more where the
 * stream is long enough that several symbols a look-up pay for the larger table. */
uint32_t pith_huff_table_bits(const struct huff_lengths *lengths, uint64_t n);

/* entries: [2^bits], bits by pith_huff_table_bits for the same lengths; lengths with
 * n_present >= 2. */
void pith_huff_build_table(const struct huff_lengths *lengths, uint32_t bits, uint32_t *entries);

/* The decode table of pith_huff_stream_bytes: entries [2^max_len], indexed by the next max_len bits
 * of the stream, each byte[symbol] << 8 | bits of its code. n_present >= 2. */
void pith_huff_build_bytes(const struct huff_lengths *lengths, const uint8_t *byte,
                           uint16_t *entries);

#endif
