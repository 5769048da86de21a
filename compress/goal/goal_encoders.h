/* SPDX-License-Identifier: MIT */
/* goal_encoders.h - the ways there are to make a smaller file of a network, each with one number.
 */
#ifndef GOAL_ENCODERS_H
#define GOAL_ENCODERS_H

#include "pith_goal_compress.h"
#include "pith_train.h"

#define GOAL_ENCODERS 6u

struct goal_encoders {
    const struct pith_model *m; /* normalizations folded */
    struct pith_goal_judge *judge;
    const struct pith_goal *goal;
    const struct pith_goal_compress_opts *opts;
    struct pith_goal_encoder list[GOAL_ENCODERS]; /* in the order they are to be tried */
    uint32_t n;
    struct pith_round_memory *memory; /* owns; NULL: each call finds out anew */
    void (*rounded)(void *watcher, uint32_t done, uint32_t total); /* layers of a file */
    void *watcher;
};

void pith_goal_encoders_fill(struct goal_encoders *e);
void pith_goal_encoders_free(struct goal_encoders *e); /* accepts zeros */

#endif
