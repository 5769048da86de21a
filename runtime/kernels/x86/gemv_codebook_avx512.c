/* SPDX-License-Identifier: MIT */
/* gemv_codebook_avx512.c - dense products from 4-bit and 5-bit indices. A block is 16 words and the
 * field at bit b of word i belongs to column 16 (b / bits) + i, so shifting all words together
 * yields neighbouring columns field after field; a look-up is one VPERMPS or VPERMT2PS. Columns
 * past a row's end meet zeros in a copy of x.
 *
 * Weights stay indices in memory, so a row of 4-bit weights is an eighth of its floats: these
 * products wait for memory, and looking up is free meanwhile. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define BLOCK_BYTES 64u
#define BLOCK_WORDS 16u
#define UNIT_ROWS 4u
#define COLS4 128u
#define COLS5 96u

typedef __m512 table4[1];
typedef __m512 table5[2];

static inline void load4(table4 t, const float *codebook)
{
    t[0] = _mm512_loadu_ps(codebook);
}

static inline void load5(table5 t, const float *codebook)
{
    t[0] = _mm512_loadu_ps(codebook);
    t[1] = _mm512_loadu_ps(codebook + 16);
}

/* Nothing above the lowest 4 or 5 bits of a word is read. */
static inline __m512 look_up4(const table4 t, __m512i words)
{
    return _mm512_permutexvar_ps(words, t[0]);
}

static inline __m512 look_up5(const table5 t, __m512i words)
{
    return _mm512_permutex2var_ps(t[0], words, t[1]);
}

/* The block's own sum is added to the row's: chains of at most eight multiply-adds. */
#define PRODUCT(bits, fields)                                                                      \
    static inline __m512 block##bits(const uint8_t *block, const float *x, const table##bits t,    \
                                     __m512 sum)                                                   \
    {                                                                                              \
        __m512i words = _mm512_loadu_si512(block);                                                 \
        __m512 s = _mm512_setzero_ps();                                                            \
        for (uint32_t j = 0; j < (fields); j++) {                                                  \
            s = _mm512_fmadd_ps(look_up##bits(t, words), _mm512_loadu_ps(x + j * BLOCK_WORDS), s); \
            words = _mm512_srli_epi32(words, bits);                                                \
        }                                                                                          \
        return _mm512_add_ps(sum, s);                                                              \
    }                                                                                              \
                                                                                                   \
    void pith_gemv_codebook##bits##_avx512(const struct run_form *f, const float *x, float *y,     \
                                           uint32_t unit_begin, uint32_t unit_end)                 \
    {                                                                                              \
        uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;                     \
        uint32_t whole = f->cols / COLS##bits, tail = f->cols % COLS##bits;                        \
        float x_tail[COLS##bits];                                                                  \
        memset(x_tail, 0, sizeof x_tail);                                                          \
        memcpy(x_tail, x + (size_t)whole * COLS##bits, tail * sizeof *x);                          \
        for (uint32_t r = unit_begin * UNIT_ROWS; r < end; r++) {                                  \
            const float *codebook = form_at(f, f->codebook);                                       \
            const uint8_t *row = form_at(f, f->index + (uint64_t)r * f->row_bytes);                \
            table##bits t;                                                                         \
            load##bits(t, codebook + (size_t)r * f->codebook_stride);                              \
            __m512 sum = _mm512_setzero_ps();                                                      \
            for (uint32_t b = 0; b < whole; b++)                                                   \
                sum = block##bits(row + (size_t)b * BLOCK_BYTES, x + (size_t)b * COLS##bits, t,    \
                                  sum);                                                            \
            if (tail)                                                                              \
                sum = block##bits(row + (size_t)whole * BLOCK_BYTES, x_tail, t, sum);              \
            y[r] = _mm512_reduce_add_ps(sum);                                                      \
        }                                                                                          \
    }

PRODUCT(4, 8)
PRODUCT(5, 6)
