/* SPDX-License-Identifier: MIT */
/* huff_chains.c - reference of kernel_decode.h. The place of what is written does not depend
 * on what was read, so a round of a chain is short enough that several are in flight, which hides
 * the seven cycles of a look-up and the twelve of a refill. */
#include "kernels/ref/huff_chains.h"

/* The bytes of a round; returns what is left of the bits. */
static inline uint64_t look_up(uint64_t bits, const uint16_t *entries, uint64_t mask, uint8_t *out)
{
#pragma GCC unroll 4
    for (uint32_t k = 0; k < HUFF_STEPS; k++) {
        uint32_t e = entries[bits & mask];
        bits >>= e & 63;
        out[k] = (uint8_t)(e >> 8);
    }
    return bits;
}

void pith_huff_chains(struct huff_chain *chain, uint32_t n, const uint16_t *entries, uint32_t width,
                      size_t rounds)
{
    const uint64_t mask = (UINT64_C(1) << width) - 1;
    uint64_t bits[HUFF_CHAINS];
    for (uint32_t i = 0; i < n; i++)
        bits[i] = huff_bits(chain[i].in, chain[i].consumed);
    for (; rounds > 0; rounds--)
        for (uint32_t i = 0; i < n; i++) {
            uint64_t left = look_up(bits[i], entries, mask, chain[i].out);
            uint32_t consumed = (uint32_t)__builtin_clzll(left);
            chain[i].in += consumed >> 3;
            chain[i].out += HUFF_STEPS;
            bits[i] = huff_bits(chain[i].in, consumed & 7);
        }
    for (uint32_t i = 0; i < n; i++)
        chain[i].consumed = (uint32_t)__builtin_clzll(bits[i]);
}
