/* SPDX-License-Identifier: MIT */
/* goal_checkpoint.h - the files that a search has made, in a file of its own, so that another
 * process need not make them again. Nothing that was measured is stored: a search measures recalled
 * files again, and so ends in the same bytes as if it had not been interrupted.
 *
 * All numbers are little-endian, f64 by their bits; a text is u8 bytes, then valid UTF-8.
 *
 *     "PITHGOAL"
 *     u32 version of this file, 2; u32 version of pith
 *     u32 checksums of the network, the data, the options
 *     f64 seconds, >= 0
 *     u8 1: the search is done, else 0; u64 bytes, u32 CRC32C of the file that it ended in
 *     u32 files, at most PITH_GOAL_POINTS; for each:
 *         text encoder (at most 15 bytes, not empty); f64 quality, > 0 and finite
 *         u8 costly layers (at most PITH_GOAL_COSTLY); for each text name, f64 share, >= 0 and
 * finite u64 bytes of the file, u64 bytes of what the next network is trained from, 0: nothing the
 * two networks, each a valid .pith u32 CRC32C of all that */
#ifndef GOAL_CHECKPOINT_H
#define GOAL_CHECKPOINT_H

#include "pith_goal_search.h"
#include "pith_train.h"

struct goal_checkpoint;

/* What identifies a search. */
struct goal_mark {
    uint32_t network, data, options;
};

/* resume: with what the file has, if there is one; else it begins anew. path is borrowed until
 * free. PITH_ERR_ARGUMENT: it is of another search; PITH_ERR_VERSION: of another version;
 * PITH_ERR_CORRUPT, _IO, _MEMORY. */
enum pith_status pith_goal_checkpoint_open(const char *path, const struct goal_mark *mark,
                                           bool resume, struct goal_checkpoint **c,
                                           struct pith_error *err);
void pith_goal_checkpoint_free(struct goal_checkpoint *c); /* accepts NULL */
/* What searches before this process took, seconds. */
double pith_goal_checkpoint_seconds(const struct goal_checkpoint *c);
/* Whether it has the file of that name and quality, recalled or not. */
bool pith_goal_checkpoint_has(const struct goal_checkpoint *c, const char *encoder, double quality);
/* The file of point->encoder and point->quality, if there is one that was not recalled before:
 * true, and point->file and costly, the file the caller's. The checkpoint borrows it until free. */
bool pith_goal_checkpoint_recall(struct goal_checkpoint *c, struct pith_goal_point *point);
/* What the next network is trained from, as it was added. PITH_ERR_CORRUPT: there is none. */
enum pith_status pith_goal_checkpoint_state(const struct goal_checkpoint *c, const char *encoder,
                                            double quality, const struct pith_buffer **state,
                                            struct pith_error *err);
/* Adds and writes, unless it has the point. Borrows point->file until free, takes ownership of
 * *state (may be NULL). PITH_ERR_IO:
 * the file before stays as it was; PITH_ERR_MEMORY. */
enum pith_status pith_goal_checkpoint_add(struct goal_checkpoint *c,
                                          const struct pith_goal_point *point,
                                          struct pith_buffer *state, double seconds,
                                          struct pith_error *err);

#endif
