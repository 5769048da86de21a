/* SPDX-License-Identifier: MIT */
/* rans_rows_avx512.c - pith_kernel_decode.h with AVX-512's masks and expansion, in registers of 256
 * bits: on Zen 4 two gathers of eight take less than one of sixteen (2.06 against 1.61 G symbols a
 * second). */
#include <immintrin.h>
#include "pith_bytes.h"
#include "pith_kernel_decode.h"

#define WIDTH 8u
#define REGISTERS (RANS_LANES / WIDTH)

static inline __m256i take_words(__m256i x, const uint8_t **in)
{
    __mmask8 low = _mm256_cmplt_epu32_mask(x, _mm256_set1_epi32(RANS_LOW));
    __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)*in));
    *in += 2 * (uint32_t)__builtin_popcount(low);
    return _mm256_mask_or_epi32(x, low, _mm256_slli_epi32(x, 16),
                                _mm256_maskz_expand_epi32(low, words));
}

static inline __m256i next_state(__m256i x, __m256i e, __m256i slots)
{
    __m256i product = _mm256_mullo_epi32(_mm256_srli_epi32(e, 20), _mm256_srli_epi32(x, RANS_BITS));
    return _mm256_add_epi32(product, _mm256_and_si256(_mm256_srli_epi32(e, 8), slots));
}

size_t pith_rans_rows_avx512(uint32_t *state, const uint32_t *entries, const uint8_t **in,
                             const uint8_t *in_end, uint8_t *out, size_t rows)
{
    const __m256i slots = _mm256_set1_epi32((1 << RANS_BITS) - 1);
    const uint8_t *at = *in;
    __m256i x[REGISTERS], e[REGISTERS];
    size_t row = 0;
    for (uint32_t i = 0; i < REGISTERS; i++)
        x[i] = _mm256_loadu_si256((const __m256i *)(const void *)(state + WIDTH * i));
    for (; row < rows && (size_t)(in_end - at) >= RANS_ROW_BYTES; row++, out += RANS_LANES) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < REGISTERS; i++)
            e[i] = _mm256_i32gather_epi32((const int *)(const void *)entries,
                                          _mm256_and_si256(x[i], slots), 4);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < REGISTERS; i++)
            x[i] = next_state(x[i], e[i], slots);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < REGISTERS; i++)
            _mm_storel_epi64((__m128i *)(void *)(out + WIDTH * i), _mm256_cvtepi32_epi8(e[i]));
#pragma GCC unroll 4
        for (uint32_t i = 0; i < REGISTERS; i++)
            x[i] = take_words(x[i], &at);
    }
    for (uint32_t i = 0; i < REGISTERS; i++)
        _mm256_storeu_si256((__m256i *)(void *)(state + WIDTH * i), x[i]);
    *in = at;
    return row;
}
