/* SPDX-License-Identifier: MIT */
#include "walk_piece.h"
#include "pith_pack.h"

#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_op_semantics.h"
#include "pith_tensor.h"

uint64_t pith_value_bytes(const struct pith_value *v)
{
    uint64_t n = pith_type_bytes(v->type);
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

/* ---- making a piece -------------------------------------------------------------------------- */

static uint32_t number_in_piece(struct walk_state *s, struct piece *p, uint32_t v)
{
    if (v == PITH_VALUE_NONE)
        return v;
    if (s->number[v] == PITH_VALUE_NONE) {
        s->number[v] = p->m.n_values;
        p->origin[p->m.n_values] = v;
        p->m.values[p->m.n_values++] = s->m->values[v];
    }
    return s->number[v];
}

static enum pith_status piece_room(const struct walk_state *s, struct piece *p)
{
    size_t ends = 1;
    for (uint32_t i = p->first; i < p->last; i++)
        ends += s->m->nodes[i].n_in + s->m->nodes[i].n_out;
    p->m = (struct pith_model){.arena = s->m->arena};
    p->m.values = calloc(ends, sizeof *p->m.values);
    p->m.nodes = calloc(p->last - p->first + (size_t)1, sizeof *p->m.nodes);
    p->m.inputs = calloc(3 * ends, sizeof *p->m.inputs); /* and the ends of nodes behind them */
    p->m.outputs = calloc(ends, sizeof *p->m.outputs);
    p->origin = calloc(ends, sizeof *p->origin);
    return p->m.values && p->m.nodes && p->m.inputs && p->m.outputs && p->origin ? PITH_OK
                                                                                 : PITH_ERR_MEMORY;
}

static void piece_free(struct piece *p)
{
    free(p->m.values);
    free(p->m.nodes);
    free(p->m.inputs);
    free(p->m.outputs);
    free(p->origin);
}

static void copy_nodes(struct walk_state *s, struct piece *p, uint32_t *ends)
{
    for (uint32_t i = p->first; i < p->last; i++) {
        struct pith_node *node = &p->m.nodes[p->m.n_nodes++];
        *node = s->m->nodes[i];
        node->in = ends;
        node->out = ends + node->n_in;
        ends += node->n_in + node->n_out;
        for (uint32_t k = 0; k < node->n_in; k++)
            node->in[k] = number_in_piece(s, p, s->m->nodes[i].in[k]);
        for (uint32_t k = 0; k < node->n_out; k++)
            node->out[k] = number_in_piece(s, p, s->m->nodes[i].out[k]);
    }
}

/* Inputs: what is kept already. Outputs: what is read behind the piece. */
static enum pith_status make_piece(struct walk_state *s, struct piece *p)
{
    enum pith_status st = piece_room(s, p);
    if (st)
        return st;
    size_t ends = 0;
    for (uint32_t i = p->first; i < p->last; i++)
        ends += s->m->nodes[i].n_in + s->m->nodes[i].n_out;
    copy_nodes(s, p, p->m.inputs + ends + 1);
    for (uint32_t i = 0; i < p->m.n_values; i++) {
        uint32_t v = p->origin[i];
        if (s->kept[v].data)
            p->m.inputs[p->m.n_inputs++] = i;
        else if (!s->m->values[v].constant && s->kept[v].last >= p->last)
            p->m.outputs[p->m.n_outputs++] = i;
    }
    for (uint32_t i = 0; i < p->m.n_values; i++)
        s->number[p->origin[i]] = PITH_VALUE_NONE;
    return PITH_OK;
}

/* ---- what is read in a loop ------------------------------------------------------------------ */

#define MOST_RECORDED (UINT64_C(64) << 20) /* bytes */

static void forget_every_second(struct recorder *r)
{
    for (uint64_t i = 1; 2 * i < r->n; i++)
        memcpy(r->data + i * r->bytes, r->data + 2 * i * r->bytes, (size_t)r->bytes);
    r->n = (r->n + 1) / 2;
    r->every *= 2;
}

static void keep_record(struct recorder *r, const void *data)
{
    if (r->seen++ % r->every)
        return;
    if (r->n == r->room) {
        uint64_t room = r->room ? 2 * r->room : 64;
        uint8_t *more = realloc(r->data, (size_t)(room * r->bytes));
        r->no_memory |= !more;
        if (!more)
            return;
        r->data = more;
        r->room = room;
    }
    memcpy(r->data + r->n++ * r->bytes, data, (size_t)r->bytes);
    if (r->n > 1 && r->n * r->bytes > MOST_RECORDED)
        forget_every_second(r);
}

/* An observed plan has a step for each node, in their order. */
static void see(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct recorder *r = user;
    const struct pith_model *m = &r->piece->m;
    if (layer->step < m->n_nodes && m->nodes[layer->step].out[layer->output] == r->value &&
        out->bytes == r->bytes && !r->no_memory)
        keep_record(r, out->data);
}

/* ---- running it ------------------------------------------------------------------------------ */

struct piece_plan {
    struct pith_buffer file;
    void *memory;
    struct pith_plan *plan;
};

static enum pith_status fail_plan(struct pith_error *err, enum pith_status st)
{
    return pith_error_fill(err, st, "cannot quantize: the network cannot be planned (status %d)",
                           (int)st);
}

/* record: NULL, or what observes the plan. */
static enum pith_status open_plan(struct piece_plan *run, const struct pith_model *m,
                                  const struct pith_quantize_opts *opts, struct recorder *record,
                                  struct pith_error *err)
{
    struct pith_opts o;
    struct pith_need need;
    enum pith_status st = pith_model_pack(m, NULL, &run->file, err);
    if (st)
        return st;
    pith_opts_init(&o, sizeof o);
    o.ordered = &pith_ordered_sums; /* weights are decided by what it gives */
    if (opts->runtime) {
        o.cpu_mask = opts->runtime->cpu_mask;
        o.max_bytes = opts->runtime->max_bytes;
        o.parallel_for = opts->runtime->parallel_for;
        o.parallel_user = opts->runtime->parallel_user;
    }
    if (record) {
        o.user = record;
        o.observe = see;
    }
    st = pith_plan_size(run->file.data, run->file.bytes, &o, &need);
    if (st)
        return fail_plan(err, st);
    run->memory = aligned_alloc(need.align, (need.bytes + need.align - 1) & ~(need.align - 1));
    if (!run->memory)
        return pith_error_no_memory(err);
    st = pith_plan_init(run->memory, need.bytes, run->file.data, run->file.bytes, &o, &run->plan);
    return st ? fail_plan(err, st) : PITH_OK;
}

static void close_plan(struct piece_plan *run)
{
    free(run->memory);
    pith_buffer_free(&run->file);
}

static enum pith_status keep_outputs(struct walk_state *s, const struct piece *p)
{
    for (uint32_t i = 0; i < p->m.n_outputs; i++) {
        struct kept_value *k = &s->kept[p->origin[p->m.outputs[i]]];
        k->data = malloc((size_t)(k->bytes * s->n_samples));
        if (!k->data)
            return PITH_ERR_MEMORY;
    }
    return PITH_OK;
}

static enum pith_status run_sample(struct walk_state *s, const struct piece *p,
                                   struct pith_plan *plan, uint64_t n, bool keep)
{
    for (uint32_t i = 0; i < p->m.n_inputs; i++) {
        const struct kept_value *k = &s->kept[p->origin[p->m.inputs[i]]];
        memcpy(pith_plan_input_data(plan, i), k->data + n * k->bytes, (size_t)k->bytes);
    }
    enum pith_status st = pith_plan_run(plan);
    for (uint32_t i = 0; i < p->m.n_outputs && !st && keep; i++) {
        const struct kept_value *k = &s->kept[p->origin[p->m.outputs[i]]];
        memcpy(k->data + n * k->bytes, pith_plan_output_data(plan, i), (size_t)k->bytes);
    }
    return st ? pith_error_fill(s->err, st,
                                "cannot quantize: running sample %llu failed (status %d)",
                                (unsigned long long)n, (int)st)
              : PITH_OK;
}

static void forget(struct walk_state *s, const struct piece *p)
{
    for (uint32_t i = 0; i < p->m.n_values; i++) {
        struct kept_value *k = &s->kept[p->origin[i]];
        if (k->last < p->last) {
            free(k->data);
            k->data = NULL;
        }
    }
}

enum pith_status pith_run_piece(struct walk_state *s, struct piece *p)
{
    struct piece_plan run = {0};
    enum pith_status st = make_piece(s, p);
    if (st) {
        piece_free(p);
        return pith_error_no_memory(s->err);
    }
    if (p->m.n_outputs) /* else nobody reads it */
        st = open_plan(&run, &p->m, s->walk->opts, NULL, s->err);
    if (!st && p->m.n_outputs && keep_outputs(s, p))
        st = pith_error_no_memory(s->err);
    for (uint64_t n = 0; n < s->n_samples && !st && p->m.n_outputs; n++)
        st = run_sample(s, p, run.plan, n, true);
    close_plan(&run);
    forget(s, p);
    piece_free(p);
    return st;
}

/* What ends in the network's outputs has none that is read behind it, and a model needs one. */
static void output_last(struct piece *p)
{
    const struct pith_node *last = &p->m.nodes[p->m.n_nodes - 1];
    for (uint32_t k = 0; k < last->n_out && p->m.n_outputs == 0; k++)
        if (last->out[k] != PITH_VALUE_NONE)
            p->m.outputs[p->m.n_outputs++] = last->out[k];
}

enum pith_status pith_record_piece(struct walk_state *s, struct piece *p, uint32_t value,
                                   struct recorder *r)
{
    struct piece_plan run = {0};
    enum pith_status st = make_piece(s, p);
    if (st) {
        piece_free(p);
        return pith_error_no_memory(s->err);
    }
    output_last(p);
    r->value = PITH_VALUE_NONE;
    for (uint32_t i = 0; i < p->m.n_values; i++)
        if (p->origin[i] == value)
            r->value = i;
    st = open_plan(&run, &p->m, s->walk->opts, r, s->err);
    for (uint64_t n = 0; n < s->n_samples && !st; n++)
        st = run_sample(s, p, run.plan, n, false);
    close_plan(&run);
    piece_free(p);
    return !st && r->no_memory ? pith_error_no_memory(s->err) : st;
}
