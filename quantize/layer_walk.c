/* SPDX-License-Identifier: MIT */
/* layer_walk.c - the network cut into short pieces, each run on all samples before the next.
 *
 * A piece ends where the float node behind its nodes changes, and before each product of integers.
 * It is made a model of its own, whose inputs are what it reads of earlier pieces.
 *
 * A loop or branch is one piece. For each product in it the piece is run on all samples with an observer
 * that keeps what the product reads in all iterations, the products before it improved already. */
#include "layer_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error_fill.h"
#include "op.h"
#include "tensor.h"

struct kept_value {
    uint8_t *data; /* owns: [n_samples, bytes]; NULL: not made yet, or read for the last time */
    uint64_t bytes;
    uint32_t last; /* the node that reads it last; n_nodes: an output */
};

struct walk_state {
    const struct layer_walk *walk;
    struct walk_state *original; /* the same walk over the float network, or NULL */
    uint32_t done;               /* nodes of it that were run */
    const struct pith_model *m;
    struct kept_value *kept; /* [n_values] */
    uint32_t *number;        /* [n_values] in the piece, or PITH_VALUE_NONE */
    uint32_t n_samples;
    struct pith_error *err;
};

/* A piece: nodes [first, last) of the network, as a model over arrays of its own. */
struct piece {
    uint32_t first, last;
    struct pith_model m;
    uint32_t *origin; /* [m.n_values] number in the network */
};

static uint64_t value_bytes(const struct pith_value *v)
{
    uint64_t n = pith_type_bytes(v->type);
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

/* ---- making a piece
 * --------------------------------------------------------------------------------- */

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

/* ---- what is read in a loop
 * -------------------------------------------------------------------------- */

#define MOST_RECORDED (UINT64_C(64) << 20) /* bytes */

/* A value of a piece, each time it is made. Where that is more than memory should hold, every second
 * is forgotten, again and again, which leaves some of all iterations and samples. */
struct recorder {
    const struct piece *piece;
    uint32_t value;      /* in the piece */
    uint64_t bytes;      /* of one */
    uint8_t *data;       /* owns: [n, bytes] */
    uint64_t n, room;
    uint64_t every, seen; /* one in `every` is kept */
    bool no_memory;
};

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

/* ---- running it
 * ------------------------------------------------------------------------------------- */

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

static enum pith_status run_piece(struct walk_state *s, struct piece *p)
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

/* ---- the float network
 * ------------------------------------------------------------------------------ */

static void cut(float *x, uint64_t n, float low, float high)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

/* To what the integers that stand for the value can be. */
static void cut_value(struct walk_state *s, uint32_t v)
{
    const struct pith_value *value = &s->m->values[v];
    const struct kept_value *k = &s->kept[v];
    const struct pith_grid *g = pith_plan_grid(s->walk->plan, v);
    if (!k->data || !s->walk->plan->value[v].whole)
        return;
    uint64_t all = k->bytes / sizeof(float) * s->n_samples, block = all;
    for (uint32_t i = 0; i < 2 && g->n > 1; i++) /* scales are of axis 1 */
        block /= i ? value->dim[1] : s->n_samples * value->dim[0];
    for (uint64_t i = 0; i < all; i += block) {
        float scale = g->scale[g->n > 1 ? i / block % g->n : 0];
        cut((float *)(void *)k->data + i, block, (float)(pith_grid_lowest(g) - g->zero_point) * scale,
            (float)(pith_grid_highest(g) - g->zero_point) * scale);
    }
}

static bool is_whole(const struct pith_model *m, const struct piece *p)
{
    uint32_t opened = 0, closed = 0;
    for (uint32_t i = p->first; i < p->last; i++) {
        uint32_t op = m->nodes[i].op;
        opened += pith_opens_body(op);
        closed += pith_closes_body(op);
    }
    return opened == closed;
}

/* A node, or a loop or branch. */
static enum pith_status run_next_of_original(struct walk_state *s)
{
    struct piece p = {.first = s->done, .last = s->done + 1};
    while (!is_whole(s->m, &p))
        p.last++;
    enum pith_status st = run_piece(s, &p);
    for (uint32_t i = p.first; i < p.last && !st; i++)
        for (uint32_t o = 0; o < s->m->nodes[i].n_out; o++)
            cut_value(s, s->m->nodes[i].out[o]);
    s->done = p.last;
    return st;
}

/* Up to the node of a layer, whose output is the goal. */
static enum pith_status run_original(struct walk_state *s, uint32_t node, struct layer_inputs *in)
{
    uint32_t y = s->m->nodes[node].out[0];
    enum pith_status st = PITH_OK;
    while (s->done <= node && !st)
        st = run_next_of_original(s);
    in->goal = (const float *)(const void *)s->kept[y].data;
    in->n_goals = s->kept[y].bytes / sizeof *in->goal;
    return st;
}

/* in_loop: data are not one for each sample, and there is no goal. */
static enum pith_status improve(struct walk_state *s, uint32_t layer, const uint8_t *data,
                                uint32_t n, bool in_loop)
{
    enum pith_status st = PITH_OK;
    const struct pith_node *product = &s->m->nodes[s->walk->net->product[layer]];
    struct layer_inputs in = {.layer = layer,
                              .product = product,
                              .x = &s->m->values[product->in[0]],
                              .w = &s->m->values[product->in[1]],
                              .y = &s->m->values[product->out[0]],
                              .n_samples = n,
                              .bytes = s->kept[product->in[0]].bytes,
                              .data = data,
                              .in_loop = in_loop};
    if (s->original && !in_loop)
        st = run_original(s->original, s->walk->net->layers[layer].node, &in);
    return n && !st ? s->walk->improve(s->walk->user, &in, s->err) : st;
}

/* Runs the piece on all samples for the sake of one value. */
static enum pith_status record_piece(struct walk_state *s, struct piece *p, uint32_t value,
                                     struct recorder *r)
{
    struct piece_plan run = {0};
    enum pith_status st = make_piece(s, p);
    if (st) {
        piece_free(p);
        return pith_error_no_memory(s->err);
    }
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

/* A layer of a body: what it reads at each iteration of each sample counts as a sample. */
static enum pith_status improve_in_loop(struct walk_state *s, const struct piece *of, uint32_t layer)
{
    uint32_t x = s->m->nodes[s->walk->net->product[layer]].in[0];
    if (s->kept[x].data) /* the same in all iterations */
        return improve(s, layer, s->kept[x].data, s->n_samples, true);
    struct piece p = *of;
    struct recorder r = {.piece = &p, .bytes = s->kept[x].bytes, .every = 1};
    enum pith_status st = record_piece(s, &p, x, &r);
    if (!st)
        st = improve(s, layer, r.data, (uint32_t)r.n, true);
    free(r.data);
    return st;
}

/* ---- the walk
 * --------------------------------------------------------------------------------------- */

static bool is_product(const struct walk_state *s, uint32_t node, uint32_t *layer)
{
    for (uint32_t i = 0; i < s->walk->net->n_layers; i++)
        if (s->walk->net->product[i] == node) {
            *layer = i;
            return true;
        }
    return false;
}

static bool has_body(const struct walk_state *s, const struct piece *p)
{
    for (uint32_t i = p->first; i < p->last; i++)
        if (pith_opens_body(s->m->nodes[i].op))
            return true;
    return false;
}

/* All nodes of one origin; if there is no body among them, up to the next product. Improves what is
 * multiplied in it. */
static enum pith_status next_piece(struct walk_state *s, struct piece *p)
{
    const uint32_t *origin = s->walk->net->origin;
    enum pith_status st = PITH_OK;
    uint32_t layer;
    while (p->last < s->m->n_nodes && origin[p->last] == origin[p->first])
        p->last++;
    if (has_body(s, p)) {
        for (uint32_t i = p->first; i < p->last && !st; i++)
            if (is_product(s, i, &layer))
                st = improve_in_loop(s, p, layer);
        return st;
    }
    for (uint32_t i = p->first + 1; i < p->last; i++)
        if (is_product(s, i, &layer))
            p->last = i;
    if (is_product(s, p->first, &layer))
        st = improve(s, layer, s->kept[s->m->nodes[p->first].in[0]].data, s->n_samples, false);
    return st;
}

static enum pith_status walk_pieces(struct walk_state *s)
{
    const struct pith_quantize_opts *o = s->walk->opts;
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->m->n_nodes && !st;) {
        struct piece p = {.first = i, .last = i + 1};
        st = next_piece(s, &p);
        if (!st)
            st = run_piece(s, &p);
        i = p.last;
        if (!st && o->progress && !o->progress(o->user, i, s->m->n_nodes))
            st = pith_error_fill(s->err, PITH_ERR_ARGUMENT, "interrupted");
    }
    return st;
}

static uint32_t count_samples(const struct pith_quantize_opts *opts)
{
    uint64_t n = opts->inputs ? opts->n_samples : pith_data_count(opts->data);
    if (opts->n_samples && opts->n_samples < n)
        n = opts->n_samples;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static enum pith_status check_samples(const struct pith_model *m,
                                      const struct pith_quantize_opts *opts, struct pith_error *err)
{
    uint64_t elems = 1;
    if (opts->inputs)
        return PITH_OK;
    if (m->n_inputs != 1)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot quantize: the model has %u inputs, data is for one",
                               m->n_inputs);
    const struct pith_value *x = &m->values[m->inputs[0]];
    for (uint32_t i = 0; i < x->rank; i++)
        elems *= x->dim[i];
    if (x->type != PITH_F32 || elems != pith_data_elems(opts->data))
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "cannot quantize: input '%.200s' takes %llu f32 values, a sample has %llu", x->name,
            (unsigned long long)elems, (unsigned long long)pith_data_elems(opts->data));
    return PITH_OK;
}

/* Infinities may be meant, as masks are; they end up at the ends of grids. */
static enum pith_status check_numbers(const struct walk_state *s)
{
    for (uint32_t i = 0; i < s->m->n_inputs; i++) {
        const struct pith_value *v = &s->m->values[s->m->inputs[i]];
        const struct kept_value *k = &s->kept[s->m->inputs[i]];
        const float *x = (const float *)(const void *)k->data;
        uint64_t each = k->bytes / sizeof *x;
        for (uint64_t n = 0; v->type == PITH_F32 && n < each * s->n_samples; n++)
            if (isnan(x[n]))
                return pith_error_fill(s->err, PITH_ERR_UNSUPPORTED,
                                       "cannot quantize: '%.200s' is NaN for sample %llu", v->name,
                                       (unsigned long long)(n / each));
    }
    return PITH_OK;
}

static enum pith_status copy_inputs(struct walk_state *s)
{
    for (uint32_t i = 0; i < s->m->n_inputs; i++) {
        struct kept_value *x = &s->kept[s->m->inputs[i]];
        size_t bytes = (size_t)(x->bytes * s->n_samples);
        x->data = malloc(bytes + 1);
        if (!x->data)
            return pith_error_no_memory(s->err);
        memcpy(x->data, s->walk->opts->inputs[i], bytes);
    }
    return PITH_OK;
}

static enum pith_status read_samples(struct walk_state *s)
{
    struct kept_value *x = &s->kept[s->m->inputs[0]];
    enum pith_status st = PITH_OK;
    if (s->walk->opts->inputs)
        return copy_inputs(s);
    x->data = malloc((size_t)(x->bytes * s->n_samples));
    if (!x->data)
        return pith_error_no_memory(s->err);
    for (uint64_t n = 0; n < s->n_samples && !st; n++)
        st = pith_data_read(s->walk->opts->data, n, (float *)(void *)(x->data + n * x->bytes), NULL,
                            s->err);
    return st;
}

static enum pith_status start(struct walk_state *s)
{
    size_t n = s->m->n_values + (size_t)1;
    s->kept = calloc(n, sizeof *s->kept);
    s->number = malloc(n * sizeof *s->number);
    if (!s->kept || !s->number)
        return pith_error_no_memory(s->err);
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        s->kept[v].bytes = value_bytes(&s->m->values[v]);
        s->number[v] = PITH_VALUE_NONE;
    }
    for (uint32_t i = 0; i < s->m->n_nodes; i++)
        for (uint32_t k = 0; k < s->m->nodes[i].n_in; k++)
            if (s->m->nodes[i].in[k] != PITH_VALUE_NONE)
                s->kept[s->m->nodes[i].in[k]].last = i;
    enum pith_status st = read_samples(s);
    return st ? st : check_numbers(s);
}

/* Outputs of layers stay at least until they were goals. */
static enum pith_status start_original(struct walk_state *s)
{
    enum pith_status st = start(s);
    for (uint32_t i = 0; i < s->walk->net->n_layers && !st; i++) {
        uint32_t node = s->walk->net->layers[i].node;
        struct kept_value *y = &s->kept[s->m->nodes[node].out[0]];
        y->last = y->last > node ? y->last : node + 1;
    }
    for (uint32_t i = 0; i < s->m->n_inputs && !st; i++)
        cut_value(s, s->m->inputs[i]);
    return st;
}

static void end(struct walk_state *s)
{
    for (uint32_t v = 0; v < s->m->n_values && s->kept; v++)
        free(s->kept[v].data);
    free(s->kept);
    free(s->number);
}

/* What only the outputs of the network need is not computed. */
enum pith_status pith_walk_layers(const struct layer_walk *walk, struct pith_error *err)
{
    struct walk_state s = {
        .walk = walk, .m = &walk->net->m, .n_samples = count_samples(walk->opts), .err = err};
    struct walk_state original = {
        .walk = walk, .m = walk->original, .n_samples = s.n_samples, .err = err};
    enum pith_status st = check_samples(s.m, walk->opts, err);
    if (!st)
        st = start(&s);
    if (!st && walk->original) {
        s.original = &original;
        st = start_original(&original);
    }
    if (!st)
        st = walk_pieces(&s);
    if (s.original)
        end(&original);
    end(&s);
    return st;
}
