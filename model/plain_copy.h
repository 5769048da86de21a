/* SPDX-License-Identifier: MIT */
/* plain_copy.h - a model without unneeded codebooks: of exact grids, each row of a
 * weight has 256 centroids, which of short rows is more than its numbers take. */
#ifndef PITH_PLAIN_COPY_H
#define PITH_PLAIN_COPY_H

#include "pith_model.h"

/* As pith_model_copy, but for the codebooks of constants v with plain[v]; plain: [n_values].
 * PITH_ERR_MEMORY. */
enum pith_status pith_model_copy_plain(const struct pith_model *from, const bool *plain,
                                       struct pith_model **copy, struct pith_error *err);
/* The same for all weights (pith_model_weights), whose numbers are borrowed: they are those of
 * `from`, which lives at least until each is replaced, or the copy is freed. */
enum pith_status pith_model_copy_weights(const struct pith_model *from, struct pith_model **copy,
                                         struct pith_error *err);

#endif
