/* SPDX-License-Identifier: MIT */
/* rans_encode.h - rANS streams of byte symbols (docs/format-streams.md, section 10) and their
 * tables. Conventions as in pith_huffman.h.
 *
 *     pith_histogram_add(hist, index, n);
 *     pith_rans_build(hist, &code);
 *     bytes = pith_rans_bound(n);
 *     pith_rans_encode(&code, index, n, out, bytes, &bytes);        // code.table: code.table_bytes
 */
#ifndef PITH_RANS_ENCODE_H
#define PITH_RANS_ENCODE_H

#include "pith_huffman.h"
#include "decode/rans_decode.h"

#define PITH_RANS_TABLE_MAX 255u

struct pith_rans_code {
    struct rans_table frequencies;
    size_t table_bytes; /* 0: of no symbols */
    uint8_t table[PITH_RANS_TABLE_MAX];
};

/* The table for hist that is smallest with what it codes: a curve, or a level for each symbol, on
 * four scales, with rare symbols apart or not. The same everywhere. */
void pith_rans_build(const uint64_t hist[PITH_SYMBOLS], struct pith_rans_code *code);

/* The same without symbols apart. */
void pith_rans_build_whole(const uint64_t hist[PITH_SYMBOLS], struct pith_rans_code *code);

/* log2(v) in units of 1/65536, rounded down, in integers; v > 0. */
#define PITH_RANS_LOG_ONE 65536u
int32_t pith_rans_log2(uint64_t v);

bool pith_rans_has_code(const struct pith_rans_code *code, uint32_t symbol);

/* Bits of all symbols of hist under code, escapes included; UINT64_MAX when one has no code. */
uint64_t pith_rans_cost_bits(const struct pith_rans_code *code, const uint64_t hist[PITH_SYMBOLS]);

/* About the bytes that a stream of these takes. */
uint64_t pith_rans_stream_bytes(const struct pith_rans_code *code,
                                const uint64_t hist[PITH_SYMBOLS], uint64_t n);

/* Room that any stream of n symbols needs. */
size_t pith_rans_bound(uint64_t n);

/* Blocks of 2^16 symbols, or more where what a block costs would be more than 1/400 of it.
 * PITH_ERR_ARGUMENT when a symbol has no code; PITH_ERR_SPACE; PITH_ERR_MEMORY. */
enum pith_status pith_rans_encode(const struct pith_rans_code *code, const uint8_t *symbols,
                                  size_t n, uint8_t *dst, size_t cap, size_t *bytes);

/* As pith_huff_share. */
enum pith_status pith_rans_share(uint32_t n, const uint64_t (*hist)[PITH_SYMBOLS],
                                 uint32_t reference_bits, uint32_t *table, uint32_t *n_tables);

#endif
