/* SPDX-License-Identifier: MIT */
/* fold_grid.h - grids through a fold: what was k * step before is k times another step behind
 * it, and the steps and biases that a fold makes can be rounded to what a file stores in few bits.
 */
#ifndef PITH_FOLD_GRID_H
#define PITH_FOLD_GRID_H

#include "pith_model.h"

/* Centroids (i - zero) * step, i = 0 .. n - 1, each product rounded once. */
struct uniform_grid {
    float step; /* > 0, normal */
    uint32_t zero;
};

/* Whether the n centroids, ascending, are such; one of them is 0. */
bool pith_grid_find(const float *centroid, uint32_t n, struct uniform_grid *grid);
/* The step, where the centroids are k * step, |k| <= n / 2, n odd; else 0. */
float pith_grid_symmetric_step(const float *centroid, uint32_t n);
void pith_grid_write(const struct uniform_grid *grid, uint32_t n, float *centroid);

/* To so many bits behind the leading one, half to even; 23 and more: as it is. step > 0, finite; 0
 * where that is not a normal number. */
float pith_grid_round(double step, uint32_t bits);

/* Brings value[0 .. n) onto k * step, |k| <= levels (1..127), by a step that reaches the largest of
 * them, and returns the codebook; NULL: out of memory. */
struct pith_codebook *pith_grid_lay(struct pith_model *m, float *value, uint64_t n,
                                    uint32_t levels);

#endif
