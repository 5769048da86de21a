/* SPDX-License-Identifier: MIT */
/* drawn_network.h - networks of one to three nodes drawn at random over all that the schemas let a
 * file say: any operator, any number of inputs, any type and shape, each attribute at its default,
 * its bounds and between them. What the operator's own shape rule takes is kept, so that every
 * network is one that the gate would let through.
 *
 *   draw_network   a model whose first node is of the operator `op`; NULL: none was found
 *   draw_chain     one whose nodes are of these operators, each reading what the one before gives
 */
#ifndef DRAWN_NETWORK_H
#define DRAWN_NETWORK_H

#include <math.h>
#include "op_interface/op_exec.h"
#include "sample_models.h"

enum { DRAW_ATTEMPTS = 20000, DRAW_WIDE = 9, DRAW_MAX_ELEMS = 4096 };

/* One node while it is looked for: views of its inputs, which value each is, and what an input that
 * is not there yet would be. */
struct drawn_node {
    const struct op_info *info;
    int32_t attr[PITH_OP_MAX_SLOTS];
    uint32_t n_in, n_out;
    uint32_t from[DRAW_WIDE]; /* a value, PITH_VALUE_NONE, or DRAW_NEW */
    bool constant[DRAW_WIDE];
    struct tview in[DRAW_WIDE], out[DRAW_WIDE];
};

#define DRAW_NEW (UINT32_MAX - 1)

static inline bool draw_one_of(struct sample_random *r, uint32_t n)
{
    return sample_below(r, n) == 0;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static inline int32_t draw_float_bits(struct sample_random *r, const struct attr_field *f)
{
    static const float usual[] = {0,     1,     -1,     0.5f,  2, 3,        -0.0f,
                                  1e30f, 1e-7f, 1e-40f, -2.5f, 6, INFINITY, -INFINITY};
    float v = usual[sample_below(r, f->max == 1 ? 14 : 12)];
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (int32_t)bits;
}

/* A bound, a size of the first input, a small number: within the bounds. */
static inline int32_t draw_int(struct sample_random *r, const struct attr_field *f,
                               const struct tview *x)
{
    int64_t v = sample_below(r, 9);
    uint32_t form = sample_below(r, 16);
    if (form == 0)
        v = f->min;
    else if (form == 1)
        v = f->max;
    else if (form == 2)
        v = -v;
    else if (form < 8 && x->shape.rank)
        v = x->shape.dim[sample_below(r, x->shape.rank)];
    else if (form < 13)
        v = sample_below(r, 3);
    v = v < f->min ? f->min : v;
    return (int32_t)(v > f->max ? f->max : v);
}

static inline void draw_list(struct sample_random *r, const struct attr_field *f,
                             const struct tview *x, int32_t *list)
{
    int32_t rank = (int32_t)x->shape.rank, n = (int32_t)sample_below(r, PITH_MAX_RANK + 1);
    const int32_t usual[] = {0, rank, rank - 2, 2 * (rank - 2), 1, rank - 1, rank + 1, n};
    n = usual[sample_below(r, 8)];
    bool rising = draw_one_of(r, 3); /* axes, a permutation */
    memset(list, 0, (1 + PITH_MAX_RANK) * sizeof *list);
    list[0] = n < 0 ? 0 : n > (int32_t)PITH_MAX_RANK ? (int32_t)PITH_MAX_RANK : n;
    for (int32_t i = 0; i < list[0]; i++)
        list[1 + i] = rising && i >= f->min && i <= f->max ? i : draw_int(r, f, x);
    for (int32_t i = list[0]; rising && i > 1; i--) {
        uint32_t k = sample_below(r, (uint32_t)i);
        int32_t swap = list[i];
        list[i] = list[1 + k];
        list[1 + k] = swap;
    }
}

static inline void draw_attributes(struct sample_random *r, struct drawn_node *d)
{
    const struct tview *x = &d->in[0];
    pith_op_attr_defaults(d->info, d->attr);
    for (uint32_t i = 0; i < d->info->n_fields; i++) {
        const struct attr_field *f = &d->info->fields[i];
        int32_t *at = d->attr + f->slot;
        bool no_default = f->kind == ATTR_INT && (f->def < f->min || f->def > f->max);
        if (!no_default && draw_one_of(r, 2))
            continue;
        if (f->kind == ATTR_INT)
            *at = draw_int(r, f, x);
        else if (f->kind == ATTR_FLOAT)
            *at = draw_float_bits(r, f);
        else
            draw_list(r, f, x, at);
        if (f->kind == ATTR_INT && draw_one_of(r, 2)) /* kinds: all alike */
            *at = f->min +
                  (int32_t)sample_below(
                      r, (uint32_t)((int64_t)f->max - f->min < 32 ? f->max - f->min + 1 : 1));
    }
    if (d->info->n_slots > 20 || d->info->op == PITH_OP_SLICE) {
        /* Lists that belong together are of one length more often than chance has it. */
        for (uint32_t i = 1; i < d->info->n_fields; i++)
            if (d->info->fields[i].kind == ATTR_LIST && d->info->fields[i - 1].kind == ATTR_LIST &&
                draw_one_of(r, 2)) {
                int32_t n = d->attr[d->info->fields[i - 1].slot], *list;
                list = d->attr + d->info->fields[i].slot;
                for (int32_t k = list[0]; k < n; k++)
                    list[1 + k] = draw_int(r, &d->info->fields[i], x);
                list[0] = n;
            }
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static inline uint32_t draw_dim(struct sample_random *r, const struct tview *like)
{
    static const uint32_t usual[] = {1, 2, 3, 4, 6, 8, 1, 2};
    uint32_t v = usual[sample_below(r, 8)];
    if (like && like->shape.rank && !draw_one_of(r, 3))
        v = like->shape.dim[sample_below(r, like->shape.rank)];
    if (like && draw_one_of(r, 8))
        v = draw_one_of(r, 2) ? v * (2 + sample_below(r, 3)) : (v + 2) / 3;
    return v;
}

/* As another, what broadcasts to it, a row of numbers, one, or any. */
static inline struct shape draw_shape(struct sample_random *r, const struct tview *like)
{
    struct shape s = {0};
    uint32_t form = like ? sample_below(r, 8) : 7;
    if (form < 2) {
        s = like->shape;
    } else if (form == 2) {
        uint32_t skip = like->shape.rank ? sample_below(r, like->shape.rank) : 0;
        s.rank = like->shape.rank - skip;
        for (uint32_t i = 0; i < s.rank; i++)
            s.dim[i] = draw_one_of(r, 3) ? 1 : like->shape.dim[skip + i];
    } else if (form < 5) {
        s.rank = 1;
        s.dim[0] = draw_dim(r, like);
    } else if (form > 5) {
        const uint32_t rank[] = {sample_below(r, 6), 2, like ? like->shape.rank : 3};
        s.rank = rank[like && draw_one_of(r, 2) ? 2 : sample_below(r, 3)];
        for (uint32_t i = 0; i < s.rank; i++)
            s.dim[i] = draw_dim(r, like);
    }
    return s;
}

static inline void draw_input(struct sample_random *r, const struct pith_model *m,
                              struct drawn_node *d, uint32_t i, uint32_t after,
                              const enum pith_type palette[3])
{
    const struct tview *like = i ? &d->in[sample_below(r, i)] : NULL;
    d->from[i] = DRAW_NEW;
    d->constant[i] = i > 0 && !draw_one_of(r, 3);
    if (i >= d->info->n_in_min && draw_one_of(r, 3)) {
        d->from[i] = PITH_VALUE_NONE;
        d->in[i] = i ? d->in[0] : (struct tview){0};
        return;
    }
    bool follows = i == 0 && after != DRAW_NEW;
    if (follows || (m->n_values && draw_one_of(r, i ? 4 : 2))) {
        d->from[i] = follows ? after : sample_below(r, m->n_values);
        const struct pith_value *v = &m->values[d->from[i]];
        d->in[i] = (struct tview){.type = v->type, .shape = {.rank = v->rank}};
        memcpy(d->in[i].shape.dim, v->dim, v->rank * sizeof *v->dim);
        return;
    }
    d->in[i] = (struct tview){.type = palette[sample_below(r, 3)], .shape = draw_shape(r, like)};
}

static inline bool draw_fits(struct drawn_node *d)
{
    const struct tview *in[DRAW_WIDE];
    struct tview *out[DRAW_WIDE];
    uint64_t n;
    for (uint32_t i = 0; i < d->n_in; i++) {
        in[i] = d->from[i] == PITH_VALUE_NONE ? NULL : &d->in[i];
        if (in[i] && (pith_shape_count(&d->in[i].shape, &n) || n > DRAW_MAX_ELEMS))
            return false;
    }
    for (uint32_t i = 0; i < d->n_out; i++) {
        d->out[i] = (struct tview){0};
        out[i] = &d->out[i];
    }
    struct op_args args = {
        .info = d->info, .attr = d->attr, .n_in = d->n_in, .n_out = d->n_out, .in = in, .out = out};
    if (pith_op_check(d->info, d->attr, d->n_in, d->n_out) || d->info->shape(&args))
        return false;
    for (uint32_t i = 0; i < d->n_out; i++)
        if (pith_shape_count(&d->out[i].shape, &n) || n > DRAW_MAX_ELEMS)
            return false;
    return true;
}

/* after: the value that is to be input 0; DRAW_NEW: any. */
static inline bool draw_attempt(struct sample_random *r, const struct pith_model *m, uint32_t after,
                                struct drawn_node *d)
{
    enum pith_type palette[3] = {PITH_F32, PITH_F32, PITH_F32};
    for (uint32_t i = 1, mixed = sample_below(r, 2); i < 3 && mixed; i++)
        palette[i] = (enum pith_type)(1 + sample_below(r, PITH_BOOL));
    uint32_t most = d->info->n_in_max == OP_ANY ? d->info->n_in_min + 3 : d->info->n_in_max;
    uint32_t out_most = d->info->n_out_max == OP_ANY ? 4 : d->info->n_out_max;
    most = most > DRAW_WIDE ? DRAW_WIDE : most;
    d->n_in = d->info->n_in_min + sample_below(r, most - d->info->n_in_min + 1);
    d->n_out = d->info->n_out_min + sample_below(r, out_most - d->info->n_out_min + 1);
    for (uint32_t i = 0; i < d->n_in; i++)
        draw_input(r, m, d, i, after, palette);
    draw_attributes(r, d);
    return draw_fits(d);
}

/* ---- into the model -------------------------------------------------------------------------- */

static inline float draw_number(struct sample_random *r, bool wild)
{
    static const float strange[] = {0, -0.0f, -1.5f, INFINITY, -INFINITY, NAN, 1e30f, 1e-41f};
    return wild && draw_one_of(r, 3) ? strange[sample_below(r, 8)] : fabsf(sample_gauss(r)) + 0.01f;
}

/* Numbers above 0, where a scale of 0 or below would be all that is ever refused, but of one in six
 * constants any; integers as an index or a length may be. */
static inline void draw_data(struct sample_random *r, const struct pith_value *v, void *data,
                             uint64_t n)
{
    bool wild = draw_one_of(r, 6);
    uint32_t bytes = pith_type_bytes(v->type);
    for (uint64_t i = 0; i < n; i++) {
        float real = draw_number(r, wild);
        int64_t whole = sample_below(r, 3);
        if (wild && v->type != PITH_BOOL && draw_one_of(r, 3))
            whole = draw_one_of(r, 2) ? -1 - whole : (int64_t)next(r);
        if (v->type == PITH_BOOL)
            whole %= 2;
        memcpy((uint8_t *)data + i * bytes,
               v->type == PITH_F32 ? (const void *)&real : (const void *)&whole, bytes);
    }
}

/* No name, one that export might make itself, or one of odd letters; no two alike. */
static inline void draw_name(struct sample_random *r, struct pith_model *m, uint32_t v)
{
    static const char *const usual[] = {"value.1", "ints.2",   "floats.1", "zero.1",   "N",
                                        "value.2", "scales.1", "a\nb\tc",  "\xc3\xa9", "a/b:c d",
                                        "pith",    "x",        "sums.1",   "0",        "value"};
    const char *name = usual[sample_below(r, 15)];
    if (!draw_one_of(r, 3))
        return;
    for (uint32_t i = 0; i < v; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return;
    m->values[v].name = pith_model_strdup(m, name);
}

static inline uint32_t draw_value(struct sample_random *r, struct pith_model *m,
                                  const struct tview *t, bool constant)
{
    uint32_t v = add_value(m, "", t->type, t->shape.rank, t->shape.dim);
    draw_name(r, m, v);
    if (!constant)
        return v;
    struct pith_const *k = pith_model_alloc(m, 1, sizeof *k);
    pith_shape_count(&t->shape, &k->count);
    k->data = pith_model_alloc(m, k->count, pith_type_bytes(t->type));
    draw_data(r, &m->values[v], k->data, k->count);
    m->values[v].constant = k;
    return v;
}

static inline void draw_commit(struct sample_random *r, struct pith_model *m,
                               const struct drawn_node *d)
{
    struct pith_node *node = &m->nodes[m->n_nodes++];
    node->op = d->info->op;
    node->name = pith_model_strdup(m, draw_one_of(r, 4) ? "node" : "");
    node->attr = pith_model_alloc(m, d->info->n_slots + 1u, sizeof *node->attr);
    memcpy(node->attr, d->attr, d->info->n_slots * sizeof *node->attr);
    node->n_in = d->n_in;
    node->n_out = d->n_out;
    node->in = pith_model_alloc(m, d->n_in + 1u, sizeof *node->in);
    node->out = pith_model_alloc(m, d->n_out + 1u, sizeof *node->out);
    for (uint32_t i = 0; i < d->n_in; i++) {
        node->in[i] = d->from[i];
        if (d->from[i] != DRAW_NEW)
            continue;
        node->in[i] = draw_value(r, m, &d->in[i], d->constant[i]);
        if (!d->constant[i])
            m->inputs[m->n_inputs++] = node->in[i];
    }
    for (uint32_t i = 0; i < d->n_out; i++)
        node->out[i] = draw_value(r, m, &d->out[i], false);
}

static inline bool draw_node(struct sample_random *r, struct pith_model *m, uint32_t op,
                             uint32_t after)
{
    struct drawn_node d = {.info = pith_op_get(op)};
    for (uint32_t i = 0; i < DRAW_ATTEMPTS; i++)
        if (draw_attempt(r, m, after, &d)) {
            draw_commit(r, m, &d);
            return true;
        }
    return false;
}

static inline bool draw_is_drawn(uint32_t op)
{
    return pith_op_get(op) && !(pith_op_get(op)->flags & OP_CONTROL);
}

/* A value without a reader is an output, of the rest one in four. */
static inline void draw_outputs(struct sample_random *r, struct pith_model *m)
{
    uint32_t uses[MAX_SAMPLE_VALUES];
    pith_model_count_uses(m, MAX_SAMPLE_VALUES, uses, NULL);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            if (m->n_outputs < 16 && (uses[m->nodes[i].out[k]] == 0 || draw_one_of(r, 4)))
                m->outputs[m->n_outputs++] = m->nodes[i].out[k];
}

static inline struct pith_model *draw_done(struct sample_random *r, struct pith_model *m,
                                           bool found)
{
    if (!found || m->n_inputs > 8) {
        pith_model_free(m);
        return NULL;
    }
    static const char *const keys[] = {"preprocess", "labels", "task", "x", "batch"};
    draw_outputs(r, m);
    m->batch_open = draw_one_of(r, 4);
    if (draw_one_of(r, 8))
        pith_model_set_meta(m, keys[sample_below(r, 5)],
                            draw_one_of(r, 2) ? "" : "a=b\n\xe2\x82\xac");
    return m;
}

static inline struct pith_model *draw_network(struct sample_random *r, uint32_t op)
{
    struct pith_model *m = sample_new();
    uint32_t more = draw_one_of(r, 2) ? 1 + sample_below(r, 2) : 0;
    bool found = draw_node(r, m, op, DRAW_NEW);
    for (uint32_t i = 0; i < more && found; i++) {
        uint32_t next_op = 1 + sample_below(r, PITH_OP_END - 1);
        if (draw_is_drawn(next_op))
            draw_node(r, m, next_op, DRAW_NEW);
    }
    return draw_done(r, m, found);
}

/* Each node of `ops` (0 ends them) reads the first output of the one before. */
static inline struct pith_model *draw_chain(struct sample_random *r, const uint32_t *ops)
{
    struct pith_model *m = sample_new();
    uint32_t after = DRAW_NEW;
    bool found = true;
    for (; *ops && found; ops++) {
        found = draw_node(r, m, *ops, after);
        after = found ? m->nodes[m->n_nodes - 1].out[0] : after;
    }
    return draw_done(r, m, found);
}

#endif
