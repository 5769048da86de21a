/* SPDX-License-Identifier: MIT */
/* sum_f32.h - sums of floats in one written order.
 *
 * Element i is added to lane i % 16, each lane in ascending order; then the lanes are folded
 * 16 -> 8 -> 4 -> 2 -> 1, lane k with lane k + half. Vector units follow the same order, so the
 * result has the same bits everywhere, and the error is that of n/16 + 4 additions. */
#ifndef SUM_F32_H
#define SUM_F32_H

#include <stddef.h>

float pith_sum_f32(const float *x, size_t n);

#define LONG_SUM_PIECE 256u

/* Long sums: pieces of so many elements are summed as above and the pieces in double, so that the
 * error does not grow with n. Of x[i]; of |x[i]|; of (x[i] - minus)^2. */
double pith_long_sum_f32(const float *x, size_t n);
double pith_long_sum_abs_f32(const float *x, size_t n);
double pith_long_sum_square_f32(const float *x, float minus, size_t n);

#endif
