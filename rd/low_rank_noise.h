/* SPDX-License-Identifier: MIT */
/* low_rank_noise.h - the noise that struct layer_factor tells, of a Gram matrix of few rows, in
 * O(n r^2) instead of O(n^3): a convolution at the end of a network has 49 places a sample and a
 * thousand columns. */
#ifndef LOW_RANK_NOISE_H
#define LOW_RANK_NOISE_H

#include <stddef.h>

#include "pith_runtime.h"

/* *noise: the mean of U[j, j]^2 where U^T U = h + ridge, its columns by rising diagonal. h: [n, n],
 * symmetric, of a rank of at most `rank`; ridge > 0. PITH_ERR_MEMORY; _ARGUMENT: h is of a larger
 * rank, by more than what floats leave. */
enum pith_status pith_low_rank_noise(const double *h, size_t n, size_t rank, double ridge,
                                     double *noise);

#endif
