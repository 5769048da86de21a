/* SPDX-License-Identifier: MIT */
/* histogram_count_avx512.c - bins of sixteen numbers at once. Zeros, of which half of the numbers
 * behind a Relu are, are dropped before anything is counted. */
#include "calibrate_kernels.h"

#include <immintrin.h>

#define HISTOGRAM_COUNT pith_histogram_count_avx512
#define OWN_BINS
#define BLOCK 256
#define BINS_ROOM 16

/* Of those numbers that are not 0. */
static uint32_t find_bins(const float *x, float per_width, int32_t low, int32_t *bin)
{
    const __m512 scale = _mm512_set1_ps(per_width), zero = _mm512_setzero_ps();
    const __m512i first = _mm512_set1_epi32(low), one = _mm512_set1_epi32(1);
    uint32_t n = 0;
    for (int i = 0; i < BLOCK; i += 16) {
        const __m512 v = _mm512_loadu_ps(x + i);
        __mmask16 there = _mm512_cmp_ps_mask(v, zero, _CMP_NEQ_OQ);
        __mmask16 negative = _mm512_cmp_ps_mask(v, zero, _CMP_LT_OQ);
        __m512i k = _mm512_sub_epi32(_mm512_cvttps_epi32(_mm512_mul_ps(v, scale)), first);
        k = _mm512_mask_sub_epi32(k, negative, k, one);
        _mm512_storeu_si512(bin + n, _mm512_maskz_compress_epi32(there, k));
        n += (uint32_t)__builtin_popcount(there);
    }
    return n;
}

#include "histogram_count_impl.h"
