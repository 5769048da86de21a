/* SPDX-License-Identifier: MIT */
/* snapshot.h - the floats of a model as they were: what training may change. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "pith_model.h"

struct snapshot;

/* Takes one. PITH_ERR_MEMORY. */
enum pith_status pith_snapshot_new(const struct pith_model *m, struct snapshot **s);
void pith_snapshot_free(struct snapshot *s);                             /* accepts NULL */
void pith_snapshot_take(struct snapshot *s, const struct pith_model *m); /* again */
void pith_snapshot_restore(const struct snapshot *s, struct pith_model *m);

#endif
