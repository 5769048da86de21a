/* SPDX-License-Identifier: MIT */
/* two_inputs.c - see two_inputs.h. */
#include "two_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "quantize/layer/integer_plan.h"
#include "op_interface/op_semantics.h"

/* ---- which ----------------------------------------------------------------------------------- */

bool pith_mixes_all_channels(const struct pith_model *m, const struct pith_node *node)
{
    if (!pith_has_weight(m, node) || m->values[node->in[1]].constant->codebook)
        return false;
    bool matrices = m->values[node->in[0]].rank == 2 && m->values[node->in[1]].rank == 2;
    return pith_node_by_rows(node) && pith_op_groups(node->op, node->attr) == 1 &&
           (matrices || pith_op_is(node->op, TRAIT_CHANNELS_FIRST));
}

bool pith_layer_reads(const struct pith_model *m, const struct pith_node *node, uint32_t v)
{
    return pith_has_weight(m, node) && node->in[0] == v;
}

bool pith_layers_read(const struct pith_model *m, uint32_t v, layer_test *is)
{
    uint32_t depth = 0;
    bool any = false;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        depth += pith_opens_body(node->op);
        depth -= pith_closes_body(node->op);
        if (!pith_layer_reads(m, node, v))
            continue;
        if (depth > 0 || (is && !is(m, node)))
            return false;
        any = true;
    }
    return any;
}

bool pith_readers_mix_channels(const struct pith_model *m, uint32_t v)
{
    const struct pith_value *x = &m->values[v];
    return !x->constant && x->type == PITH_F32 && x->rank >= 2 && x->dim[1] <= UINT32_MAX / 2 &&
           pith_layers_read(m, v, pith_mixes_all_channels);
}

enum pith_status pith_find_wanted(const struct pith_model *m, const char *const *pattern,
                                  uint32_t n, bool (*may)(const struct pith_model *m, uint32_t v),
                                  const char *what, bool *wanted, struct pith_error *err)
{
    const struct pith_quantize_opts opts = {.keep = pattern, .n_keep = n};
    bool *used = calloc(n + (size_t)1, sizeof *used);
    enum pith_status st = used ? PITH_OK : pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_nodes && !st; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (!pith_has_weight(m, node) || !pith_is_kept(m, &opts, node, used))
            continue;
        if (!may(m, node->in[0]))
            st = pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot quantize: '%.200s' cannot %s",
                                 node->name, what);
        wanted[node->in[0]] = true;
    }
    for (uint32_t i = 0; i < n && !st; i++)
        if (!used[i])
            st = pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot quantize: no layer matches '%s'",
                                 pattern[i]);
    free(used);
    return st;
}

/* ---- making them ----------------------------------------------------------------------------- */

uint32_t pith_list_join(struct node_list *l, const char *name, uint32_t x, uint32_t y)
{
    const struct pith_value one = l->m->values[x];
    uint32_t dim[PITH_MAX_RANK];
    memcpy(dim, one.dim, sizeof dim);
    dim[1] += l->m->values[y].dim[1];
    uint32_t both = pith_list_value(l, PITH_F32, one.rank, dim);
    struct pith_node *join =
        pith_list_node(l, name, PITH_OP_CONCAT, 2, (uint32_t[]){x, y}, 1, &both);
    if (join)
        join->attr[ATTR_AXIS] = 1;
    return both;
}

/* Each row twice, channel by channel: elements of `each` bytes. */
static void *twice_the_columns(struct node_list *l, const struct pith_value *w, const void *from,
                               size_t each)
{
    size_t row = (size_t)(w->constant->count / w->dim[0]) * each;
    uint8_t *to = pith_model_alloc(l->m, 2 * w->constant->count, each);
    for (uint64_t o = 0; o < w->dim[0] && to; o++)
        for (int i = 0; i < 2; i++)
            memcpy(to + (2 * o + (uint64_t)i) * row, (const uint8_t *)from + o * row, row);
    l->failed |= !to;
    return to;
}

static uint32_t weight_of_both(struct node_list *l, uint32_t weight)
{
    const struct pith_value w = l->m->values[weight];
    uint32_t dim[PITH_MAX_RANK];
    memcpy(dim, w.dim, sizeof dim);
    dim[1] *= 2;
    uint32_t v = pith_list_constant(l, PITH_F32, w.rank, dim,
                                    twice_the_columns(l, &w, w.constant->data, sizeof(float)));
    if (l->failed)
        return v;
    struct pith_const *c = l->m->values[v].constant;
    c->code = w.constant->code;
    if (w.constant->mask)
        c->mask = twice_the_columns(l, &w, w.constant->mask, 1);
    l->m->values[v].name = w.name;
    l->m->values[weight].name = "";
    return v;
}

void pith_list_layer_of_both(struct node_list *l, const struct pith_node *node, uint32_t both)
{
    pith_list_copy(l, node);
    if (l->failed)
        return;
    struct pith_node *copy = &l->node[l->n - 1];
    copy->in[0] = both;
    copy->in[1] = weight_of_both(l, node->in[1]);
}

static enum pith_status copy_all(struct two_inputs *t, const struct two_inputs_way *way,
                                 struct pith_error *err)
{
    const struct pith_model *m = t->m;
    uint32_t n = m->n_values;
    pith_model_count_uses(m, n, t->uses, NULL);
    for (uint32_t v = 0; v < n; v++)
        t->both[v] = PITH_VALUE_NONE;
    enum pith_status st =
        pith_find_wanted(m, way->pattern, way->n, way->may, way->what, t->wanted, err);
    for (uint32_t i = 0; i < m->n_nodes && !st; i++) {
        st = way->copy(t, &m->nodes[i], err);
        if (!st && t->list.failed)
            st = pith_error_no_memory(err);
    }
    return st;
}

enum pith_status pith_give_two_inputs(struct pith_model *m, const struct pith_quantize_opts *opts,
                                      const struct two_inputs_way *way, struct pith_error *err)
{
    struct two_inputs t = {.m = m, .opts = opts};
    size_t n = m->n_values + (size_t)1;
    if (way->n == 0)
        return PITH_OK;
    t.uses = calloc(n, sizeof *t.uses);
    t.wanted = calloc(n, sizeof *t.wanted);
    t.both = malloc(n * sizeof *t.both);
    bool room = t.uses && t.wanted && t.both &&
                pith_node_list_begin(&t.list, m, way->nodes * (uint64_t)m->n_nodes,
                                     way->values * (uint64_t)m->n_nodes);
    enum pith_status st = room ? copy_all(&t, way, err) : pith_error_no_memory(err);
    free(t.uses);
    free(t.wanted);
    free(t.both);
    return st ? st : pith_node_list_end(&t.list, err);
}

bool pith_reads_twice(const struct pith_model *m, const struct pith_node *node)
{
    const struct pith_value *w = &m->values[node->in[1]];
    const struct pith_node *join = pith_model_producer(m, node->in[0]);
    if (!join || join->op != PITH_OP_CONCAT || join->n_in != 2 || w->dim[1] % 2)
        return false;
    size_t half = (size_t)(w->constant->count / w->dim[0]) / 2;
    const float *row = w->constant->data;
    bool same = m->values[join->in[0]].dim[1] == m->values[join->in[1]].dim[1];
    for (uint32_t o = 0; o < w->dim[0] && same; o++, row += 2 * half) /* one may be pruned away */
        same = memcmp(row, row + half, half * sizeof *row) == 0;
    return same;
}
