/* SPDX-License-Identifier: MIT */
/* channel_dependency.h - which weight's columns read which weight's rows: the channel dependency
 * graph (as DepGraph, Fang et al., 2023).
 *
 * A unit is a row of a weight: an output channel, a neuron. When nothing reads it, or it reads
 * nothing, it is dead, and what stands on its other side can go with it. */
#ifndef CHANNEL_DEPENDENCY_H
#define CHANNEL_DEPENDENCY_H

#include "pith_model.h"

struct channel_link {
    uint32_t value;  /* the weight, a constant of the model */
    uint32_t bias;   /* one element for each row; PITH_VALUE_NONE */
    uint32_t source; /* number of the link whose rows only these columns read;
                        PITH_VALUE_NONE: an input, or not so simple */
    bool by_row;     /* a depthwise weight: its rows read those of the source, one for one */
};

/* One for each weight of pith_model_weights, in its order; link: room for m->n_nodes. Columns of a
 * linked weight: each row of the source owns cols / rows neighbours of them, but where by_row is
 * set. PITH_ERR_MEMORY. */
enum pith_status pith_channel_dependencies(const struct pith_model *m, struct channel_link *link,
                                           struct pith_weight_ref *refs, uint32_t *n);

/* Whether ref's node alone adds to its rows: it has no bias, or link's own. */
bool pith_channel_bias_is_own(const struct pith_model *m, const struct channel_link *link,
                              const struct pith_weight_ref *ref);

#endif
