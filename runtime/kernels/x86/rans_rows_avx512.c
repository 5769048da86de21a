/* SPDX-License-Identifier: MIT */
/* rans_rows_avx512.c - kernel_decode.h with AVX-512's masks and expansion, in registers of 256
 * bits: on Zen 4 two gathers of eight take less than one of sixteen (2.06 against 1.61 G symbols a
 * second). */
#include <immintrin.h>
#include "core/bytes.h"
#include "kernels/kernel_decode.h"

#define WIDTH 8u
#define REGISTERS (RANS_LANES / WIDTH)

/* Expansion is an instruction here. */
static inline __m256i take_words(__m256i x, const uint8_t **in)
{
    __mmask8 low = _mm256_cmplt_epu32_mask(x, _mm256_set1_epi32(RANS_LOW));
    __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)*in));
    *in += 2 * (uint32_t)__builtin_popcount(low);
    return _mm256_mask_or_epi32(x, low, _mm256_slli_epi32(x, 16),
                                _mm256_maskz_expand_epi32(low, words));
}

/* Truncation of each entry to its low byte. */
static inline void put_symbols(uint8_t *out, const __m256i *e)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < REGISTERS; i++)
        _mm_storel_epi64((__m128i *)(void *)(out + WIDTH * i), _mm256_cvtepi32_epi8(e[i]));
}

#include "kernels/x86/rans_rows_impl.h"

size_t pith_rans_rows_avx512(uint32_t *state, const uint32_t *entries, const uint8_t **in,
                             const uint8_t *in_end, uint8_t *out, size_t rows)
{
    return rans_rows(state, entries, in, in_end, out, rows);
}
