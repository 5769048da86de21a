/* SPDX-License-Identifier: MIT */
/* spec_graph.h - the graph: inputs, tensors, nodes and bodies, outputs: F4. Prints it, and the
 * tensors behind it. */
#ifndef SPEC_GRAPH_H
#define SPEC_GRAPH_H

#include "spec_bytes.h"

struct counts {
    uint64_t n_values, n_nodes;
};

/* s, data: the chunks GRPH and DATA. */
struct counts read_graph(struct span s, struct span data);

#endif
