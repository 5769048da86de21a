/* SPDX-License-Identifier: MIT */
/* fake_rows.h - rounding to a grid and its gradient, at the speed of memory. One template
 * (fake_rows_impl.h) compiled for each instruction set: train_kernels.h. */
#ifndef FAKE_ROWS_H
#define FAKE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* Numbers k * step, low <= k <= high, |low| and |high| below 2^16. */
struct fake_step {
    float step, low, high;
};

/* Straight through: dx (+)= dy where low * step <= x <= high * step, else 0. */
struct fake_gradient {
    const float *x, *dy;
    const float *y; /* as round gave it */
    size_t n;
    float *dx; /* NULL: not wanted */
    bool set;
    double by_step; /* += the sum of dy * dy/dstep, which is round(x / step) - x / step there and
                       low or high elsewhere */
    double outside; /* += the sum of dy elsewhere */
};

struct fake_rows {
    /* y = the nearest of the grid; of two equally near ones the even k. As QuantizeLinear and
     * DequantizeLinear do it one after the other: k is round(x / step), rounded once. */
    void (*round)(const struct fake_step *g, const float *x, size_t n, float *y);
    void (*back)(const struct fake_step *g, struct fake_gradient *d);
};

#endif
