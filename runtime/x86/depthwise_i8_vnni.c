/* SPDX-License-Identifier: MIT */
/* depthwise_i8_vnni.c - see depthwise_i8_impl.h: four taps, bytes. */
#include "simd_i32_avx2.h"

#define ISA(name) name##_vnni
#define GROUP 4u
struct sums;

static inline __m256i load_some(const uint8_t *p, uint32_t n)
{
    return _mm256_maskz_loadu_epi8((1u << n) - 1, p);
}

static inline void store_some(uint8_t *p, __m256i v, uint32_t n)
{
    _mm256_mask_storeu_epi8(p, (1u << n) - 1, v);
}

static inline void dot_group(struct sums *acc, const __m256i t[4], const uint8_t *w);
#include "depthwise_i8_impl.h"

static inline __m256i dot(__m256i acc, __m256i x, const uint8_t *w)
{
    return _mm256_dpbusd_epi32(acc, x, _mm256_loadu_si256((const void *)w));
}

static inline void dot_group(struct sums *acc, const __m256i t[4], const uint8_t *w)
{
    __m256i a = _mm256_unpacklo_epi8(t[0], t[1]), b = _mm256_unpacklo_epi8(t[2], t[3]);
    __m256i c = _mm256_unpackhi_epi8(t[0], t[1]), d = _mm256_unpackhi_epi8(t[2], t[3]);
    acc->v[0] = dot(acc->v[0], _mm256_unpacklo_epi16(a, b), w);
    acc->v[1] = dot(acc->v[1], _mm256_unpackhi_epi16(a, b), w + 32);
    acc->v[2] = dot(acc->v[2], _mm256_unpacklo_epi16(c, d), w + 64);
    acc->v[3] = dot(acc->v[3], _mm256_unpackhi_epi16(c, d), w + 96);
}
