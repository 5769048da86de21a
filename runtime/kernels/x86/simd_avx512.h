/* SPDX-License-Identifier: MIT */
/* simd_avx512.h - the few vector operations that the f32 kernel templates (*_impl.h) are
 * written in, for AVX-512. simd_avx2.h and simd_neon.h have the same names. A mask always
 * selects lanes; lanes not selected are 0 in a load, and neither they nor their page are touched.
 *
 * No intrinsics appear in the templates, so a kernel is written once and its instances
 * differ in width alone. */
#ifndef PITH_SIMD_AVX512_H
#define PITH_SIMD_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 16
#define ISA(name) name##_avx512

/* Keeps the compiler from loading v anew for each use. Else it folds the load into every
 * multiply-add: MR loads instead of one. */
#define IN_REGISTER(v) __asm__("" : "+x"(v))

typedef __m512 vec;
typedef __mmask16 vmask;
typedef int32_t vint __attribute__((vector_size(64)));

/* lanes [from, to), clamped to 0..LANES; none when to <= from */
static inline vmask vmask_range(int from, int to)
{
    from = from < 0 ? 0 : from > LANES ? LANES : from;
    to = to < from ? from : to > LANES ? LANES : to;
    return (vmask)((1u << to) - (1u << from));
}

static inline vmask vmask_of(vint nonzero)
{
    return _mm512_movepi32_mask((__m512i)nonzero);
}

static inline vec vec_zero(void)
{
    return _mm512_setzero_ps();
}

static inline vec vec_set1(float f)
{
    return _mm512_set1_ps(f);
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
    return _mm512_loadu_ps(p);
}

static inline vec vec_load_some(const float *p, vmask m)
{
    return _mm512_maskz_loadu_ps(m, p);
}

/* lanes of m from p, the others from v */
static inline vec vec_load_into(vec v, const float *p, vmask m)
{
    return _mm512_mask_loadu_ps(v, m, p);
}

static inline void vec_store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}

static inline void vec_store_some(float *p, vmask m, vec v)
{
    _mm512_mask_storeu_ps(p, m, v);
}

/* p[idx] */
static inline vec vec_gather(const float *p, vint idx, vmask m)
{
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, (__m512i)idx, p, 4);
}

/* elements 0, 2, 4 ... of lo, hi (in sequence); 1, 3, 5 ... */
static inline vec vec_even(vec lo, vec hi)
{
    const __m512i idx = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_ps(lo, idx, hi);
}

static inline vec vec_odd(vec lo, vec hi)
{
    const __m512i idx = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_ps(lo, idx, hi);
}

/* e, then v but for its last lane */
static inline vec vec_behind(float e, vec v)
{
    const __m512i first = _mm512_castps_si512(_mm512_set1_ps(e));
    return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), first, 15));
}

/* a0 b0 a1 b1 ... at p */
static inline void vec_store_zipped(float *p, vec a, vec b)
{
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i high =
        _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
    _mm512_storeu_ps(p, _mm512_permutex2var_ps(a, low, b));
    _mm512_storeu_ps(p + LANES, _mm512_permutex2var_ps(a, high, b));
}

/* elements 1 ... of a, then the first of b */
static inline vec vec_next(vec a, vec b)
{
    return (vec)_mm512_alignr_epi32((__m512i)b, (__m512i)a, 1);
}

/* the first elements */
static inline __m256 vec_eight(vec v)
{
    return _mm512_castps512_ps256(v);
}

static inline __m128 vec_four(vec v)
{
    return _mm512_castps512_ps128(v);
}

/* a * b + c */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

/* x when x is NaN, also below */
static inline vec vec_max(vec lo, vec x)
{
    return _mm512_max_ps(lo, x);
}

static inline vec vec_min(vec hi, vec x)
{
    return _mm512_min_ps(hi, x);
}

/* x < 0 ? a : b */
static inline vec vec_below_zero(vec x, vec a, vec b)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), b, a);
}

/* By halves, as vec_sum of AVX2. */
static inline float vec_sum(vec v)
{
    return _mm512_reduce_add_ps(v);
}

/* 8 floats: one k of a panel of 8 rows */
typedef __m256 rvec;

static inline rvec rvec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

/* the first lanes of m alone */
static inline rvec rvec_load_some(const float *p, vmask m)
{
    return _mm256_maskz_loadu_ps((__mmask8)m, p);
}

static inline void rvec_store_some(float *p, vmask m, rvec v)
{
    _mm256_mask_storeu_ps(p, (__mmask8)m, v);
}

static inline rvec rvec_add(rvec a, rvec b)
{
    return _mm256_add_ps(a, b);
}

static inline void rvec_store(float *p, rvec v)
{
    _mm256_storeu_ps(p, v);
}

static inline rvec rvec_set1(float f)
{
    return _mm256_set1_ps(f);
}

static inline rvec rvec_fma(rvec a, rvec b, rvec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

#endif
