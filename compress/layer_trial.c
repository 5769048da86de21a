/* SPDX-License-Identifier: MIT */
/* layer_trial.c - the nodes that the float network does not have are a model of their own, the
 * piece. It reads float values and gives those that take the place of float values. So a trial is a
 * run of the float network that begins at the layer, with one plan for all layers; the bits of its
 * outputs are those of the whole network of integers and floats. */
#include "layer_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_traits.h"
#include "pith_host.h"

#define MOST_BYTES ((size_t)64 << 20) /* kept of the beginnings of runs */
#define LEAST_SAMPLES 2u

/* ---- what differs ---------------------------------------------------------------------------- */

struct split {
    const struct pith_model *was, *q;
    struct pith_model piece; /* owns its arrays, but for the elements of constants */
    uint32_t *stands_for; /* owns: [q->n_values] the float value that readers read instead, + 1 */
};

static bool is_same(const struct pith_value *a, const struct pith_value *b)
{
    return a->type == b->type && a->rank == b->rank && a->constant == b->constant &&
           memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

/* Numbers that were not kept after all show in the constants. */
static bool has_numbers(const struct pith_model *was, const struct pith_model *q)
{
    bool same = q->n_values >= was->n_values && q->n_inputs == was->n_inputs &&
                q->n_outputs == was->n_outputs &&
                memcmp(q->inputs, was->inputs, q->n_inputs * sizeof *q->inputs) == 0 &&
                memcmp(q->outputs, was->outputs, q->n_outputs * sizeof *q->outputs) == 0;
    for (uint32_t v = 0; v < was->n_values && same; v++)
        same = is_same(&was->values[v], &q->values[v]);
    for (uint32_t i = 0; i < was->n_nodes && same; i++)
        same = !pith_op_is(was->nodes[i].op, TRAIT_OPENS_BODY | TRAIT_RECURS);
    return same;
}

/* The node of the float network that this one is; NULL: it is new. */
static const struct pith_node *float_node(const struct split *s, const struct pith_node *node)
{
    const bool known = node->n_out > 0 && node->out[0] < s->was->n_values;
    const struct pith_node *was = known ? pith_model_producer(s->was, node->out[0]) : NULL;
    return was && was->op == node->op && was->n_in == node->n_in ? was : NULL;
}

/* Readers of a float value read copies of one result, each its own. */
static bool stands_alike(const struct split *s, uint32_t copy, uint32_t other)
{
    const struct pith_node *a = pith_model_producer(s->q, copy),
                           *b = pith_model_producer(s->q, other);
    return copy == other || (a && b && a->op == b->op && a->n_in == b->n_in &&
                             memcmp(a->in, b->in, a->n_in * sizeof *a->in) == 0);
}

/* Where one reader reads the value itself, what others read has to be alike, too: a trial changes
 * it for all. */
static bool take_copy(struct split *s, uint32_t copy, uint32_t value, uint32_t *copy_of)
{
    if (copy == PITH_VALUE_NONE || value == PITH_VALUE_NONE)
        return copy == value;
    const bool stands = copy != value;
    if ((stands && (s->q->values[copy].type != PITH_F32 || s->q->values[copy].constant)) ||
        (copy_of[value] && !stands_alike(s, copy, copy_of[value] - 1)))
        return false;
    if (stands && !copy_of[value])
        s->stands_for[copy] = value + 1;
    copy_of[value] = copy + 1;
    return true;
}

/* Sorts nodes, and finds what stands for which float value. False: some node reads something else.
 */
static bool sort_nodes(struct split *s, uint32_t *copy_of)
{
    for (uint32_t i = 0; i < s->q->n_nodes; i++) {
        const struct pith_node *node = &s->q->nodes[i], *was = float_node(s, node);
        for (uint32_t k = 0; was && k < node->n_in; k++)
            if (!take_copy(s, node->in[k], was->in[k], copy_of))
                return false;
        if (was)
            continue;
        s->piece.nodes[s->piece.n_nodes++] = *node;
        for (uint32_t k = 0; k < node->n_out; k++)
            if (node->out[k] < s->was->n_values)
                s->stands_for[node->out[k]] = node->out[k] + 1;
    }
    bool fits = true;
    for (uint32_t i = 0; i < s->q->n_outputs && fits; i++)
        fits = take_copy(s, s->q->outputs[i], s->q->outputs[i], copy_of);
    return fits;
}

static bool is_made(const struct pith_model *piece, uint32_t v)
{
    return pith_model_producer(piece, v) != NULL;
}

/* The piece's ends: float values that it does not make, and those that stand for float values. */
static void find_ends(struct split *s)
{
    struct pith_model *p = &s->piece;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        for (uint32_t k = 0; k < p->nodes[i].n_in; k++) {
            const uint32_t v = p->nodes[i].in[k];
            bool known = v == PITH_VALUE_NONE || s->q->values[v].constant || is_made(p, v);
            for (uint32_t n = 0; n < p->n_inputs && !known; n++)
                known = p->inputs[n] == v;
            if (!known)
                p->inputs[p->n_inputs++] = v;
        }
    for (uint32_t v = 0; v < s->q->n_values; v++)
        if (s->stands_for[v] && is_made(p, v))
            p->outputs[p->n_outputs++] = v;
}

static void close_split(struct split *s)
{
    free(s->piece.nodes);
    free(s->piece.inputs);
    free(s->piece.outputs);
    free(s->stands_for);
}

static enum pith_status open_split(struct split *s, const struct pith_model *was,
                                   const struct pith_model *q, struct pith_error *err)
{
    const size_t room = q->n_values + (size_t)1;
    uint32_t *copy_of = calloc(room, sizeof *copy_of); /* of each float value, + 1 */
    *s = (struct split){.was = was, .q = q, .piece = {.arena = q->arena, .values = q->values}};
    s->piece.n_values = q->n_values;
    s->piece.nodes = calloc(q->n_nodes + (size_t)1, sizeof *s->piece.nodes);
    s->piece.inputs = calloc(room, sizeof *s->piece.inputs);
    s->piece.outputs = calloc(room, sizeof *s->piece.outputs);
    s->stands_for = calloc(room, sizeof *s->stands_for);
    bool ok = copy_of && s->piece.nodes && s->piece.inputs && s->piece.outputs && s->stands_for;
    enum pith_status st = ok ? PITH_OK : pith_error_no_memory(err);
    if (!st && !(has_numbers(was, q) && sort_nodes(s, copy_of)))
        st = PITH_ERR_UNSUPPORTED;
    free(copy_of);
    if (!st)
        find_ends(s);
    return !st && s->piece.n_inputs == 0 ? PITH_ERR_UNSUPPORTED : st;
}

/* ---- running --------------------------------------------------------------------------------- */

static void change(void *user, uint32_t lane, uint32_t value, float *x, size_t n)
{
    struct layer_trial *t = user;
    struct layer_piece *p = &t->piece[lane];
    struct pith_plan *plan = p->engine ? pith_engine_plan(p->engine) : NULL;
    if (plan && t->from[value]) {
        p->n_seen = p->n_seen % t->n_wanted; /* of another sample */
        memcpy(pith_plan_input_data(plan, t->from[value] - 1), x, n * sizeof *x);
        if (++p->n_seen == t->n_wanted)
            p->failed |= pith_plan_run(plan) != PITH_OK;
    }
    if (!plan || !t->to[value])
        return;
    p->failed |= p->n_seen < t->n_wanted;
    if (!p->failed)
        memcpy(x, pith_plan_output_data(plan, t->to[value] - 1), n * sizeof *x);
}

/* Numbers of its own, so that constants of other layers stay out. */
static enum pith_status pack_piece(struct layer_trial *t, struct pith_model *p,
                                   struct pith_error *err)
{
    const struct pith_pack_opts plain = {.size_bytes = sizeof plain, .plain = true};
    struct pith_value *values = malloc((p->n_values + (size_t)1) * sizeof *values);
    bool room = values != NULL;
    for (uint32_t i = 0; i < p->n_nodes && room; i++) {
        const struct pith_node like = p->nodes[i];
        room = pith_model_make_node(p, &like, &p->nodes[i]);
        p->nodes[i].attr = like.attr;
        p->nodes[i].sized = like.sized;
        p->nodes[i].n_sized = like.n_sized;
    }
    if (room)
        memcpy(values, p->values, p->n_values * sizeof *values);
    p->values = values;
    enum pith_status st = room ? pith_model_drop_unused(p, err) : pith_error_no_memory(err);
    if (!st)
        st = pith_model_pack(p, &plain, &t->file, err);
    free(values);
    return st;
}

static enum pith_status open_pieces(struct layer_trial *t, const struct split *s,
                                    struct pith_error *err)
{
    struct pith_model piece = s->piece;
    struct pith_engine_opts o = {
        .size_bytes = sizeof o, .cpu_mask = t->samples.cpu_mask, .ordered = true};
    memset(t->from, 0, s->was->n_values * sizeof *t->from);
    memset(t->to, 0, s->was->n_values * sizeof *t->to);
    for (uint32_t i = 0; i < piece.n_inputs; i++) {
        if (piece.inputs[i] >= s->was->n_values || piece.values[piece.inputs[i]].type != PITH_F32)
            return PITH_ERR_UNSUPPORTED;
        t->from[piece.inputs[i]] = i + 1;
    }
    for (uint32_t i = 0; i < piece.n_outputs; i++)
        t->to[s->stands_for[piece.outputs[i]] - 1] = i + 1;
    t->n_wanted = piece.n_inputs;
    enum pith_status st = pack_piece(t, &piece, err);
    if (st)
        return st;
    const struct pith_packed packed = {.data = t->file.data, .bytes = t->file.bytes};
    for (uint32_t i = 0; i < t->outputs.n_lanes && !st; i++) {
        st = pith_engine_open_packed(&packed, &o, &t->piece[i].engine, err);
        o.weights_of = t->piece[0].engine;
    }
    return st;
}

/* Behind the earliest of the values that are read or changed. */
static uint32_t first_step(const struct layer_trial *t, const struct pith_model *m)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t v = 0; v < m->n_values; v++) {
        const struct pith_node *node = t->from[v] || t->to[v] ? pith_model_producer(m, v) : NULL;
        if (!node && (t->from[v] || t->to[v]))
            return NO_STEP; /* an input */
        if (node && (uint32_t)(node - m->nodes) < first)
            first = (uint32_t)(node - m->nodes);
    }
    return first;
}

static double noise_of(const struct layer_trial *t)
{
    return pith_difference_is_finite(&t->sums) ? fmin(t->sums.noise / t->signal, 1) : 1;
}

/* Four times below after a quarter of the samples, or by two standard errors. */
static bool is_far_below(void *user, uint32_t sample)
{
    struct layer_trial *t = user;
    const uint32_t done = sample + 1;
    const double noise = t->sums.noise - t->before, sum = t->sums.noise;
    t->signal += t->outputs.signal[sample];
    t->before = sum;
    t->squares += noise * noise;
    if (done < LEAST_SAMPLES)
        return false;
    const double spread = sum > 0 ? fmax(t->squares * done / (sum * sum) - 1, 0) / (done - 1) : 0;
    return noise_of(t) * t->outputs.n_samples < t->little * done ||
           (done > LEAST_SAMPLES && noise_of(t) * (1 + 2 * sqrt(spread)) < t->little);
}

static bool close_pieces(struct layer_trial *t)
{
    bool failed = false;
    for (uint32_t i = 0; i < PITH_TRIAL_LANES; i++) {
        failed |= t->piece[i].failed;
        pith_engine_close(t->piece[i].engine);
        t->piece[i] = (struct layer_piece){0};
    }
    pith_buffer_free(&t->file);
    return failed;
}

enum pith_status pith_layer_trial_run(struct layer_trial *t, const struct pith_model *integers,
                                      double little, double *noise, struct pith_error *err)
{
    struct split s;
    double error;
    enum pith_status st = open_split(&s, t->outputs.m, integers, err);
    if (!st)
        st = open_pieces(t, &s, err);
    close_split(&s);
    t->sums = (struct pith_difference_sums){0};
    t->signal = t->before = t->squares = 0;
    t->little = little;
    if (!st)
        pith_output_trial_behind(&t->outputs, first_step(t, t->outputs.m));
    if (!st)
        st = pith_output_trial_run(&t->outputs, 0, t->outputs.n_samples, HUGE_VAL, &error);
    if (close_pieces(t) && !st)
        st = PITH_ERR_UNSUPPORTED;
    if (!st)
        *noise = noise_of(t);
    return st;
}

enum pith_status pith_layer_trial_open(struct layer_trial *t, struct pith_model *m,
                                       const struct pith_calibrate_opts *samples, uint32_t n,
                                       struct pith_error *err)
{
    t->samples = *samples;
    t->samples.n_samples = n;
    t->samples.progress = NULL;
    t->outputs = (struct output_trial){.change = change,
                                       .enough = is_far_below,
                                       .user = t,
                                       .centred = &t->sums,
                                       .most_bytes = MOST_BYTES};
    t->from = calloc(m->n_values + (size_t)1, sizeof *t->from);
    t->to = calloc(m->n_values + (size_t)1, sizeof *t->to);
    if (!t->from || !t->to)
        return pith_error_no_memory(err);
    enum pith_status st = pith_output_trial_open(&t->outputs, m, &t->samples, n, err);
    return !st && !t->outputs.apart ? PITH_ERR_UNSUPPORTED : st;
}

void pith_layer_trial_close(struct layer_trial *t)
{
    pith_output_trial_close(&t->outputs);
    free(t->from);
    free(t->to);
}
