/* SPDX-License-Identifier: MIT */
/* window.h - windows over one to four spatial axes: which input element lies under which tap
 * of which output. Tap k of output o is input o * stride + k * dilation - pad along each axis.
 * Taps, inputs and outputs of all axes are numbered in row-major order; the last axis is the row.
 */
#ifndef PITH_WINDOW_H
#define PITH_WINDOW_H

#include "core/tensor.h"

#define WINDOW_MAX_AXES 4u

struct window_axis {
    int64_t in, out, kernel, stride, dilation, pad;
};

struct window {
    uint32_t n; /* axes */
    struct window_axis axis[WINDOW_MAX_AXES];
    size_t taps, in, out; /* elements of all axes */
    size_t out_rows;      /* out / the last axis' out */
};

/* The window of CONV's attributes over x [N,C,...] with weight w and output y. */
struct window pith_window_conv(const int32_t *attr, const struct shape *x, const struct shape *w,
                               const struct shape *y);

/* The place under tap `tap` of output `out`, both of the first n axes alone; false: it lies
 * outside. */
bool pith_window_place(const struct window *w, uint32_t n, size_t out, size_t tap, size_t *in);

/* Where a tap of an output row reads. */
struct tap_row {
    size_t in_row;
    int64_t begin, end; /* outputs of the row whose tap lies inside */
    int64_t first;      /* the input column under output `begin` */
};
/* false: all lie outside. */
bool pith_window_row(const struct window *w, size_t row, size_t tap, struct tap_row *r);

#endif
