/* SPDX-License-Identifier: MIT */
/* huff_decode.h - coded streams of byte symbols (docs/format-streams.md section 3). */
#ifndef PITH_HUFF_DECODE_H
#define PITH_HUFF_DECODE_H

#include "decode/huff_table.h"
#include "decode/weight.h"

#define HUFF_LANES 4u
#define HUFF_SPLIT_MIN 4096u      /* shorter streams are one sub-stream */
#define HUFF_GROUP_SYMBOLS 32768u /* four sub-streams hold at most this many symbols */

/* Number of sub-streams of a stream of n symbols, and where sub-stream j begins. */
uint64_t pith_huff_sub_streams(uint64_t n);
static inline uint64_t huff_sub_begin(uint64_t n, uint64_t n_subs, uint64_t j)
{
    /* floor(j * n / n_subs) without the product: n = q * n_subs + r */
    return n / n_subs * j + n % n_subs * j / n_subs;
}

/* A stream being decoded, group by group of up to four sub-streams. Borrows everything. */
struct huff_stream {
    const struct huff_lengths *lengths;
    const uint32_t *entries; /* NULL when lengths->n_present is 1 */
    uint32_t table_bits;
    uint64_t n, n_subs, next; /* next: sub-stream to decode */
    uint32_t base, width;
    struct bit_reader sizes;
    const uint8_t *bytes; /* of sub-stream `next` */
    size_t n_bytes;       /* from there to the end */
};

/* Reads and checks the directory. PITH_ERR_CORRUPT. */
enum pith_status pith_huff_stream_open(struct huff_stream *s, struct stream stream, uint64_t n,
                                       const struct huff_lengths *lengths, const uint32_t *entries,
                                       uint32_t table_bits);

/* What pith_huff_stream_group decoded: symbols of sub-stream i are counts[i] bytes; rest[i] stands
 * behind its last code, at its extra bits or padding. */
struct huff_group {
    uint32_t n_subs;
    uint32_t n_symbols; /* sum of counts */
    uint32_t counts[HUFF_LANES];
    struct bit_reader rest[HUFF_LANES];
};

/* Cuts the next sub-streams out of s without decoding them: rest[i] is all of sub-stream i. n_subs
 * 0 when the stream is at its end. */
void pith_huff_stream_cut(struct huff_stream *s, struct huff_group *group);

/* Decodes the next group into dst: room for HUFF_GROUP_SYMBOLS or for all that are left, whichever
 * is less. n_symbols 0 when the stream is at its end. PITH_ERR_CORRUPT. */
enum pith_status pith_huff_stream_group(struct huff_stream *s, uint8_t *dst,
                                        struct huff_group *group);

/* The same for streams without extra bits: the padding is checked too. *n_symbols: decoded. */
enum pith_status pith_huff_stream_symbols(struct huff_stream *s, uint8_t *dst, uint32_t *n_symbols);

/* All of a stream at its beginning, with lengths->n_present >= 2: dst [s->n], of each symbol its
 * byte in entries (pith_huff_build_bytes of the same lengths). Faster than the calls above from
 * some 4 bits a symbol on, where a look-up seldom gives two. features: PITH_CPU_ bits of the
 * kernels to use. PITH_ERR_CORRUPT. */
enum pith_status pith_huff_stream_bytes(struct huff_stream *s, const uint16_t *entries,
                                        uint8_t *dst, uint32_t features);

#endif
