/* SPDX-License-Identifier: MIT */
/* expand_recurrent.c - one RECURRENT node (op_attr.h) becomes
 *
 *     h0, c0 --> Loop --> Gather x[t] --> Gemm(h, R, bias) --> gates --> h', c' --> LoopEnd --> y,
 * h, c
 *
 * and where there is but one step, as in networks whose state goes round outside, the body alone.
 * The formulas of the gates are those of runtime/ops/op_recurrent.c, and so is the order of
 * additions.
 *
 * What Gemm reads is the state, which has the grid of the operator's outputs, put together with
 * that of the state it begins with. The GRU's product of reset gate and state has the same: the
 * gate is between 0 and 1. The gates' input, where a product of integers gives it, is no longer
 * rounded to a grid of its own: the gates take it as sums. Nor is the LSTM's cell, which reaches
 * far beyond what Tanh lets through: 256 steps of it took the VAD network from 24 to 19 dB. */
#include "expand_recurrent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "quantize/layer/integer_plan.h"
#include "node_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "quantize/layer/radix.h"

enum { IN_X, IN_R, IN_BIAS, IN_LENGTHS, IN_H0, IN_C0, IN_PEEPHOLES };
enum { OUT_Y, OUT_H, OUT_C };

#define MOST_NODES 48u /* of one that is expanded; of values as well */

struct cell {
    struct node_list *l;
    const struct pith_node *node;
    char *name; /* that layers go by: the node's, or where it has none its output's */
    const struct pith_grid *grid; /* of h */
    uint32_t kind, steps, batch, width, gates;
    uint32_t *uses; /* [values] */
};

static uint32_t input(const struct pith_node *node, uint32_t i)
{
    return i < node->n_in ? node->in[i] : PITH_VALUE_NONE;
}

static const struct pith_value *value(const struct cell *c, uint32_t v)
{
    return &c->l->m->values[v];
}

/* ---- which ----------------------------------------------------------------------------------- */

static bool is_constant(const struct pith_model *m, uint32_t v)
{
    return v == PITH_VALUE_NONE || (m->values[v].constant && m->values[v].type == PITH_F32);
}

static bool knows_activations(const int32_t *attr)
{
    for (uint32_t i = 0; i < attr_count(attr, ATTR_RECURRENT_ACT); i++)
        if (attr_item(attr, ATTR_RECURRENT_ACT, i, 0) > RECURRENT_RELU)
            return false;
    return true;
}

static bool is_expandable(const struct pith_model *m, const struct pith_quantize_opts *opts,
                          const struct pith_node *node)
{
    if (node->op != PITH_OP_RECURRENT || !pith_has_weight(m, node) ||
        (opts && pith_is_kept(m, opts, node, NULL)))
        return false;
    bool one_step = m->values[node->in[IN_X]].dim[0] == 1;
    return is_constant(m, input(node, IN_BIAS)) && is_constant(m, input(node, IN_PEEPHOLES)) &&
           input(node, IN_LENGTHS) == PITH_VALUE_NONE && knows_activations(node->attr) &&
           !(opts && one_step && input(node, IN_H0) == PITH_VALUE_NONE);
}

/* Of all that h is. *grid is NULL: it was not calibrated. */
static enum pith_status find_grid(struct pith_model *m, const struct pith_quantize_opts *opts,
                                  const struct pith_node *node, const struct pith_grid **grid)
{
    const struct pith_grid *first = NULL;
    uint32_t h0 = input(node, IN_H0);
    enum pith_status st = pith_fitting_grid(m, opts, &m->values[node->out[OUT_Y]], grid);
    if (!st && h0 != PITH_VALUE_NONE && !m->values[h0].constant)
        st = pith_fitting_grid(m, opts, &m->values[h0], &first);
    if (!st && *grid && first && first->n == 1 && (*grid)->n == 1 && first->type == (*grid)->type)
        st = pith_grid_union(m, *grid, first, grid);
    return st;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Of [batch, columns]. */
static uint32_t rows_of(struct cell *c, uint32_t columns)
{
    return pith_list_value(c->l, PITH_F32, 2, (uint32_t[]){c->batch, columns});
}

static struct pith_node *add(struct cell *c, uint32_t op, uint32_t a, uint32_t b, uint32_t out)
{
    return pith_list_node(c->l, c->name, op, b == PITH_VALUE_NONE ? 1 : 2, (uint32_t[]){a, b}, out);
}

/* b: PITH_VALUE_NONE for operators of one input. */
static uint32_t make(struct cell *c, uint32_t op, uint32_t a, uint32_t b)
{
    uint32_t out = rows_of(c, value(c, a)->dim[value(c, a)->rank - 1]);
    add(c, op, a, b, out);
    return out;
}

/* part[i]: the next `size[i]` times the width of x's columns. */
static void split(struct cell *c, uint32_t x, uint32_t n, const uint32_t *size, uint32_t *part)
{
    for (uint32_t i = 0; i < n; i++)
        part[i] = rows_of(c, size[i] * c->width);
    struct pith_node *node = pith_list_node_like(
        c->l,
        &(struct pith_node){
            .name = c->name, .op = PITH_OP_SPLIT, .n_in = 1, .in = &x, .n_out = n, .out = part});
    if (!node)
        return;
    node->attr[ATTR_AXIS] = 1;
    node->attr[ATTR_SPLIT_SIZES] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        node->attr[ATTR_SPLIT_SIZES + 1 + i] = (int32_t)(size[i] * c->width);
}

/* The state's new value, under number `to` where that is not NONE. */
static uint32_t make_state(struct cell *c, uint32_t op, uint32_t a, uint32_t b, uint32_t to)
{
    uint32_t out = to == PITH_VALUE_NONE ? rows_of(c, c->width) : to;
    add(c, op, a, b, out);
    return out;
}

static uint32_t number(struct cell *c, float x)
{
    float *data = pith_model_alloc(c->l->m, 1, sizeof *data);
    if (data)
        *data = x;
    return pith_list_constant(c->l, PITH_F32, 0, NULL, data);
}

static uint32_t one_minus(struct cell *c, uint32_t x)
{
    uint32_t out = rows_of(c, c->width);
    add(c, PITH_OP_SUB, number(c, 1), x, out);
    return out;
}

/* n of a constant's numbers, or rows. */
static uint32_t part_of(struct cell *c, uint32_t v, uint64_t first, uint32_t n)
{
    const struct pith_value *whole = value(c, v);
    if (n == whole->dim[0])
        return v;
    uint32_t dim[2] = {n, whole->dim[1]};
    uint64_t each = whole->rank > 1 ? whole->dim[1] : 1;
    const struct pith_const *old = whole->constant;
    uint32_t part =
        pith_list_constant(c->l, PITH_F32, whole->rank, dim, (float *)old->data + first * each);
    pith_list_name_part(c->l, part, whole->name, (uint32_t)first, (uint32_t)first + n);
    if (!c->l->failed)
        c->l->m->values[part].constant->mask = old->mask ? old->mask + first * each : NULL;
    return part;
}

/* h times rows [first, first + n) of R, both in widths. */
static uint32_t product(struct cell *c, uint32_t h, uint32_t first, uint32_t n)
{
    uint32_t bias = input(c->node, IN_BIAS), out = rows_of(c, n * c->width);
    uint32_t in[3] = {h, part_of(c, c->node->in[IN_R], (uint64_t)first * c->width, n * c->width)};
    if (bias != PITH_VALUE_NONE)
        in[2] = part_of(c, bias, (uint64_t)first * c->width, n * c->width);
    struct pith_node *node =
        pith_list_node(c->l, c->name, PITH_OP_GEMM, bias == PITH_VALUE_NONE ? 2 : 3, in, out);
    if (node)
        node->attr[ATTR_GEMM_TRANS_B] = 1;
    return out;
}

/* ---- gates ----------------------------------------------------------------------------------- */

static uint32_t activate(struct cell *c, uint32_t i, uint32_t x)
{
    static const uint32_t op[] = {PITH_OP_SIGMOID, PITH_OP_TANH, PITH_OP_RELU};
    int32_t usual = i == 0 && c->kind != RECURRENT_RNN ? RECURRENT_SIGMOID : RECURRENT_TANH;
    return make(c, op[attr_item(c->node->attr, ATTR_RECURRENT_ACT, i, usual)], x, PITH_VALUE_NONE);
}

static uint32_t gate(struct cell *c, uint32_t i, uint32_t x)
{
    float most = attr_f32(c->node->attr, ATTR_RECURRENT_CLIP);
    if (isfinite(most)) {
        uint32_t out = rows_of(c, value(c, x)->dim[1]);
        struct pith_node *node = add(c, PITH_OP_CLIP, x, PITH_VALUE_NONE, out);
        float low = -most;
        if (node) {
            memcpy(&node->attr[ATTR_CLIP_MIN], &low, sizeof low);
            memcpy(&node->attr[ATTR_CLIP_MAX], &most, sizeof most);
        }
        x = out;
    }
    return activate(c, i, x);
}

/* u + peephole i * state */
static uint32_t peep(struct cell *c, uint32_t u, uint32_t i, uint32_t state)
{
    uint32_t p = part_of(c, input(c->node, IN_PEEPHOLES), (uint64_t)i * c->width, c->width);
    uint32_t scaled = rows_of(c, c->width);
    add(c, PITH_OP_MUL, p, state, scaled);
    return make(c, PITH_OP_ADD, u, scaled);
}

struct states {
    uint32_t h, c;
};

/* i o f g of the sums s, all but o as the gates let them through. */
static void lstm_gates(struct cell *c, uint32_t s, uint32_t state, uint32_t *g)
{
    if (input(c->node, IN_PEEPHOLES) != PITH_VALUE_NONE) {
        split(c, s, 4, (uint32_t[]){1, 1, 1, 1}, g);
        g[0] = gate(c, 0, peep(c, g[0], 0, state));
        g[2] = gate(c, 0, peep(c, g[2], 2, state));
        g[3] = gate(c, 1, g[3]);
        return;
    }
    uint32_t part[2];
    split(c, s, 2, (uint32_t[]){3, 1}, part);
    split(c, gate(c, 0, part[0]), 3, (uint32_t[]){1, 1, 1}, g);
    g[3] = gate(c, 1, part[1]);
}

static struct states lstm(struct cell *c, uint32_t x, struct states old, struct states to)
{
    uint32_t g[4];
    bool peepholes = input(c->node, IN_PEEPHOLES) != PITH_VALUE_NONE;
    lstm_gates(c, make(c, PITH_OP_ADD, product(c, old.h, 0, 4), x), old.c, g);
    if (c->node->attr[ATTR_RECURRENT_INPUT_FORGET])
        g[2] = one_minus(c, g[0]);
    uint32_t kept = make(c, PITH_OP_MUL, g[2], old.c), fresh = make(c, PITH_OP_MUL, g[0], g[3]);
    struct states new = {.c = make_state(c, PITH_OP_ADD, kept, fresh, to.c)};
    if (peepholes)
        g[1] = gate(c, 0, peep(c, g[1], 1, new.c));
    new.h = make_state(c, PITH_OP_MUL, g[1], activate(c, 2, new.c), to.h);
    return new;
}

static void set_grid(struct cell *c, uint32_t v)
{
    c->l->m->values[v].grid = (struct pith_grid *)(uintptr_t)c->grid;
}

static struct states gru(struct cell *c, uint32_t x, struct states old, struct states to)
{
    static const uint32_t halves[] = {2, 1};
    bool linear = c->node->attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET] != 0;
    uint32_t xs[2], us[2], zr[2], fresh;
    split(c, x, 2, halves, xs);
    if (linear)
        split(c, product(c, old.h, 0, 3), 2, halves, us);
    else
        us[0] = product(c, old.h, 0, 2);
    split(c, gate(c, 0, make(c, PITH_OP_ADD, us[0], xs[0])), 2, (uint32_t[]){1, 1}, zr);
    if (linear) {
        fresh = make(c, PITH_OP_ADD, xs[1], make(c, PITH_OP_MUL, zr[1], us[1]));
    } else {
        uint32_t reset = make(c, PITH_OP_MUL, zr[1], old.h);
        set_grid(c, reset);
        fresh = make(c, PITH_OP_ADD, product(c, reset, 2, 1), xs[1]);
    }
    fresh = make(c, PITH_OP_MUL, one_minus(c, zr[0]), gate(c, 1, fresh));
    uint32_t kept = make(c, PITH_OP_MUL, zr[0], old.h);
    return (struct states){.h = make_state(c, PITH_OP_ADD, fresh, kept, to.h)};
}

static struct states rnn(struct cell *c, uint32_t x, struct states old, struct states to)
{
    uint32_t sum = make(c, PITH_OP_ADD, product(c, old.h, 0, 1), x);
    struct states new = {.h = gate(c, 0, sum)};
    if (to.h != PITH_VALUE_NONE)
        make_state(c, PITH_OP_IDENTITY, new.h, PITH_VALUE_NONE, to.h);
    return new;
}

static struct states step(struct cell *c, uint32_t x, struct states old, struct states to)
{
    return c->kind == RECURRENT_LSTM  ? lstm(c, x, old, to)
           : c->kind == RECURRENT_GRU ? gru(c, x, old, to)
                                      : rnn(c, x, old, to);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static uint32_t integers(struct cell *c, uint32_t rank, uint32_t n, int64_t first, int64_t by)
{
    int64_t *data = pith_model_alloc(c->l->m, n, sizeof *data);
    for (uint32_t i = 0; i < n && data; i++)
        data[i] = first + (int64_t)i * by;
    return pith_list_constant(c->l, PITH_I64, rank, &n, data);
}

static void gather(struct cell *c, uint32_t x, uint32_t index, uint32_t out)
{
    pith_list_node(c->l, c->name, PITH_OP_GATHER, 2, (uint32_t[]){x, index}, out);
}

static uint32_t input_at(struct cell *c, uint32_t index)
{
    uint32_t x = rows_of(c, c->gates * c->width);
    gather(c, c->node->in[IN_X], index, x);
    return x;
}

/* Zeros of the batch's height: where that is open it is known from x alone. */
static uint32_t zeros(struct cell *c)
{
    if (!c->l->m->batch_open) {
        float *data = pith_model_alloc(c->l->m, (uint64_t)c->batch * c->width, sizeof *data);
        return pith_list_constant(c->l, PITH_F32, 2, (uint32_t[]){c->batch, c->width}, data);
    }
    uint32_t part[2], x = input_at(c, integers(c, 0, 1, 0, 0)), zero = rows_of(c, c->width);
    const uint32_t size[] = {1, c->gates - 1};
    part[0] = x;
    if (c->gates > 1)
        split(c, x, 2, size, part);
    struct pith_node *node = add(c, PITH_OP_CLIP, part[0], PITH_VALUE_NONE, zero);
    if (node)
        node->attr[ATTR_CLIP_MIN] = node->attr[ATTR_CLIP_MAX] = 0;
    return zero;
}

static uint32_t state_or_zeros(struct cell *c, uint32_t i)
{
    uint32_t v = input(c->node, i);
    return v == PITH_VALUE_NONE ? zeros(c) : v;
}

static uint32_t output(const struct cell *c, uint32_t i)
{
    return i < c->node->n_out ? c->node->out[i] : PITH_VALUE_NONE;
}

static void axis_0(struct cell *c, uint32_t op, uint32_t from, uint32_t to)
{
    struct pith_node *node = add(c, op, from, PITH_VALUE_NONE, to);
    if (node)
        node->attr[ATTR_AXES] = 1; /* one: number 0 */
}

static void one_step(struct cell *c)
{
    bool lstm = c->kind == RECURRENT_LSTM;
    uint32_t x = rows_of(c, c->gates * c->width);
    axis_0(c, PITH_OP_SQUEEZE, c->node->in[IN_X], x);
    struct states old = {state_or_zeros(c, IN_H0), lstm ? state_or_zeros(c, IN_C0) : 0};
    struct states new = step(c, x, old, (struct states){output(c, OUT_H), output(c, OUT_C)});
    if (c->uses[c->node->out[OUT_Y]])
        axis_0(c, PITH_OP_UNSQUEEZE, new.h, c->node->out[OUT_Y]);
}

static uint32_t state_out(struct cell *c, uint32_t i)
{
    return output(c, i) == PITH_VALUE_NONE ? rows_of(c, c->width) : output(c, i);
}

static struct pith_node *loop_node(struct cell *c, const struct pith_node *like)
{
    struct pith_node *node = pith_list_node_like(c->l, like);
    if (node)
        node->attr[ATTR_LOOP_TRIPS] = (int32_t)c->steps;
    return node;
}

/* y comes out in the order of the iterations. */
static void end_loop(struct cell *c, struct states old, struct states new)
{
    bool lstm = c->kind == RECURRENT_LSTM, wanted = c->uses[c->node->out[OUT_Y]] > 0;
    bool reverse = c->node->attr[ATTR_RECURRENT_REVERSE] != 0;
    uint32_t n = 1u + lstm, in[5] = {old.h}, out[3] = {state_out(c, OUT_H)};
    uint32_t y = c->node->out[OUT_Y];
    const uint32_t dim[3] = {c->steps, c->batch, c->width};
    if (lstm) {
        in[1] = old.c;
        out[1] = state_out(c, OUT_C);
        in[3] = new.c;
    }
    in[n] = in[2 * n] = new.h;
    out[n] = reverse ? pith_list_value(c->l, PITH_F32, 3, dim) : y;
    struct pith_node *end = loop_node(c, &(struct pith_node){.name = c->name,
                                                             .op = PITH_OP_LOOP_END,
                                                             .n_in = 2 * n + wanted,
                                                             .in = in,
                                                             .n_out = n + wanted,
                                                             .out = out});
    if (end)
        end->attr[ATTR_LOOP_STATES] = (int32_t)n;
    if (wanted && reverse)
        gather(c, out[n], integers(c, 1, c->steps, (int64_t)c->steps - 1, -1), y);
}

static void loop(struct cell *c)
{
    bool lstm = c->kind == RECURRENT_LSTM;
    uint32_t in[2] = {state_or_zeros(c, IN_H0), lstm ? state_or_zeros(c, IN_C0) : 0};
    uint32_t out[3] = {pith_list_value(c->l, PITH_I64, 0, NULL), rows_of(c, c->width),
                       lstm ? rows_of(c, c->width) : 0};
    uint32_t index = out[0];
    set_grid(c, out[1]);
    loop_node(c, &(struct pith_node){.name = c->name,
                                     .op = PITH_OP_LOOP,
                                     .n_in = 1u + lstm,
                                     .in = in,
                                     .n_out = 2u + lstm,
                                     .out = out});
    if (c->node->attr[ATTR_RECURRENT_REVERSE]) {
        index = pith_list_value(c->l, PITH_I64, 0, NULL);
        add(c, PITH_OP_SUB, integers(c, 0, 1, (int64_t)c->steps - 1, 0), out[0], index);
    }
    struct states old = {out[1], out[2]}, none = {PITH_VALUE_NONE, PITH_VALUE_NONE};
    end_loop(c, old, step(c, input_at(c, index), old, none));
}

static void stay_float(struct cell *c, uint32_t v)
{
    struct pith_value *value = &c->l->m->values[v];
    value->grid = NULL;
    value->stats = NULL;
    value->min = 1;
    value->max = 0;
    value->n_observed = 0;
}

static void expand(struct node_list *l, const struct pith_node *node, const struct pith_grid *grid,
                   uint32_t *uses)
{
    const struct pith_value *x = &l->m->values[node->in[IN_X]], *r = &l->m->values[node->in[IN_R]];
    struct cell c = {.l = l,
                     .node = node,
                     .name = node->name[0] ? node->name : l->m->values[node->out[OUT_Y]].name,
                     .grid = grid,
                     .kind = (uint32_t)node->attr[ATTR_RECURRENT_KIND],
                     .steps = x->dim[0],
                     .batch = x->dim[1],
                     .width = r->dim[1],
                     .gates = r->dim[0] / r->dim[1],
                     .uses = uses};
    if (uses[node->in[IN_X]] == 1 && !x->constant)
        stay_float(&c, node->in[IN_X]);
    if (output(&c, OUT_C) != PITH_VALUE_NONE)
        stay_float(&c, output(&c, OUT_C));
    if (c.steps == 1)
        one_step(&c);
    else
        loop(&c);
}

/* Of nodes that may be expanded, those whose steps and batch follow open sizes may not: the loop
 * and what it begins with would keep the numbers of now. */
static void leave_open(const struct pith_model *m, struct pith_model *other, uint32_t *value,
                       bool *fits)
{
    for (uint32_t k = 0; k < m->n_sizes; k++)
        value[k] = m->sizes[k].value;
    for (uint32_t k = 0; k < m->n_sizes; k++) {
        value[k] += 1;
        if (pith_model_set_sizes(other, value, NULL)) {
            value[k] -= 2;
            pith_model_set_sizes(other, value, NULL);
        }
        value[k] = m->sizes[k].value;
        for (uint32_t i = 0; i < m->n_nodes; i++)
            if (fits[i]) {
                const uint32_t x = m->nodes[i].in[IN_X];
                fits[i] = memcmp(m->values[x].dim, other->values[x].dim, 2 * sizeof *value) == 0;
            }
    }
}

static enum pith_status choose(const struct pith_model *m, const struct pith_quantize_opts *opts,
                               bool *fits, uint32_t *n)
{
    struct pith_model *other = NULL;
    *n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        *n += fits[i] = is_expandable(m, opts, &m->nodes[i]);
    if (!opts || *n == 0 || m->n_sizes == 0)
        return PITH_OK;
    uint32_t *value = malloc(m->n_sizes * sizeof *value);
    enum pith_status st = value ? pith_model_copy(m, &other, NULL) : PITH_ERR_MEMORY;
    if (!st)
        leave_open(m, other, value, fits);
    pith_model_free(other);
    free(value);
    return st;
}

static enum pith_status expand_nodes(struct node_list *l, const struct pith_quantize_opts *opts,
                                     const bool *fits, uint32_t *uses)
{
    enum pith_status st = PITH_OK;
    struct pith_model *m = l->m;
    for (uint32_t i = 0; i < m->n_nodes && !st; i++) {
        const struct pith_grid *grid = NULL;
        if (fits[i] && opts)
            st = find_grid(m, opts, &m->nodes[i], &grid);
        if (fits[i] && (!opts || (grid && grid->n == 1)))
            expand(l, &m->nodes[i], grid, uses);
        else
            pith_list_copy(l, &m->nodes[i]);
        if (l->failed)
            st = PITH_ERR_MEMORY;
    }
    return st;
}

enum pith_status pith_expand_recurrent(struct pith_model *m, const struct pith_quantize_opts *opts,
                                       struct pith_error *err)
{
    struct node_list l;
    uint32_t n = 0, *uses = NULL;
    bool *fits = calloc(m->n_nodes + (size_t)1, sizeof *fits);
    enum pith_status st = fits ? choose(m, opts, fits, &n) : PITH_ERR_MEMORY;
    const uint64_t more = MOST_NODES * (uint64_t)n;
    const bool begun = !st && n && pith_node_list_begin(&l, m, more, 2 * more);
    if (begun)
        uses = calloc(l.value_room + (size_t)1, sizeof *uses);
    if (uses) {
        pith_model_count_uses(m, l.value_room, uses, NULL);
        st = expand_nodes(&l, opts, fits, uses);
    }
    if (!st && n && !uses)
        st = PITH_ERR_MEMORY;
    free(uses);
    free(fits);
    if (st)
        return pith_error_no_memory(err);
    return begun ? pith_node_list_end(&l, err) : PITH_OK;
}
