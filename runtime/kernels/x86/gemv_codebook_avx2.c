/* SPDX-License-Identifier: MIT */
/* gemv_codebook_avx2.c - gemv_codebook_impl.h with 8 lanes: a look-up among 16 or 32 centroids is
 * two or four VPERMPS and blends by the bits above the third. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define LANES 8u
#define NAME(n) n##_avx2
#define VEC __m256
#define IVEC __m256i
#define ZERO() _mm256_setzero_ps()
#define ADD _mm256_add_ps
#define MULTIPLY_ADD _mm256_fmadd_ps
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_WORDS(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define SHIFT_RIGHT(v, n) _mm256_srli_epi32(v, n)
#define SUM sum_of

typedef __m256 TABLE4[2];
typedef __m256 TABLE5[4];
#define LOAD_TABLE4(t, c) ((t)[0] = _mm256_loadu_ps(c), (t)[1] = _mm256_loadu_ps((c) + 8))
#define LOAD_TABLE5(t, c)                                                                          \
    (LOAD_TABLE4(t, c), (t)[2] = _mm256_loadu_ps((c) + 16), (t)[3] = _mm256_loadu_ps((c) + 24))
#define LOOK_UP4(t, words) look_up16(t, words)
#define LOOK_UP5(t, words)                                                                         \
    _mm256_blendv_ps(look_up16(t, words), look_up16((t) + 2, words),                               \
                     _mm256_castsi256_ps(_mm256_slli_epi32(words, 27)))

/* Bit 3 of the index is moved to the sign, which blends look at. */
static inline __m256 look_up16(const __m256 *t, __m256i words)
{
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t[0], words),
                            _mm256_permutevar8x32_ps(t[1], words),
                            _mm256_castsi256_ps(_mm256_slli_epi32(words, 28)));
}

/* Halves, quarters, pairs: a fixed tree. */
static inline float sum_of(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

#define SEVERAL_ROWS 8u /* sums beside the table of 32 centroids, in 16 registers */
#include "kernels/x86/gemv_codebook_impl.h"
