/* SPDX-License-Identifier: MIT */
/* gemv_codebook_vbmi.c - dense products from 8-bit indices: 256 floats do not fit a permute, but
 * their bytes do. The codebook is kept as four planes of 256 bytes (16 registers); two VPERMI2B and
 * a blend look 64 indices up in one plane, and unpacking the four planes puts the floats together.
 * Unpacking works within 128-bit lanes, hence the order of FORM_DENSE8. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define UNIT_ROWS 4u
#define BLOCK_COLS 64u
#define CENTROIDS 256u

/* All 16 registers of planes stay loaded through the rows; 32 registers leave room for the rest. */
struct planes {
    __m512i p[4][4]; /* [byte of the float][64 centroids] */
};

/* Once a call, for all rows: one codebook serves the matrix. */
static void load_planes(struct planes *t, const float *codebook)
{
    uint8_t byte[4][CENTROIDS];
    for (uint32_t i = 0; i < CENTROIDS; i++) {
        uint32_t bits = f32_bits(codebook[i]);
        for (uint32_t k = 0; k < 4; k++)
            byte[k][i] = (uint8_t)(bits >> 8 * k);
    }
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t q = 0; q < 4; q++)
            t->p[k][q] = _mm512_loadu_si512(byte[k] + (size_t)64 * q);
}

/* The low 7 bits choose in a pair of registers, the top bit chooses the pair. */
static inline __m512i plane(const __m512i p[4], __m512i index, __mmask64 high)
{
    return _mm512_mask_blend_epi8(high, _mm512_permutex2var_epi8(p[0], index, p[1]),
                                  _mm512_permutex2var_epi8(p[2], index, p[3]));
}

static inline __m512 multiply_add(__m512i w, const float *x, __m512 sum)
{
    return _mm512_fmadd_ps(_mm512_castsi512_ps(w), _mm512_loadu_ps(x), sum);
}

/* Four planes of bytes are woven into floats: bytes to words, words to doublewords. */
static inline void block(const struct planes *t, const uint8_t *at, const float *x, __m512 sum[2])
{
    __m512i index = _mm512_loadu_si512(at);
    __mmask64 high = _mm512_movepi8_mask(index);
    __m512i b0 = plane(t->p[0], index, high), b1 = plane(t->p[1], index, high);
    __m512i b2 = plane(t->p[2], index, high), b3 = plane(t->p[3], index, high);
    __m512i low0 = _mm512_unpacklo_epi8(b0, b1), low1 = _mm512_unpackhi_epi8(b0, b1);
    __m512i high0 = _mm512_unpacklo_epi8(b2, b3), high1 = _mm512_unpackhi_epi8(b2, b3);
    sum[0] = multiply_add(_mm512_unpacklo_epi16(low0, high0), x, sum[0]);
    sum[1] = multiply_add(_mm512_unpackhi_epi16(low0, high0), x + 16, sum[1]);
    sum[0] = multiply_add(_mm512_unpacklo_epi16(low1, high1), x + 32, sum[0]);
    sum[1] = multiply_add(_mm512_unpackhi_epi16(low1, high1), x + 48, sum[1]);
}

/* Two partial sums; the tail meets zeros of x. */
void pith_gemv_codebook8_vbmi(const struct run_form *f, const float *x, float *y,
                              uint32_t unit_begin, uint32_t unit_end)
{
    uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;
    uint32_t whole = f->cols / BLOCK_COLS, tail = f->cols % BLOCK_COLS;
    float x_tail[BLOCK_COLS] = {0};
    struct planes t;
    memcpy(x_tail, x + (size_t)whole * BLOCK_COLS, tail * sizeof *x);
    load_planes(&t, form_at(f, f->codebook));
    for (uint32_t r = unit_begin * UNIT_ROWS; r < end; r++) {
        const uint8_t *row = form_at(f, f->index + (uint64_t)r * f->row_bytes);
        __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (uint32_t b = 0; b < whole; b++)
            block(&t, row + (size_t)b * BLOCK_COLS, x + (size_t)b * BLOCK_COLS, sum);
        if (tail)
            block(&t, row + (size_t)whole * BLOCK_COLS, x_tail, sum);
        y[r] = _mm512_reduce_add_ps(_mm512_add_ps(sum[0], sum[1]));
    }
}
