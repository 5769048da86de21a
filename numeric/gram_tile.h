/* SPDX-License-Identifier: MIT */
/* gram_tile.h - the products of a Gram matrix (pith_gram.h), for each instruction set. */
#ifndef GRAM_TILE_H
#define GRAM_TILE_H

#include "pith_gram.h"

#define GRAM_TILE_ROWS 6u
#define GRAM_TILE_COLS 32u

/* sum [GRAM_TILE_ROWS, GRAM_TILE_COLS]: of `count` rows, in their order, a[row * n_a + i] * b[row *
 * n_b + k], each product and each sum rounded. */
typedef void gram_tile(const float *a, size_t n_a, const float *b, size_t n_b, size_t count,
                       float *sum);

extern gram_tile pith_gram_tile_base, pith_gram_tile_avx2, pith_gram_tile_avx512;

#endif
