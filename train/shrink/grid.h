/* SPDX-License-Identifier: MIT */
/* grid.h - numbers on a uniform grid whose step is learned with them.
 *
 * Forward sees q = k * step, k = round(x / step) within -levels..levels; x is what the optimizer
 * moves (straight-through estimator: dq/dx = 1 inside the range; outside, only inwards). The step
 * follows the numbers: now and then it goes half the way to sum F x k / sum F k^2, the best one for
 * the levels they have, F their diagonal Fisher information (a step of Lloyd's algorithm) - less
 * far as the learning rate falls, or the last moves would take numbers over halfway marks after
 * they can learn no more. Steps learned by gradient (LSQ, Esser et al., 2020) shrank without end
 * under Adam: docs/tried.md. The step is used with 8 bits of mantissa, so that a
 * file needs 2 bytes for it and k * step is exact in f32.
 */
#ifndef GRID_H
#define GRID_H

#include <stdint.h>

struct grid {
    int32_t levels;
    float step;  /* rounded: the one in use */
    float exact; /* the one that is learned */
};

/* step: > 0 at first. */
void pith_grid_init(struct grid *g, uint32_t levels, float step);
/* k of x. Of what is no number: 0. */
int32_t pith_grid_level(const struct grid *g, float x);
/* The gradient by q, grad [n], becomes that by x. Where alive (may be NULL) is 0, it stays. */
void pith_grid_gradient(const struct grid *g, uint64_t n, const float *x, const uint8_t *alive,
                        float *grad);
/* Sums over numbers that a step is learned from. */
struct grid_fit {
    double xk, kk;
};
/* rate: 0..1, the learning rate in parts of the run's highest. */
void pith_grid_learn(struct grid *g, const struct grid_fit *fit, double rate);

#endif
