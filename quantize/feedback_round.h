/* SPDX-License-Identifier: MIT */
/* feedback_round.h - weights rounded one after the other, each making up for those before it. */
#ifndef FEEDBACK_ROUND_H
#define FEEDBACK_ROUND_H

#include "layer_walk.h"

/* Rounds l's weights anew, with scales chosen for the samples, and stores it; what was pruned stays 0.
 * Rows are rounded through opts' parallel_for (opts may be NULL); the result does not depend on it.
 * Rows of more than 8,192 weights stay rounded to nearest: the work grows with their third power.
 * PITH_ERR_MEMORY. */
enum pith_status pith_feedback_round(const struct layer_inputs *in, const struct pith_opts *opts,
                                     struct integer_layer *l);

#endif
