/* SPDX-License-Identifier: MIT */
/* gemv_codebook_avx2.c - dense products from 4-bit indices: the four bytes of a centroid are looked
 * up one by one (VPSHUFB, 32 indices at once) and put together by unpacking. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define LANES 8u
#define BLOCK_WORDS 16u
#define ROWS 8u /* of x: sums beside the table, in 16 registers */

struct table {
    __m256i plane[4]; /* byte p of 16 centroids, twice */
};

/* Panel: [block][step][n][8]. Unpacking yields words a and 4 + a of a half block at step a, the
 * fields of a word side by side, the even ones before the odd ones. */
static inline void fill_block(const float *x, uint32_t i, uint32_t n, float *panel,
                              const uint32_t bits)
{
    (void)bits;
    for (uint32_t quad = 0; quad < 8; quad++) { /* half, odd, words from 4 on */
        const float *field = x + quad / 4 * 8 + quad / 2 % 2 * BLOCK_WORDS + quad % 2 * 4;
        __m128 a = _mm_loadu_ps(field), b = _mm_loadu_ps(field + 2 * BLOCK_WORDS);
        __m128 d = _mm_loadu_ps(field + 4 * BLOCK_WORDS);
        __m128 e = _mm_loadu_ps(field + 6 * BLOCK_WORDS);
        _MM_TRANSPOSE4_PS(a, b, d, e);
        float *to = panel + ((size_t)quad / 2 * 4 * n + i) * LANES + quad % 2 * 4;
        _mm_storeu_ps(to, a), _mm_storeu_ps(to + (size_t)n * LANES, b);
        _mm_storeu_ps(to + (size_t)2 * n * LANES, d);
        _mm_storeu_ps(to + (size_t)3 * n * LANES, e);
    }
}

static __attribute__((noinline)) void load_table(const float *codebook, struct table *t,
                                                 const uint32_t bits)
{
    (void)bits;
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m128 of[4];
    for (uint32_t i = 0; i < 4; i++)
        of[i] = _mm_castsi128_ps(_mm_shuffle_epi8(
            _mm_loadu_si128((const __m128i *)(const void *)(codebook + 4 * (size_t)i)), order));
    _MM_TRANSPOSE4_PS(of[0], of[1], of[2], of[3]);
    for (uint32_t p = 0; p < 4; p++)
        t->plane[p] = _mm256_broadcastsi128_si256(_mm_castps_si128(of[p]));
}

static inline void look_up(const struct table *t, __m256i index, __m256 *w)
{
    __m256i a = _mm256_shuffle_epi8(t->plane[0], index);
    __m256i b = _mm256_shuffle_epi8(t->plane[1], index);
    __m256i c = _mm256_shuffle_epi8(t->plane[2], index);
    __m256i d = _mm256_shuffle_epi8(t->plane[3], index);
    __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpacklo_epi8(c, d);
    w[0] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(low, high));
    w[1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(low, high));
    low = _mm256_unpackhi_epi8(a, b), high = _mm256_unpackhi_epi8(c, d);
    w[2] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(low, high));
    w[3] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(low, high));
}

static inline __m256i words_at(const uint8_t *block)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)block);
}

/* Few rows have several sums each, so that one need not wait for the one before it. */
static inline __attribute__((always_inline)) void part_of(const uint8_t *block, uint32_t blocks,
                                                          const float *panel, const struct table *t,
                                                          __m256 *sum_of, const uint32_t n,
                                                          const uint32_t bits)
{
    (void)bits;
    const uint32_t chains = n <= 2 ? 4 : n <= 4 ? 2 : 1;
    const __m256i low = _mm256_set1_epi8(15);
    __m256 sum[ROWS], w[4];
    _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n * chains; i++) sum[i] = _mm256_setzero_ps();
    for (uint32_t half = 0; half < 2 * blocks; half++, block += 4 * LANES) {
        __m256i words = words_at(block);
        _Pragma("GCC unroll 2") for (uint32_t odd = 0; odd < 2; odd++, panel += 4 * n * LANES)
        {
            look_up(t, _mm256_and_si256(odd ? _mm256_srli_epi16(words, 4) : words, low), w);
            _Pragma("GCC unroll 4") for (uint32_t a = 0; a < 4; a++)
                _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++)
            {
                __m256 *s = sum + i * chains + a % chains;
                *s = _mm256_fmadd_ps(w[a], _mm256_loadu_ps(panel + (a * n + i) * LANES), *s);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        __m256 s = sum[i * chains];
        for (uint32_t k = 1; k < chains; k++)
            s = _mm256_add_ps(s, sum[i * chains + k]);
        sum_of[i] = s;
    }
}

#include "kernels/x86/gemv_codebook_impl.h"

CODEBOOK_KERNELS(4, avx2)
