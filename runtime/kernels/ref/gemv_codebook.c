/* SPDX-License-Identifier: MIT */
/* gemv_codebook.c - the definition of the dense codebook products of kernel_sparse.h: where
 * the index of a column lies in a row of blocks, then a plain dot product. */
#include "kernels/kernel_sparse.h"

#define UNIT_ROWS 4u

/* Column c: block c / 128, word c % 16, field of 4 bits c % 128 / 16. */
static uint32_t index4(const uint8_t *row, uint32_t c)
{
    const uint8_t *word = row + (size_t)(c / 128 * 64 + c % 16 * 4);
    return load_le32(word) >> (c % 128 / 16 * 4) & 15;
}

/* As index4() with 96 columns a block and fields of 5 bits. */
static uint32_t index5(const uint8_t *row, uint32_t c)
{
    const uint8_t *word = row + (size_t)(c / 96 * 64 + c % 16 * 4);
    return load_le32(word) >> (c % 96 / 16 * 5) & 31;
}

/* Four columns of each lane lie beside each other (gemv_codebook_vbmi.c). */
static uint32_t index8(const uint8_t *row, uint32_t c)
{
    return row[c / 64 * 64 + c % 16 / 4 * 16 + c % 64 / 16 * 4 + c % 4];
}

/* The definition: k ascending, one sum. */
static void rows_of(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                    uint32_t unit_end, uint32_t (*index)(const uint8_t *row, uint32_t c))
{
    uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;
    for (uint32_t r = unit_begin * UNIT_ROWS; r < end; r++) {
        const float *codebook =
            (const float *)form_at(f, f->codebook) + (size_t)r * f->codebook_stride;
        const uint8_t *row = form_at(f, f->index + (uint64_t)r * f->row_bytes);
        float sum = 0;
        for (uint32_t c = 0; c < f->cols; c++)
            sum += codebook[index(row, c)] * x[c];
        y[r] = sum;
    }
}

void pith_gemv_codebook4(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                         uint32_t unit_end)
{
    rows_of(f, x, y, unit_begin, unit_end, index4);
}

void pith_gemv_codebook5(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                         uint32_t unit_end)
{
    rows_of(f, x, y, unit_begin, unit_end, index5);
}

void pith_gemv_codebook8(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                         uint32_t unit_end)
{
    rows_of(f, x, y, unit_begin, unit_end, index8);
}

#ifdef __x86_64__ /* elsewhere no level has them */
#define ROWS_KERNEL(bits)                                                                          \
    void pith_gemm_codebook##bits(const struct run_form *f, const float *x, float *y, uint32_t m,  \
                                  uint32_t unit_begin, uint32_t unit_end)                          \
    {                                                                                              \
        for (size_t i = 0; i < m; i++)                                                             \
            pith_gemv_codebook##bits(f, x + i * f->cols, y + i * f->rows, unit_begin, unit_end);   \
    }
ROWS_KERNEL(4)
ROWS_KERNEL(5)
#endif
