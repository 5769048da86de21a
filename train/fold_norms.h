/* SPDX-License-Identifier: MIT */
/* fold_norms.h - batch normalization as part of the convolution before it, when a run ends. A
 * codebook of k * step then has a step for each row; rows' steps and biases are rounded to what a
 * file stores in few bits, and the epoch's judgement is made again of what that leaves. */
#ifndef FOLD_NORMS_H
#define FOLD_NORMS_H

#include "train_run.h"

/* Folds, and counts it in the result. *was: the graph before, for pith_norms_put_back; numbers that
 * lie in neither are the snapshot's matter. On failure the graph is as it was. */
enum pith_status pith_norms_fold(struct run *r, struct pith_model *was);
void pith_norms_put_back(struct pith_model *m, const struct pith_model *was);

/* Held-out loss and accuracy of the network as it is now, into the result. */
enum pith_status pith_norms_validate(struct run *r);

#endif
