/* SPDX-License-Identifier: MIT */
/* layer_blocks.h - where a network falls into blocks of layers. */
#ifndef LAYER_BLOCKS_H
#define LAYER_BLOCKS_H

#include "pith_integer_plan.h"

#define PITH_BLOCK_LAYERS 2u

/* Nodes [first, last) of the float network: x is the only value that they read of earlier ones, y
 * the only one that later ones read of them. */
struct layer_block {
    uint32_t first, last, x, y;
    uint32_t n_layers;
};

/* Neighbouring blocks of PITH_BLOCK_LAYERS layers or more, where there are so many between two such
 * values; what is left behind the last one joins it. In *blocks: [*n], the caller's (free). Nothing
 * of a loop or branch is in one. PITH_ERR_MEMORY. */
enum pith_status pith_find_layer_blocks(const struct integer_plan *p, struct layer_block **blocks,
                                        uint32_t *n);

#endif
