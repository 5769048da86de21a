/* SPDX-License-Identifier: MIT */
/* value_uses.c - who gives a value and who reads it, and what it is called. */
#include "pith_model.h"

#include "core/tensor.h"
#include "op_interface/op_traits.h"

void pith_model_count_uses(const struct pith_model *m, uint64_t room, uint32_t *uses,
                           uint32_t *producer)
{
    if (!m || !uses)
        return;
    for (uint64_t i = 0; i < room; i++) {
        uses[i] = 0;
        if (producer)
            producer[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                uses[m->nodes[i].in[k]]++;
        for (uint32_t k = 0; k < m->nodes[i].n_out && producer; k++)
            producer[m->nodes[i].out[k]] = i;
    }
    for (uint32_t i = 0; i < m->n_outputs; i++)
        uses[m->outputs[i]]++;
}

const struct pith_node *pith_model_producer(const struct pith_model *m, uint32_t v)
{
    if (!m)
        return NULL;
    for (uint32_t i = 0; i < m->n_nodes && v != PITH_VALUE_NONE; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            if (m->nodes[i].out[k] == v)
                return &m->nodes[i];
    return NULL;
}

uint64_t pith_stored_bytes(const struct pith_value *v)
{
    const struct pith_const *c = v ? v->constant : NULL;
    if (!c)
        return 0;
    const enum pith_type type = c->integers ? c->integers->type : c->stored ? c->stored : v->type;
    return c->count * pith_type_bytes(type) + (c->integers ? c->integers->n * sizeof(float) : 0);
}

uint64_t pith_value_elems(const struct pith_value *v)
{
    if (!v)
        return 0;
    uint64_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

bool pith_op_moves(uint32_t op)
{
    return pith_op_is(op, TRAIT_MOVES);
}

bool pith_opens_body(uint32_t op)
{
    return pith_op_is(op, TRAIT_OPENS_BODY);
}

bool pith_closes_body(uint32_t op)
{
    return pith_op_is(op, TRAIT_CLOSES_BODY);
}
