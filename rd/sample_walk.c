/* SPDX-License-Identifier: MIT */
/* sample_walk.c - nodes between two stops are made a model of their own, whose inputs are what it
 * reads of earlier ones; each thread has a plan of it. */
#include "sample_walk.h"

#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_host.h"
#include "pith_kept_values.h"
#include "pith_op_semantics.h"
#include "pith_pack.h"

struct sample_walk {
    const struct pith_model *m;
    struct sample_walk_opts opts;
    struct kept_values *kept; /* of each value of m */
    uint64_t *bytes;          /* [n_values] of one sample */
    uint32_t *last;           /* [n_values] the node that reads it last; 0: none */
    bool *is_kept;            /* [n_values] */
    uint32_t *number;         /* [n_values] in a piece, or PITH_VALUE_NONE */
    uint32_t input;           /* value */
    uint32_t at;              /* nodes that were run */
};

/* Nodes first .. last - 1 as a model over arrays of its own. */
struct piece {
    uint32_t first, last;
    struct pith_model m;
    struct pith_const *constant; /* [m.n_values] plain ones in place of the model's */
    uint32_t *origin;            /* [m.n_values] number in the model */
};

/* ---- making a piece -------------------------------------------------------------------------- */

static void add_to_piece(struct sample_walk *w, struct piece *p, uint32_t v)
{
    uint32_t at = p->m.n_values++;
    struct pith_value *to = &p->m.values[at];
    *to = w->m->values[v];
    to->stats = NULL;
    to->grid = NULL;
    p->origin[at] = v;
    w->number[v] = at;
    if (!to->constant)
        return;
    p->constant[at] = (struct pith_const){.count = to->constant->count, .data = to->constant->data};
    to->constant = &p->constant[at];
}

static uint32_t number_in_piece(struct sample_walk *w, struct piece *p, uint32_t v)
{
    if (v == PITH_VALUE_NONE)
        return v;
    if (w->number[v] == PITH_VALUE_NONE)
        add_to_piece(w, p, v);
    return w->number[v];
}

static size_t count_ends(const struct sample_walk *w, const struct piece *p)
{
    size_t ends = 0;
    for (uint32_t i = p->first; i < p->last; i++)
        ends += w->m->nodes[i].n_in + w->m->nodes[i].n_out;
    return ends;
}

static bool make_room(const struct sample_walk *w, struct piece *p)
{
    size_t ends = count_ends(w, p) + 1;
    p->m = (struct pith_model){.arena = w->m->arena};
    p->m.values = calloc(ends, sizeof *p->m.values);
    p->m.nodes = calloc(p->last - p->first + (size_t)1, sizeof *p->m.nodes);
    p->m.inputs = calloc(3 * ends, sizeof *p->m.inputs); /* and the ends of nodes behind them */
    p->m.outputs = calloc(ends, sizeof *p->m.outputs);
    p->constant = calloc(ends, sizeof *p->constant);
    p->origin = calloc(ends, sizeof *p->origin);
    return p->m.values && p->m.nodes && p->m.inputs && p->m.outputs && p->constant && p->origin;
}

static void free_piece(struct piece *p)
{
    free(p->m.values);
    free(p->m.nodes);
    free(p->m.inputs);
    free(p->m.outputs);
    free(p->constant);
    free(p->origin);
}

static void copy_nodes(struct sample_walk *w, struct piece *p)
{
    uint32_t *ends = p->m.inputs + count_ends(w, p) + 1;
    for (uint32_t i = p->first; i < p->last; i++) {
        struct pith_node *node = &p->m.nodes[p->m.n_nodes++];
        const struct pith_node *from = &w->m->nodes[i];
        *node = *from;
        node->in = ends;
        node->out = ends + node->n_in;
        ends += node->n_in + node->n_out;
        for (uint32_t k = 0; k < node->n_in; k++)
            node->in[k] = number_in_piece(w, p, from->in[k]);
        for (uint32_t k = 0; k < node->n_out; k++)
            node->out[k] = number_in_piece(w, p, from->out[k]);
    }
}

/* Inputs: what is there already. Outputs: what is read behind the piece. */
static bool make_piece(struct sample_walk *w, struct piece *p)
{
    if (!make_room(w, p))
        return false;
    copy_nodes(w, p);
    for (uint32_t i = 0; i < p->m.n_values; i++) {
        uint32_t v = p->origin[i];
        w->number[v] = PITH_VALUE_NONE;
        if (w->is_kept[v] || v == w->input)
            p->m.inputs[p->m.n_inputs++] = i;
        else if (!w->m->values[v].constant && w->last[v] >= p->last)
            p->m.outputs[p->m.n_outputs++] = i;
    }
    return true;
}

/* ---- running it ------------------------------------------------------------------------------ */

struct run {
    const struct sample_walk *w;
    const struct piece *piece;
    struct pith_buffer file;
    uint32_t n; /* plans, one for each thread */
    void **memory;
    struct pith_plan **plan;
    uint64_t first, count;    /* samples that run at once: count <= n */
    enum pith_status *status; /* [n] */
    struct pith_error *err;   /* [n] */
};

static enum pith_status open_plan(struct run *r, uint32_t i, const struct pith_opts *o)
{
    struct pith_need need;
    enum pith_status status = pith_plan_size(r->file.data, r->file.bytes, o, &need);
    if (status)
        return status;
    r->memory[i] = aligned_alloc(need.align, (need.bytes + need.align - 1) & ~(need.align - 1));
    return r->memory[i] ? pith_plan_init(r->memory[i], need.bytes, r->file.data, r->file.bytes, o,
                                         &r->plan[i])
                        : PITH_ERR_MEMORY;
}

static enum pith_status open_plans(struct run *r, struct pith_error *err)
{
    struct pith_opts o;
    enum pith_status status = pith_model_pack(&r->piece->m, NULL, &r->file, err);
    pith_opts_init(&o, sizeof o);
    if (r->w->opts.runtime)
        o.cpu_mask = r->w->opts.runtime->cpu_mask;
    for (uint32_t i = 0; i < r->n && !status; i++)
        if ((status = open_plan(r, i, &o)))
            pith_error_fill(err, status, "cannot run part of the network (status %d)", (int)status);
    return status;
}

static enum pith_status open_run(struct run *r, struct pith_error *err)
{
    const struct pith_opts *o = r->w->opts.runtime;
    r->n = o ? pith_threads_count(o) : 1;
    r->memory = calloc(r->n, sizeof *r->memory);
    r->plan = calloc(r->n, sizeof *r->plan);
    r->status = calloc(r->n, sizeof *r->status);
    r->err = calloc(r->n, sizeof *r->err);
    return r->memory && r->plan && r->status && r->err ? open_plans(r, err)
                                                       : pith_error_no_memory(err);
}

static void close_run(struct run *r)
{
    for (uint32_t i = 0; i < r->n && r->memory; i++)
        free(r->memory[i]);
    free(r->memory);
    free(r->plan);
    free(r->status);
    free(r->err);
    pith_buffer_free(&r->file);
}

/* Calls on a data set may not overlap, so samples come before the threads go on. */
static enum pith_status load_inputs(struct run *r, struct pith_error *err)
{
    const struct piece *p = r->piece;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < p->m.n_inputs; i++)
        for (uint64_t k = 0; k < r->count && p->origin[p->m.inputs[i]] == r->w->input && !status;
             k++)
            status = pith_sample_walk_read(r->w, r->w->input, r->first + k,
                                           pith_plan_input_data(r->plan[k], i), err);
    return status;
}

static void run_sample(void *arg, uint32_t k)
{
    struct run *r = arg;
    const struct sample_walk *w = r->w;
    const struct piece *p = r->piece;
    const uint64_t sample = r->first + k, n = w->opts.n_samples;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < p->m.n_inputs && !status; i++) {
        uint32_t v = p->origin[p->m.inputs[i]];
        if (v != w->input)
            status = pith_kept_read(w->kept, v, sample * w->bytes[v],
                                    pith_plan_input_data(r->plan[k], i), (size_t)w->bytes[v],
                                    &r->err[k]);
    }
    if (!status && (status = pith_plan_run(r->plan[k])))
        pith_error_fill(&r->err[k], status, "running sample %llu failed (status %d)",
                        (unsigned long long)sample, (int)status);
    for (uint32_t i = 0; i < p->m.n_outputs && !status; i++) {
        uint32_t v = p->origin[p->m.outputs[i]];
        status =
            pith_kept_write(w->kept, v, n * w->bytes[v], sample * w->bytes[v],
                            pith_plan_output_data(r->plan[k], i), (size_t)w->bytes[v], &r->err[k]);
    }
    r->status[k] = status;
}

static enum pith_status run_samples(struct run *r, struct pith_error *err)
{
    const struct pith_opts *o = r->w->opts.runtime;
    const uint64_t n = r->w->opts.n_samples;
    enum pith_status status = PITH_OK;
    for (r->first = 0; r->first < n && !status; r->first += r->count) {
        r->count = n - r->first < r->n ? n - r->first : r->n;
        status = load_inputs(r, err);
        if (status)
            break;
        if (r->count > 1)
            o->parallel_for(o->parallel_user, (uint32_t)r->count, run_sample, r);
        else
            run_sample(r, 0);
        for (uint64_t k = 0; k < r->count && !status; k++)
            if ((status = r->status[k]) && err)
                *err = r->err[k];
    }
    return status;
}

static enum pith_status open_outputs(struct sample_walk *w, const struct piece *p,
                                     struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < p->m.n_outputs && !status; i++) {
        uint32_t v = p->origin[p->m.outputs[i]];
        status = pith_kept_open(w->kept, v, w->opts.n_samples * w->bytes[v], err);
        w->is_kept[v] = true;
    }
    return status;
}

static void forget(struct sample_walk *w, const struct piece *p)
{
    for (uint32_t i = 0; i < p->m.n_values; i++) {
        uint32_t v = p->origin[i];
        if (w->is_kept[v] && w->last[v] < p->last) {
            pith_kept_drop(w->kept, v);
            w->is_kept[v] = false;
        }
    }
}

/* What is not read any more has room only when the piece is done. */
static enum pith_status run_piece(struct sample_walk *w, struct piece *p, struct pith_error *err)
{
    struct run r = {.w = w, .piece = p};
    enum pith_status status = make_piece(w, p) ? PITH_OK : pith_error_no_memory(err);
    if (!status && p->m.n_outputs) {
        status = open_run(&r, err);
        if (!status)
            status = open_outputs(w, p, err);
        if (!status)
            status = run_samples(&r, err);
        close_run(&r);
    }
    if (!status)
        forget(w, p);
    free_piece(p);
    return status;
}

enum pith_status pith_sample_walk_to(struct sample_walk *w, uint32_t node, struct pith_error *err)
{
    struct piece p = {.first = w->at, .last = node};
    enum pith_status status = w->at < node ? run_piece(w, &p, err) : PITH_OK;
    if (!status)
        w->at = node;
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

uint64_t pith_sample_walk_elems(const struct sample_walk *w, uint32_t value)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < w->m->values[value].rank; i++)
        n *= w->m->values[value].dim[i];
    return n;
}

enum pith_status pith_sample_walk_read(const struct sample_walk *w, uint32_t value, uint64_t sample,
                                       float *x, struct pith_error *err)
{
    if (value == w->input)
        return pith_data_read(w->opts.data, sample, x, NULL, err);
    return pith_kept_read(w->kept, value, sample * w->bytes[value], x, (size_t)w->bytes[value],
                          err);
}

static enum pith_status check(const struct pith_model *m, const struct sample_walk *w,
                              struct pith_error *err)
{
    if (m->n_inputs != 1 || m->values[m->inputs[0]].type != PITH_F32)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "samples are for one input of f32: the model has %u inputs",
                               m->n_inputs);
    uint64_t elems = pith_sample_walk_elems(w, m->inputs[0]);
    if (elems != pith_data_elems(w->opts.data))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "input '%.200s' takes %llu values, a sample has %llu",
                               m->values[m->inputs[0]].name, (unsigned long long)elems,
                               (unsigned long long)pith_data_elems(w->opts.data));
    return PITH_OK;
}

static enum pith_status begin(struct sample_walk *w, struct pith_error *err)
{
    const struct pith_model *m = w->m;
    size_t n = m->n_values + (size_t)1;
    w->kept = pith_kept_new(m->n_values, w->opts.memory_bytes);
    w->bytes = calloc(n, sizeof *w->bytes);
    w->last = calloc(n, sizeof *w->last);
    w->is_kept = calloc(n, sizeof *w->is_kept);
    w->number = malloc(n * sizeof *w->number);
    if (!w->kept || !w->bytes || !w->last || !w->is_kept || !w->number)
        return pith_error_no_memory(err);
    enum pith_status status = check(m, w, err);
    if (status)
        return status;
    w->input = m->inputs[0];
    for (uint32_t v = 0; v < m->n_values; v++) {
        w->bytes[v] = pith_sample_walk_elems(w, v) * pith_type_bytes(m->values[v].type);
        w->number[v] = PITH_VALUE_NONE;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                w->last[m->nodes[i].in[k]] = i;
    return PITH_OK;
}

enum pith_status pith_sample_walk_open(const struct pith_model *m,
                                       const struct sample_walk_opts *opts, struct sample_walk **w,
                                       struct pith_error *err)
{
    struct sample_walk *made = calloc(1, sizeof *made);
    if (!made)
        return pith_error_no_memory(err);
    made->m = m;
    made->opts = *opts;
    enum pith_status status = begin(made, err);
    if (status)
        pith_sample_walk_close(made);
    else
        *w = made;
    return status;
}

void pith_sample_walk_close(struct sample_walk *w)
{
    if (!w)
        return;
    pith_kept_free(w->kept);
    free(w->bytes);
    free(w->last);
    free(w->is_kept);
    free(w->number);
    free(w);
}
