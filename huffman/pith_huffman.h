/* SPDX-License-Identifier: MIT */
/* pith_huffman.h - write the streams of docs/format-streams.md: Huffman tables and coded symbols,
 * supports (relative index), codebooks, plain indices, bitmaps; and compute what each would cost.
 *
 *     uint64_t hist[256] = {0};
 *     struct pith_huff_code code;
 *     pith_histogram_add(hist, index, n);
 *     pith_huff_build(hist, &code);                          // optimal lengths, same everywhere
 *     table_bytes = pith_huff_table_bytes(&code);
 *     pith_huff_table_write(&code, table);
 *     pith_huff_encode(&code, index, n, out, pith_huff_bound(&code, hist, n), &out_bytes);
 *
 * The reader's side is runtime/decode/weight.h: a table here becomes huff_table there, a
 * stream a stream.
 *
 * Every output goes to memory of the caller; each kind of output has a function for the exact
 * bytes or a bound. All is integer arithmetic: the same input gives the same bytes on every
 * platform. No call keeps state; calls may run at once. Unless said otherwise arguments must be
 * right (they come from the toolchain, not from files). PITH_ERR_SPACE: cap was too small;
 * PITH_ERR_MEMORY: no memory for tables; outputs are then unspecified. */
#ifndef PITH_HUFFMAN_H
#define PITH_HUFFMAN_H

#include <stdbool.h>
#include "pith_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_SYMBOLS 256u

/* ---- Huffman: any stream of byte symbols ------------------------------------------------- */

/* hist[s] += times that s occurs in symbols[0..n). */
void pith_histogram_add(uint64_t hist[PITH_SYMBOLS], const uint8_t *symbols, size_t n);

/* A canonical code. len[s] 0: s has no code. A code of one symbol has no bits: n_present 1 and
 * all len 0. */
struct pith_huff_code {
    uint32_t n_symbols; /* largest symbol present + 1; 0: empty */
    uint32_t n_present;
    uint8_t len[PITH_SYMBOLS];   /* 1..12 */
    uint16_t bits[PITH_SYMBOLS]; /* the code, first bit lowest */
};

/* Optimal lengths of at most max_len (8..12) bits: package-merge, ties by symbol. hist with sum 0
 * gives the empty code. PITH_ERR_MEMORY. */
enum pith_status pith_huff_build_limited(const uint64_t hist[PITH_SYMBOLS], uint32_t max_len,
                                         struct pith_huff_code *code);
/* The same with the limit that decodes fastest unless a longer one saves 0.1 %. */
enum pith_status pith_huff_build(const uint64_t hist[PITH_SYMBOLS], struct pith_huff_code *code);

/* Bits of all symbols of hist under code; UINT64_MAX when one has no code. Add the stream's own
 * fields (at most pith_huff_stream_overhead bytes). */
uint64_t pith_huff_cost_bits(const struct pith_huff_code *code, const uint64_t hist[PITH_SYMBOLS]);
/* Upper bound of the bytes that a stream of n symbols takes beyond its code bits. */
size_t pith_huff_stream_overhead(uint64_t n);

/* Exact bytes of the serialised table; 0 for the empty code. At most PITH_HUFF_TABLE_MAX. */
#define PITH_HUFF_TABLE_MAX 192u
size_t pith_huff_table_bytes(const struct pith_huff_code *code);
/* dst: pith_huff_table_bytes(code). */
void pith_huff_table_write(const struct pith_huff_code *code, uint8_t *dst);

/* Room that pith_huff_encode needs for symbols with this histogram. SIZE_MAX when a symbol has no
 * code. */
size_t pith_huff_bound(const struct pith_huff_code *code, const uint64_t hist[PITH_SYMBOLS],
                       uint64_t n);
/* PITH_ERR_ARGUMENT when a symbol has no code; PITH_ERR_SPACE. */
enum pith_status pith_huff_encode(const struct pith_huff_code *code, const uint8_t *symbols,
                                  size_t n, uint8_t *dst, size_t cap, size_t *bytes);

/* Which of n histograms share a table. table[i] < *n_tables is the table of histogram i; tables
 * are numbered in order of first use and the table of a group is
 * pith_huff_build(sum of its histograms). Histograms with sum 0 get UINT32_MAX.
 * reference_bits: what the container spends to name a table again (new tables: their own bytes).
 * Greedy: never larger than one table each. PITH_ERR_MEMORY. */
enum pith_status pith_huff_share(uint32_t n, const uint64_t (*hist)[PITH_SYMBOLS],
                                 uint32_t reference_bits, uint32_t *table, uint32_t *n_tables);

/* ---- support: where a mask is nonzero ------------------------------------------------------ */

/* Counts that decide a support code; profiles of several masks may be added up (they are sums of
 * counters), so that masks can share a table. About 7 KB. */
struct pith_support_profile {
    uint64_t count, nnz;     /* elements, nonzeros */
    uint64_t gap[256];       /* gaps 0..255, each for itself */
    uint64_t far_gap[24][8]; /* gap in [2^(8+i), 2^(9+i)), eighths of that range */
    uint64_t pattern8[256];  /* bitmap bytes */
    uint64_t pattern4[16];   /* bitmap nibbles */
};

/* mask: [count] 0 or 1; count < 2^32. Adds to *profile (zero it first). */
void pith_support_profile_add(struct pith_support_profile *profile, const uint8_t *mask,
                              uint64_t count);
void pith_support_profile_sum(struct pith_support_profile *sum,
                              const struct pith_support_profile *more);

enum pith_support_kind { PITH_SUPPORT_GAPS = 0, PITH_SUPPORT_PATTERNS = 1 };

struct pith_support_code {
    enum pith_support_kind kind;
    uint32_t direct_bits;   /* GAPS: gaps below 2^direct_bits are symbols of their own; 0..7 */
    uint32_t mantissa_bits; /* GAPS: larger ones: 2^mantissa_bits symbols an octave; 0..3 */
    uint32_t pattern_bits;  /* PATTERNS: 4 or 8 elements a symbol */
    struct pith_huff_code huff;
};

/* The smallest support code for the profile by real cost, table included. nnz 0: the empty code,
 * whose table and stream take no bytes. PITH_ERR_MEMORY. */
enum pith_status pith_support_build(const struct pith_support_profile *profile,
                                    struct pith_support_code *code);
/* Bits under code, extra bits included; UINT64_MAX when it cannot write some gap or pattern. */
uint64_t pith_support_cost_bits(const struct pith_support_code *code,
                                const struct pith_support_profile *profile);
size_t pith_support_table_bytes(const struct pith_support_code *code);
void pith_support_table_write(const struct pith_support_code *code, uint8_t *dst);
/* Room that pith_support_encode needs for a mask with this profile; SIZE_MAX as above. */
size_t pith_support_bound(const struct pith_support_code *code,
                          const struct pith_support_profile *profile);
/* PITH_ERR_ARGUMENT when a gap or pattern has no code; PITH_ERR_SPACE; PITH_ERR_MEMORY. */
enum pith_status pith_support_encode(const struct pith_support_code *code, const uint8_t *mask,
                                     uint64_t count, uint8_t *dst, size_t cap, size_t *bytes);
/* As pith_huff_share; the code of a group is pith_support_build(sum of its profiles). Profiles
 * with nnz 0 get UINT32_MAX. */
enum pith_status pith_support_share(uint32_t n, const struct pith_support_profile *profile,
                                    uint32_t reference_bits, uint32_t *table, uint32_t *n_tables);

/* ---- codebooks, plain indices, bitmaps ----------------------------------------------------- */

/* centroid: [n_groups * n_centroids], finite and ascending in each group (equal values allowed;
 * -0 before +0). n_centroids 1..256. */
size_t pith_codebook_bound(uint64_t n_groups, uint32_t n_centroids);
/* PITH_ERR_ARGUMENT when a centroid is not finite or not in order; PITH_ERR_SPACE. */
enum pith_status pith_codebook_encode(const float *centroid, uint64_t n_groups,
                                      uint32_t n_centroids, uint8_t *dst, size_t cap,
                                      size_t *bytes);

/* Smallest index_bits for n_centroids: 1..8. */
uint32_t pith_index_bits(uint32_t n_centroids);
/* ceil(n * index_bits / 8) */
size_t pith_index_pack_bytes(uint64_t n, uint32_t index_bits);
/* dst: that many bytes. Each index < 2^index_bits. */
void pith_index_pack(const uint8_t *index, uint64_t n, uint32_t index_bits, uint8_t *dst);
/* dst: ceil(count / 8) bytes. mask: [count] 0 or 1. */
void pith_bitmap_pack(const uint8_t *mask, uint64_t count, uint8_t *dst);
/* The indices of kept elements: dst[number kept], which is returned. mask NULL: all. */
uint64_t pith_index_gather(const uint8_t *index, const uint8_t *mask, uint64_t count, uint8_t *dst);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
