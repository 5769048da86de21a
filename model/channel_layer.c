/* SPDX-License-Identifier: MIT */
/* channel_layer.c - which layers take a factor and a shift of each output channel, and what becomes
 * of their numbers. */
#include "channel_layer.h"

#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"

static const struct pith_value *constant_in(const struct pith_model *m,
                                            const struct pith_node *node, uint32_t i)
{
    if (i >= node->n_in || node->in[i] == PITH_VALUE_NONE)
        return NULL;
    const struct pith_value *v = &m->values[node->in[i]];
    return v->type == PITH_F32 && v->constant ? v : NULL;
}

static bool bias_fits(const struct pith_value *b, uint64_t rows)
{
    bool along_rows = b && b->rank > 0 && b->dim[b->rank - 1] == rows;
    return b && (b->constant->count == 1 || (b->constant->count == rows && along_rows));
}

bool pith_channel_layer(const struct pith_model *m, const struct pith_node *node,
                        struct channel_layer *l)
{
    const struct pith_value *w = constant_in(m, node, 1);
    if (!w || !pith_op_traits(node->op).integer_op || !pith_op_rows_first(node->op, node->attr))
        return false;
    *l = (struct channel_layer){.weight = w->constant, .rows = w->dim[0], .alpha = 1, .beta = 1};
    l->cols = w->constant->count / l->rows;
    if (node->op == PITH_OP_GEMM) {
        l->alpha = (double)attr_f32(node->attr, ATTR_GEMM_ALPHA);
        l->beta = (double)attr_f32(node->attr, ATTR_GEMM_BETA);
    }
    if (pith_node_bias(node) == PITH_VALUE_NONE)
        return true;
    const struct pith_value *b = constant_in(m, node, pith_op_traits(node->op).bias_input);
    l->bias = b ? b->constant : NULL;
    return bias_fits(b, l->rows);
}

float pith_channel_bias(const struct channel_layer *l, uint64_t o, const struct channel_affine *a)
{
    double b = 0;
    if (l->bias)
        b = l->beta * (double)((const float *)l->bias->data)[l->bias->count == 1 ? 0 : o];
    return (float)((b - a->before) * a->factor + a->after);
}
