/* SPDX-License-Identifier: MIT */
/* spmm_window_avx512.c - the sliding-window product (spmv_window_avx512.c) of several rows of x:
 * a triple's fields and centroids are looked up once, x itself for each row. On Zen 4 a triple
 * takes some 9.5 cycles with one row and 27 with four. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define ROWS 4 /* of x at once: twelve sums */
#define PREFETCH_BYTES 2048

struct unit {
    const uint32_t *word;
    const uint8_t *step;
    uint32_t triples;
};

/* Only the low five bits of each column count. The load leaves out lane 31: that is the empty slot,
 * whose x is 0, and the float there may be behind the end of x. */
static inline __m512 look_up(const float *window, __m512i col)
{
    return _mm512_permutex2var_ps(_mm512_loadu_ps(window), col,
                                  _mm512_maskz_loadu_ps(0x7fff, window + 16));
}

/* UINT32_MAX fills up the last unit and is no row. */
static inline void store_rows(const uint32_t row[WINDOW_LANES], __m512 sum, float *y)
{
    float lanes[WINDOW_LANES];
    _mm512_storeu_ps(lanes, sum);
    for (uint32_t lane = 0; lane < WINDOW_LANES; lane++)
        if (row[lane] != UINT32_MAX)
            y[row[lane]] = lanes[lane];
}

/* m is a constant where this is inlined, so that the sums are registers. Each row of x has the
 * sums, and the order of them, that spmv_window_avx512.c has: the bits do not depend on m. */
static inline __attribute__((always_inline)) void unit_run(const struct run_form *f,
                                                           const struct unit *u, const __m512 c[2],
                                                           const float *x, float *y,
                                                           const uint32_t *row, const int m)
{
    __m512 sum[ROWS][3];
    const float *window = x;
    const uint32_t *word = u->word;
#pragma GCC unroll 4
    for (int i = 0; i < m; i++)
        sum[i][0] = sum[i][1] = sum[i][2] = _mm512_setzero_ps();
    for (uint32_t t = 0; t < u->triples; t++, word += WINDOW_LANES) {
        __m512i v = _mm512_load_si512(word);
        __asm__("" : "+v"(v)); /* one load: gcc would fold more of them into the shifts */
        const __m512i col1 = _mm512_srli_epi32(v, 16), col2 = _mm512_srli_epi32(v, 10);
        const __m512 w0 = _mm512_permutex2var_ps(c[0], _mm512_srli_epi32(v, 5), c[1]);
        const __m512 w1 = _mm512_permutex2var_ps(c[0], _mm512_srli_epi32(v, 21), c[1]);
        const __m512 w2 = _mm512_permutex2var_ps(c[0], _mm512_srli_epi32(v, 26), c[1]);
        window += u->step[t];
        _mm_prefetch((const char *)word + PREFETCH_BYTES, _MM_HINT_T0);
#pragma GCC unroll 4
        for (int i = 0; i < m; i++) {
            sum[i][0] = _mm512_fmadd_ps(look_up(window + (size_t)i * f->cols, v), w0, sum[i][0]);
            sum[i][1] = _mm512_fmadd_ps(look_up(window + (size_t)i * f->cols, col1), w1, sum[i][1]);
            sum[i][2] = _mm512_fmadd_ps(look_up(window + (size_t)i * f->cols, col2), w2, sum[i][2]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < m; i++)
        store_rows(row, _mm512_add_ps(_mm512_add_ps(sum[i][0], sum[i][1]), sum[i][2]),
                   y + (size_t)i * f->rows);
}

/* Rows are taken by fours while there are so many, and the one to three that are left together. */
static void unit_rows(const struct run_form *f, uint32_t unit, const __m512 c[2], const float *x,
                      float *y, uint32_t m)
{
    const uint32_t *ptr = form_at(f, f->ptr);
    const uint32_t *row = (const uint32_t *)form_at(f, f->row) + (size_t)unit * WINDOW_LANES;
    const struct unit u = {form_at(f, f->index + (uint64_t)ptr[unit] * WINDOW_LANES * 4),
                           (const uint8_t *)form_at(f, f->col) + ptr[unit],
                           ptr[unit + 1] - ptr[unit]};
    for (; m >= ROWS; m -= ROWS, x += (size_t)ROWS * f->cols, y += (size_t)ROWS * f->rows)
        unit_run(f, &u, c, x, y, row, ROWS);
    if (m == 3)
        unit_run(f, &u, c, x, y, row, 3);
    else if (m == 2)
        unit_run(f, &u, c, x, y, row, 2);
    else if (m == 1)
        unit_run(f, &u, c, x, y, row, 1);
}

void pith_spmm_window_avx512(const struct run_form *f, const float *x, float *y, uint32_t m,
                             uint32_t unit_begin, uint32_t unit_end)
{
    const float *codebook = form_at(f, f->codebook);
    const __m512 c[2] = {_mm512_load_ps(codebook), _mm512_load_ps(codebook + 16)};
    for (uint32_t u = unit_begin; u < unit_end; u++)
        unit_rows(f, u, c, x, y, m);
}
