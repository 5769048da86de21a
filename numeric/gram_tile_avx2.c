/* SPDX-License-Identifier: MIT */
/* gram_tile_avx2.c - gram_tile_impl.h for AVX2. */
#define VECTOR_BYTES 32
#define GRAM_TILE pith_gram_tile_avx2
#include "gram_tile_impl.h"
