/* SPDX-License-Identifier: MIT */
/* Two models on the same samples: all outputs, paired by name, and layer by layer where they name
 * the same values.
 *
 * A's run leaves a copy of every value it computed, in a loop of each iteration; B's observer finds
 * the counterpart by the value's name, else by the node's, if that does the same (by position in
 * files without names, when both have equally many). Integers count as the numbers they stand for.
 * It adds up sums in double, sample after sample in the order of execution, so the figures are the
 * same for every thread count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"
#include "pith_load.h"
#include "engine.h"
#include "base/error_fill.h"
#include "integer_numbers.h"
#include "difference.h"
#include "base/snr.h"
#include "core/tensor.h"
#include "sample_feed.h"

#define RANDOM_SAMPLES 4

struct kept_value {
    char name[256];            /* of the node, or where it has none of the value */
    const char *value;         /* its name; borrows from A */
    uint32_t op, step, output; /* of A */
    float *data; /* owns [calls * n]: what A computed in this run, one call after the other */
    uint64_t n;
    uint64_t calls, room;
    uint64_t matched; /* calls of B so far */
    bool uneven;      /* B ran it more or less often */
    struct pith_difference_sums sums;
    struct grid_error grid; /* where B has integers; owns */
};

/* What an observer is shown, as floats. */
struct shown {
    const struct pith_layer *layer;
    const struct pith_tensor *out;
    const char *value;            /* its name */
    const struct pith_grid *grid; /* it has integers; NULL: floats */
    const float *x;               /* [n] */
    uint64_t n;
};

struct recording {
    struct kept_value *value;
    uint32_t n, room;
    uint32_t at; /* where the next counterpart will probably be */
    const struct pith_model *a, *b;
    float *numbers; /* owns: [room_numbers] of one value of integers */
    uint64_t room_numbers;
    bool by_position;
    bool out_of_memory;
    bool pairing; /* every layer is compared; else only dumps are wanted */
    struct pith_dump *dump_a, *dump_b;
    uint32_t n_dumps;
};

static struct pith_difference result_of(const struct pith_difference_sums *s, const char *name)
{
    struct pith_difference d = {.elements = s->numbers,
                                .nonfinite_a = s->nonfinite_a,
                                .nonfinite_b = s->nonfinite_b,
                                .nonfinite_both = s->nonfinite_both,
                                .snr_db = pith_difference_snr_db(s),
                                .cosine = pith_difference_cosine(s),
                                .max_abs = pith_difference_max_abs(s),
                                .range = fmax(s->high - s->low, 0),
                                .equal_bits = !s->unequal_bits};
    snprintf(d.layer, sizeof d.layer, "%s", name);
    return d;
}

/* False: neither floats nor integers whose grid is known. room: for a grid. */
static bool show(struct recording *r, const struct pith_model *m, const struct pith_layer *layer,
                 const struct pith_tensor *out, struct pith_grid *room, struct shown *s)
{
    const struct pith_node *node = layer->step < m->n_nodes ? &m->nodes[layer->step] : NULL;
    bool known = node && node->op == layer->op && layer->output < node->n_out;
    *s = (struct shown){layer, out,       known ? m->values[node->out[layer->output]].name : "",
                        NULL,  out->data, out->bytes / pith_type_bytes(out->type)};
    if (out->type == PITH_F32)
        return true;
    s->grid = known ? pith_find_grid(m, node->out[layer->output], room) : NULL;
    if (!s->grid)
        return false;
    if (s->n > r->room_numbers) {
        float *more = realloc(r->numbers, s->n * sizeof *more);
        r->out_of_memory |= !more;
        if (!more)
            return false;
        r->numbers = more;
        r->room_numbers = s->n;
    }
    pith_integers_to_floats(s->grid, out, r->numbers);
    s->x = r->numbers;
    return true;
}

static bool same_step(const struct kept_value *v, const struct shown *s)
{
    return v->step == s->layer->step && v->output == s->layer->output;
}

static bool same_value(const struct kept_value *v, const struct shown *s)
{
    return s->value[0] && strcmp(v->value, s->value) == 0;
}

static bool same_node(const struct kept_value *v, const struct shown *s)
{
    return s->out->name_bytes > 0 && v->op == s->layer->op && v->output == s->layer->output &&
           strlen(v->name) == s->out->name_bytes &&
           memcmp(v->name, s->out->name, s->out->name_bytes) == 0;
}

/* It is nearly always at the same place or a little further on. */
static struct kept_value *find_kept(struct recording *r, const struct shown *s,
                                    bool (*same)(const struct kept_value *, const struct shown *))
{
    for (uint32_t k = 0; k < r->n; k++) {
        uint32_t i = (r->at + k) % r->n;
        if (same(&r->value[i], s)) {
            r->at = i + 1;
            return &r->value[i];
        }
    }
    return NULL;
}

static struct kept_value *find_counterpart(struct recording *r, const struct shown *s)
{
    struct kept_value *v = find_kept(r, s, same_value);
    if (!v && r->by_position)
        v = find_kept(r, s, same_step);
    /* the floats that B is about to round have no name: their integers do */
    return v || s->grid || !s->value[0] ? v : find_kept(r, s, same_node);
}

static struct kept_value *add_kept(struct recording *r, const struct shown *s)
{
    if (r->n == r->room) {
        uint32_t room = r->room ? r->room * 2 : 64;
        struct kept_value *more = realloc(r->value, room * sizeof *more);
        if (!more)
            return NULL;
        r->value = more;
        r->room = room;
    }
    struct kept_value *v = &r->value[r->n++];
    *v = (struct kept_value){.value = s->value,
                             .op = s->layer->op,
                             .step = s->layer->step,
                             .output = s->layer->output,
                             .n = s->n};
    if (s->out->name_bytes)
        snprintf(v->name, sizeof v->name, "%.*s", (int)s->out->name_bytes, s->out->name);
    else
        snprintf(v->name, sizeof v->name, "%s", s->value);
    return v;
}

static bool keep_call(struct kept_value *v, const struct shown *s)
{
    if (v->calls == v->room) {
        uint64_t room = v->room ? v->room * 2 : 1;
        float *more = room > SIZE_MAX / 8 / (v->n + 1)
                          ? NULL
                          : realloc(v->data, (size_t)(room * v->n + 1) * sizeof *more);
        if (!more)
            return false;
        v->data = more;
        v->room = room;
    }
    memcpy(v->data + v->calls++ * v->n, s->x, v->n * sizeof *s->x);
    return true;
}

/* Observer of A: keeps a copy. */
static void record(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct recording *r = user;
    struct pith_grid room;
    struct shown s;
    pith_dump_see(r->dump_a, r->n_dumps, layer, out);
    if (!r->pairing || r->out_of_memory || !show(r, r->a, layer, out, &room, &s))
        return;
    struct kept_value *v = find_kept(r, &s, same_step);
    if (!v)
        v = add_kept(r, &s);
    if (v && v->n == s.n)
        r->out_of_memory = !keep_call(v, &s);
    r->out_of_memory |= !v;
}

/* Observer of B. */
static void match(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct recording *r = user;
    struct pith_grid room;
    struct shown s;
    pith_dump_see(r->dump_b, r->n_dumps, layer, out);
    if (!r->pairing || r->out_of_memory || !show(r, r->b, layer, out, &room, &s))
        return;
    struct kept_value *v = find_counterpart(r, &s);
    if (!v || v->n != s.n)
        return;
    uint64_t call = v->matched++;
    if (call >= v->calls)
        return;
    const float *was = v->data + call * s.n;
    pith_difference_add(&v->sums, NULL, was, s.x, s.n);
    if (s.grid)
        r->out_of_memory |= !pith_grid_error_add(&v->grid, s.grid, out, was, s.x);
}

/* Loops that did not run equally often differ, whatever their iterations gave. */
static void end_pair(struct recording *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        struct kept_value *v = &r->value[i];
        v->uneven |= v->matched != v->calls;
        v->calls = v->matched = 0;
    }
}

/* An output of A, and that of B which is called so. */
struct paired_output {
    uint32_t at[2]; /* among the outputs of A and of B */
    struct pith_difference_sums sums;
    struct output_kind kind;
    const struct pith_grid *grid[2]; /* where they are integers; NULL: unknown */
    struct pith_grid room[2];
    float *numbers[2]; /* owns: integers as numbers; NULL: it is of floats */
};

struct pair {
    struct pith_engine *a, *b;
    struct feeder feed_a, feed_b;
    struct recording layers;
    struct paired_output *output; /* owns: [n_outputs] in A's order */
    uint32_t n_outputs;
};

static struct pith_plan *plan_of(const struct pair *p, uint32_t side)
{
    return side ? p->b->plan : p->a->plan;
}

static enum pith_status open_side(const struct pith_model *m, const struct pith_packed *packed,
                                  const struct pith_engine_opts *o, struct pith_engine **e,
                                  struct pith_error *err)
{
    return packed ? pith_engine_open_packed(packed, o, e, err) : pith_engine_open(m, o, e, err);
}

static enum pith_status open_pair(struct pair *p, const struct pith_model *a,
                                  const struct pith_model *b, const struct pith_compare_opts *opts,
                                  struct pith_error *err)
{
    struct pith_engine_opts o =
        opts->engine ? *opts->engine : (struct pith_engine_opts){.size_bytes = sizeof o};
    bool observed = opts->layers || opts->n_dumps > 0;
    enum pith_status st;
    o.user = &p->layers;
    o.observe = observed ? record : NULL;
    st = open_side(a, opts->packed_a, &o, &p->a, err);
    if (st)
        return st;
    o.observe = observed ? match : NULL;
    return open_side(b, opts->packed_b, &o, &p->b, err);
}

static bool is_integers(enum pith_type type)
{
    return type >= PITH_I8 && type <= PITH_BOOL;
}

/* Integers are compared as the numbers that they stand for; where no scale is known on both sides
 * and the types are the same, as they are. */
static enum pith_status open_numbers(struct paired_output *y, const struct pith_tensor out[2],
                                     struct pith_error *err)
{
    static float one = 1;
    const bool raw = !y->grid[0] && !y->grid[1] && out[0].type == out[1].type;
    for (uint32_t i = 0; i < 2; i++) {
        if (!is_integers(out[i].type))
            continue;
        if (!y->grid[i] && !raw)
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "output '%.*s' has integers with unknown scale",
                                   (int)out[i].name_bytes, out[i].name);
        if (raw)
            y->room[i] = (struct pith_grid){.type = out[i].type, .n = 1, .scale = &one};
        y->grid[i] = raw ? &y->room[i] : y->grid[i];
        y->numbers[i] = calloc(out[i].bytes / pith_type_bytes(out[i].type) + 1, sizeof(float));
        if (!y->numbers[i])
            return pith_error_no_memory(err);
    }
    return PITH_OK;
}

static enum pith_status check_output(struct pair *p, struct paired_output *y,
                                     struct pith_error *err)
{
    struct pith_tensor out[2];
    for (uint32_t i = 0; i < 2; i++)
        pith_plan_output(plan_of(p, i), y->at[i], &out[i]);
    const uint64_t a = out[0].bytes / pith_type_bytes(out[0].type),
                   b = out[1].bytes / pith_type_bytes(out[1].type);
    if (a != b)
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "output '%.*s' has %llu numbers in the first model, %llu in the second",
            (int)out[0].name_bytes, out[0].name, (unsigned long long)a, (unsigned long long)b);
    for (uint32_t i = 0; i < 2; i++)
        if (out[i].type != PITH_F32 && !is_integers(out[i].type))
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "output '%.*s' is neither f32 nor of integers",
                                   (int)out[i].name_bytes, out[i].name);
    return open_numbers(y, out, err);
}

/* The output of m called so, else number `at` where one of both has no name; UINT32_MAX: none. */
static uint32_t find_output(const struct pith_model *m, const char *name, uint32_t at)
{
    for (uint32_t i = 0; i < m->n_outputs; i++)
        if (name[0] && strcmp(m->values[m->outputs[i]].name, name) == 0)
            return i;
    return at < m->n_outputs &&
                   (!name[0] || !m->values[m->outputs[at]].name[0] || m->n_outputs == 1)
               ? at
               : UINT32_MAX;
}

static enum pith_status pair_outputs(struct pair *p, const struct pith_model *const m[2],
                                     struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    p->n_outputs = m[0]->n_outputs;
    p->output = calloc(p->n_outputs + 1u, sizeof *p->output);
    if (!p->output)
        return pith_error_no_memory(err);
    if (p->n_outputs == 0 || p->n_outputs != m[1]->n_outputs)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "the models have %u and %u outputs (import --outputs cuts others)",
                               p->n_outputs, m[1]->n_outputs);
    for (uint32_t i = 0; i < p->n_outputs && !st; i++) {
        struct paired_output *y = &p->output[i];
        const char *name = m[0]->values[m[0]->outputs[i]].name;
        y->at[0] = i;
        y->at[1] = find_output(m[1], name, i);
        if (y->at[1] == UINT32_MAX)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "the second model has no output '%.200s'", name);
        y->kind = i == 0 ? pith_output_kind(m[0], 0) : (struct output_kind){0};
        for (uint32_t k = 0; k < 2; k++)
            y->grid[k] = pith_find_grid(m[k], m[k]->outputs[y->at[k]], &y->room[k]);
        st = check_output(p, y, err);
    }
    return st;
}

static const float *output_of(const struct pair *p, const struct paired_output *y, uint32_t side)
{
    struct pith_tensor t;
    pith_plan_output(plan_of(p, side), y->at[side], &t);
    if (!y->numbers[side])
        return t.data;
    pith_integers_to_floats(y->grid[side], &t, y->numbers[side]);
    return y->numbers[side];
}

static enum pith_status check_alike(struct pair *p, struct pith_error *err)
{
    struct pith_tensor a, b;
    uint32_t n = pith_plan_input_count(p->a->plan);
    if (n != pith_plan_input_count(p->b->plan))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "the models take %u and %u inputs", n,
                               pith_plan_input_count(p->b->plan));
    for (uint32_t i = 0; i < n; i++)
        if (pith_plan_input(p->a->plan, i, &a) || pith_plan_input(p->b->plan, i, &b) ||
            a.bytes != b.bytes || a.type != b.type)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "the models take inputs of different size");
    return PITH_OK;
}

static enum pith_status run_pair(struct pair *p, struct pith_error *err)
{
    struct pith_tensor t;
    enum pith_status st = pith_engine_run(p->a, err);
    if (!st && p->layers.out_of_memory)
        return pith_error_no_memory(err);
    if (!st)
        st = pith_engine_run(p->b, err);
    if (!st && p->layers.out_of_memory)
        return pith_error_no_memory(err);
    end_pair(&p->layers);
    if (st)
        return st;
    pith_feeder_keep(&p->feed_a);
    pith_feeder_keep(&p->feed_b);
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        struct paired_output *y = &p->output[i];
        pith_plan_output(p->a->plan, i, &t);
        pith_difference_add(&y->sums, &y->kind, output_of(p, y, 0), output_of(p, y, 1),
                            t.bytes / pith_type_bytes(t.type));
    }
    return PITH_OK;
}

static void fill_grid_error(const struct kept_value *v, struct pith_difference *d)
{
    const struct grid_error *e = &v->grid;
    d->integers = e->n > 0;
    if (!d->integers)
        return;
    d->step = e->step;
    d->low = e->low;
    d->high = e->high;
    d->grid_db = pith_snr_db(v->sums.signal, e->rounding + e->clipping);
    d->clip_db = pith_snr_db(v->sums.signal, e->clipping);
    d->clipped = (double)e->clipped / (double)e->n;
    d->dead = pith_grid_error_dead(e);
    d->channels = e->n_channels;
}

static void fill_divergence(const struct pair *p, struct pith_comparison *c)
{
    const struct pith_difference_sums *s = &p->output[0].sums;
    const double n = (double)s->calls, mean = n > 0 ? s->kl / n : 0;
    c->classes = p->output[0].kind.classes > 0;
    c->logit_db = pith_difference_logit_db(s, NULL);
    c->kl = mean;
    c->kl_se = n > 1 ? sqrt(fmax(s->kl_squares / n - mean * mean, 0) / (n - 1)) : 0;
}

/* By SQNR; of equal ones that whose bits differ. */
static bool is_worse(const struct pith_difference *d, const struct pith_difference *than)
{
    return d->snr_db < than->snr_db ||
           (!(d->snr_db > than->snr_db) && than->equal_bits && !d->equal_bits);
}

static enum pith_status collect(const struct pair *p, struct pith_comparison *c,
                                struct pith_error *err)
{
    const struct recording *r = &p->layers;
    c->agree = p->output[0].sums.agree;
    c->predictions = p->output[0].sums.rows;
    fill_divergence(p, c);
    c->outputs = calloc(p->n_outputs, sizeof *c->outputs);
    c->layers = calloc(r->n + 1u, sizeof *c->layers);
    if (!c->layers || !c->outputs) {
        pith_comparison_free(c);
        return pith_error_no_memory(err);
    }
    for (; c->n_outputs < p->n_outputs; c->n_outputs++) {
        struct pith_difference *d = &c->outputs[c->n_outputs];
        struct pith_tensor t;
        char name[256];
        pith_plan_output(p->a->plan, c->n_outputs, &t);
        snprintf(name, sizeof name, "%.*s", (int)t.name_bytes, t.name_bytes ? t.name : "");
        *d = result_of(&p->output[c->n_outputs].sums, name);
        if (is_worse(d, &c->outputs[c->worst]))
            c->worst = c->n_outputs;
    }
    c->output = c->outputs[c->worst];
    for (uint32_t i = 0; i < r->n; i++)
        if (r->value[i].sums.calls > 0) {
            struct pith_difference *d = &c->layers[c->n_layers++];
            *d = result_of(&r->value[i].sums, r->value[i].name);
            d->equal_bits &= !r->value[i].uneven;
            fill_grid_error(&r->value[i], d);
        }
    return PITH_OK;
}

/* All steps of one sample, each compared. */
static enum pith_status run_sample(struct pair *p, uint64_t i, uint64_t seed,
                                   struct pith_error *err)
{
    enum pith_status st = pith_feeder_sample(&p->feed_a, i, err);
    if (!st)
        st = pith_feeder_sample(&p->feed_b, i, err);
    for (uint64_t step = 0; step < p->feed_a.steps && !st; step++) {
        st = pith_feeder_step(&p->feed_a, step, seed, err);
        if (!st)
            st = pith_feeder_step(&p->feed_b, step, seed, err);
        if (!st)
            st = run_pair(p, err);
    }
    return st;
}

static bool has_data(const struct pith_feed *feed)
{
    for (uint32_t i = 0; feed && i < feed->n_inputs; i++)
        if (feed->input[i].data)
            return true;
    return false;
}

static enum pith_status run_samples(struct pair *p, const struct pith_compare_opts *o,
                                    uint64_t *samples, struct pith_error *err)
{
    uint64_t n = has_data(o->feed) ? p->feed_a.n_samples
                 : o->n_random     ? o->n_random
                                   : RANDOM_SAMPLES;
    enum pith_status st = PITH_OK;
    for (*samples = 0; *samples < n && !st; ++*samples) {
        if (o->watch && !o->watch->step(o->watch->user, *samples))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted");
        st = run_sample(p, *samples, o->seed + *samples, err);
    }
    return st;
}

static void close_pair(struct pair *p)
{
    pith_feeder_close(&p->feed_a);
    pith_feeder_close(&p->feed_b);
    pith_engine_close(p->a);
    pith_engine_close(p->b);
    for (uint32_t i = 0; i < p->layers.n; i++) {
        free(p->layers.value[i].data);
        free(p->layers.value[i].grid.alive);
    }
    free(p->layers.value);
    free(p->layers.numbers);
    for (uint32_t i = 0; p->output && i < p->n_outputs; i++) {
        free(p->output[i].numbers[0]);
        free(p->output[i].numbers[1]);
    }
    free(p->output);
}

/* Samples of several sizes, where nothing is kept that has the size of the models: neither layers
 * nor integers as numbers. */
static bool runs_own_sizes(const struct pair *p, const struct pith_model *a,
                           const struct pith_model *b, const struct pith_compare_opts *opts)
{
    bool own = a->n_sizes > 0 && b->n_sizes > 0 && !opts->layers && opts->n_dumps == 0;
    for (uint32_t i = 0; i < p->n_outputs; i++)
        own = own && !p->output[i].numbers[0] && !p->output[i].numbers[1];
    return own;
}

enum pith_status pith_compare(const struct pith_model *a, const struct pith_model *b,
                              const struct pith_compare_opts *opts,
                              struct pith_comparison *comparison, struct pith_error *err)
{
    if (!a || !b || !opts || !comparison || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct pair p = {0};
    struct pith_comparison c = {0};
    enum pith_status st;
    p.layers.by_position = a->n_nodes == b->n_nodes && b->n_nodes > 0 && !b->nodes[0].name[0];
    p.layers.a = a;
    p.layers.b = b;
    p.layers.pairing = opts->layers;
    p.layers.dump_a = opts->dump_a;
    p.layers.dump_b = opts->dump_b;
    p.layers.n_dumps = opts->n_dumps;
    st = open_pair(&p, a, b, opts, err);
    if (!st)
        st = check_alike(&p, err);
    if (!st)
        st = pair_outputs(&p, (const struct pith_model *const[]){a, b}, err);
    if (!st)
        st = pith_feeder_open(&p.feed_a, p.a->plan, opts->feed, true, err);
    if (!st)
        st = pith_feeder_open(&p.feed_b, p.b->plan, opts->feed, true, err);
    if (!st && runs_own_sizes(&p, a, b, opts)) {
        p.feed_a.engine = p.a;
        p.feed_b.engine = p.b;
    }
    if (!st)
        st = run_samples(&p, opts, &c.samples, err);
    if (!st)
        st = collect(&p, &c, err);
    c.samples *= p.feed_a.steps;
    close_pair(&p);
    if (!st)
        *comparison = c;
    return st;
}

void pith_comparison_free(struct pith_comparison *c)
{
    if (!c)
        return;
    free(c->layers);
    free(c->outputs);
    c->layers = c->outputs = NULL;
    c->n_layers = c->n_outputs = 0;
}
