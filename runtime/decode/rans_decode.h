/* SPDX-License-Identifier: MIT */
/* rans_decode.h - rANS streams of byte symbols (docs/format-streams.md, section 10).
 *
 * A stream is a run of blocks, each with 32 states of its own: what a block holds can be decoded
 * without those before it, and from any multiple of 32 symbols on what follows needs the states
 * alone. So symbols are delivered in pieces of any such length, into memory of the caller. */
#ifndef PITH_RANS_DECODE_H
#define PITH_RANS_DECODE_H

#include "decode/rans_table.h"
#include "decode/weight.h"

#define RANS_MIN_BLOCK 12u /* bits of a block's symbols */
#define RANS_MAX_BLOCK 24u

/* Borrows everything. */
struct rans_stream {
    const struct rans_table *table;
    const uint32_t *entries; /* NULL: pith_rans_pull alone */
    rans_rows_fn *rows;
    uint32_t block_symbols;
    uint64_t left;                    /* symbols to come */
    uint32_t block_left;              /* of the block at hand */
    struct reader sizes;              /* of the blocks to come */
    const uint8_t *next;              /* block to come */
    const uint8_t *words, *words_end; /* of the block at hand, to come */
    struct bit_reader escapes;
    uint32_t lane; /* of the next symbol pulled */
    uint32_t state[RANS_LANES];
};

/* Of n symbols. entries: of the table unless it is single. features: PITH_CPU_ bits of the kernels
 * that may be used. Reads and checks the directory. PITH_ERR_CORRUPT. */
enum pith_status pith_rans_open(struct rans_stream *s, struct stream stream, uint64_t n,
                                const struct rans_table *table, const uint32_t *entries,
                                uint32_t features);

/* The next n symbols, n <= s->left: a multiple of RANS_LANES, or all there are. With the last one
 * of a block its end is checked. PITH_ERR_CORRUPT. */
enum pith_status pith_rans_next(struct rans_stream *s, uint8_t *dst, uint64_t n);

/* Leaves out whole blocks; only between blocks, and no more than there are. */
void pith_rans_skip(struct rans_stream *s, uint64_t n_blocks);

/* The next symbol, without look-up table. s is fed by this call alone. false: the stream is at its
 * end, or broken. */
bool pith_rans_pull(struct rans_stream *s, uint8_t *symbol);

#endif
