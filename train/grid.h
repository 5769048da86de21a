/* SPDX-License-Identifier: MIT */
/* grid.h - numbers on a uniform grid whose step is learned with them.
 *
 * Forward sees q = k * step, k = round(x / step) within -levels..levels; x is what the optimizer
 * moves (straight through: dq/dx = 1 inside the range, 0 outside). The step learns on a logarithmic
 * scale from dq/dstep = k - x / step inside, +-levels outside (Esser et al., 2020, LSQ). It is used
 * with 8 bits of mantissa, so that a file needs 2 bytes for it and k * step is exact in f32. */
#ifndef GRID_H
#define GRID_H

#include <stdint.h>

struct grid {
    int32_t levels;
    float step;          /* rounded: the one in use */
    float log_step;      /* natural logarithm of what is learned */
    float first, second; /* moments of its gradient */
    uint64_t n_steps;
};

/* step: > 0 at first. */
void pith_grid_init(struct grid *g, uint32_t levels, float step);
#define GRID_HALFWAY 0.5f

/* k of x; below zero * step it is 0, zero: 0.5 .. 1. */
int32_t pith_grid_level(const struct grid *g, float x, float zero);
/* The gradient by q, grad [n], becomes that by x; returns that by the logarithm of the step. Where
 * alive is 0, nothing moves. alive, zero [n]: may be NULL. */
double pith_grid_gradient(const struct grid *g, uint64_t n, const float *x, const uint8_t *alive,
                          const float *zero, float *grad);
/* One step of Adam on the logarithm of the step. */
void pith_grid_learn(struct grid *g, double gradient, double rate);

#endif
