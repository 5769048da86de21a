/* SPDX-License-Identifier: MIT */
/* sweep_keep.h - the models of a sweep's Pareto front, in a folder. */
#ifndef SWEEP_KEEP_H
#define SWEEP_KEEP_H

#include "cli/common/cli.h"
#include "pith_sweep.h"

/* Makes the folder, or says why it cannot be written to. */
enum cli_exit cli_sweep_keep_open(const char *folder);
/* Writes the file of `one` (its only point) where no other of the results beats it. Both are
 * sorted anew. */
enum cli_exit cli_sweep_keep(const char *folder, struct pith_sweep_results *results,
                             struct pith_sweep_results *one, const struct pith_buffer *file);
/* Deletes from the folder what others have beaten since, and warns of points of the front whose
 * model was not kept. */
void cli_sweep_keep_front(const char *folder, struct pith_sweep_results *results);

#endif
