/* SPDX-License-Identifier: MIT */
/* expand_indices_avx512.c - 16 at a time: a permute reads nothing above the lowest 4 bits of each
 * lane, or 5 with two registers. */
#include <immintrin.h>
#include "pith_kernel_sparse.h"

static inline __m512i bytes_at(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

void pith_expand4_avx512(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    const __m512 c = _mm512_loadu_ps(codebook);
    for (size_t i = 0; i < n; i += 32) {
        __m512i v = bytes_at(index + i / 2);
        _mm512_storeu_ps(to + i, _mm512_permutexvar_ps(v, c));
        _mm512_storeu_ps(to + i + 16, _mm512_permutexvar_ps(_mm512_srli_epi32(v, 4), c));
    }
}

void pith_expand5_avx512(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    const __m512 low = _mm512_loadu_ps(codebook), high = _mm512_loadu_ps(codebook + 16);
    for (size_t i = 0; i < n; i += 16)
        _mm512_storeu_ps(to + i, _mm512_permutex2var_ps(low, bytes_at(index + i), high));
}
