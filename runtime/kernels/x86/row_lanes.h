/* SPDX-License-Identifier: MIT */
/* row_lanes.h - what templates over rows (row_f32_impl.h, elementwise_f32_impl.h) leave to a level:
 * the last elements of a row, sum and maximum of 16 lanes; for AVX2 and AVX-512. */
#ifndef ROW_LANES_H
#define ROW_LANES_H

#include <immintrin.h>
#include <stddef.h>

#define OWN_LANES
#define LANES 16u

/* As in sum_f32.c: lane k with lane k + 8, then k + 4, k + 2, k + 1. */
static inline float fold_sum(const float *lane)
{
    const __m256 eight = _mm256_loadu_ps(lane) + _mm256_loadu_ps(lane + 8);
    const __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
    const __m128 two = four + _mm_movehl_ps(four, four);
    return two[0] + two[1];
}

/* lane k + half where it is larger, as larger(): a NaN in lane k stays. */
static inline float fold_max(const float *lane)
{
    const __m256 eight = _mm256_max_ps(_mm256_loadu_ps(lane + 8), _mm256_loadu_ps(lane));
    const __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
    const __m128 two = _mm_max_ps(_mm_movehl_ps(four, four), four);
    return two[1] > two[0] ? two[1] : two[0];
}

#ifdef __AVX512F__
static inline void load_rest(float last[LANES], const float *x, size_t rest, float pad)
{
    _mm512_storeu_ps(last,
                     _mm512_mask_loadu_ps(_mm512_set1_ps(pad), (__mmask16)((1u << rest) - 1u), x));
}

static inline void store_rest(float *y, const float last[LANES], size_t rest)
{
    _mm512_mask_storeu_ps(y, (__mmask16)((1u << rest) - 1u), _mm512_loadu_ps(last));
}
#else
/* The first n of eight lanes. */
static inline __m256i first_lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline void load_rest(float last[LANES], const float *x, size_t rest, float pad)
{
    for (int i = 0; i < 16; i += 8) {
        const __m256i m = first_lanes((int)rest - i);
        const __m256 v = _mm256_maskload_ps(x + i, m);
        _mm256_storeu_ps(last + i, _mm256_blendv_ps(_mm256_set1_ps(pad), v, (__m256)m));
    }
}

static inline void store_rest(float *y, const float last[LANES], size_t rest)
{
    for (int i = 0; i < 16; i += 8)
        _mm256_maskstore_ps(y + i, first_lanes((int)rest - i), _mm256_loadu_ps(last + i));
}
#endif

#endif
