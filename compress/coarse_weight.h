/* SPDX-License-Identifier: MIT */
/* coarse_weight.h - what a weight becomes on a grid of few bits, or without its smallest elements.
 */
#ifndef COARSE_WEIGHT_H
#define COARSE_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

/* to, w: [rows, cols]. Row by row the nearest of the integers |q| <= 2^(bits-1) - 1 times a scale:
 * of 26 from half of what cuts nothing up to that, the one with the least squared error.
 * bits: 2..8. */
void pith_coarse_round(const float *w, uint64_t rows, uint64_t cols, uint32_t bits, float *to);
/* The `share` smallest of all become 0. False: no memory. */
bool pith_coarse_prune(const float *w, uint64_t n, double share, float *to);

#endif
