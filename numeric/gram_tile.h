/* SPDX-License-Identifier: MIT */
/* gram_tile.h - the products of a Gram matrix (gram.h), for each instruction set. */
#ifndef GRAM_TILE_H
#define GRAM_TILE_H

#include <stdint.h>

#include "gram.h"
#include "kernels/kernel_list.h"

#define GRAM_TILE_ROWS 6u
#define GRAM_TILE_COLS 32u

struct gram_kernels {
    gram_tile *tile;
};

/* The list: kernel_list.h. */
#define GRAM_KERNELS_ANY(KERNEL) KERNEL(tile, gram_tile, pith_gram_tile_base, 0)
#ifdef __x86_64__
#define GRAM_KERNELS_OWN(KERNEL)                                                                   \
    KERNEL(tile, gram_tile, pith_gram_tile_avx2, PITH_CPU_AVX2)                                    \
    KERNEL(tile, gram_tile, pith_gram_tile_avx512, PITH_CPU_AVX512)
#else
#define GRAM_KERNELS_OWN(KERNEL)
#endif
#define GRAM_KERNELS(KERNEL) GRAM_KERNELS_ANY(KERNEL) GRAM_KERNELS_OWN(KERNEL)

GRAM_KERNELS(KERNEL_DECLARE)

/* features: PITH_CPU_ bits, 0: the base alone. */
void pith_gram_kernels_fill(struct gram_kernels *k, uint32_t features);

#endif
