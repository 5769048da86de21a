/* SPDX-License-Identifier: MIT */
/* spmv_window.c - the definition of the sliding-window product of kernel_sparse.h. The form
 * exists for machines that look x up in registers; this loop defines its result. */
#include "kernels/kernel_sparse.h"

static float slot(uint32_t col, uint32_t index, const float *window, const float *codebook)
{
    return col == WINDOW_COLS ? 0 : codebook[index] * window[col];
}

static void window_unit(const struct run_form *f, const float *x, uint32_t unit,
                        float sum[WINDOW_LANES])
{
    const float *codebook = form_at(f, f->codebook);
    const uint32_t *ptr = form_at(f, f->ptr);
    const uint8_t *step = form_at(f, f->col);
    const uint32_t *word = form_at(f, f->index);
    const float *window = x;
    for (uint32_t t = ptr[unit]; t < ptr[unit + 1]; t++) {
        window += step[t];
        for (uint32_t lane = 0; lane < WINDOW_LANES; lane++) {
            uint32_t w = word[(size_t)t * WINDOW_LANES + lane];
            sum[lane] += slot(w & 31, w >> 5 & 31, window, codebook);
            sum[lane] += slot(w >> 16 & 31, w >> 21 & 31, window, codebook);
            sum[lane] += slot(w >> 10 & 31, w >> 26 & 31, window, codebook);
        }
    }
}

void pith_spmv_window(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                      uint32_t unit_end)
{
    const uint32_t *row = form_at(f, f->row);
    for (uint32_t u = unit_begin; u < unit_end; u++) {
        float sum[WINDOW_LANES] = {0};
        window_unit(f, x, u, sum);
        for (uint32_t lane = 0; lane < WINDOW_LANES; lane++)
            if (row[(size_t)u * WINDOW_LANES + lane] != UINT32_MAX)
                y[row[(size_t)u * WINDOW_LANES + lane]] = sum[lane];
    }
}

void pith_spmm_window(const struct run_form *f, const float *x, float *y, uint32_t m,
                      uint32_t unit_begin, uint32_t unit_end)
{
    for (size_t i = 0; i < m; i++)
        pith_spmv_window(f, x + i * f->cols, y + i * f->rows, unit_begin, unit_end);
}
