/* SPDX-License-Identifier: MIT */
/* gram_tile_avx512.c - gram_tile_impl.h for AVX-512. */
#define VECTOR_BYTES 64
#define GRAM_TILE pith_gram_tile_avx512
#include "gram_tile_impl.h"
