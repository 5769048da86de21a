/* SPDX-License-Identifier: MIT */
#include "scores.h"

#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Whether a softmax over axis 1 is one over all of a sample's values: [N, classes, 1, 1...]. */
static bool is_of_classes(const struct pith_value *v)
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
            is_of_classes(&m->values[out]) && m->nodes[i].attr[ATTR_SOFTMAX_AXIS] == 1) {
            *softmax = true;
            return m->nodes[i].in[0];
        }
    return out;
}
