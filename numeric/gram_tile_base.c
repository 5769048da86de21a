/* SPDX-License-Identifier: MIT */
/* gram_tile_base.c - gram_tile_impl.h for every CPU. */
#define VECTOR_BYTES 16
#define GRAM_TILE pith_gram_tile_base
#include "gram_tile_impl.h"
