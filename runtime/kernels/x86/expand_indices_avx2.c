/* SPDX-License-Identifier: MIT */
/* expand_indices_avx2.c - 8 at a time: permutes of 8 centroids, and blends by the bits above. */
#include <immintrin.h>
#include "pith_kernel_sparse.h"

static inline __m256i bytes_at(const uint8_t *p)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static inline __m256 look_up16(const __m256 c[2], __m256i v)
{
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(c[0], v), _mm256_permutevar8x32_ps(c[1], v),
                            _mm256_castsi256_ps(_mm256_slli_epi32(v, 28)));
}

void pith_expand4_avx2(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    const __m256 c[2] = {_mm256_loadu_ps(codebook), _mm256_loadu_ps(codebook + 8)};
    for (size_t i = 0; i < n; i += 32, index += 16) {
        __m256i v0 = bytes_at(index), v1 = bytes_at(index + 8);
        _mm256_storeu_ps(to + i, look_up16(c, v0));
        _mm256_storeu_ps(to + i + 8, look_up16(c, v1));
        _mm256_storeu_ps(to + i + 16, look_up16(c, _mm256_srli_epi32(v0, 4)));
        _mm256_storeu_ps(to + i + 24, look_up16(c, _mm256_srli_epi32(v1, 4)));
    }
}

void pith_expand5_avx2(const uint8_t *index, const float *codebook, float *to, size_t n)
{
    const __m256 c[4] = {_mm256_loadu_ps(codebook), _mm256_loadu_ps(codebook + 8),
                         _mm256_loadu_ps(codebook + 16), _mm256_loadu_ps(codebook + 24)};
    for (size_t i = 0; i < n; i += 8) {
        __m256i v = bytes_at(index + i);
        _mm256_storeu_ps(to + i, _mm256_blendv_ps(look_up16(c, v), look_up16(c + 2, v),
                                                  _mm256_castsi256_ps(_mm256_slli_epi32(v, 27))));
    }
}
