/* SPDX-License-Identifier: MIT */
/* region.h - bodies of loops and branches in the flat list of nodes. */
#ifndef REGION_H
#define REGION_H

#include "validate/graph.h"

/* Sets region and partner of every node. PITH_ERR_CORRUPT: brackets that do not match or nest
 * deeper than PITH_MAX_DEPTH, values read outside of the region they belong to. */
enum pith_status pith_graph_regions(struct graph *g);

/* The node that gives `value`; PITH_NO_NODE: an input or a constant. */
uint32_t pith_graph_producer(const struct graph *g, uint32_t value);

#endif
