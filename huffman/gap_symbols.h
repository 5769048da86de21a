/* SPDX-License-Identifier: MIT */
/* gap_symbols.h - how gaps and bitmap patterns become symbols (docs/format-streams.md section 5).
 */
#ifndef GAP_SYMBOLS_H
#define GAP_SYMBOLS_H

#include "core/bytes.h"
#include "pith_huffman.h"

/* May be above 255: then this pair of parameters cannot write the gap. */
uint32_t pith_gap_symbol(uint32_t gap, uint32_t direct_bits, uint32_t mantissa_bits);
uint32_t pith_gap_extra_bits(uint32_t symbol, uint32_t direct_bits, uint32_t mantissa_bits);

/* The symbols of a profile under a code's kind and parameters (its huff is not looked at). */
struct support_histogram {
    uint64_t n; /* symbols */
    uint64_t extra_bits;
    uint64_t hist[PITH_SYMBOLS];
};
/* false: some gap has no symbol. */
bool pith_support_histogram(const struct pith_support_profile *p,
                            const struct pith_support_code *code, struct support_histogram *h);

/* mask[0..n), n <= 8, as bits. */
static inline uint32_t mask_pattern(const uint8_t *mask, uint32_t n)
{
    uint32_t pattern = 0;
    if (n == 8) /* factors 2^(56-7i): byte i (0 or 1) lands in bit 56+i, nothing else does */
        return (uint32_t)(load_le64(mask) * UINT64_C(0x0102040810204080) >> 56);
    for (uint32_t i = 0; i < n; i++)
        pattern |= (uint32_t)mask[i] << i;
    return pattern;
}

#endif
