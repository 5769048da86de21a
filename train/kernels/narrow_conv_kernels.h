/* SPDX-License-Identifier: MIT */
/* narrow_conv_kernels.h - the inner loops of narrow_conv.c, on one picture. One template
 * (narrow_conv_impl.h) compiled for each instruction set: train_kernels.h. */
#ifndef NARROW_CONV_KERNELS_H
#define NARROW_CONV_KERNELS_H

#include <stdint.h>

/* x: rows of numbers, pads among them. Output pixel (h, w) reads `width` numbers of each of `rows`
 * rows, from x + h * row_step + w * pixel_step on, and the next row's x_row behind. */
struct narrow_picture {
    const float *x;
    int64_t x_row, row_step, pixel_step;
    int64_t rows, width; /* of a window */
    int64_t out_rows, out_columns, o;
    int64_t padded; /* o, and zeros up to a multiple of lanes */
};

struct narrow_kernels {
    int64_t lanes;
    /* y [out_rows, out_columns, o]; w [1 + rows * width, padded]: bias, then the weights */
    void (*forward)(const struct narrow_picture *p, const float *w, float *y);
    /* dw, as w: is added to. Windows of 3 x 3, 3 x 9 and 5 x 5. */
    void (*weights)(const struct narrow_picture *p, const float *dy, float *dw);
};

#endif
