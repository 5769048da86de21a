/* SPDX-License-Identifier: MIT */
/* pith_gram.h - Gram matrices and cross-covariances of layer inputs, added up piece by piece: a
 * piece is some patches, one column each, rows `stride` numbers apart. */
#ifndef PITH_GRAM_H
#define PITH_GRAM_H

#include <stddef.h>
#include <stdint.h>

/* h [n, n], upper triangle: += X X^T. x: [n, count], count * x^2 < 2^31: exact. */
void pith_gram_add(const int16_t *x, size_t n, size_t stride, size_t count, double *h);

/* c [rows, n] += Y X^T. Products of a piece are added up in f32, in 16 sums of a fixed order. */
void pith_gram_add_cross(const float *y, size_t rows, const float *x, size_t n, size_t stride,
                         size_t count, double *c);

/* The lower triangle becomes the upper one. */
void pith_gram_mirror(double *h, size_t n);

#endif
