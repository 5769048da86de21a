/* SPDX-License-Identifier: MIT */
/* ranks.h - what the processes of one run do together (struct pith_ranks, pith_train.h), beside
 * error statuses (ranks_agree.h). NULL, or one process: nothing. All call the same
 * functions in the same order.
 *
 * A sum over ranks is taken along a tree: of neighbours, then of pairs, then of pairs of pairs. As
 * each rank has neighbouring slices and adds them along the same tree, the sum over all slices is
 *     ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))
 * however many ranks there are, and each of them has it: addition commutes. */
#ifndef RANKS_H
#define RANKS_H

#include "train/kernels/channel_rows.h"
#include "ranks_agree.h"

/* The slices of this rank: first .. first + n - 1. */
uint32_t pith_ranks_slices(const struct pith_ranks *k, uint32_t *first);

enum { RANKS_SCRATCH_BYTES = 1 << 18 };
/* v [n] becomes its sum over ranks; scratch: as large, but at most RANKS_SCRATCH_BYTES. */
void pith_ranks_add_floats(const struct pith_ranks *k, const struct channel_rows *rows, float *v,
                           size_t n, void *scratch);
void pith_ranks_add_doubles(const struct pith_ranks *k, double *v, size_t n, void *scratch);

/* Sums over ranks through memory that all of them see: each writes its part into its own place, and
 * adds up the parts of all. There are two places, taken in turn, for when one rank writes again
 * another may still read what was there; but not what was there before that, for they have met. */
struct ranks_window {
    size_t n; /* floats; 0: there is no such memory */
    uint32_t turn;
    float *of[2][PITH_TRAIN_SLICES]; /* [turn][rank] */
};
void pith_ranks_open_window(const struct pith_ranks *k, size_t n, struct ranks_window *w);
/* sum [n] = of all ranks' w->of[turn]; the next turn follows. */
void pith_ranks_add_window(const struct pith_ranks *k, const struct channel_rows *rows,
                           struct ranks_window *w, float *sum);

/* Zeros in v [n] become what another rank has there. */
void pith_ranks_join_floats(const struct pith_ranks *k, float *v, size_t n);
uint32_t pith_ranks_least(const struct pith_ranks *k, uint32_t v);
bool pith_ranks_any(const struct pith_ranks *k, bool v);

#endif
