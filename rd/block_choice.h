/* SPDX-License-Identifier: MIT */
/* block_choice.h - which blocks of a layer stay, before its rows are rounded: rows of a block share
 * what goes. Blocks of the same rows go one after the other, each time the one whose removal costs
 * least with all others making up for it (eliminate.h); how far, is chosen for the whole layer by
 * what each cost (as OBC does for rows: Frantar and Alistarh, 2022). */
#ifndef BLOCK_CHOICE_H
#define BLOCK_CHOICE_H

#include "layers/layer_factor.h"

/* Columns of a row within which removed blocks make up for each other; to remove them takes the
 * cube of it. */
#define BLOCK_SEGMENT 512u

struct block_choice {
    const struct layer_factor *factor; /* not data-free; its goals are known */
    const float *w;                    /* [rows, n] */
    uint64_t rows;                     /* of all groups */
    const double *loss;                /* [rows] F */
    uint32_t block_rows, block_cols;   /* divide the rows of a group, and n */
    double price;                      /* nats that a block is worth: what costs less goes */
    const struct pith_opts *runtime;
};

/* kept: [rows, n] as stored; 0: is to be 0 anyway; blocks of nothing else go first, and count. At
 * least one block stays. The same for any number of threads. PITH_ERR_MEMORY. */
enum pith_status pith_block_choose(const struct block_choice *c, uint8_t *kept,
                                   struct pith_error *err);

#endif
