/* SPDX-License-Identifier: MIT */
/* fake_quant.h - a grid of integers in the loop: forward sees each number rounded, the gradient
 * goes straight through (straight-through estimator, Bengio et al., 2013), and the step is learned
 * (LSQ, Esser et al., 2020; the zero point as in LSQ+, Bhalgat et al., 2020).
 *
 *     y = (clip(round(x / s) + z, lowest, highest) - z) * s,   z = round(zero)
 *     dy/dx = 1 inside, 0 where clipped
 *     dy/ds = round(x / s) - x / s inside, lowest - z or highest - z where clipped
 *     dy/dz = 0 inside, -s where clipped
 *
 * What the optimizer moves is v = s / first, the step in what it was at first, and the zero point
 * as a share of the grid: with Adam, a step of the rate r then moves the scale by some r of itself,
 * whatever its size. For SGD the gradient by v is LSQ's, 1 / sqrt(n highest) times that by s, over
 * first, so that the scale moves as it does there.
 *
 * A radix is a step that is a power of two: the nearest one (of its logarithm) to v * first,
 * straight through. */
#ifndef FAKE_QUANT_H
#define FAKE_QUANT_H

#include "train/kernels/fake_rows.h"

/* What stays. */
struct fake_grid {
    float first; /* step at first */
    float lowest, highest;
    bool radix;
};

/* s of v. */
float pith_fake_step(const struct fake_grid *g, float v);
/* The whole zero point of the share `zero`. */
float pith_fake_zero(const struct fake_grid *g, float zero);
/* LSQ's factor over `first`, for n numbers: times the gradient by s it is that by v. */
double pith_fake_gain(const struct fake_grid *g, double n);

/* The step with which the numbers x, each times its own factor 1, lose the least squares: one that
 * cuts nothing, or one of some smaller ones; in radix powers of two. alive: NULL, or what is 0 does
 * not count. 1 where all are 0. */
float pith_fake_first_step(const struct fake_grid *g, const float *x, const unsigned char *alive,
                           size_t n);

#endif
