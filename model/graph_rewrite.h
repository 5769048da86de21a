/* SPDX-License-Identifier: MIT */
/* graph_rewrite.h - what a pass that joins nodes keeps of a graph while it does. */
#ifndef PITH_GRAPH_REWRITE_H
#define PITH_GRAPH_REWRITE_H

#include "pith_model.h"

struct graph_rewrite {
    struct pith_model *m; /* borrows */
    uint32_t room;        /* of m->values */
    uint32_t *uses;     /* owns: [room] how often a value is read, outputs of the graph included */
    uint32_t *producer; /* owns: [room] node, or UINT32_MAX */
    bool *dropped;      /* owns: [n_nodes] set by the pass, for pith_model_drop_nodes */
};

/* m->values is replaced by one with room for `more` values. PITH_ERR_MEMORY: m is as it was. Close
 * in any case. */
enum pith_status pith_rewrite_open(struct graph_rewrite *r, struct pith_model *m, uint64_t more);
void pith_rewrite_close(struct graph_rewrite *r);

#endif
