/* SPDX-License-Identifier: MIT */
/* winograd_i8_avx512.c - see winograd_i8_impl.h. */
#include <immintrin.h>
#include <stdint.h>
#include "kernels/kernel_integer.h"

#define ISA(name) name##_avx512
#define WORDS 32u
#define SUMS 16u
typedef int16_t words __attribute__((vector_size(64)));
typedef uint32_t sums __attribute__((vector_size(64)));
typedef __m512 floats;

/* What lies behind the last channel is another pixel's or padding, and is not read. */
static inline words load_bytes(const uint8_t *p, uint32_t n, uint8_t flip)
{
    const __m256i x = n == WORDS ? _mm256_loadu_si256((const void *)p)
                                 : _mm256_maskz_loadu_epi8((1u << n) - 1, p);
    return (words)_mm512_cvtepi8_epi16(_mm256_xor_si256(x, _mm256_set1_epi8((char)flip)));
}

static inline sums sums_shifted(sums s)
{
    return (sums)_mm512_srai_epi32((__m512i)s, WINOGRAD_I8_SHIFT);
}

struct finish {
    __m512i zero;
    __m128i flip;
};

static inline struct finish finish_of(const struct requantize *to)
{
    return (struct finish){_mm512_set1_epi32(unsigned_zero(to)),
                           _mm_set1_epi8((char)sign_flip(to))};
}

/* What is too large is cut before it is converted, which gives INT_MIN for what is too small and
 * for NaN; adding the zero point leaves them on their sides of 0 and 255. */
static inline __m128i values(sums s, floats factor, const struct finish *f)
{
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)s), factor);
    const __m512i q = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(65536.0f), scaled));
    const __m512i moved = _mm512_max_epi32(_mm512_add_epi32(q, f->zero), _mm512_setzero_si512());
    return _mm_xor_si128(_mm512_cvtusepi32_epi8(moved), f->flip);
}

static inline void store_bytes(uint8_t *y, sums s, floats factor, const struct finish *f)
{
    _mm_storeu_si128((void *)y, values(s, factor, f));
}

/* Outputs behind the last one belong to the next pixel. */
static inline void store_first(uint8_t *y, sums s, uint32_t n, floats factor,
                               const struct finish *f)
{
    _mm_mask_storeu_epi8(y, (__mmask16)((1u << n) - 1), values(s, factor, f));
}

#include "kernels/ref/winograd_i8_impl.h"
