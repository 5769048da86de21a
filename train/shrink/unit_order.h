/* SPDX-License-Identifier: MIT */
/* unit_order.h - the units of each layer, those with the most weights first.
 *
 * Hidden units have no order of their own: rows of a weight may change places with their bias, with
 * the rows of depthwise weights behind it and with the columns that read them, and the network
 * computes the same (its sums in another order). A file of few weights says less of them when the
 * dead come last and the full come first. Where the rows of one of these weights have steps of
 * their own, units with like steps are neighbours: a file tells what each step is beyond the one
 * before. */
#ifndef UNIT_ORDER_H
#define UNIT_ORDER_H

#include "pith_model.h"

/* Masks and codebooks move along. Units that something else reads keep their places. After
 * PITH_ERR_MEMORY the model is as it was or ordered in part; it computes the same either way. */
enum pith_status pith_order_units(struct pith_model *m);

/* Takes units out that nobody reads, where they come last in their layer: rows, biases and columns
 * go, the network computes the same with smaller matrices. *n_dropped may be NULL. PITH_ERR_MEMORY:
 * the model is as it was. What pith_model_infer_shapes says: it is in pieces. */
enum pith_status pith_drop_units(struct pith_model *m, uint64_t *n_dropped, struct pith_error *err);

#endif
