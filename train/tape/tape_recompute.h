/* SPDX-License-Identifier: MIT */
/* tape_recompute.h - where the values and gradients of a tape with tape_opts.after lie. */
#ifndef TAPE_RECOMPUTE_H
#define TAPE_RECOMPUTE_H

#include "tape_state.h"

/* What a gradient points to that is wanted and has no place yet. */
float *pith_unplaced_gradient(const struct tape *t);
/* Steps' `sets` are known, tensors have no data but constants, and gradients the mark. Also cuts
 * steps into segments. PITH_ERR_MEMORY. */
enum pith_status pith_place_recomputed(struct tape *t);

#endif
