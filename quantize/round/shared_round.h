/* SPDX-License-Identifier: MIT */
/* shared_round.h - weights that several layers read are rounded once, for all of them. */
#ifndef SHARED_ROUND_H
#define SHARED_ROUND_H

#include "integer_layers.h"

/* Rounds, with feedback, what is shared in walk->net; nothing is done where nothing is. Of walk,
 * improve, user and goals are not used. What pith_walk_integers returns. */
enum pith_status pith_round_shared(const struct integer_walk *walk, struct pith_error *err);

#endif
