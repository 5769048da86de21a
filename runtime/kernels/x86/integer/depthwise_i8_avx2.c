/* SPDX-License-Identifier: MIT */
/* depthwise_i8_avx2.c - see depthwise_i8_impl.h: two taps, widened to i16.
 *
 * Two taps' bytes are interleaved and widened, so that vpmaddwd adds both to 32 bits; unlike
 * vpmaddubsw it cannot saturate: 255 * 127 * 2 < 2^31. */
#define ISA(name) name##_avx2
#define GROUP 2u
#include "kernels/x86/integer/depthwise_i8_impl.h"

static inline __m256i dot(__m256i acc, __m256i x, const uint8_t *w)
{
    return _mm256_add_epi32(acc, _mm256_madd_epi16(x, _mm256_loadu_si256((const void *)w)));
}

/* Low and high halves of each 16-byte lane in turn: the order in which the weights were packed. */
static inline void dot_group(struct sums *acc, const __m256i t[2], const uint8_t *w)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i a = _mm256_unpacklo_epi8(t[0], zero), b = _mm256_unpacklo_epi8(t[1], zero);
    __m256i c = _mm256_unpackhi_epi8(t[0], zero), d = _mm256_unpackhi_epi8(t[1], zero);
    acc->v[0] = dot(acc->v[0], _mm256_unpacklo_epi16(a, b), w);
    acc->v[1] = dot(acc->v[1], _mm256_unpackhi_epi16(a, b), w + 32);
    acc->v[2] = dot(acc->v[2], _mm256_unpacklo_epi16(c, d), w + 64);
    acc->v[3] = dot(acc->v[3], _mm256_unpackhi_epi16(c, d), w + 96);
}

/* Groups of two are rows of taps. */
static bool block_by_columns(const struct depthwise_i8_job *job, const uint8_t *x, const uint8_t *w,
                             size_t at, uint8_t *y)
{
    (void)job, (void)x, (void)w, (void)at, (void)y;
    return false;
}
