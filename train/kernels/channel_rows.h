/* SPDX-License-Identifier: MIT */
/* channel_rows.h - what batch normalisation and its neighbours do to rows of channels, [rows, C],
 * at the speed of memory. One template (channel_rows_impl.h) compiled for each instruction set:
 * train_kernels.h. */
#ifndef CHANNEL_ROWS_H
#define CHANNEL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists are [c], tensors [rows, c]. */
struct channel_affine {
    const float *x, *s, *t;
    const float *beside; /* NULL: none */
    float *y;
    size_t rows, c;
};

/* sum[c] += sum of dy; product[c] += sum of dy * (x - mean[c]) */
struct channel_sums {
    const float *dy, *x, *mean;
    const float *s, *t; /* dy counts only where x * s[c] + t[c] > 0; NULL: everywhere */
    double *sum, *product;
    size_t rows, c;
};

/* A gradient through a normalisation; lists are [c], tensors [rows, c]. */
struct channel_mix {
    const float *dy, *x;
    const float *a, *b, *d;
    const float *s, *t; /* dy counts only where x * s[c] + t[c] > 0; NULL: everywhere */
    float *dx;          /* (+)= dy * a[c] + x * b[c] + d[c] */
    bool set;
    size_t rows, c;
};

/* g = grad * clip + mixed * value;  moments: b * old + (1 - b) * g, and of g^2, corrected by c1,
 * c2; value -= rate * (first / (sqrt(second) + 1e-8) + own * value) */
struct adam_step {
    float b1, b2, c1, c2, clip, mixed, own, rate;
};

struct channel_rows {
    /* sum[c] += sum of x - shift[c]; square[c] += sum of (x - shift[c])^2 */
    void (*moments)(const float *x, const float *shift, size_t rows, size_t c, double *sum,
                    double *square);
    void (*affine)(const struct channel_affine *a); /* y = x * s[c] + t[c] */
    void (*affine_relu)(
        const struct channel_affine *a); /* y = max(x * s[c] + t[c] (+ beside), 0) */
    void (*products)(const struct channel_sums *s);
    void (*mix)(const struct channel_mix *m);
    /* dx (+)= y > 0 ? dy : 0 */
    void (*rectify)(const float *y, const float *dy, size_t n, bool set, float *dx);
    /* dy = y > 0 ? dy : 0 */
    void (*rectify_in_place)(const float *y, float *dy, size_t n);
    /* One step of Adam, number by number: the same bits from every variant. */
    void (*adam)(const struct adam_step *a, const float *grad, float *first, float *second,
                 float *value, size_t n);
    /* to += part; to += a * b, the product rounded: the same bits from every variant. */
    void (*add)(float *to, const float *part, size_t n);
    void (*add_product)(float *to, const float *a, const float *b, size_t n);
    /* to = ((part 0 + part 1) + (part 2 + part 3)) + ...; parts: 1, 2, 4 or 8 */
    void (*tree)(float *to, const float *const *part, uint32_t parts, size_t n);
};

#endif
