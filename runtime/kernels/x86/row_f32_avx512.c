/* SPDX-License-Identifier: MIT */
/* row_f32_avx512.c - see row_groups_impl.h. */
#include <immintrin.h>
#include <stdbool.h>
#include "kernels/ref/exp_log_f32.h"

#define ROW(name) name##_avx512
#define SQRT_F32(x) _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)))
#define SHORT_SOFTMAX 24u /* more fill two vectors well */
#define WIDTH 16u
#define GROUP 5u
#define TILE 3u

typedef __m512 vec;
typedef __mmask16 vmask;

static inline vec vec_all(float f)
{
    return _mm512_set1_ps(f);
}

static inline vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

static inline void vec_store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

static inline vec vec_or(vec a, vec b)
{
    return _mm512_or_ps(a, b);
}

static inline vec vec_sign(vec v)
{
    return _mm512_and_ps(v, _mm512_set1_ps(-0.0f));
}

static inline vec vec_magnitude(vec v)
{
    return _mm512_abs_ps(v);
}

/* v < limit ? a : b */
static inline vec vec_where_below(vec v, float limit, vec a, vec b)
{
    return _mm512_mask_mov_ps(b, _mm512_cmp_ps_mask(v, _mm512_set1_ps(limit), _CMP_LT_OQ), a);
}

/* The first n lanes. */
static inline vmask vmask_first(int n)
{
    return (vmask)((1u << n) - 1u);
}

/* Lanes that are not there are 0. */
static inline vec vec_load_there(const float *p, vmask there, bool whole)
{
    return whole ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(there, p);
}

static inline vec vec_load_there_or(float other, const float *p, vmask there)
{
    return _mm512_mask_loadu_ps(_mm512_set1_ps(other), there, p);
}

static inline void vec_store_there(float *p, vec v, vmask there, bool whole)
{
    if (whole)
        _mm512_storeu_ps(p, v);
    else
        _mm512_mask_storeu_ps(p, there, v);
}

static inline vec vec_add_there(vec sum, vec v, vmask there, bool whole)
{
    return _mm512_mask_add_ps(sum, whole ? 0xffff : there, sum, v);
}

static inline vec vec_mul_there(vmask there, vec a, vec b)
{
    return _mm512_mask_mul_ps(a, there, a, b);
}

/* power_of_shifted */
static inline vec vec_power(vec shifted)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted), 23));
}

/* By one instruction, which rounds once, as the two factors of exp_f32 do. */
static inline vec vec_scaled(vec v, vec shifted)
{
    return _mm512_scalef_ps(v, shifted - EXP_SHIFT);
}

/* y = c ? a : b */
static inline void where_lanes(const uint8_t *c, const uint32_t *a, const uint32_t *b, uint32_t *y)
{
    const __m128i bytes = _mm_loadu_si128((const void *)c);
    const __m512i v = _mm512_loadu_si512(b);
    _mm512_storeu_si512(
        y, _mm512_mask_loadu_epi32(v, _mm_test_epi8_mask(bytes, bytes), (const void *)a));
}

#include "kernels/x86/row_groups_impl.h"
