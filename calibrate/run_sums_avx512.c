/* SPDX-License-Identifier: MIT */
/* run_sums_avx512.c - sixteen numbers at once, eight of double precision. */
#include "calibrate_kernels.h"

#include <immintrin.h>

#define RUN_SUMS pith_run_sums_avx512
#define WIDE 64
#define OWN_VECTORS /* of comparisons and halves compilers make many instructions */

typedef __m512i integers;

static inline __m512 smaller(__m512 a, __m512 b)
{
    return _mm512_min_ps(a, b);
}

static inline __m512 larger(__m512 a, __m512 b)
{
    return _mm512_max_ps(a, b);
}

static inline __m512d doubles(const float *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}

static inline __m512d plus_square(__m512d sum, __m512d d)
{
    return _mm512_fmadd_pd(d, d, sum); /* the product is exact: nothing is rounded but the sum */
}

static inline integers plus_zeros(integers n, __m512 v)
{
    __mmask16 zero = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_EQ_OQ);
    return _mm512_mask_sub_epi32(n, zero, n, _mm512_set1_epi32(-1));
}

#include "run_sums_impl.h"
