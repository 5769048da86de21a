/* SPDX-License-Identifier: MIT */
/* layer_pair.c - from each layer down the values that one node alone reads, as far as the next
 * layer. */
#include "layer_pair.h"

#include <stdlib.h>

#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_traits.h"

struct reading {
    const struct pith_model *m;
    passes_channels *passes;
    uint32_t *uses, *reader; /* [n_values]; reader: some node, or UINT32_MAX */
};

bool pith_keeps_factors(const struct pith_model *m, const struct pith_node *node, uint64_t channels)
{
    const struct pith_value *y = &m->values[node->out[0]];
    bool flat = node->op == PITH_OP_FLATTEN || node->op == PITH_OP_RESHAPE;
    if (flat) /* of channels with one number each */
        return y->rank == 2 && y->dim[0] == 1 && y->dim[1] == channels;
    return pith_op_is(node->op, TRAIT_HOMOGENEOUS);
}

static bool own_constant(const struct reading *r, const struct pith_node *node, uint32_t i)
{
    const struct pith_value *v = &r->m->values[node->in[i]];
    return v->constant && v->type == PITH_F32 && !v->constant->codebook &&
           r->uses[node->in[i]] == 1;
}

static bool has_bias(const struct pith_node *node)
{
    return pith_node_bias(node) != PITH_VALUE_NONE;
}

/* False: it is no layer whose weights may change. */
static bool read_layer(const struct reading *r, uint32_t n, struct layer_weight *l)
{
    const struct pith_node *node = &r->m->nodes[n];
    bool takes_bias = pith_op_traits(node->op).bias_input != 0; /* a MatMul has no place for one */
    if (!pith_node_by_rows(node) || !takes_bias || !own_constant(r, node, 1) ||
        (has_bias(node) && !own_constant(r, node, 2)))
        return false;
    const struct pith_value *w = &r->m->values[node->in[1]];
    uint64_t groups = pith_op_groups(node->op, node->attr);
    *l = (struct layer_weight){.w = w->constant->data, .rows = w->dim[0], .per_group = w->dim[1]};
    l->cols = w->constant->count / l->rows;
    l->taps = l->cols / l->per_group;
    l->rows_of_group = l->rows / groups;
    if (has_bias(node)) {
        const struct pith_const *b = r->m->values[node->in[2]].constant;
        l->bias = b->data;
        return b->count == l->rows;
    }
    return true;
}

static bool find_pair(const struct reading *r, uint32_t n, struct layer_pair *p)
{
    *p = (struct layer_pair){0};
    if (!read_layer(r, n, &p->first))
        return false;
    p->channels = p->first.rows;
    uint32_t v = r->m->nodes[n].out[0];
    while (r->uses[v] == 1 && r->reader[v] != UINT32_MAX) {
        const struct pith_node *next = &r->m->nodes[r->reader[v]];
        if (next->in[0] != v)
            return false;
        if (!r->passes(r->m, next, p->channels))
            return read_layer(r, r->reader[v], &p->second) &&
                   p->second.per_group * (p->second.rows / p->second.rows_of_group) == p->channels;
        v = next->out[0];
    }
    return false;
}

static bool start(struct reading *r)
{
    const struct pith_model *m = r->m;
    size_t n = m->n_values + (size_t)1;
    r->uses = calloc(n, sizeof *r->uses);
    r->reader = malloc(n * sizeof *r->reader);
    if (!r->uses || !r->reader)
        return false;
    pith_model_count_uses(m, m->n_values, r->uses, NULL);
    for (uint32_t v = 0; v < m->n_values; v++)
        r->reader[v] = UINT32_MAX;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                r->reader[m->nodes[i].in[k]] = i;
    return true;
}

enum pith_status pith_find_layer_pairs(const struct pith_model *m, passes_channels *passes,
                                       struct layer_pair **pairs, uint32_t *n,
                                       struct pith_error *err)
{
    struct reading r = {.m = m, .passes = passes};
    struct layer_pair *found = calloc(m->n_nodes + (size_t)1, sizeof *found);
    bool ready = found && start(&r);
    if (ready) {
        *n = 0;
        for (uint32_t i = 0; i < m->n_nodes; i++)
            *n += find_pair(&r, i, &found[*n]);
        *pairs = found;
    } else {
        free(found);
    }
    free(r.uses);
    free(r.reader);
    return ready ? PITH_OK : pith_error_no_memory(err);
}
