/* SPDX-License-Identifier: MIT */
/* channel_rows.h - what batch normalisation and its neighbours do to rows of channels, [rows, C],
 * at the speed of memory. One template (channel_rows_impl.h) compiled for each instruction set. */
#ifndef CHANNEL_ROWS_H
#define CHANNEL_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct channel_rows {
    /* sum[c] += sum of x - shift[c]; square[c] += sum of (x - shift[c])^2 */
    void (*moments)(const float *x, const float *shift, size_t rows, size_t c, double *sum,
                    double *square);
    /* y = x * s[c] + t[c] */
    void (*affine)(const float *x, const float *s, const float *t, size_t rows, size_t c, float *y);
    /* sum[c] += sum of dy; product[c] += sum of dy * (x - mean[c]) */
    void (*products)(const float *dy, const float *x, const float *mean, size_t rows, size_t c,
                     double *sum, double *product);
    /* dx (+)= dy * a[c] + x * b[c] + d[c] */
    void (*mix)(const float *dy, const float *x, const float *a, const float *b, const float *d,
                size_t rows, size_t c, bool set, float *dx);
    /* dx (+)= y > 0 ? dy : 0 */
    void (*rectify)(const float *y, const float *dy, size_t n, bool set, float *dx);
    /* to += part */
    void (*add)(float *to, const float *part, size_t n);
};

/* The best for this CPU. */
const struct channel_rows *pith_channel_rows(void);

extern const struct channel_rows pith_channel_rows_base, pith_channel_rows_avx2,
    pith_channel_rows_avx512;

#endif
