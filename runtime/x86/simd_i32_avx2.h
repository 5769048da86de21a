/* SPDX-License-Identifier: MIT */
/* simd_i32_avx2.h - what the integer kernels of 256-bit vectors share. */
#ifndef SIMD_I32_AVX2_H
#define SIMD_I32_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include "kernel_integer.h"

/* Sums times their factors, rounded to even. What is too large is cut before it is converted, which
 * gives INT_MIN for what is too small and for NaN; from there on packing saturates: to 16 bits, the
 * zero point added, then to 8. */
static inline __m256i i32_scaled(__m256i acc, const float *factor)
{
    __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), _mm256_loadu_ps(factor));
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(65536.0f), scaled));
}

#endif
