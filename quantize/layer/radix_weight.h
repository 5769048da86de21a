/* SPDX-License-Identifier: MIT */
/* radix_weight.h - a power of two as the scale of a layer's rows (radix.h). */
#ifndef RADIX_WEIGHT_H
#define RADIX_WEIGHT_H

#include "integer_layer.h"

/* The power of two with which rows [first, last) lose least by rounding to nearest, each square
 * counted `weight[k]` times (NULL: once) in column k: `widest`, with which nothing is cut, or one
 * of the next two below it, but none below `least`. */
double pith_radix_of_weights(const struct integer_layer *l, uint64_t first, uint64_t last,
                             const double *weight, double widest, double least);

#endif
