/* SPDX-License-Identifier: MIT */
/* model_sizes.h - the open sizes of a model as the text that a file keeps (host/sizes.c has its
 * form). */
#ifndef MODEL_SIZES_H
#define MODEL_SIZES_H

#include "pith_model.h"

#define PITH_META_SIZES "sizes" /* key of the meta that keeps them in a file */

/* *text: NULL without open sizes; the caller frees it. A number that its formula no longer gives,
 * because a stage has changed it, is PITH_ERR_UNSUPPORTED. */
enum pith_status pith_model_write_sizes(const struct pith_model *m, char **text,
                                        struct pith_error *err);
/* Into a model without any; PITH_ERR_CORRUPT where the text does not fit it. */
enum pith_status pith_model_read_sizes(struct pith_model *m, const char *text,
                                       struct pith_error *err);

/* For work at fixed sizes of which some are 0 (an empty cache): copies the inputs of a node, of a
 * Concat those that have elements, and returns how many. in: [node->n_in]. UINT32_MAX: no result
 * has elements, so the node does nothing. */
uint32_t pith_node_filled_inputs(const struct pith_model *m, const struct pith_node *node,
                                 uint32_t *in);

#endif
