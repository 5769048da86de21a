/* SPDX-License-Identifier: MIT */
#include "graph_rewrite.h"

#include <stdlib.h>
#include <string.h>

enum pith_status pith_rewrite_open(struct graph_rewrite *r, struct pith_model *m, uint64_t more)
{
    const uint64_t room = m->n_values + more;
    *r = (struct graph_rewrite){.m = m, .room = (uint32_t)room};
    struct pith_value *values = pith_model_alloc(m, room + 1, sizeof *values);
    r->uses = calloc((size_t)room + 1, sizeof *r->uses);
    r->producer = calloc((size_t)room + 1, sizeof *r->producer);
    r->dropped = calloc(m->n_nodes + (size_t)1, sizeof *r->dropped);
    if (!values || !r->uses || !r->producer || !r->dropped)
        return PITH_ERR_MEMORY;
    if (m->n_values)
        memcpy(values, m->values, m->n_values * sizeof *values);
    m->values = values;
    pith_model_count_uses(m, room, r->uses, r->producer);
    return PITH_OK;
}

void pith_rewrite_close(struct graph_rewrite *r)
{
    free(r->uses);
    free(r->producer);
    free(r->dropped);
}
