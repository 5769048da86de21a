/* SPDX-License-Identifier: MIT */
/* gemm_i8_ymm.h - gemm_i8_impl.h for 256-bit vectors. Parameters: ISA(name), VALUES_INLINE,
 * ivec_dot. */
#include "kernels/x86/integer/simd_i32_avx2.h"

#define LANES 8u
#define VECS 2u
/* Six rows by two vectors: 12 sums of 16 registers. */
#define ROWS 6u
typedef __m256i ivec;

static inline ivec ivec_load(const void *p)
{
    return _mm256_loadu_si256(p);
}

static inline ivec ivec_repeat(const uint8_t *p)
{
    return _mm256_set1_epi32((int32_t)load_le32(p));
}

static inline ivec ivec_less(ivec a, ivec b)
{
    return _mm256_sub_epi32(a, b);
}

static inline ivec ivec_dot(ivec acc, ivec x, ivec w);

/* As store_values() of gemm_i8_vnni.c, in two registers. */
static inline __attribute__((always_inline)) void store_values(uint8_t *y, const ivec *acc,
                                                               const uint32_t vecs, uint32_t n,
                                                               const struct requantize *to,
                                                               uint32_t first)
{
    __m256i a = i32_scaled(acc[0], to->factor + first);
    __m256i b = vecs > 1 ? i32_scaled(acc[1], to->factor + first + LANES) : a;
    /* 4 values of a, 4 of b, 4 of a, 4 of b */
    __m256i words =
        _mm256_adds_epi16(_mm256_packs_epi32(a, b), _mm256_set1_epi16((int16_t)unsigned_zero(to)));
    words = _mm256_permute4x64_epi64(words, 0xd8);
    __m128i lo = _mm256_castsi256_si128(words), hi = _mm256_extracti128_si256(words, 1);
    __m128i all = _mm_xor_si128(_mm_packus_epi16(lo, hi), _mm_set1_epi8((char)sign_flip(to)));
    if (n == 16)
        _mm_storeu_si128((void *)y, all);
    else
        store_some(y, _mm256_castsi128_si256(all), n);
}

#include "kernels/ref/gemm_i8_impl.h"
