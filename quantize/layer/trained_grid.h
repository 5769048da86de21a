/* SPDX-License-Identifier: MIT */
/* trained_grid.h - what training with integers in the loop decided, taken as it is. */
#ifndef TRAINED_GRID_H
#define TRAINED_GRID_H

#include "integer_plan.h"

/* The step of each of `rows` rows, where c has a codebook of k * step, k in -128..127, one for
 * every row or one of all. False: it has not. */
bool pith_trained_steps(const struct pith_const *c, uint64_t rows, double *step);

/* Values and weights that become integers by the plan. PITH_ERR_MEMORY. */
enum pith_status pith_integer_places(const struct integer_plan *p,
                                     struct pith_quantize_places *places, struct pith_error *err);

#endif
