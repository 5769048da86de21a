/* SPDX-License-Identifier: MIT */
/* snapshot.h - the floats of a model as they were, with their masks, codebooks and shapes: what
 * training may change. Nodes stay, and no constant may have grown. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "pith_model.h"

struct snapshot;

/* Takes one. PITH_ERR_MEMORY. */
enum pith_status pith_snapshot_new(const struct pith_model *m, struct snapshot **s);
void pith_snapshot_free(struct snapshot *s); /* accepts NULL */
/* Again, of the same model. PITH_ERR_MEMORY: as it was. */
enum pith_status pith_snapshot_take(struct snapshot *s, const struct pith_model *m);
void pith_snapshot_restore(const struct snapshot *s, struct pith_model *m);
#endif
