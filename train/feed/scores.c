/* SPDX-License-Identifier: MIT */
#include "scores.h"

#include "pith_op_semantics.h"

uint32_t pith_run_scores(const struct pith_model *m, bool *softmax)
{
    uint32_t out = m->outputs[0];
    *softmax = false;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].out[0] == out && m->nodes[i].op == PITH_OP_SOFTMAX &&
            m->values[out].rank == 2 && m->nodes[i].attr[ATTR_SOFTMAX_AXIS] == 1) {
            *softmax = true;
            return m->nodes[i].in[0];
        }
    return out;
}
