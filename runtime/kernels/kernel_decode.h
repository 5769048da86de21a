/* SPDX-License-Identifier: MIT */
/* kernel_decode.h - kernels of the entropy decoders. */
#ifndef PITH_KERNEL_DECODE_H
#define PITH_KERNEL_DECODE_H

#include <stddef.h>
#include <stdint.h>
#include "kernels/kernel_list.h"

#define RANS_LANES 32u
#define RANS_BITS 12u      /* frequencies sum to 2^this */
#define RANS_LOW 0x10000u  /* a smaller state takes a word */
#define RANS_ROW_BYTES 64u /* the most that the words of a row take */

/* Rows of RANS_LANES symbols of an rANS stream (docs/format-streams.md, section 10).
 *
 *     state    [RANS_LANES], one for each symbol of a row
 *     entries  [2^RANS_BITS]: frequency in bits 20-31, distance from the symbol's first entry in
 * bits 8-19, symbol in bits 0-7; frequency > distance *in      the next word, u16 little-endian, of
 * any alignment; moved on out      [rows * RANS_LANES]
 *
 * Of each row, lane by lane: the symbol of entry state % 2^RANS_BITS; state = frequency * (state >>
 * RANS_BITS) + distance; a state below RANS_LOW becomes state << 16 | the next word. Ends before a
 * row when fewer than RANS_ROW_BYTES are left up to in_end, and returns the rows that were decoded.
 * Any states and words are safe. Byte-equal at every level. */
typedef size_t rans_rows_fn(uint32_t *state, const uint32_t *entries, const uint8_t **in,
                            const uint8_t *in_end, uint8_t *out, size_t rows);

#define HUFF_CHAINS 8u /* Huffman sub-streams decoded at once: these, or half of them */
#define HUFF_STEPS 4u  /* bytes of each between refills: codes of up to 12 bits, of 56 */

/* Where decoding of a sub-stream stands. */
struct huff_chain {
    const uint8_t *in; /* the byte of the next bit */
    uint8_t *out;
    uint32_t consumed; /* bits of *in, 0..7 */
};

/* Rounds of HUFF_STEPS bytes of each of n sub-streams of a Huffman code (docs/format-streams.md,
 * section 3).
 *
 *     chain    [n], moved on; n: HUFF_CHAINS or half of it. Chains that begin alike write the same
 *     entries  [2^width], indexed by the next width bits of a sub-stream, 1 <= width <= 12: the
 *              byte in bits 8-15, bits of its code in bits 0-7, 1..12
 *
 * A round moves `in` by at most 7 bytes and reads 8 from where it then is. Any data are safe.
 * Byte-equal at every level. */
typedef void huff_chains_fn(struct huff_chain *chain, uint32_t n, const uint16_t *entries,
                            uint32_t width, size_t rounds);

struct decode_kernels {
    huff_chains_fn *huff_chains;
    rans_rows_fn *rans_rows;
};

void pith_decode_kernels_fill(struct decode_kernels *k, uint32_t features);

/* The lists, one for each code: kernel_list.h. */
#if defined(__x86_64__)
#define HUFF_KERNELS_OWN(KERNEL)                                                                   \
    KERNEL(huff_chains, huff_chains_fn, pith_huff_chains_avx2, PITH_CPU_AVX2)
#define RANS_KERNELS_OWN(KERNEL)                                                                   \
    KERNEL(rans_rows, rans_rows_fn, pith_rans_rows_avx2, PITH_CPU_AVX2)                            \
    KERNEL(rans_rows, rans_rows_fn, pith_rans_rows_avx512, PITH_CPU_AVX512)
#elif NEON_BUILT
#define HUFF_KERNELS_OWN(KERNEL)
#define RANS_KERNELS_OWN(KERNEL) KERNEL(rans_rows, rans_rows_fn, pith_rans_rows_neon, PITH_CPU_NEON)
#else
#define HUFF_KERNELS_OWN(KERNEL)
#define RANS_KERNELS_OWN(KERNEL)
#endif
#define HUFF_KERNELS(KERNEL)                                                                       \
    KERNEL(huff_chains, huff_chains_fn, pith_huff_chains, 0)                                       \
    HUFF_KERNELS_OWN(KERNEL)
#define RANS_KERNELS(KERNEL)                                                                       \
    KERNEL(rans_rows, rans_rows_fn, pith_rans_rows, 0)                                             \
    RANS_KERNELS_OWN(KERNEL)
#define DECODE_KERNELS(KERNEL) HUFF_KERNELS(KERNEL) RANS_KERNELS(KERNEL)

DECODE_KERNELS(KERNEL_DECLARE)

#endif
