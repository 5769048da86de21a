/* SPDX-License-Identifier: MIT */
/* gemm_i16_avx2.c - gemm_i16 (kernel_integer.h) with sums of 64 bits. A pair of products is
 * summed in 32 bits first: it lies in [-2^31 + 2^16, 2^31], and the upper end, which comes of
 * -32768 alone, wraps. With 2^31 - 1 added, modulo 2^32, it is the unsigned number that it would be
 * in 64 bits; what was added so is taken from the sum at the end. */
#include <immintrin.h>
#include <string.h>
#include "kernels/kernel_integer.h"

#define LANES 8u
#define ROWS 4u
#define SHIFT INT32_MAX

/* Outputs 0, 2, 4, 6 of a panel, and 1, 3, 5, 7. vpmaddwd gives pairs in 32 bits; even and odd
 * ones are widened apart, since unpacking would cost more. */
struct pair_sums {
    __m256i even, odd;
};

/* The shift makes the pair unsigned, so the widening is a mask and a shift. */
static inline void add_pairs(struct pair_sums *acc, __m256i x, __m256i w)
{
    __m256i pair = _mm256_add_epi32(_mm256_madd_epi16(x, w), _mm256_set1_epi32(SHIFT));
    __m256i low = _mm256_blend_epi32(pair, _mm256_setzero_si256(), 0xaa);
    acc->even = _mm256_add_epi64(acc->even, low);
    acc->odd = _mm256_add_epi64(acc->odd, _mm256_srli_epi64(pair, 32));
}

/* Out of line: it runs once for K / 2 steps. */
static __attribute__((noinline)) void store(const struct gemm_i8_job *job,
                                            const struct pair_sums *acc, uint32_t first, uint8_t *y)
{
    uint64_t sum[LANES], offset[LANES];
    uint32_t n = job->n - first < LANES ? job->n - first : LANES;
    __m256i low = _mm256_unpacklo_epi64(acc->even, acc->odd);
    __m256i up = _mm256_unpackhi_epi64(acc->even, acc->odd);
    _mm256_storeu_si256((void *)sum, _mm256_permute2x128_si256(low, up, 0x20));
    _mm256_storeu_si256((void *)(sum + 4), _mm256_permute2x128_si256(low, up, 0x31));
    memcpy(offset, (const uint8_t *)job->to.offset + first * sizeof *offset, sizeof offset);
    for (uint32_t i = 0; i < LANES; i++)
        sum[i] += offset[i] - (uint64_t)SHIFT * job->segments * job->steps;
    memcpy(y + first * sizeof *sum, sum, n * sizeof *sum);
}

/* Four rows share each load of weights. */
static inline __attribute__((always_inline)) void tile(const struct gemm_i8_job *job, uint32_t i,
                                                       uint32_t first, const uint32_t rows)
{
    struct pair_sums acc[ROWS] = {0};
    const uint8_t *w = job->w + first / LANES * job->panel_bytes;
    for (uint32_t s = 0; s < job->segments; s++) {
        size_t at = job->segment[s], end = at + job->steps * (size_t)4;
        for (; at < end; at += 4, w += (size_t)LANES * 4)
#pragma GCC unroll 4
            for (uint32_t r = 0; r < rows; r++)
                add_pairs(&acc[r], _mm256_set1_epi32((int32_t)load_le32(job->x[i + r] + at)),
                          _mm256_loadu_si256((const void *)w));
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
        store(job, &acc[r], first, job->y + (i + r) * job->y_step);
}

/* Rows behind the last whole four one by one. */
void pith_gemm_i16_avx2(const struct gemm_i8_job *job)
{
    for (uint32_t first = 0; first < job->n; first += LANES) {
        uint32_t i = 0;
        for (; i + ROWS <= job->m; i += ROWS)
            tile(job, i, first, ROWS);
        for (; i < job->m; i++)
            tile(job, i, first, 1);
    }
}
