/* SPDX-License-Identifier: MIT */
/* rans_rows_avx2.c - kernel_decode.h with eight lanes in a register. The states of a register
 * that are low take the next words in order: a table says, for each set of lanes, which of the
 * eight next words goes to which lane. */
#include <immintrin.h>
#include "core/bytes.h"
#include "kernels/kernel_decode.h"

#define WIDTH 8u
#define REGISTERS (RANS_LANES / WIDTH)

/* Nibble i of an entry: how many of the lanes below i are in the set. AVX2 cannot expand words
 * to the lanes of a set, so the permutation for each of the 256 sets is tabulated, a nibble a
 * lane: 1 KB. */
#define LANE(set, i) ((set) >> (i)&1u)
#define UP_TO_1(set) (LANE(set, 0) + LANE(set, 1))
#define UP_TO_2(set) (UP_TO_1(set) + LANE(set, 2))
#define UP_TO_3(set) (UP_TO_2(set) + LANE(set, 3))
#define UP_TO_4(set) (UP_TO_3(set) + LANE(set, 4))
#define UP_TO_5(set) (UP_TO_4(set) + LANE(set, 5))
#define UP_TO_6(set) (UP_TO_5(set) + LANE(set, 6))
#define ONE(set)                                                                                   \
    (LANE(set, 0) << 4 | UP_TO_1(set) << 8 | UP_TO_2(set) << 12 | UP_TO_3(set) << 16 |             \
     UP_TO_4(set) << 20 | UP_TO_5(set) << 24 | UP_TO_6(set) << 28)
#define FOUR(set) ONE(set), ONE((set) + 1), ONE((set) + 2), ONE((set) + 3)
#define SIXTEEN(set) FOUR(set), FOUR((set) + 4), FOUR((set) + 8), FOUR((set) + 12)
#define ROW(set) SIXTEEN(set), SIXTEEN((set) + 16), SIXTEEN((set) + 32), SIXTEEN((set) + 48)
static const uint32_t word_of_lane[256] = {ROW(0u), ROW(64u), ROW(128u), ROW(192u)};

/* Low states take a word each; lanes in ascending order take words in order, as the encoder put
 * them. */
static inline __m256i take_words(__m256i x, const uint8_t **in)
{
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    __m256i low = _mm256_cmpeq_epi32(_mm256_srli_epi32(x, 16), _mm256_setzero_si256());
    uint32_t set = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(low));
    __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)*in));
    /* a permutation looks at three bits of an index alone */
    __m256i lanes = _mm256_srlv_epi32(_mm256_set1_epi32((int)word_of_lane[set]), shifts);
    __m256i with =
        _mm256_or_si256(_mm256_slli_epi32(x, 16), _mm256_permutevar8x32_epi32(words, lanes));
    *in += 2 * (uint32_t)__builtin_popcount(set);
    return _mm256_blendv_epi8(x, with, low);
}

/* The low bytes of 32 entries, in order. Packing interleaves 128-bit halves, hence the
 * permutation. */
static inline void put_symbols(uint8_t *out, const __m256i *e)
{
    const __m256i byte = _mm256_set1_epi32(255), order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i a = _mm256_packus_epi32(_mm256_and_si256(e[0], byte), _mm256_and_si256(e[1], byte));
    __m256i b = _mm256_packus_epi32(_mm256_and_si256(e[2], byte), _mm256_and_si256(e[3], byte));
    __m256i symbols = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    _mm256_storeu_si256((__m256i *)(void *)out, symbols);
}

#include "kernels/x86/rans_rows_impl.h"

size_t pith_rans_rows_avx2(uint32_t *state, const uint32_t *entries, const uint8_t **in,
                           const uint8_t *in_end, uint8_t *out, size_t rows)
{
    return rans_rows(state, entries, in, in_end, out, rows);
}
