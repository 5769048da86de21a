/* SPDX-License-Identifier: MIT */
/* gram_tile.h - the products of a Gram matrix (pith_gram.h), for each instruction set. */
#ifndef GRAM_TILE_H
#define GRAM_TILE_H

#include "pith_gram.h"

#define GRAM_TILE_ROWS 6u
#define GRAM_TILE_COLS 32u

extern gram_tile pith_gram_tile_base, pith_gram_tile_avx2, pith_gram_tile_avx512;

#endif
