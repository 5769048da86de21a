/* SPDX-License-Identifier: MIT */
/* goal_checkpoint.h - the files that a search has made, in a file of its own, so that another
 * process need not make them again. What a search asks for next depends on nothing but what these
 * were like: with them it ends in the same bytes as if nobody had disturbed it.
 *
 * "PITHGOAL", then u32: version of this file, version of pith, checksums of the network, the data
 * and the options, bytes of a point; f64 seconds; u32 points; for each its encoder's name [16], the
 * point as it lies in memory, u64 bytes and bytes of its file, and of what a next network is made
 * from; CRC32C of all that.
 *
 * Of several processes rank 0 reads and writes it; all have what is in it, and what one cannot do
 * is told in all (pith_train.h, struct pith_ranks). It says nothing of their number. */
#ifndef GOAL_CHECKPOINT_H
#define GOAL_CHECKPOINT_H

#include "pith_goal_search.h"
#include "pith_train.h"

struct goal_checkpoint;

/* What a search is told from others by. */
struct goal_mark {
    uint32_t network, data, options;
};

/* resume: with what the file has, if there is one; else it begins anew. path and ranks (NULL: this
 * process alone) are borrowed until free. PITH_ERR_ARGUMENT: it is of another search;
 * PITH_ERR_VERSION: of another version; PITH_ERR_CORRUPT, _IO, _MEMORY. */
enum pith_status pith_goal_checkpoint_open(const char *path, const struct goal_mark *mark,
                                           bool resume, const struct pith_ranks *ranks,
                                           struct goal_checkpoint **c, struct pith_error *err);
void pith_goal_checkpoint_free(struct goal_checkpoint *c); /* accepts NULL */
/* What searches before this process took, seconds. */
double pith_goal_checkpoint_seconds(const struct goal_checkpoint *c);
/* The point of that name and quality: true, and *point, whose file becomes the caller's; it stays
 * in the checkpoint as long as the caller keeps it. */
bool pith_goal_checkpoint_recall(struct goal_checkpoint *c, const char *encoder, double quality,
                                 struct pith_goal_point *point);
/* What the next network is made from, as it was added; NULL: nothing. */
const struct pith_buffer *pith_goal_checkpoint_state(const struct goal_checkpoint *c,
                                                     const char *encoder, double quality);
/* The point's file is borrowed until free, *state (may be NULL) is taken over. Writes. PITH_ERR_IO:
 * the file before stays as it was; PITH_ERR_MEMORY. */
enum pith_status pith_goal_checkpoint_add(struct goal_checkpoint *c,
                                          const struct pith_goal_point *point,
                                          struct pith_buffer *state, double seconds,
                                          struct pith_error *err);

#endif
