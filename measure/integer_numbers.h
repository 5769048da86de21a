/* SPDX-License-Identifier: MIT */
/* integer_numbers.h - values that are integers as the numbers they stand for, and what their grid
 * alone does to numbers. */
#ifndef INTEGER_NUMBERS_H
#define INTEGER_NUMBERS_H

#include "pith_measure.h"
#include "pith_value_stats.h"

/* The grid of a value of integers: the one it has, or that of a QuantizeLinear or
 * DequantizeLinear beside it, written to *room. NULL: not known. */
const struct pith_grid *pith_find_grid(const struct pith_model *m, uint32_t value,
                                       struct pith_grid *room);
/* The numbers that t stands for; x: one for each element. */
void pith_integers_to_floats(const struct pith_grid *g, const struct pith_tensor *t, float *x);

struct grid_error {
    double low, high, step;    /* of the grid; of its coarsest channel */
    uint64_t n, clipped;       /* numbers; of them beyond its ends by more than half a step */
    double rounding, clipping; /* squared errors: of those within, of those beyond */
    uint32_t n_channels;       /* along axis 1; 0: none */
    uint8_t *alive;            /* owns: [n_channels] 1: not always 0 before, 2: not with integers */
};

/* was: the numbers before, [n] of t's shape; is: those that t stands for. False: no memory. */
bool pith_grid_error_add(struct grid_error *e, const struct pith_grid *g,
                         const struct pith_tensor *t, const float *was, const float *is);
/* Channels that are always 0 now and were not before. */
uint32_t pith_grid_error_dead(const struct grid_error *e);

#endif
