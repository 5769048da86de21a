/* SPDX-License-Identifier: MIT */
/* weight_store.h - integers times steps as a constant's codebook, to be written adaptively. */
#ifndef WEIGHT_STORE_H
#define WEIGHT_STORE_H

#include "pith_model.h"

/* q: [n_steps, n], within -127 .. 127; step: [n_steps]. The constant's data become q * step.
 * masked: a mask has those that are not 0. PITH_ERR_MEMORY. */
enum pith_status pith_weight_store(struct pith_model *m, struct pith_const *c, const int16_t *q,
                                   const double *step, uint64_t n_steps, bool masked);

#endif
