/* SPDX-License-Identifier: MIT */
/* graph_open.h - the graph of an image, read by the runtime's gate into memory of its own. */
#ifndef GRAPH_OPEN_H
#define GRAPH_OPEN_H

#include "validate/format.h"

struct open_graph {
    struct graph g;       /* borrows streams from the image */
    struct tview *shapes; /* [g.n_values] */
    void *mem;            /* owns: what both point to */
};

/* flags: PITH_FLAG_NO_CHECKSUM or 0. What pith_graph_need and pith_graph_read return, *why filled
 * as they do it; PITH_ERR_MEMORY too, with *why as it was. Close it in any case. */
enum pith_status pith_graph_open(const void *bytes, size_t n, uint32_t flags, struct open_graph *o,
                                 struct pith_error *why);
void pith_graph_close(struct open_graph *o);

#endif
