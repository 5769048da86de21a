/* SPDX-License-Identifier: MIT */
/* block_walk.h - blocks of layers made better together (struct pith_block) as a walk passes them.
 */
#ifndef BLOCK_WALK_H
#define BLOCK_WALK_H

#include "float_walk.h"
#include "layer_blocks.h"

/* The block that the walk is in. */
struct block_walk {
    struct layer_block *blocks; /* owns */
    uint32_t n, next;           /* the block that begins next, or is open */
    bool open;
    uint32_t from;      /* node of the network of integers where it begins */
    uint32_t x, x_last; /* value that leads into it, and who really reads it last */
};

/* None, where none are asked for or samples are too few. PITH_ERR_MEMORY. Close in any case. */
enum pith_status pith_block_walk_open(struct block_walk *b, const struct walk_state *s);
void pith_block_walk_close(struct block_walk *b);

/* The walk is about to run `node`, or through (n_nodes). */
enum pith_status pith_block_walk_pass(struct block_walk *b, struct walk_state *s, uint32_t node);

#endif
