/* SPDX-License-Identifier: MIT */
/* pith_kernel_decode.h - kernels of the entropy decoders. */
#ifndef PITH_KERNEL_DECODE_H
#define PITH_KERNEL_DECODE_H

#include <stddef.h>
#include <stdint.h>
#include "pith_kernel_context.h"

#include "pith_kernel_list.h"

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

struct decode_kernels {
    rans_rows_fn *rans_rows;
    context_indices_fn *context_indices;
};

void pith_decode_kernels_fill(struct decode_kernels *k, uint32_t features);

/* The lists, one for each code: pith_kernel_list.h. */
#if defined(__x86_64__)
#define RANS_KERNELS_OWN(KERNEL)                                                                   \
    KERNEL(rans_rows, rans_rows_fn, pith_rans_rows_avx2, PITH_CPU_AVX2)                            \
    KERNEL(rans_rows, rans_rows_fn, pith_rans_rows_avx512, PITH_CPU_AVX512)
#define CONTEXT_KERNELS_OWN(KERNEL)                                                                \
    KERNEL(context_indices, context_indices_fn, pith_context_indices_avx2, PITH_CPU_AVX2)
#elif defined(__aarch64__)
#define RANS_KERNELS_OWN(KERNEL) KERNEL(rans_rows, rans_rows_fn, pith_rans_rows_neon, PITH_CPU_NEON)
#define CONTEXT_KERNELS_OWN(KERNEL)                                                                \
    KERNEL(context_indices, context_indices_fn, pith_context_indices_neon, PITH_CPU_NEON)
#else
#define RANS_KERNELS_OWN(KERNEL)
#define CONTEXT_KERNELS_OWN(KERNEL)
#endif
#define RANS_KERNELS(KERNEL)                                                                       \
    KERNEL(rans_rows, rans_rows_fn, pith_rans_rows, 0)                                             \
    RANS_KERNELS_OWN(KERNEL)
#define CONTEXT_KERNELS(KERNEL)                                                                    \
    KERNEL(context_indices, context_indices_fn, pith_context_indices, 0)                           \
    CONTEXT_KERNELS_OWN(KERNEL)
#define DECODE_KERNELS(KERNEL) RANS_KERNELS(KERNEL) CONTEXT_KERNELS(KERNEL)

DECODE_KERNELS(KERNEL_DECLARE)

#endif
