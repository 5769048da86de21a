/* SPDX-License-Identifier: MIT */
/* rank_gather.h - what a sweep's processes share (sweep_ranks.h), by the exchanges of
 * pith_train.h's ranks. */
#ifndef RANK_GATHER_H
#define RANK_GATHER_H

#include "layers/sweep_ranks.h"
#include "pith_train.h"

/* ranks is borrowed; NULL: one process, *to is nothing. Returns `to` or NULL. */
const struct pith_sweep_ranks *pith_sweep_ranks_over(const struct pith_ranks *ranks,
                                                     struct pith_sweep_ranks *to);

#endif
