/* SPDX-License-Identifier: MIT */
/* fake_quant_graph.h - a network with its grids in the loop: behind each value that shall be
 * integers stands an Identity of three inputs that rounds it (grad_fake_quant.c), and all readers
 * of the value read that. Only the tape knows such nodes: others get the model without them. */
#ifndef FAKE_QUANT_GRAPH_H
#define FAKE_QUANT_GRAPH_H

#include "fake_quant.h"
#include "pith_train.h"

enum fake_fact {
    FACT_FIRST = 0,
    FACT_LOWEST,
    FACT_HIGHEST,
    FACT_RADIX,
    FACT_MOVES_ZERO,
    FACT_ZERO, /* share, at first */
    FACTS
};

static inline struct fake_grid pith_fake_grid_of(const float *fact)
{
    return (struct fake_grid){fact[FACT_FIRST], fact[FACT_LOWEST], fact[FACT_HIGHEST],
                              fact[FACT_RADIX] > 0};
}

struct fake_graph; /* both lists of nodes and values */

/* Puts the nodes in. Where opts has no integers, *g is NULL and m as it was. PITH_ERR_ARGUMENT:
 * what opts->integers names is not there; PITH_ERR_MEMORY. On failure m is as it was. */
enum pith_status pith_fake_graph_open(struct pith_model *m, const struct pith_train_opts *opts,
                                      struct fake_graph **g, struct pith_error *err);
/* m without the nodes, with the grids as last hidden (keep) or as they were; what training has
 * changed of constants stays. Accepts NULL, as the next ones do. */
void pith_fake_graph_close(struct fake_graph *g, struct pith_model *m, bool keep);
/* m without the nodes, its values' grids as they are learned now; until shown again.
 * PITH_ERR_MEMORY. */
enum pith_status pith_fake_graph_remove(struct fake_graph *g, struct pith_model *m);
void pith_fake_graph_insert(struct fake_graph *g, struct pith_model *m);

#endif
