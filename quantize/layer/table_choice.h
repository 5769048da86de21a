/* SPDX-License-Identifier: MIT */
/* table_choice.h - which look-ups of rows (embeddings) a plan may give integers: table_grid.h. */
#ifndef TABLE_CHOICE_H
#define TABLE_CHOICE_H

#include "integer_plan.h"

/* Smaller ones save little. */
#define PITH_TABLE_LEAST 1024u

/* Does the node look up rows of a constant matrix of f32, of so many numbers, and without a
 * codebook? */
bool pith_is_table(const struct pith_model *m, const struct pith_node *node);

/* Why the table of node i stays float; NULL: it need not. p: roles and uses are chosen. */
const char *pith_table_obstacle(const struct integer_plan *p, uint32_t i);

#endif
