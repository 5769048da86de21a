/* SPDX-License-Identifier: MIT */
/* table_choice.c - see table_choice.h. */
#include "table_choice.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

#include "op_interface/op_exec.h"

bool pith_is_table(const struct pith_model *m, const struct pith_node *node)
{
    if (node->op != PITH_OP_GATHER || node->attr[ATTR_GATHER_KIND] != 0 ||
        node->attr[ATTR_GATHER_AXIS] != 0 || node->in[0] == PITH_VALUE_NONE)
        return false;
    const struct pith_value *v = &m->values[node->in[0]];
    return v->constant && v->type == PITH_F32 && v->rank == 2 && !v->constant->codebook &&
           v->constant->count >= PITH_TABLE_LEAST;
}

/* The network of floats computes with its weight anyway. */
static bool is_layer_of(const struct integer_plan *p, uint32_t i, uint32_t v)
{
    return p->node[i].role == ROLE_LAYER && p->m->nodes[i].in[1] == v;
}

static bool all_finite(const struct pith_const *c)
{
    const float *x = c->data;
    for (uint64_t i = 0; i < c->count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

const char *pith_table_obstacle(const struct integer_plan *p, uint32_t i)
{
    uint32_t v = p->m->nodes[i].in[0], n_uses = 0;
    if (!all_finite(p->m->values[v].constant))
        return "some of its numbers are infinite or NaN";
    for (uint32_t k = 0; k < p->m->n_nodes; k++) {
        const struct pith_node *node = &p->m->nodes[k];
        bool looked_up = pith_is_table(p->m, node) && node->in[0] == v && !p->node[k].why;
        n_uses += looked_up || is_layer_of(p, k, v);
    }
    return n_uses < p->value[v].n_uses ? "something else reads it as floats" : NULL;
}
