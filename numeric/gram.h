/* SPDX-License-Identifier: MIT */
/* gram.h - Gram matrices and cross-covariances of layer inputs, added up piece by piece.
 *
 *     struct gram_piece p = {.tile = pith_gram_tile(), .a = x, .b = x, .n_a = n, .n_b = n,
 *                            .count = rows, .triangle = true};
 *     for each piece of rows
 *         pith_gram_add(&p, 0, n, h);          // threads may share it: each its own rows of h
 *     pith_gram_mirror(h, n);
 *
 * An element is the sum, in double, of parts of PITH_GRAM_PART rows, which are added up one after
 * the other in f32: the same bits on every machine, however rows of the sum are shared among
 * threads, and however rows come in pieces as long as these are multiples of PITH_GRAM_PART.
 * Integers of at most 255 are summed exactly: 256 * 255^2 < 2^24. */
#ifndef PITH_GRAM_H
#define PITH_GRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PITH_GRAM_PART 256u

/* sum [6, 32]: of `count` rows, in their order, a[row * n_a + i] * b[row * n_b + k], each product
 * and each sum rounded. */
typedef void gram_tile(const float *a, size_t n_a, const float *b, size_t n_b, size_t count,
                       float *sum);
/* The fastest for this CPU, whose features take long to read. */
gram_tile *pith_gram_tile(void);

struct gram_piece {
    gram_tile *tile;
    const float *a, *b; /* [count, n_a], [count, n_b]: one input, or result, in a row */
    size_t n_a, n_b, count;
    bool triangle; /* only elements [i, k >= i] are wanted; those below may be anything */
};

/* sum [n_a, n_b] += A^T B, of its rows first .. last - 1 alone. */
void pith_gram_add(const struct gram_piece *p, size_t first, size_t last, double *sum);

/* The lower triangle becomes the upper one. */
void pith_gram_mirror(double *h, size_t n);

#endif
