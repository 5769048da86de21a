/* SPDX-License-Identifier: MIT */
/* look_up_bytes_vbmi.c - a table of 256 bytes in four registers: two of them are looked up by the
 * low seven bits, the highest bit says which of the results counts. */
#include <immintrin.h>
#include "kernels/kernel_integer.h"

/* 64 look-ups in some five instructions; a scalar loop takes a load each. */
void pith_look_up_bytes_vbmi(const uint8_t table[256], const uint8_t *x, uint8_t *y, size_t n)
{
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
    const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
    for (size_t at = 0; at < n; at += 64) {
        __mmask64 some = n - at < 64 ? (UINT64_C(1) << (n - at)) - 1 : UINT64_MAX;
        __m512i i = _mm512_maskz_loadu_epi8(some, x + at);
        __m512i low = _mm512_permutex2var_epi8(a, i, b);
        __m512i high = _mm512_permutex2var_epi8(c, i, d);
        __m512i v = _mm512_mask_blend_epi8(_mm512_movepi8_mask(i), low, high);
        _mm512_mask_storeu_epi8(y + at, some, v);
    }
}
