/* SPDX-License-Identifier: MIT */
#include "scores.h"

#include "pith_op_semantics.h"

/* [N, K], or [N, K, 1, 1]: a row of classes for each sample, along axis 1. */
static bool is_row(const struct pith_value *v)
{
    for (uint32_t i = 2; i < v->rank; i++)
        if (v->dim[i] != 1)
            return false;
    return v->rank >= 2;
}

uint32_t pith_run_scores(const struct pith_model *m, bool *softmax)
{
    uint32_t out = m->outputs[0];
    *softmax = false;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].out[0] == out && m->nodes[i].op == PITH_OP_SOFTMAX &&
            is_row(&m->values[out]) && m->nodes[i].attr[ATTR_SOFTMAX_AXIS] == 1) {
            *softmax = true;
            return m->nodes[i].in[0];
        }
    return out;
}
