/* SPDX-License-Identifier: MIT */
/* layer_walk.c - nodes between two stops are made a model of their own, whose inputs are what
 * it reads of earlier ones; each thread has a plan of it.
 *
 * A layer's inputs have to be those of the network as it is after the layers before were
 * changed, so samples advance together, from stop to stop, instead of one after the other. What
 * a sample needs later is kept in memory, or in files beyond a limit. */
#include "value_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "pith_host.h"
#include "base/in_parallel.h"
#include "base/kept_values.h"
#include "core/tensor.h"
#include "model/model_sizes.h"
#include "pith_pack.h"

/* Arrays by value number of the model, whose nodes do not change while a walk lives. */
struct layer_walk {
    const struct pith_model *m;
    struct layer_walk_opts opts;
    struct kept_values *kept; /* of each value of m */
    uint64_t *bytes;          /* [n_values] of one sample */
    uint32_t *last;           /* [n_values] the node that reads it last; 0: none */
    bool *is_kept;            /* [n_values] */
    uint32_t *number;         /* [n_values] in a piece, or PITH_VALUE_NONE */
    uint32_t *input;          /* [n_values] its number among the model's inputs + 1; 0: none */
    struct body_span *body;   /* [n_nodes + 1] */
    uint64_t n_samples;
    uint32_t at; /* nodes that were run */
};

/* Nodes first .. last - 1 as a model over arrays of its own. A piece shares constants' data with
 * the model, so a change of a weight affects the pieces behind it. */
struct piece {
    uint32_t first, last;
    struct pith_model m;
    struct pith_const *constant; /* [m.n_values] plain ones in place of the model's */
    uint32_t *origin;            /* [m.n_values] number in the model */
    uint32_t *node;              /* [last - first] number in m, which nodes have that do anything */
};

/* ---- making a piece -------------------------------------------------------------------------- */

/* Statistics and grids stay out: the piece is run as floats. */
static void add_to_piece(struct layer_walk *w, struct piece *p, uint32_t v)
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
    /* Without mask and codebook: the piece is packed plain, which costs no coding. */
    p->constant[at] = (struct pith_const){.count = to->constant->count, .data = to->constant->data};
    to->constant = &p->constant[at];
}

/* Values are numbered as they are met. */
static uint32_t number_in_piece(struct layer_walk *w, struct piece *p, uint32_t v)
{
    if (v == PITH_VALUE_NONE)
        return v;
    if (w->number[v] == PITH_VALUE_NONE)
        add_to_piece(w, p, v);
    return w->number[v];
}

/* Each end of a node may be a value of its own. */
static size_t count_ends(const struct layer_walk *w, const struct piece *p)
{
    size_t ends = 0;
    for (uint32_t i = p->first; i < p->last; i++)
        ends += w->m->nodes[i].n_in + w->m->nodes[i].n_out;
    return ends;
}

static bool make_room(const struct layer_walk *w, struct piece *p)
{
    size_t ends = count_ends(w, p) + 1;
    p->m = (struct pith_model){.arena = w->m->arena};
    p->m.values = calloc(ends, sizeof *p->m.values);
    p->m.nodes = calloc(p->last - p->first + (size_t)1, sizeof *p->m.nodes);
    /* One allocation for inputs and all lists of ends. */
    p->m.inputs = calloc(3 * ends, sizeof *p->m.inputs); /* and the ends of nodes behind them */
    p->m.outputs = calloc(ends, sizeof *p->m.outputs);
    p->constant = calloc(ends, sizeof *p->constant);
    p->origin = calloc(ends, sizeof *p->origin);
    p->node = calloc(p->last - p->first + (size_t)1, sizeof *p->node);
    return p->node && p->m.values && p->m.nodes && p->m.inputs && p->m.outputs && p->constant &&
           p->origin;
}

/* Arrays alone; their elements belong to the model. */
static void free_piece(struct piece *p)
{
    free(p->m.values);
    free(p->m.nodes);
    free(p->m.inputs);
    free(p->m.outputs);
    free(p->constant);
    free(p->origin);
    free(p->node);
}

/* node->in and out point behind the inputs. p->node: what becomes of the model's nodes. */
static void copy_nodes(struct layer_walk *w, struct piece *p)
{
    uint32_t *ends = p->m.inputs + count_ends(w, p) + 1;
    for (uint32_t i = p->first; i < p->last; i++) {
        struct pith_node *node = &p->m.nodes[p->m.n_nodes];
        const struct pith_node *from = &w->m->nodes[i];
        const uint32_t n_in = pith_node_filled_inputs(w->m, from, ends);
        if (n_in == UINT32_MAX)
            continue;
        p->node[i - p->first] = p->m.n_nodes++;
        *node = *from;
        node->n_in = n_in;
        node->in = ends;
        node->out = ends + node->n_in;
        ends += node->n_in + node->n_out;
        for (uint32_t k = 0; k < node->n_in; k++)
            node->in[k] = number_in_piece(w, p, node->in[k]);
        for (uint32_t k = 0; k < node->n_out; k++)
            node->out[k] = number_in_piece(w, p, from->out[k]);
    }
}

/* Inputs: what is there already. Outputs: what is read behind the piece. What was made before is
 * an input, what is read later an output; constants travel inside. */
static bool make_piece(struct layer_walk *w, struct piece *p)
{
    if (!make_room(w, p))
        return false;
    copy_nodes(w, p);
    for (uint32_t i = 0; i < p->m.n_values; i++) {
        uint32_t v = p->origin[i];
        w->number[v] = PITH_VALUE_NONE;
        if (w->is_kept[v] || w->input[v])
            p->m.inputs[p->m.n_inputs++] = i;
        else if (!w->m->values[v].constant && w->last[v] >= p->last)
            p->m.outputs[p->m.n_outputs++] = i;
    }
    if (p->m.n_inputs == 0 && w->m->n_inputs > 0) { /* nodes of constants: a model has an input */
        p->m.inputs[p->m.n_inputs++] = number_in_piece(w, p, w->m->inputs[0]);
        w->number[w->m->inputs[0]] = PITH_VALUE_NONE;
    }
    return true;
}

/* ---- running it ------------------------------------------------------------------------------ */

/* Threads run samples, not parts of one: plans without parallel_for. */
struct run {
    const struct layer_walk *w;
    const struct piece *piece;
    struct pith_buffer file;
    uint32_t n; /* plans, one for each thread */
    void **memory;
    struct pith_plan **plan;
    uint64_t first, count;     /* samples that run at once: count <= n */
    enum pith_status *status;  /* [n] */
    struct pith_error *err;    /* [n] */
    struct recorder *recorder; /* [n]; NULL: outputs are kept instead */
};

/* What one thread's plan is watched for. The plan's observer fills it while the sample runs. */
struct recorder {
    uint32_t node, output; /* in the piece */
    uint64_t bytes;        /* of the value */
    uint8_t *data;         /* owns: [room] of the sample that runs */
    uint64_t filled, room;
    bool no_memory, misfit; /* misfit: it had other bytes once */
};

/* Doubled: how often a loop makes the value is known at its end. */
static bool grow(struct recorder *r)
{
    uint64_t room = r->room ? 2 * r->room : r->bytes;
    uint8_t *more = realloc(r->data, (size_t)room);
    if (more) {
        r->data = more;
        r->room = room;
    }
    return more != NULL;
}

/* An observed plan has a step for each node, in their order. Node i of the piece is step i (no
 * fusion in observed plans). */
static void see(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct recorder *r = user;
    if (layer->step != r->node || layer->output != r->output)
        return;
    r->misfit = r->misfit || out->bytes != r->bytes;
    if (r->misfit || r->no_memory)
        return;
    r->no_memory = r->filled + r->bytes > r->room && !grow(r);
    if (r->no_memory)
        return;
    memcpy(r->data + r->filled, out->data, (size_t)r->bytes);
    r->filled += r->bytes;
}

/* aligned_alloc() wants a multiple of the alignment. */
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

/* The same file for all plans; only their memory differs. */
static enum pith_status open_plans(struct run *r, struct pith_error *err)
{
    struct pith_opts o;
    enum pith_status status = pith_model_pack(&r->piece->m, NULL, &r->file, err);
    pith_opts_init(&o, sizeof o);
    if (r->w->opts.runtime)
        o.cpu_mask = r->w->opts.runtime->cpu_mask;
    if (r->w->opts.runtime && r->w->opts.runtime->max_bytes)
        o.max_bytes = r->w->opts.runtime->max_bytes;
    o.ordered = &pith_ordered_sums; /* statistics, hence integers, are the same on every CPU */
    o.observe = r->recorder ? see : NULL;
    for (uint32_t i = 0; i < r->n && !status; i++) {
        o.user = r->recorder ? &r->recorder[i] : NULL;
        if ((status = open_plan(r, i, &o)))
            pith_error_fill(err, status, "cannot run part of the network (status %d)", (int)status);
    }
    return status;
}

/* At least one: the caller's. */
static uint32_t threads_of(const struct run *r)
{
    const struct pith_opts *o = r->w->opts.runtime;
    return o ? pith_threads_count(o) : 1;
}

/* Everything by thread. */
static enum pith_status open_run(struct run *r, struct pith_error *err)
{
    r->n = threads_of(r);
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

static enum pith_status change(const struct layer_walk *w, uint32_t value, uint64_t sample,
                               void *data, struct pith_error *err)
{
    return w->opts.change ? w->opts.change(w->opts.user, value, sample, data, err) : PITH_OK;
}

static enum pith_status read_input(const struct layer_walk *w, uint32_t value, uint64_t sample,
                                   void *to, struct pith_error *err)
{
    enum pith_status status =
        pith_recorded_feed_read(w->opts.feed, w->input[value] - 1, sample, to, err);
    return status ? status : change(w, value, sample, to, err);
}

/* Calls on a data set may not overlap, so samples come before the threads go on. What comes from
 * a data set is read here; what the walk keeps is read by the threads. */
static enum pith_status load_inputs(struct run *r, struct pith_error *err)
{
    const struct piece *p = r->piece;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < p->m.n_inputs; i++) {
        const uint32_t v = p->origin[p->m.inputs[i]];
        for (uint64_t k = 0; k < r->count && r->w->input[v] && !status; k++)
            status = read_input(r->w, v, r->first + k, pith_plan_input_data(r->plan[k], i), err);
    }
    return status;
}

/* What a plan gives may lie where another output does: a copy is changed. */
static enum pith_status keep_output(const struct layer_walk *w, uint32_t v, uint64_t sample,
                                    const void *made, struct pith_error *err)
{
    const size_t bytes = (size_t)w->bytes[v];
    void *changed = w->opts.change ? malloc(bytes + 1) : NULL;
    enum pith_status status = PITH_OK;
    if (w->opts.change && !changed)
        return pith_error_no_memory(err);
    if (changed) {
        memcpy(changed, made, bytes);
        status = change(w, v, sample, changed, err);
    }
    if (!status)
        status = pith_kept_open(w->kept, v, w->n_samples * bytes, err);
    if (!status)
        status = pith_kept_write(w->kept, v, sample * bytes, changed ? changed : made, bytes, err);
    free(changed);
    return status;
}

/* Each sample's values have places of their own in what is kept, so threads never meet. */
static void run_sample(void *arg, uint32_t k)
{
    struct run *r = arg;
    const struct layer_walk *w = r->w;
    const struct piece *p = r->piece;
    const uint64_t sample = r->first + k;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < p->m.n_inputs && !status; i++) {
        uint32_t v = p->origin[p->m.inputs[i]];
        if (!w->input[v])
            status = pith_kept_read(w->kept, v, sample * w->bytes[v],
                                    pith_plan_input_data(r->plan[k], i), (size_t)w->bytes[v],
                                    &r->err[k]);
    }
    if (!status && (status = pith_plan_run(r->plan[k])))
        pith_error_fill(&r->err[k], status, "running sample %llu failed (status %d)",
                        (unsigned long long)sample, (int)status);
    for (uint32_t i = 0; i < p->m.n_outputs && !status && !r->recorder; i++) {
        uint32_t v = p->origin[p->m.outputs[i]];
        status = keep_output(w, v, sample, pith_plan_output_data(r->plan[k], i), &r->err[k]);
    }
    r->status[k] = status;
}

/* Samples from r->first on, one for each plan. As many samples as plans at a time. */
static enum pith_status run_some(struct run *r, struct pith_error *err)
{
    const uint64_t left = r->w->n_samples - r->first;
    r->count = left < r->n ? left : r->n;
    enum pith_status status = load_inputs(r, err);
    if (status)
        return status;
    pith_in_parallel(r->w->opts.runtime, (uint32_t)r->count, run_sample, r);
    for (uint64_t k = 0; k < r->count && !status; k++)
        if ((status = r->status[k]) && err)
            *err = r->err[k];
    return status;
}

/* In order: a failing sample is the first that fails. */
static enum pith_status run_samples(struct run *r, struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (r->first = 0; r->first < r->w->n_samples && !status; r->first += r->count)
        status = run_some(r, err);
    return status;
}

/* Room for all samples before the first one runs. */
static enum pith_status open_outputs(struct layer_walk *w, const struct piece *p,
                                     struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < p->m.n_outputs && !status; i++) {
        uint32_t v = p->origin[p->m.outputs[i]];
        status = pith_kept_open(w->kept, v, w->n_samples * w->bytes[v], err);
        w->is_kept[v] = true;
    }
    return status;
}

/* Inputs of the piece that nothing behind it reads. */
static void forget(struct layer_walk *w, const struct piece *p)
{
    for (uint32_t i = 0; i < p->m.n_values; i++) {
        uint32_t v = p->origin[i];
        if (w->is_kept[v] && w->last[v] < p->last) {
            pith_kept_drop(w->kept, v);
            w->is_kept[v] = false;
        }
    }
}

/* What nothing behind reads is freed when the piece is done, not earlier: its inputs are read until
 * its last sample. */
static enum pith_status run_piece(struct layer_walk *w, struct piece *p, struct pith_error *err)
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

/* Nothing is run when nothing is between. */
enum pith_status pith_layer_walk_to(struct layer_walk *w, uint32_t node, struct pith_error *err)
{
    const struct body_span body = w->body[node];
    const uint32_t last = body.begin < body.end ? body.begin : node;
    struct piece p = {.first = w->at, .last = last};
    enum pith_status status = w->at < last ? run_piece(w, &p, err) : PITH_OK;
    if (!status)
        w->at = last;
    return status;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The first sample that makes the value sets the room: for as many in each. */
static enum pith_status open_record(const struct run *r, uint64_t times, struct value_record *to,
                                    struct pith_error *err)
{
    to->times = times;
    return pith_kept_open(to->kept, 0, r->w->n_samples * times * to->bytes, err);
}

/* In order of samples. False in *steady: one makes the value less or more often than the first. */
static enum pith_status keep_records(const struct run *r, struct value_record *to, bool *steady,
                                     struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (uint64_t k = 0; k < r->count && !status; k++) {
        struct recorder *from = &r->recorder[k];
        uint64_t n = from->misfit ? 0 : from->filled / to->bytes;
        from->filled = 0;
        if (from->no_memory)
            return pith_error_no_memory(err);
        if (n > 0 && to->times == 0)
            status = open_record(r, n, to, err);
        const uint64_t room = r->w->n_samples * to->times;
        *steady = *steady && n > 0 && n == to->times && to->n == (r->first + k) * n;
        n = n < room - to->n ? n : room - to->n;
        if (n > 0 && !status)
            status = pith_kept_open(to->kept, 0, room * to->bytes, err);
        if (n > 0 && !status)
            status = pith_kept_write(to->kept, 0, to->n * to->bytes, from->data,
                                     (size_t)(n * to->bytes), err);
        to->n += n;
    }
    return status;
}

static enum pith_status record_samples(struct run *r, struct value_record *to,
                                       struct pith_error *err)
{
    bool steady = true;
    enum pith_status status = PITH_OK;
    for (r->first = 0; r->first < r->w->n_samples && !status; r->first += r->count) {
        status = run_some(r, err);
        if (!status)
            status = keep_records(r, to, &steady, err);
    }
    to->times = steady ? to->times : 0;
    return status;
}

/* The output that is left out becomes one of the piece's values. A recurrent operator may leave
 * y out, for the last state is all that is read. */
static void add_output(struct piece *p, const struct record_spec *spec)
{
    struct pith_node *node = &p->m.nodes[p->node[spec->node - spec->first]];
    struct pith_value *v = &p->m.values[p->m.n_values];
    if (!spec->dim || node->out[spec->output] != PITH_VALUE_NONE)
        return;
    *v = (struct pith_value){.name = "recorded", .type = PITH_F32, .rank = spec->rank};
    memcpy(v->dim, spec->dim, spec->rank * sizeof *v->dim);
    node->out[spec->output] = p->m.n_values++;
}

/* Where nothing reads any of it any more: a plan has an output all the same. pith_model_pack()
 * refuses a graph without outputs. */
static void keep_an_output(struct piece *p)
{
    const struct pith_node *last = &p->m.nodes[p->m.n_nodes - 1];
    for (uint32_t k = 0; k < last->n_out && p->m.n_outputs == 0; k++)
        if (last->out[k] != PITH_VALUE_NONE)
            p->m.outputs[p->m.n_outputs++] = last->out[k];
}

static void free_recorders(struct run *r, uint32_t n)
{
    for (uint32_t i = 0; i < n && r->recorder; i++)
        free(r->recorder[i].data);
    free(r->recorder);
}

/* elems 0 where the output does not exist: then nothing is recorded. */
static enum pith_status open_recorders(struct run *r, const struct record_spec *spec,
                                       struct value_record *to, struct pith_error *err)
{
    const uint32_t n = threads_of(r), node = r->piece->node[spec->node - spec->first],
                   v = r->piece->m.nodes[node].out[spec->output];
    r->recorder = calloc(n, sizeof *r->recorder);
    to->elems = v == PITH_VALUE_NONE ? 0 : pith_value_elems(&r->piece->m.values[v]);
    to->bytes = to->elems * (to->elems ? pith_type_bytes(r->piece->m.values[v].type) : 0);
    to->kept = pith_kept_new(1, r->w->opts.memory_bytes);
    for (uint32_t i = 0; i < n && r->recorder; i++)
        r->recorder[i] =
            (struct recorder){.node = node, .output = spec->output, .bytes = to->bytes};
    return r->recorder && to->kept ? PITH_OK : pith_error_no_memory(err);
}

/* Nodes of the record are run once more than the walk needs; bodies are seldom. */
enum pith_status pith_layer_walk_record(struct layer_walk *w, const struct record_spec *spec,
                                        struct value_record *r, struct pith_error *err)
{
    struct piece p = {.first = spec->first, .last = spec->last};
    struct run run = {.w = w, .piece = &p};
    *r = (struct value_record){0};
    enum pith_status status = make_piece(w, &p) ? PITH_OK : pith_error_no_memory(err);
    if (!status) {
        add_output(&p, spec);
        keep_an_output(&p);
        status = open_recorders(&run, spec, r, err);
    }
    if (!status && r->elems) {
        status = open_run(&run, err);
        if (!status)
            status = record_samples(&run, r, err);
        close_run(&run);
    }
    free_recorders(&run, threads_of(&run));
    free_piece(&p);
    if (status) {
        pith_kept_free(r->kept);
        r->kept = NULL;
    }
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

enum pith_status pith_layer_walk_read(const struct layer_walk *w, uint32_t value, uint64_t sample,
                                      void *x, struct pith_error *err)
{
    if (w->input[value])
        return read_input(w, value, sample, x, err);
    return pith_kept_read(w->kept, value, sample * w->bytes[value], x, (size_t)w->bytes[value],
                          err);
}

/* An input of the network is not kept until then. */
static enum pith_status keep_input(struct layer_walk *w, uint32_t value, struct pith_error *err)
{
    const size_t bytes = (size_t)w->bytes[value];
    void *one = malloc(bytes + 1);
    enum pith_status status =
        one ? pith_kept_open(w->kept, value, w->n_samples * bytes, err) : pith_error_no_memory(err);
    for (uint64_t i = 0; i < w->n_samples && !status; i++) {
        status = read_input(w, value, i, one, err);
        if (!status)
            status = pith_kept_write(w->kept, value, i * bytes, one, bytes, err);
    }
    free(one);
    w->is_kept[value] = !status;
    return status;
}

enum pith_status pith_layer_walk_map(struct layer_walk *w, uint32_t value, const void **data,
                                     struct pith_error *err)
{
    enum pith_status status =
        w->input[value] && !w->is_kept[value] ? keep_input(w, value, err) : PITH_OK;
    return status ? status : pith_kept_map(w->kept, value, data, err);
}

uint64_t pith_layer_walk_samples(const struct layer_walk *w)
{
    return w->n_samples;
}

const struct pith_model *pith_layer_walk_model(const struct layer_walk *w)
{
    return w->m;
}

void pith_layer_walk_hold(struct layer_walk *w, uint32_t value, uint32_t node)
{
    w->last[value] = w->last[value] > node ? w->last[value] : node;
}

struct body_span pith_layer_walk_body(const struct layer_walk *w, uint32_t node)
{
    return w->body[node];
}

/* span: [n_nodes], zeros */
static void find_bodies(const struct pith_model *m, struct body_span *span)
{
    uint32_t depth = 0, begin = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (pith_opens_body(m->nodes[i].op) && depth++ == 0)
            begin = i;
        if (!pith_closes_body(m->nodes[i].op) || depth == 0 || --depth > 0)
            continue;
        for (uint32_t k = begin; k <= i; k++)
            span[k] = (struct body_span){begin, i + 1};
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* last[v]: the node that reads v last; what is kept is dropped behind it. */
static enum pith_status begin(struct layer_walk *w, struct pith_error *err)
{
    const struct pith_model *m = w->m;
    size_t n = m->n_values + (size_t)1;
    w->kept = pith_kept_new(m->n_values, w->opts.memory_bytes);
    w->bytes = calloc(n, sizeof *w->bytes);
    w->last = calloc(n, sizeof *w->last);
    w->is_kept = calloc(n, sizeof *w->is_kept);
    w->number = malloc(n * sizeof *w->number);
    w->input = calloc(n, sizeof *w->input);
    w->body = calloc(m->n_nodes + (size_t)1, sizeof *w->body);
    if (!w->kept || !w->bytes || !w->last || !w->is_kept || !w->number || !w->input || !w->body)
        return pith_error_no_memory(err);
    find_bodies(m, w->body);
    w->n_samples = pith_recorded_feed_calls(w->opts.feed);
    for (uint32_t i = 0; i < m->n_inputs; i++)
        w->input[m->inputs[i]] = i + 1;
    for (uint32_t v = 0; v < m->n_values; v++) {
        w->bytes[v] = pith_value_elems(&m->values[v]) * pith_type_bytes(m->values[v].type);
        w->number[v] = PITH_VALUE_NONE;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                w->last[m->nodes[i].in[k]] = i;
    return PITH_OK;
}

enum pith_status pith_layer_walk_open(const struct pith_model *m,
                                      const struct layer_walk_opts *opts, struct layer_walk **w,
                                      struct pith_error *err)
{
    struct layer_walk *made = calloc(1, sizeof *made);
    if (!made)
        return pith_error_no_memory(err);
    made->m = m;
    made->opts = *opts;
    enum pith_status status = begin(made, err);
    if (status)
        pith_layer_walk_close(made);
    else
        *w = made;
    return status;
}

void pith_layer_walk_close(struct layer_walk *w)
{
    if (!w)
        return;
    pith_kept_free(w->kept);
    free(w->bytes);
    free(w->last);
    free(w->is_kept);
    free(w->number);
    free(w->input);
    free(w->body);
    free(w);
}
