/* SPDX-License-Identifier: MIT */
/* spmv_window_avx512.c - the sliding-window product: x and the codebook are looked up in registers.
 *
 * The 31 columns in reach are two registers, and so is the codebook; VPERMT2PS looks up 16 lanes at
 * once in such a pair and reads only the low five bits of each index, so a slot costs two look-ups,
 * a shift or two and one multiply-add for 16 rows - no gather, no masking, no unpacking. The second
 * half of the window is loaded without its last lane: column 31, the empty slot, is x = 0. */
#include <immintrin.h>
#include "kernel_sparse.h"

static inline __m512 slot(__m512i col, __m512i index, const __m512 x[2], const __m512 c[2], __m512 sum)
{
    return _mm512_fmadd_ps(_mm512_permutex2var_ps(x[0], col, x[1]),
                           _mm512_permutex2var_ps(c[0], index, c[1]), sum);
}

void pith_spmv_window_avx512(const struct run_form *f, const float *x, float *y,
                             uint32_t unit_begin, uint32_t unit_end)
{
    const float *codebook = form_at(f, f->codebook);
    const uint32_t *ptr = form_at(f, f->ptr), *row = form_at(f, f->row);
    const uint8_t *step = form_at(f, f->col);
    const uint32_t *word = form_at(f, f->index);
    const __m512 c[2] = {_mm512_load_ps(codebook), _mm512_load_ps(codebook + 16)};
    const __m512i by5 = _mm512_set1_epi16(1 << 11), by10 = _mm512_set1_epi16(1 << 6);
    for (uint32_t u = unit_begin; u < unit_end; u++) {
        const float *window = x;
        __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0;
        for (uint32_t t = ptr[u], end = ptr[u + 1]; t < end; t++) {
            __m512i v = _mm512_load_si512(word + (size_t)t * WINDOW_LANES);
            window += step[t];
            _mm_prefetch((const char *)(word + (size_t)t * WINDOW_LANES) + 2048, _MM_HINT_T0);
            const __m512 xw[2] = {_mm512_loadu_ps(window),
                                  _mm512_maskz_loadu_ps(0x7fff, window + 16)};
            s0 = slot(v, _mm512_mulhi_epu16(v, by5), xw, c, s0);
            s1 = slot(_mm512_srli_epi32(v, 16), _mm512_srli_epi32(v, 21), xw, c, s1);
            s2 = slot(_mm512_mulhi_epu16(v, by10), _mm512_srli_epi32(v, 26), xw, c, s2);
        }
        float sum[WINDOW_LANES];
        _mm512_storeu_ps(sum, _mm512_add_ps(_mm512_add_ps(s0, s1), s2));
        for (uint32_t lane = 0; lane < WINDOW_LANES; lane++)
            if (row[(size_t)u * WINDOW_LANES + lane] != UINT32_MAX)
                y[row[(size_t)u * WINDOW_LANES + lane]] = sum[lane];
    }
}
