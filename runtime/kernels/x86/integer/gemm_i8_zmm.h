/* SPDX-License-Identifier: MIT */
/* gemm_i8_zmm.h - vectors of 16 sums of 32 bits, and how their values are stored: what gemm_i8 with
 * AVX-512 VNNI and with AMX share. */
#ifndef GEMM_I8_ZMM_H
#define GEMM_I8_ZMM_H

#include <immintrin.h>
#include <stdint.h>
#include "kernels/kernel_integer.h"

#define LANES 16u
#define VECS 4u
typedef __m512i ivec;

static inline ivec ivec_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

/* What is too large is cut before it is converted, which gives INT_MIN for what is too small and
 * for NaN; from there on packing saturates: to 16 bits, the zero point added, then to 8. */
static inline __attribute__((always_inline)) void store_values(uint8_t *y, const ivec *acc,
                                                               const uint32_t vecs, uint32_t n,
                                                               const struct requantize *to,
                                                               uint32_t first)
{
    const __m512 high = _mm512_set1_ps(65536.0f);
    const __m512i zero = _mm512_set1_epi16((int16_t)unsigned_zero(to));
    /* packing takes 4 values of each of 4 vectors to a lane */
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    __m512i q[VECS];
#pragma GCC unroll 4
    for (uint32_t v = 0; v < VECS; v++) {
        uint32_t from = v & (vecs - 1); /* again, where there are no more, to fill the lanes */
        __m512 factor = _mm512_loadu_ps(to->factor + first + (size_t)from * LANES);
        __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[from]), factor);
        q[v] = _mm512_cvtps_epi32(_mm512_min_ps(high, scaled));
    }
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), zero);
    __m512i up = _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), zero);
    __m512i all =
        _mm512_xor_si512(_mm512_packus_epi16(low, up), _mm512_set1_epi8((char)sign_flip(to)));
    __mmask64 some = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
    _mm512_mask_storeu_epi8(y, some, _mm512_permutexvar_epi32(order, all));
}

#endif
