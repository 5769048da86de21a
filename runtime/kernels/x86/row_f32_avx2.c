/* SPDX-License-Identifier: MIT */
/* row_f32_avx2.c - see row_groups_impl.h. */
#include <immintrin.h>
#include <stdbool.h>
#include "kernels/ref/exp_log_f32.h"

#define ROW(name) name##_avx2
#define SQRT_F32(x) _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)))
#define WIDTH 8u
#define GROUP 6u
#define TILE 3u

typedef __m256 vec;
typedef __m256i vmask;
typedef uint32_t vbits __attribute__((vector_size(32)));

static inline vec vec_all(float f)
{
    return _mm256_set1_ps(f);
}

static inline vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void vec_store(float *p, vec v)
{
    _mm256_storeu_ps(p, v);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

static inline vec vec_or(vec a, vec b)
{
    return _mm256_or_ps(a, b);
}

static inline vec vec_sign(vec v)
{
    return _mm256_and_ps(v, _mm256_set1_ps(-0.0f));
}

static inline vec vec_magnitude(vec v)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}

/* v < limit ? a : b */
static inline vec vec_where_below(vec v, float limit, vec a, vec b)
{
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(v, _mm256_set1_ps(limit), _CMP_LT_OQ));
}

/* The first n lanes; n may be negative or more than there are. */
static inline vmask vmask_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Masked stores are slow, so whole vectors have none. Lanes that are not there are 0. */
static inline vec vec_load_there(const float *p, vmask there, bool whole)
{
    return whole ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, there);
}

static inline vec vec_load_there_or(float other, const float *p, vmask there)
{
    return _mm256_blendv_ps(_mm256_set1_ps(other), _mm256_maskload_ps(p, there), (vec)there);
}

static inline void vec_store_there(float *p, vec v, vmask there, bool whole)
{
    if (whole)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, there, v);
}

static inline vec vec_add_there(vec sum, vec v, vmask there, bool whole)
{
    const vec more = sum + v;
    return whole ? more : _mm256_blendv_ps(sum, more, (vec)there);
}

static inline vec vec_mul_there(vmask there, vec a, vec b)
{
    return _mm256_blendv_ps(a, a * b, (vec)there);
}

/* power_of_shifted */
static inline vec vec_power(vec shifted)
{
    return (vec)((vbits)shifted << 23);
}

/* In two factors, as exp_f32. */
static inline vec vec_scaled(vec v, vec shifted)
{
    const vbits k = (vbits)shifted + 127u, half = k >> 1;
    return v * (vec)(half << 23) * (vec)((k - half) << 23);
}

/* y = c ? a : b */
static inline void where_lanes(const uint8_t *c, const uint32_t *a, const uint32_t *b, uint32_t *y)
{
    for (int i = 0; i < 16; i += 8) {
        const __m256i zero = _mm256_setzero_si256();
        const __m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(c + i)));
        const __m256i other = _mm256_cmpeq_epi32(v, zero);
        const __m256i from_a = _mm256_loadu_si256((const void *)(a + i));
        const __m256i from_b = _mm256_loadu_si256((const void *)(b + i));
        _mm256_storeu_si256((void *)(y + i), _mm256_blendv_epi8(from_a, from_b, other));
    }
}

#include "kernels/x86/row_groups_impl.h"
