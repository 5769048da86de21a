/* SPDX-License-Identifier: MIT */
/* histogram_count_avx512.c - bins of sixteen numbers at once. Zeros, of which half of the numbers behind a
 * Relu are, are dropped before anything is counted. */
#include "histogram_count.h"

#include <immintrin.h>

#define BLOCK 256

/* The bins of those of BLOCK numbers that are not 0, one behind the other in bin [BLOCK + 16]; how many. */
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

static void count_block(const float *x, float per_width, int32_t low,
                        struct histogram_scratch *scratch)
{
    int32_t bin[BLOCK + 16];
    uint32_t n = find_bins(x, per_width, low, bin), i = 0;
    for (; i + 4 <= n; i += 4) {
        scratch->part[0][bin[i]]++;
        scratch->part[1][bin[i + 1]]++;
        scratch->part[2][bin[i + 2]]++;
        scratch->part[3][bin[i + 3]]++;
    }
    for (; i < n; i++)
        scratch->part[0][bin[i]]++;
}

void pith_histogram_count_avx512(const float *x, size_t n, float per_width, int32_t low,
                                 struct histogram_scratch *scratch)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        count_block(x + i, per_width, low, scratch);
    for (; i < n; i++)
        if (x[i] != 0)
            scratch->part[i % 4][(int32_t)(x[i] * per_width) - (x[i] < 0 ? 1 : 0) - low]++;
}
