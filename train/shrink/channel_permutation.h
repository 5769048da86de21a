/* SPDX-License-Identifier: MIT */
/* channel_permutation.h - the channels and neurons of each layer (here: units) permuted, those with
 * the most weights first; dead channels removed.
 *
 * Hidden units have no order of their own: rows of a weight may change places with their bias, with
 * the rows of depthwise weights behind it and with the columns that read them, and the network
 * computes the same (its sums in another order). A file of few weights says less of them when the
 * dead come last and the full come first. Where the rows of one of these weights have steps of
 * their own, units with like steps are neighbours: a file stores each step's difference from the
 * one before. */
#ifndef CHANNEL_PERMUTATION_H
#define CHANNEL_PERMUTATION_H

#include "pith_model.h"

/* Masks and codebooks move along. Units that something else reads keep their places. After
 * PITH_ERR_MEMORY the model is as it was or ordered in part; it computes the same either way. */
enum pith_status pith_permute_channels(struct pith_model *m);

/* Takes out dead channels, which nothing reads, where they come last in their layer: rows, biases
 * and columns go, the network computes the same with smaller matrices. *n_dropped may be NULL.
 * PITH_ERR_MEMORY: the model is as it was. What pith_model_infer_shapes says: it is in pieces. */
enum pith_status pith_remove_dead_channels(struct pith_model *m, uint64_t *n_dropped,
                                           struct pith_error *err);

#endif
