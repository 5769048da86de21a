/* SPDX-License-Identifier: MIT */
/* transpose_weight.c - see transpose_weight.h. */
#include "transpose_weight.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "quantize/layer/integer_plan.h"
#include "node_list.h"
#include "op_interface/op_info.h"
#include "op_interface/op_traits.h"

/* The slot that says whether the node reads its weight by rows; NULL: it is no such product. */
static int32_t *by_rows(const struct pith_node *node)
{
    uint32_t slot = pith_op_trans_slot(node->op);
    return slot == OP_NO_SLOT ? NULL : &node->attr[slot];
}

static bool is_by_columns(const struct pith_model *m, const struct pith_quantize_opts *opts,
                          const struct pith_node *node)
{
    const int32_t *rows = by_rows(node);
    if (!rows || *rows || !pith_has_weight(m, node) || m->values[node->in[1]].rank != 2)
        return false;
    return !m->values[node->in[1]].constant->codebook && !pith_is_kept(m, opts, node, NULL);
}

static bool any_is(const struct pith_model *m, const struct pith_quantize_opts *opts)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (is_by_columns(m, opts, &m->nodes[i]))
            return true;
    return false;
}

/* Does somebody read value v as it is? Then it keeps its name. */
static bool is_read_as_it_is(const struct pith_model *m, const struct pith_quantize_opts *opts,
                             uint32_t v)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] == v && (k != 1 || !is_by_columns(m, opts, node)))
                return true;
    }
    for (uint32_t i = 0; i < m->n_outputs; i++)
        if (m->outputs[i] == v)
            return true;
    return false;
}

/* v: [rows, cols]. Returns [cols, rows]. */
static uint32_t transposed(struct node_list *l, const struct pith_quantize_opts *opts, uint32_t v)
{
    const struct pith_value *from = &l->m->values[v];
    const struct pith_const *c = from->constant;
    const uint32_t rows = from->dim[0], cols = from->dim[1], dim[2] = {cols, rows};
    const float *x = c->data;
    float *y = pith_model_alloc(l->m, c->count, sizeof *y);
    uint8_t *mask = c->mask ? pith_model_alloc(l->m, c->count, 1) : NULL;
    l->failed |= !y || (c->mask && !mask);
    for (size_t i = 0; i < c->count && !l->failed; i++) {
        size_t to = i % cols * rows + i / cols;
        y[to] = x[i];
        if (mask)
            mask[to] = c->mask[i];
    }
    uint32_t turned = pith_list_constant(l, PITH_F32, 2, dim, y);
    if (l->failed)
        return turned;
    l->m->values[turned].constant->mask = mask;
    if (!is_read_as_it_is(l->m, opts, v)) {
        l->m->values[turned].name = l->m->values[v].name;
        l->m->values[v].name = "";
    }
    return turned;
}

/* A copy, which does not share its attributes. */
static void write_turned(struct node_list *l, const struct pith_node *node, uint32_t weight)
{
    struct pith_node *copy = pith_list_node_like(l, node);
    if (!copy)
        return;
    memcpy(copy->attr, node->attr, pith_op_get(node->op)->n_slots * sizeof *copy->attr);
    copy->in[1] = weight;
    *by_rows(copy) = 1;
}

static void write_nodes(struct node_list *l, const struct pith_quantize_opts *opts,
                        uint32_t *turned)
{
    for (uint32_t i = 0; i < l->m->n_nodes && !l->failed; i++) {
        const struct pith_node *node = &l->m->nodes[i];
        if (!is_by_columns(l->m, opts, node)) {
            pith_list_copy(l, node);
            continue;
        }
        uint32_t *to = &turned[node->in[1]];
        if (*to == PITH_VALUE_NONE)
            *to = transposed(l, opts, node->in[1]);
        write_turned(l, node, *to);
    }
}

enum pith_status pith_transpose_weights(struct pith_model *m, const struct pith_quantize_opts *opts,
                                        struct pith_error *err)
{
    struct node_list l;
    if (opts->as_trained || !any_is(m, opts))
        return PITH_OK;
    uint32_t n = m->n_values, *turned = malloc((n + (size_t)1) * sizeof *turned);
    if (!turned || !pith_node_list_begin(&l, m, 0, n)) {
        free(turned);
        return pith_error_no_memory(err);
    }
    for (uint32_t v = 0; v < n; v++)
        turned[v] = PITH_VALUE_NONE;
    write_nodes(&l, opts, turned);
    free(turned);
    return pith_node_list_end(&l, err);
}
