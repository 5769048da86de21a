/* SPDX-License-Identifier: MIT */
#include "channel_dependency.h"

#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"

#include <stdlib.h>

struct readers {
    uint32_t *n;      /* [n_values] nodes (and outputs of the model) that read it */
    uint32_t *writer; /* [n_values] node, or UINT32_MAX */
};

/* Operators whose channel c depends on channel c of input 0 alone, and is 0 where that is - so that
 * a dead unit stays dead behind them. (It would behind a LeakyRelu, too, where
 * units have never been taken out: results of such networks stay what they were.) */
static bool keeps_units(const struct pith_model *m, const struct pith_node *node)
{
    const struct pith_value *in = &m->values[node->in[0]], *out = &m->values[node->out[0]];
    if (node->op == PITH_OP_RESHAPE || node->op == PITH_OP_FLATTEN)
        return out->rank == 2 && in->rank >= 2 && in->dim[0] == out->dim[0];
    return pith_op_is(node->op, TRAIT_HOMOGENEOUS) && node->op != PITH_OP_LEAKY_RELU;
}

/* The node of the weight that makes this value's channels, UINT32_MAX if others read them too. */
static uint32_t maker(const struct pith_model *m, const struct readers *r, uint32_t value)
{
    for (uint32_t i = 0; i <= m->n_nodes; i++) {
        uint32_t w = r->writer[value];
        if (w == UINT32_MAX || r->n[value] != 1)
            return UINT32_MAX;
        if (!keeps_units(m, &m->nodes[w]))
            return w;
        value = m->nodes[w].in[0];
    }
    return UINT32_MAX;
}

static uint32_t bias_of(const struct pith_model *m, const struct pith_weight_ref *ref)
{
    const struct pith_node *node = &m->nodes[ref->node];
    uint32_t b = node->n_in > 2 ? node->in[2] : PITH_VALUE_NONE;
    const struct pith_const *c = b == PITH_VALUE_NONE ? NULL : m->values[b].constant;
    bool rows = ref->op == PITH_OP_CONV || ref->op == PITH_OP_GEMM;
    if (!rows || !c || m->values[b].type != PITH_F32 || m->values[b].rank == 0)
        return PITH_VALUE_NONE;
    /* [N], or [1, N] of a Gemm: not [N, 1], which is one for each sample */
    uint32_t last = m->values[b].dim[m->values[b].rank - 1];
    return c->count == ref->rows && last == ref->rows ? b : PITH_VALUE_NONE;
}

/* Rows are outputs, and each column is read by all of them. */
static bool is_plain(const struct pith_model *m, const struct readers *r,
                     const struct pith_weight_ref *ref)
{
    const int32_t *attr = m->nodes[ref->node].attr;
    return r->n[ref->value] == 1 && ((ref->op == PITH_OP_CONV && attr[ATTR_CONV_GROUP] == 1) ||
                                     (ref->op == PITH_OP_GEMM && attr[ATTR_GEMM_TRANS_B] == 1));
}

/* A row for each channel, which reads that one. */
static bool is_depthwise(const struct pith_model *m, const struct readers *r,
                         const struct pith_weight_ref *ref)
{
    const int32_t *attr = m->nodes[ref->node].attr;
    return r->n[ref->value] == 1 && ref->op == PITH_OP_CONV && ref->rows > 1 &&
           (uint64_t)attr[ATTR_CONV_GROUP] == ref->rows && m->values[ref->value].dim[1] == 1;
}

/* The weight whose units the columns of refs[i] are, or by row its rows. */
static uint32_t source_of(const struct pith_model *m, const struct readers *r,
                          const struct pith_weight_ref *refs, uint32_t n, uint32_t i, bool by_row)
{
    uint32_t at = maker(m, r, m->nodes[refs[i].node].in[0]);
    for (uint32_t k = 0; k < n && at != UINT32_MAX; k++) {
        if (refs[k].node != at)
            continue;
        bool fits = by_row ? refs[i].rows == refs[k].rows : refs[i].cols % refs[k].rows == 0;
        return fits && (is_plain(m, r, &refs[k]) || is_depthwise(m, r, &refs[k])) ? k
                                                                                  : PITH_VALUE_NONE;
    }
    return PITH_VALUE_NONE;
}

static struct channel_link link_of(const struct pith_model *m, const struct readers *r,
                                   const struct pith_weight_ref *refs, uint32_t n, uint32_t i)
{
    struct channel_link link = {refs[i].value, bias_of(m, &refs[i]), PITH_VALUE_NONE,
                                is_depthwise(m, r, &refs[i])};
    if (link.by_row || is_plain(m, r, &refs[i]))
        link.source = source_of(m, r, refs, n, i, link.by_row);
    return link;
}

static void count_readers(const struct pith_model *m, struct readers *r)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        r->writer[v] = UINT32_MAX;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                r->n[m->nodes[i].in[k]]++;
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            if (m->nodes[i].out[k] != PITH_VALUE_NONE)
                r->writer[m->nodes[i].out[k]] = i;
    }
    for (uint32_t i = 0; i < m->n_outputs; i++)
        r->n[m->outputs[i]]++;
}

enum pith_status pith_channel_dependencies(const struct pith_model *m, struct channel_link *link,
                                           struct pith_weight_ref *refs, uint32_t *n)
{
    struct readers r = {calloc(m->n_values + 1u, sizeof *r.n),
                        calloc(m->n_values + 1u, sizeof *r.writer)};
    enum pith_status status = r.n && r.writer ? PITH_OK : PITH_ERR_MEMORY;
    if (!status) {
        count_readers(m, &r);
        *n = pith_model_weights(m, refs);
        for (uint32_t i = 0; i < *n; i++)
            link[i] = link_of(m, &r, refs, *n, i);
    }
    free(r.n);
    free(r.writer);
    return status;
}

bool pith_channel_bias_is_own(const struct pith_model *m, const struct channel_link *link,
                              const struct pith_weight_ref *ref)
{
    const struct pith_node *node = &m->nodes[ref->node];
    uint32_t read = 0;
    if (node->n_in < 3 || node->in[2] == PITH_VALUE_NONE)
        return true;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            read += m->nodes[i].in[k] == link->bias;
    return link->bias != PITH_VALUE_NONE && read == 1;
}
