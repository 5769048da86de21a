/* SPDX-License-Identifier: MIT */
/* ranks_start.h - a command as one of several processes that mpirun started. */
#ifndef RANKS_START_H
#define RANKS_START_H

#include "cli/common/cli.h"
#include "pith_train.h"

/* how: "mpi", or NULL: this process alone, and a hint where a launcher started several.
 * *ranks: NULL for a single process. From here on only rank 0 prints; by default the ranks
 * of a machine share its processors evenly. */
enum cli_exit cli_ranks_start(struct cli_common *c, const char *how,
                              const struct pith_ranks **ranks);
/* At the end of all, rc being how it went here: one process that failed ends all, and its message
 * is printed. Returns rc where all went well; without ranks, always. */
enum cli_exit cli_ranks_end(const struct pith_ranks *ranks, enum cli_exit rc);

#endif
