/* SPDX-License-Identifier: MIT */
/* model_state.h - what training changes in a model, as bytes: floats, masks, codebooks. Unlike a
 * snapshot they can be put into another copy of the model, by another process. */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include "pith_model.h"

/* Replaces what `state` holds. PITH_ERR_MEMORY: it is empty then. */
enum pith_status pith_model_state_save(const struct pith_model *m, struct pith_buffer *state);
/* moves [n_values]: the constants that training changes; all others must be those of m. Masks and
 * codebooks that m has, and of other sizes than in `state`, are made anew in its arena.
 * PITH_ERR_CORRUPT: not of such a model; PITH_ERR_MEMORY. m may then be changed in part. */
enum pith_status pith_model_state_load(const struct pith_buffer *state, const bool *moves,
                                       struct pith_model *m);

#endif
