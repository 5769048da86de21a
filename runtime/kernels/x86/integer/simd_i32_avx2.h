/* SPDX-License-Identifier: MIT */
/* simd_i32_avx2.h - what the integer kernels of 256-bit vectors share. */
#ifndef SIMD_I32_AVX2_H
#define SIMD_I32_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include "kernels/kernel_integer.h"

/* Sums times their factors, rounded to even. What is too large is cut before it is converted, which
 * gives INT_MIN for what is too small and for NaN; from there on packing saturates: to 16 bits, the
 * zero point added, then to 8. */
static inline __m256i i32_scaled_by(__m256i acc, __m256 factor)
{
    __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), factor);
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(65536.0f), scaled));
}

static inline __m256i i32_scaled(__m256i acc, const float *factor)
{
    return i32_scaled_by(acc, _mm256_loadu_ps(factor));
}

/* acc + four products of u8 and i8, where there is vpdpbusd: in its VEX encoding on CPUs without
 * AVX-512. */
#ifdef __AVXVNNI__
static inline __m256i i32_dot_bytes(__m256i acc, __m256i x, __m256i w)
{
    return _mm256_dpbusd_avx_epi32(acc, x, w);
}
#elif defined __AVX512VNNI__
static inline __m256i i32_dot_bytes(__m256i acc, __m256i x, __m256i w)
{
    return _mm256_dpbusd_epi32(acc, x, w);
}
#endif

/* n < 32 bytes, 0 behind them: AVX2 would need a mask in memory for each n. The last bytes are
 * those that overlap what was read before, moved to their place. */
#ifdef __AVX512BW__
static inline __m256i load_some(const uint8_t *p, uint32_t n)
{
    return _mm256_maskz_loadu_epi8((1u << n) - 1, p);
}
#else
static inline __m256i load_some(const uint8_t *p, uint32_t n)
{
    static const uint8_t down[32] = {0,    1,    2,    3,    4,    5,    6,    7,
                                     8,    9,    10,   11,   12,   13,   14,   15,
                                     0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    if (n >= 16) {
        const __m128i last = _mm_loadu_si128((const void *)(p + n - 16));
        const __m128i by = _mm_loadu_si128((const void *)(down + 32 - n));
        return _mm256_set_m128i(_mm_shuffle_epi8(last, by), _mm_loadu_si128((const void *)p));
    }
    uint64_t words[2] = {0, 0};
    if (n > 8) {
        words[0] = load_le64(p);
        words[1] = load_le64(p + n - 8) >> 8 * (16 - n);
    } else {
        memcpy(words, p, n);
    }
    return _mm256_set_epi64x(0, 0, (int64_t)words[1], (int64_t)words[0]);
}
#endif

/* The first n bytes of v. */
static inline void store_some(uint8_t *p, __m256i v, uint32_t n)
{
    uint8_t bytes[32];
    _mm256_storeu_si256((void *)bytes, v);
    if (n >= 16) {
        memcpy(p, bytes, 16);
        memcpy(p + n - 16, bytes + n - 16, 16);
    } else if (n >= 8) {
        memcpy(p, bytes, 8);
        memcpy(p + n - 8, bytes + n - 8, 8);
    } else {
        memcpy(p, bytes, n);
    }
}

#endif
