/* SPDX-License-Identifier: MIT */
/* depthwise_i8_bytes.h - depthwise_i8_impl.h of four taps, whose bytes are multiplied as they
 * are. Parameter: ISA(name).
 *
 * vpdpbusd multiplies u8 by i8 and adds four products without saturation. Interleaving twice, by
 * bytes and then by words, brings the four taps of a channel side by side. */
#define GROUP 4u
#include "depthwise_i8_impl.h"

static inline __m256i dot(__m256i acc, __m256i x, const uint8_t *w)
{
    return i32_dot_bytes(acc, x, _mm256_loadu_si256((const void *)w));
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
