/* SPDX-License-Identifier: MIT */
#include "scores.h"

#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Whether a softmax is one over all of a sample's values, [N, classes, 1, 1...], or over those of
 * each position, [N, positions, classes]. */
static bool is_of_classes(const struct pith_value *v, int32_t axis)
{
    if (axis != 1)
        return v->rank == 3 && axis == 2;
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
            is_of_classes(&m->values[out], m->nodes[i].attr[ATTR_SOFTMAX_AXIS])) {
            *softmax = true;
            return m->nodes[i].in[0];
        }
    return out;
}

uint32_t pith_run_classes(const struct pith_model *m, uint32_t scores)
{
    const struct pith_value *y = &m->values[scores];
    return y->rank == 3 && y->dim[2] > 1 ? y->dim[2] : (uint32_t)pith_value_elems(y);
}
