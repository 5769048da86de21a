/* SPDX-License-Identifier: MIT */
/* huff_chains_avx2.c - kernel_decode.h with BMI2's shifts and bit fields, which every CPU with
 * AVX2 has.
 *
 * A symbol takes four instructions: an index, its entry, a shift, and a store of the entry as it
 * is. Chains take turns by steps, for a scheduler holds two chains' instructions and not eight. The
 * entries of a block of rounds are gathered on the stack, at places that do not depend on a pointer
 * of a chain: a row for each step of each chain, so that a compiler does not join stores by shifts.
 * Their bytes are then cut out 64 at once. */
#include <immintrin.h>
#include "kernels/ref/huff_chains.h"

#define BLOCK 16u /* rounds, a register of entries */

typedef uint16_t block_entries[HUFF_STEPS][HUFF_CHAINS][BLOCK];

static inline __m256i entries_at(const uint16_t *row)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)row);
}

/* The bytes of two steps beside each other. */
static inline __m256i pairs(const uint16_t *first, const uint16_t *second)
{
    __m256i high = _mm256_set1_epi16((short)0xff00);
    return _mm256_or_si256(_mm256_srli_epi16(entries_at(first), 8),
                           _mm256_and_si256(entries_at(second), high));
}

/* The bytes of chain i, of all rounds of a block. */
static inline void put_bytes(uint8_t *out, const block_entries e, uint32_t i)
{
    __m256i a = pairs(e[0][i], e[1][i]), b = pairs(e[2][i], e[3][i]);
    __m256i low = _mm256_unpacklo_epi16(a, b), high = _mm256_unpackhi_epi16(a, b);
    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(out + 32), _mm256_permute2x128_si256(low, high, 0x31));
}

/* Of n chains, 1 <= rounds <= BLOCK. Where rounds are fewer, what is beyond them in e is from
 * before or 0. */
static void put_block(struct huff_chain *chain, uint32_t n, const block_entries e, uint32_t rounds)
{
    uint8_t some[BLOCK * HUFF_STEPS];
    for (uint32_t i = 0; i < n; i++) {
        put_bytes(rounds == BLOCK ? chain[i].out : some, e, i);
        if (rounds < BLOCK)
            memcpy(chain[i].out, some, (size_t)rounds * HUFF_STEPS);
        chain[i].out += rounds * HUFF_STEPS;
    }
}

/* n: a constant. */
static inline __attribute__((always_inline)) void rounds_of(struct huff_chain *chain, uint32_t n,
                                                            const uint16_t *entries, uint32_t width,
                                                            size_t rounds)
{
    uint64_t bits[HUFF_CHAINS];
    const uint8_t *in[HUFF_CHAINS];
    block_entries e = {{{0}}};
    for (uint32_t i = 0; i < n; i++) {
        in[i] = chain[i].in;
        bits[i] = huff_bits(in[i], chain[i].consumed);
    }
    for (uint32_t some; rounds > 0; rounds -= some) {
        some = rounds < BLOCK ? (uint32_t)rounds : BLOCK;
        for (uint32_t r = 0; r < some; r++) {
            for (uint32_t k = 0; k < HUFF_STEPS; k++)
#pragma GCC unroll 8
                for (uint32_t i = 0; i < n; i++) {
                    uint16_t entry = entries[_bzhi_u64(bits[i], width)];
                    bits[i] >>= entry & 63;
                    e[k][i][r] = entry;
                }
#pragma GCC unroll 8
            for (uint32_t i = 0; i < n; i++) {
                uint64_t consumed = _lzcnt_u64(bits[i]);
                in[i] += consumed >> 3;
                bits[i] = huff_bits(in[i], consumed & 7);
            }
        }
        put_block(chain, n, e, some);
    }
    for (uint32_t i = 0; i < n; i++) {
        chain[i].in = in[i];
        chain[i].consumed = (uint32_t)_lzcnt_u64(bits[i]);
    }
}

void pith_huff_chains_avx2(struct huff_chain *chain, uint32_t n, const uint16_t *entries,
                           uint32_t width, size_t rounds)
{
    if (n == HUFF_CHAINS)
        rounds_of(chain, HUFF_CHAINS, entries, width, rounds);
    else
        rounds_of(chain, HUFF_CHAINS / 2, entries, width, rounds);
}
