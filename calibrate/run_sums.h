/* SPDX-License-Identifier: MIT */
/* run_sums.h - extremes and sums of numbers that lie one behind the other. */
#ifndef RUN_SUMS_H
#define RUN_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_sums {
    float min, max;
    double sum, squares; /* squares is finite iff all numbers are */
    uint64_t n_zero;
};

/* x: [n] f32, n >= 1. Where one is not finite, only squares is valid. */
typedef void run_sums_fn(const float *x, size_t n, struct run_sums *r);

#endif
