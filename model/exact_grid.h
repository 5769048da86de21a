/* SPDX-License-Identifier: MIT */
/* exact_grid.h - weights that lie on a grid already, as networks do that were compressed or
 * quantized before and widened to floats again: found, and stored in the model, with every number
 * as it was to the bit.
 *
 *     struct pith_grids_found found;
 *     pith_find_grids(model, &found, &err);      // of a model just imported */
#ifndef PITH_EXACT_GRID_H
#define PITH_EXACT_GRID_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pith_grids_found {
    uint32_t n_few;    /* weights of few different values: one codebook */
    uint32_t n_rows;   /* weights whose rows are integers times a scale of the row */
    uint32_t n_narrow; /* other constants whose numbers are all f16, or all bf16 */
};

/* Gives each f32 weight (pith_model_weights) without codebook or mask one, where its values are
 *
 *     at most 256 different ones, compared by their bits; or
 *     in each row of dimension 0, scale * k for an integer k in -128..127, or in 0..255 less a zero
 *     point of the row, the product rounded once to f32: then the codebook has the multiples of the
 *     row's scale,
 *
 * and a plain file gets smaller. Other constants whose numbers are f16 or bf16 remember that
 * (`stored`). No number changes. Rows of a weight that holds NaN, infinities or -0 are on no grid;
 * f16 and bf16 may hold them. found may be NULL. PITH_ERR_MEMORY: some may be found. */
enum pith_status pith_find_grids(struct pith_model *m, struct pith_grids_found *found,
                                 struct pith_error *err);

/* A row whose elements are k * scale, each product rounded once to f32. */
struct pith_row_grid {
    float scale;       /* > 0, normal; 0: all elements are 0 */
    int32_t low, high; /* smallest and largest k, or 0: high - low <= 255 */
};

/* Whether x[0 .. n) is such a row; k[n]: its integers. *hint: the largest |k| of the row before, or
 * 0; becomes that of this row. */
bool pith_find_row_grid(const float *x, uint64_t n, uint32_t *hint, struct pith_row_grid *g,
                        int16_t *k);

#ifdef __cplusplus
}
#endif
#endif
