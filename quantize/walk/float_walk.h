/* SPDX-License-Identifier: MIT */
/* float_walk.h - the float network beside a walk over its integers: its values, cut where grids
 * end. */
#ifndef FLOAT_WALK_H
#define FLOAT_WALK_H

#include "walk_piece.h"

/* Cuts what is kept of value v to what the integers that stand for it can be. */
void pith_cut_value(struct walk_state *s, uint32_t v);

/* Runs nodes up to `last` at least, a loop or branch as one. */
enum pith_status pith_run_original(struct walk_state *s, uint32_t last);

#endif
