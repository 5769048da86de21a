/* SPDX-License-Identifier: MIT */
/* run_sums_avx2.c - eight numbers at once, four of double precision. */
#include "calibrate_kernels.h"

#include <immintrin.h>

#define RUN_SUMS pith_run_sums_avx2
#define WIDE 32
#define OWN_VECTORS /* of comparisons and halves compilers make many instructions */

typedef __m256i integers;

static inline __m256 smaller(__m256 a, __m256 b)
{
    return _mm256_min_ps(a, b);
}

static inline __m256 larger(__m256 a, __m256 b)
{
    return _mm256_max_ps(a, b);
}

static inline __m256d doubles(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

static inline __m256d plus_square(__m256d sum, __m256d d)
{
    return _mm256_fmadd_pd(d, d, sum); /* the product is exact: nothing is rounded but the sum */
}

static inline integers plus_zeros(integers n, __m256 v)
{
    return _mm256_sub_epi32(n,
                            _mm256_castps_si256(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_EQ_OQ)));
}

#include "run_sums_impl.h"
