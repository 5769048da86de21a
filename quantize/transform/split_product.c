/* SPDX-License-Identifier: MIT */
/* split_product.c - a recurrent cell written in pieces multiplies one matrix with its input and its
 * state put together. On one grid of 256 steps a state between -1 and 1 is nearly nothing beside
 * spectral coefficients up to 250: LSTM_L and GRU_L of the keyword networks fell to 15 and 9 dB. So
 * the product is taken apart, where parts are of such different size, into one for each part:
 *
 *     [x, h] -> W -> u        becomes        h -> W_h, bias -> +--> Add -> u
 *                                            x -> W_x ---------+
 *
 * Parts of few columns - the input of a small network often is one - cost next to nothing as
 * floats, and what enters there is read at every step: they stay float. With that the two networks
 * are at 45 and 52 dB (with bytes for x, even on a scale for each coefficient, at 35).
 *
 * Only in loops: elsewhere integers go from layer to layer, and to keep them is worth more. */
#include "split_product.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "quantize/layer/integer_plan.h"
#include "node_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"
#include "quantize/layer/radix.h"

#define MOST_PARTS (PITH_QUANTIZE_PARTS / 2)
#define UNLIKE 2.0 /* times a part's own step */
#define FEW 8u     /* a part of less than one column in so many */

struct splitter {
    struct pith_model *m;
    const struct pith_quantize_opts *opts;
    uint32_t *producer; /* [value_room] node, or UINT32_MAX */
    uint32_t *uses;
    struct node_list list;
    bool *few; /* of its nodes, in m's memory */
};

/* A product and the parts of what it reads. */
struct parted {
    const struct pith_node *product;
    uint32_t n, widest;
    uint32_t part[MOST_PARTS];      /* value */
    uint32_t first[MOST_PARTS + 1]; /* column; the last: all */
};

/* ---- which ----------------------------------------------------------------------------------- */

/* 0: it has none, or several. */
static enum pith_status step_of(const struct splitter *s, uint32_t v, double *step)
{
    const struct pith_value *value = &s->m->values[v];
    const struct pith_grid *g = NULL;
    enum pith_status st = PITH_OK;
    if (!value->constant && value->type == PITH_F32)
        st = pith_fitting_grid(s->m, s->opts, value, &g);
    *step = g && g->n == 1 ? (double)g->scale[0] : 0;
    return st;
}

static bool is_product(const struct pith_model *m, const struct pith_node *node)
{
    if (!pith_has_weight(m, node) || pith_op_is(node->op, TRAIT_CHANNELS_FIRST))
        return false;
    const struct pith_value *w = &m->values[node->in[1]], *x = &m->values[node->in[0]];
    return pith_node_by_rows(node) && w->rank == 2 && x->rank == 2 && !w->constant->codebook;
}

static bool is_parted(const struct splitter *s, const struct pith_node *node, struct parted *p)
{
    const struct pith_model *m = s->m;
    if (!is_product(m, node) || pith_is_kept(m, s->opts, node, NULL) ||
        s->producer[node->in[0]] == UINT32_MAX)
        return false;
    const struct pith_node *concat = &m->nodes[s->producer[node->in[0]]];
    if (concat->op != PITH_OP_CONCAT || concat->attr[ATTR_AXIS] != 1 || concat->n_in < 2 ||
        concat->n_in > MOST_PARTS)
        return false;
    *p = (struct parted){.product = node, .n = concat->n_in};
    for (uint32_t k = 0; k < p->n; k++) {
        p->part[k] = concat->in[k];
        p->first[k + 1] = p->first[k] + m->values[p->part[k]].dim[1];
        if (m->values[p->part[k]].dim[1] > p->first[p->widest + 1] - p->first[p->widest])
            p->widest = k;
    }
    return p->first[p->n] == m->values[node->in[1]].dim[1];
}

/* All have a grid, and the common one is far too coarse for some. */
static enum pith_status is_uneven(const struct splitter *s, const struct parted *p, bool *uneven)
{
    double whole, step;
    enum pith_status st = step_of(s, p->product->in[0], &whole);
    bool all = whole > 0;
    *uneven = false;
    for (uint32_t k = 0; k < p->n && !st; k++) {
        st = step_of(s, p->part[k], &step);
        all &= step > 0;
        *uneven |= whole > UNLIKE * step;
    }
    *uneven &= all;
    return st;
}

/* ---- making the parts ------------------------------------------------------------------------ */

/* Columns [first, first + n) of elements of `each` bytes. NULL: no memory. */
static void *columns_of(struct splitter *s, const struct pith_value *w, const void *from,
                        uint64_t first, uint64_t n, size_t each)
{
    uint8_t *to = pith_model_alloc(s->m, w->dim[0] * n, each);
    for (uint64_t o = 0; o < w->dim[0] && to; o++)
        memcpy(to + o * n * each, (const uint8_t *)from + (o * w->dim[1] + first) * each,
               (size_t)n * each);
    s->list.failed |= !to;
    return to;
}

static uint32_t add_weight(struct splitter *s, uint32_t weight, uint32_t first, uint32_t last)
{
    struct pith_value *values = s->m->values;
    const struct pith_const *c = values[weight].constant;
    uint32_t dim[2] = {values[weight].dim[0], last - first};
    void *data = columns_of(s, &values[weight], c->data, first, dim[1], sizeof(float));
    uint32_t v = pith_list_constant(&s->list, PITH_F32, 2, dim, data);
    pith_list_name_part(&s->list, v, values[weight].name, first, last);
    if (s->list.failed)
        return v;
    values[v].constant->code = c->code;
    if (c->mask)
        values[v].constant->mask = columns_of(s, &values[weight], c->mask, first, dim[1], 1);
    return v;
}

/* The widest has the bias and the name; the others' names give their columns. */
static uint32_t add_product(struct splitter *s, const struct parted *p, uint32_t k)
{
    const struct pith_node *product = p->product;
    const struct pith_value *y = &s->m->values[product->out[0]];
    bool widest = k == p->widest;
    const char *label = product->name[0] ? product->name : y->name;
    const char *name =
        widest ? label : pith_list_part_name(&s->list, label, p->first[k], p->first[k + 1]);
    uint32_t w = add_weight(s, product->in[1], p->first[k], p->first[k + 1]);
    uint32_t out = pith_list_value(&s->list, PITH_F32, y->rank, y->dim);
    uint32_t in[3] = {p->part[k], w, product->n_in > 2 ? product->in[2] : PITH_VALUE_NONE};
    s->few[s->list.n] = p->first[k + 1] - p->first[k] < p->first[p->n] / FEW;
    struct pith_node *node =
        pith_list_node(&s->list, name, product->op, widest ? product->n_in : 2, in, out);
    if (node)
        node->attr = product->attr;
    return out;
}

/* The widest first: what follows can be added to its sums while it is made. */
static void split(struct splitter *s, const struct parted *p)
{
    const struct pith_value *y = &s->m->values[p->product->out[0]];
    uint32_t sum = add_product(s, p, p->widest), left = p->n - 1;
    for (uint32_t k = 0; k < p->n; k++) {
        if (k == p->widest)
            continue;
        uint32_t part = add_product(s, p, k), next = p->product->out[0];
        if (--left)
            next = pith_list_value(&s->list, PITH_F32, y->rank, y->dim);
        pith_list_node(&s->list, p->product->name, PITH_OP_ADD, 2, (uint32_t[]){part, sum}, next);
        sum = next;
    }
    s->uses[p->product->in[0]]--;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status prepare(struct splitter *s)
{
    struct pith_model *m = s->m;
    uint64_t more = 2 * MOST_PARTS * (uint64_t)m->n_nodes;
    if (!pith_node_list_begin(&s->list, m, more, 2 * more))
        return PITH_ERR_MEMORY;
    s->few = pith_model_alloc(m, m->n_nodes + more + 1, sizeof *s->few);
    s->uses = calloc(s->list.value_room + (size_t)1, sizeof *s->uses);
    s->producer = malloc((s->list.value_room + (size_t)1) * sizeof *s->producer);
    if (!s->few || !s->uses || !s->producer)
        return PITH_ERR_MEMORY;
    pith_model_count_uses(m, s->list.value_room, s->uses, s->producer);
    return PITH_OK;
}

static enum pith_status split_nodes(struct splitter *s)
{
    enum pith_status st = PITH_OK;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < s->m->n_nodes && !st; i++) {
        const struct pith_node *node = &s->m->nodes[i];
        struct parted p;
        bool uneven = false;
        depth += node->op == PITH_OP_LOOP;
        depth -= node->op == PITH_OP_LOOP_END;
        if (depth && is_parted(s, node, &p))
            st = is_uneven(s, &p, &uneven);
        if (uneven)
            split(s, &p);
        else
            pith_list_copy(&s->list, node);
        if (s->list.failed)
            st = PITH_ERR_MEMORY;
    }
    return st;
}

/* A Concat that nothing reads any more. */
static void drop_concats(struct splitter *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->list.n; i++) {
        const struct pith_node *node = &s->list.node[i];
        if (node->op == PITH_OP_CONCAT && s->uses[node->out[0]] == 0)
            continue;
        s->few[kept] = s->few[i];
        s->list.node[kept++] = *node;
    }
    s->list.n = kept;
}

static bool has_loop(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_LOOP)
            return true;
    return false;
}

enum pith_status pith_split_products(struct pith_model *m, const struct pith_quantize_opts *opts,
                                     const bool **few, struct pith_error *err)
{
    struct splitter s = {.m = m, .opts = opts};
    *few = NULL;
    if (!has_loop(m))
        return PITH_OK;
    enum pith_status st = prepare(&s);
    if (!st)
        st = split_nodes(&s);
    if (!st) {
        drop_concats(&s);
        *few = s.few;
    }
    free(s.uses);
    free(s.producer);
    return st ? pith_error_no_memory(err) : pith_node_list_end(&s.list, err);
}
