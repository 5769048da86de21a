/* SPDX-License-Identifier: MIT */
#include "graph_open.h"

#include <stdlib.h>

#include "base/cpu_allowed.h"
#include "pith_runtime.h"

enum pith_status pith_graph_open(const void *bytes, size_t n, uint32_t flags, struct open_graph *o,
                                 struct pith_error *why)
{
    uint64_t need;
    o->mem = NULL;
    enum pith_status st = pith_graph_need(bytes, n, flags, &need, why);
    if (st)
        return st;
    o->mem = aligned_alloc(64, (size_t)((need + 64) & ~UINT64_C(63)));
    if (!o->mem)
        return PITH_ERR_MEMORY;
    /* checksums were tested just now */
    st = pith_graph_read((struct graph_bytes){bytes, n, flags | PITH_FLAG_NO_CHECKSUM}, NULL,
                         (struct graph_room){o->mem, need}, &o->g, &o->shapes, why);
    for (uint32_t i = 0; !st && i < o->g.n_weights; i++)
        o->g.weights[i].cpu = pith_cpu_allowed();
    return st;
}

void pith_graph_close(struct open_graph *o)
{
    free(o->mem);
    o->mem = NULL;
}
