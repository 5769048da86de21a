/* SPDX-License-Identifier: MIT */
/* simd_avx2.h - simd_avx512.h for AVX2.
 *
 * AVX2 has no mask registers: masks are vectors whose lanes are 0 or -1, and masked stores are
 * slow, which templates avoid where a vector is whole. */
#ifndef PITH_SIMD_AVX2_H
#define PITH_SIMD_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 8
#define ISA(name) name##_avx2

/* Keeps the compiler from loading v anew for each use. Else it folds the load into every
 * multiply-add: MR loads instead of one. */
#define IN_REGISTER(v) __asm__("" : "+x"(v))

typedef __m256 vec;
typedef __m256i vmask;
typedef int32_t vint __attribute__((vector_size(32)));

/* Comparisons of lane numbers clamp by themselves. */
static inline vmask vmask_range(int from, int to)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(from), lane),
                               _mm256_cmpgt_epi32(_mm256_set1_epi32(to), lane));
}

static inline vmask vmask_of(vint nonzero)
{
    return (__m256i)nonzero;
}

static inline vec vec_zero(void)
{
    return _mm256_setzero_ps();
}

static inline vec vec_set1(float f)
{
    return _mm256_set1_ps(f);
}

/* One k of a panel of weights: each is broadcast from memory, which costs no more than a load. */
typedef const float *vweights;
typedef vec vweight;
#define vweight_fma vec_fma
#define WEIGHTS_STRIDED 1 /* and so they may lie anywhere */

static inline vweights vweights_at(const float *a)
{
    return a;
}

/* at: in bytes */
static inline vweight vweights_set1(vweights w, size_t at)
{
    return vec_set1(*(const float *)(const void *)((const char *)w + at));
}

static inline vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline vec vec_load_some(const float *p, vmask m)
{
    return _mm256_maskload_ps(p, m);
}

/* maskload gives 0 outside of m; the blend puts v there. */
static inline vec vec_load_into(vec v, const float *p, vmask m)
{
    return _mm256_blendv_ps(v, _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}

static inline void vec_store(float *p, vec v)
{
    _mm256_storeu_ps(p, v);
}

static inline void vec_store_some(float *p, vmask m, vec v)
{
    _mm256_maskstore_ps(p, m, v);
}

static inline vec vec_gather(const float *p, vint idx, vmask m)
{
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, (__m256i)idx, _mm256_castsi256_ps(m),
                                    4);
}

/* Shuffles work within 128-bit halves; the permutation puts the quarters back into order. */
static inline vec vec_join_quarters(__m256 v)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), _MM_SHUFFLE(3, 1, 2, 0)));
}

static inline vec vec_even(vec lo, vec hi)
{
    return vec_join_quarters(_mm256_shuffle_ps(lo, hi, _MM_SHUFFLE(2, 0, 2, 0)));
}

static inline vec vec_odd(vec lo, vec hi)
{
    return vec_join_quarters(_mm256_shuffle_ps(lo, hi, _MM_SHUFFLE(3, 1, 3, 1)));
}

/* e, then v but for its last lane */
static inline vec vec_behind(float e, vec v)
{
    const __m256i up = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    return _mm256_blend_ps(_mm256_permutevar8x32_ps(v, up), _mm256_set1_ps(e), 1);
}

/* a0 b0 a1 b1 ... at p */
static inline void vec_store_zipped(float *p, vec a, vec b)
{
    const vec low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(p + LANES, _mm256_permute2f128_ps(low, high, 0x31));
}

/* elements 1 ... of a, then the first of b */
static inline vec vec_next(vec a, vec b)
{
    const __m256i next = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    return _mm256_permutevar8x32_ps(_mm256_blend_ps(a, b, 1), next);
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

/* min and max give the second operand where one is NaN: bounds come first, so a NaN stays. */
static inline vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

static inline vec vec_max(vec lo, vec x)
{
    return _mm256_max_ps(lo, x);
}

static inline vec vec_min(vec hi, vec x)
{
    return _mm256_min_ps(hi, x);
}

static inline vec vec_below_zero(vec x, vec a, vec b)
{
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ));
}

/* Halves, quarters, pairs: the same tree as AVX-512's from 8 lanes on. */
static inline float vec_sum(vec v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* 4 floats: one k of a panel of 4 rows */
typedef __m128 rvec;

static inline rvec rvec_load(const float *p)
{
    return _mm_loadu_ps(p);
}

/* the first lanes of m alone */
static inline rvec rvec_load_some(const float *p, vmask m)
{
    return _mm_maskload_ps(p, _mm256_castsi256_si128(m));
}

static inline void rvec_store_some(float *p, vmask m, rvec v)
{
    _mm_maskstore_ps(p, _mm256_castsi256_si128(m), v);
}

static inline rvec rvec_add(rvec a, rvec b)
{
    return _mm_add_ps(a, b);
}

static inline void rvec_store(float *p, rvec v)
{
    _mm_storeu_ps(p, v);
}

static inline rvec rvec_set1(float f)
{
    return _mm_set1_ps(f);
}

static inline rvec rvec_fma(rvec a, rvec b, rvec c)
{
    return _mm_fmadd_ps(a, b, c);
}

/* the first elements */
static inline __m256 vec_eight(vec v)
{
    return v;
}

static inline __m128 vec_four(vec v)
{
    return _mm256_castps256_ps128(v);
}

#endif
