/* SPDX-License-Identifier: MIT */
/* winograd_i8_avx2.c - see winograd_i8_impl.h. */
#include "kernels/x86/integer/simd_i32_avx2.h"

#define ISA(name) name##_avx2
#define WORDS 16u
#define SUMS 8u
typedef int16_t words __attribute__((vector_size(32)));
typedef uint32_t sums __attribute__((vector_size(32)));
typedef __m256 floats;

/* What lies behind the last channel is another pixel's or padding, and is not read. */
static inline words load_bytes(const uint8_t *p, uint32_t n, uint8_t flip)
{
    const __m128i x =
        n == WORDS ? _mm_loadu_si128((const void *)p) : _mm256_castsi256_si128(load_some(p, n));
    const __m256i wide = _mm256_cvtepi8_epi16(_mm_xor_si128(x, _mm_set1_epi8((char)flip)));
    return (words)wide;
}

static inline sums sums_shifted(sums s)
{
    return (sums)_mm256_srai_epi32((__m256i)s, WINOGRAD_I8_SHIFT);
}

struct finish {
    __m128i zero, flip;
};

static inline struct finish finish_of(const struct requantize *to)
{
    return (struct finish){_mm_set1_epi16((int16_t)unsigned_zero(to)),
                           _mm_set1_epi8((char)sign_flip(to))};
}

/* As store_values() of gemm_i8_ymm.h, of one register. */
static inline __m128i values(sums s, floats factor, const struct finish *f)
{
    const __m256i q = i32_scaled_by((__m256i)s, factor);
    const __m128i low = _mm256_castsi256_si128(q), high = _mm256_extracti128_si256(q, 1);
    const __m128i eight = _mm_adds_epi16(_mm_packs_epi32(low, high), f->zero);
    return _mm_xor_si128(_mm_packus_epi16(eight, eight), f->flip);
}

static inline void store_bytes(uint8_t *y, sums s, floats factor, const struct finish *f)
{
    _mm_storel_epi64((void *)y, values(s, factor, f));
}

static inline void store_first(uint8_t *y, sums s, uint32_t n, floats factor,
                               const struct finish *f)
{
    store_some(y, _mm256_castsi128_si256(values(s, factor, f)), n);
}

#include "kernels/ref/winograd_i8_impl.h"
