/* SPDX-License-Identifier: MIT */
/* spmv_csr.c - the definition of the two row-pointer products of kernel_sparse.h. */
#include "kernels/kernel_sparse.h"

#define UNIT_ROWS 16u

static uint32_t last_row(const struct run_form *f, uint32_t unit_end)
{
    return unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;
}

void pith_spmv_csr_value(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                         uint32_t unit_end)
{
    const uint32_t *ptr = form_at(f, f->ptr);
    const uint16_t *col = form_at(f, f->col);
    const float *value = form_at(f, f->index);
    for (uint32_t r = unit_begin * UNIT_ROWS; r < last_row(f, unit_end); r++) {
        float sum = 0;
        for (uint32_t i = ptr[r]; i < ptr[r + 1]; i++)
            sum += value[i] * x[col[i]];
        y[r] = sum;
    }
}

void pith_spmv_csr_codebook(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                            uint32_t unit_end)
{
    const uint32_t *ptr = form_at(f, f->ptr);
    const uint16_t *col = form_at(f, f->col);
    const uint8_t *index = form_at(f, f->index);
    for (uint32_t r = unit_begin * UNIT_ROWS; r < last_row(f, unit_end); r++) {
        const float *codebook =
            (const float *)form_at(f, f->codebook) + (size_t)r * f->codebook_stride;
        float sum = 0;
        for (uint32_t i = ptr[r]; i < ptr[r + 1]; i++)
            sum += codebook[index[i]] * x[col[i]];
        y[r] = sum;
    }
}
