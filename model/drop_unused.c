/* SPDX-License-Identifier: MIT */
/* drop_unused.c - after a rewrite: nodes that others took the work of go, and values without a
 * reader and without a giver take no number in the file. */
#include "pith_model.h"

#include <stdlib.h>

#include "base/error_fill.h"

static void mark_used(const struct pith_model *m, uint32_t *used)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                used[m->nodes[i].in[k]] = 1;
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            used[m->nodes[i].out[k]] = 1;
    }
    for (uint32_t i = 0; i < m->n_inputs; i++)
        used[m->inputs[i]] = 1;
    for (uint32_t i = 0; i < m->n_outputs; i++)
        used[m->outputs[i]] = 1;
}

static void renumber(struct pith_model *m, const uint32_t *number)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                m->nodes[i].in[k] = number[m->nodes[i].in[k]];
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            m->nodes[i].out[k] = number[m->nodes[i].out[k]];
    }
}

void pith_model_drop_nodes(struct pith_model *m, const bool *dropped)
{
    if (!m || !dropped)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (!dropped[i])
            m->nodes[kept++] = m->nodes[i];
    m->n_nodes = kept;
}

enum pith_status pith_model_drop_unused(struct pith_model *m, struct pith_error *err)
{
    if (!m)
        return PITH_ERR_ARGUMENT;
    uint32_t *number = calloc(m->n_values + (size_t)1, sizeof *number), n = 0;
    uint32_t *inputs = pith_model_alloc(m, m->n_inputs + (uint64_t)1, sizeof *inputs);
    uint32_t *outputs = pith_model_alloc(m, m->n_outputs + (uint64_t)1, sizeof *outputs);
    if (!number || !inputs || !outputs) {
        free(number);
        return pith_error_no_memory(err);
    }
    mark_used(m, number);
    for (uint32_t v = 0; v < m->n_values; v++) {
        bool used = number[v];
        number[v] = n;
        if (used)
            m->values[n++] = m->values[v];
    }
    m->n_values = n;
    renumber(m, number);
    for (uint32_t i = 0; i < m->n_inputs; i++)
        inputs[i] = number[m->inputs[i]];
    for (uint32_t i = 0; i < m->n_outputs; i++)
        outputs[i] = number[m->outputs[i]];
    m->inputs = inputs;
    m->outputs = outputs;
    free(number);
    return PITH_OK;
}
