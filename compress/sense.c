/* SPDX-License-Identifier: MIT */
/* sense.c - sensitivity analysis. One layer coarse, all others as they are: which SQNR have the
 * outputs then?
 *
 * Samples run once with the network as it is; outputs are kept, and of what each layer gives some
 * KEPT_PER_CALL numbers, at even distances, for they are many. A trial of weights replaces one
 * constant and makes a new plan, for a plan keeps weights in an order of its own; a trial of
 * activations changes a value while the first plan runs. */
#include "pith_sense.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output_sqnr.h"
#include "base/error_fill.h"
#include "calibrate/grid_choice.h"
#include "core/f32_bits.h"
#include "numeric/error_feedback.h"
#include "numeric/select_largest.h"
#include "pith_value_stats.h"

#define KEPT_PER_CALL 8192u

/* What a layer gave. */
struct kept_layer {
    struct pith_weight_ref ref;
    uint32_t input, output;  /* values: what it reads and gives */
    struct kept_floats kept; /* owns */
};

struct sense {
    struct pith_model *m;
    const struct pith_sense_opts *opts;
    struct kept_layer *layer; /* owns: [n_layers] */
    uint32_t n_layers;
    struct output_sqnr answers;
    struct observed_run run; /* of the network as it is */
    bool keeps, no_memory;
    const struct kept_layer *changed; /* by the trial; NULL: none */
    const struct pith_grid *grid;     /* of what it reads; NULL: stays */
    size_t at;                        /* of its numbers compared */
    struct kept_floats given;         /* owns: numbers of one call that are compared */
    struct pith_difference_sums layer_sums;
    uint64_t done; /* trials */
    struct pith_error *err;
};

/* ---- watching -------------------------------------------------------------------------------- */

static void keep_some(struct sense *s, struct kept_floats *kept, const float *x, size_t n)
{
    size_t stride = n / KEPT_PER_CALL + 1, more = (n + stride - 1) / stride;
    bool has_room = pith_floats_grow(kept, more);
    s->no_memory |= !has_room;
    for (size_t i = 0; i < n && has_room; i += stride)
        kept->x[kept->n++] = x[i];
}

static void compare_layer(struct sense *s, const float *x, size_t n)
{
    const struct kept_floats *was = &s->changed->kept;
    s->given.n = 0;
    keep_some(s, &s->given, x, n);
    size_t many = s->given.n < was->n - s->at ? s->given.n : was->n - s->at;
    pith_difference_add(&s->layer_sums, NULL, was->x + s->at, s->given.x, many);
    s->at += many;
}

static void see(void *user, uint32_t value, float *x, size_t n)
{
    struct sense *s = user;
    if (s->grid && s->changed->input == value) {
        const struct grid_choice c = {.value = value};
        pith_choice_apply(s->m, &c, s->grid, x, n);
    }
    for (uint32_t i = 0; i < s->n_layers && s->keeps; i++)
        if (s->layer[i].output == value)
            keep_some(s, &s->layer[i].kept, x, n);
    if (s->changed && s->changed->output == value)
        compare_layer(s, x, n);
    pith_sqnr_see(&s->answers, value, x, n);
}

/* ---- changed weights ------------------------------------------------------------------------- */

/* Row by row the nearest of the integers |q| <= 2^(bits - 1) - 1 times the scale with the least
 * squared error. w, to: [rows, cols]. False: no memory. */
static bool round_rows(const struct pith_weight_ref *w, const float *x, uint32_t bits, float *to)
{
    const size_t cols = (size_t)w->cols;
    double *goal = malloc((cols + 1) * sizeof *goal), *e = malloc((cols + 1) * sizeof *e);
    int16_t *q = malloc((cols + 1) * sizeof *q);
    const int32_t most = (1 << (bits - 1)) - 1;
    const struct error_feedback row = {
        .n = cols, .goal = goal, .lowest = -most, .most = most, .n_paths = 1, .e = e};
    const bool room = goal && e && q;
    for (uint64_t o = 0; o < w->rows && room; o++, x += cols, to += cols) {
        for (size_t i = 0; i < cols; i++)
            goal[i] = (double)x[i];
        const double scale = pith_search_scale(&row, (double)FLT_MIN, false, q);
        const bool rounds = scale > 0 && isfinite(scale); /* else zeros, or infinite weights */
        if (rounds)
            pith_error_feedback(&row, scale, HUGE_VAL, q);
        for (size_t i = 0; i < cols; i++)
            to[i] = rounds ? (float)(q[i] * scale) : x[i];
    }
    free(goal);
    free(e);
    free(q);
    return room;
}

/* The `share` smallest of n become 0, of equal ones the last. False: no memory. */
static bool prune(const float *x, uint64_t n, double share, float *to)
{
    uint32_t *key = malloc(((size_t)n + 1) * sizeof *key);
    uint8_t *keep = malloc((size_t)n + 1);
    const bool room = key && keep;
    for (uint64_t i = 0; i < n && room; i++)
        key[i] = f32_bits(fabsf(x[i])); /* in the order of the magnitudes */
    if (room)
        pith_largest(key, n, n - (uint64_t)(share * (double)n + 0.5), keep);
    for (uint64_t i = 0; i < n && room; i++)
        to[i] = keep[i] ? x[i] : 0;
    free(key);
    free(keep);
    return room;
}

/* ---- a trial --------------------------------------------------------------------------------- */

static uint32_t samples_of(const struct sense *s)
{
    return s->opts->n_samples ? s->opts->n_samples : PITH_SENSE_SAMPLES;
}

static enum pith_status run_samples(struct sense *s, struct observed_run *run, bool keeps)
{
    s->keeps = keeps;
    s->at = 0;
    s->layer_sums = (struct pith_difference_sums){0};
    pith_sqnr_begin(&s->answers, s->m, keeps);
    enum pith_status st = pith_sqnr_run(run, samples_of(s), s->err);
    if (!st && (s->no_memory || s->answers.no_memory))
        st = pith_error_no_memory(s->err);
    return st;
}

static enum pith_status run_with_weight(struct sense *s, uint32_t value, float *data)
{
    struct pith_value *v = &s->m->values[value];
    struct pith_const *is = v->constant;
    struct pith_const trial = {.count = is->count, .data = data};
    struct observed_run run = {.see = see, .user = s, .own_sizes = true};
    v->constant = &trial;
    enum pith_status st = pith_observed_run_open(&run, s->m, s->opts->samples, s->err);
    if (!st)
        st = run_samples(s, &run, false);
    pith_observed_run_close(&run);
    v->constant = is;
    return st;
}

/* *none: there are no other weights, and nothing was run. */
static enum pith_status try_weight(struct sense *s, const struct pith_sense_trial *t, bool *none)
{
    const struct pith_weight_ref *w = &s->changed->ref;
    const float *is = s->m->values[w->value].constant->data;
    float *data = malloc((size_t)(w->rows * w->cols) * sizeof *data + 1);
    bool ok = data != NULL;
    if (ok && t->kind == PITH_SENSE_GIVEN)
        *none = !s->opts->given(s->opts->given_user, w, is, data);
    else if (ok)
        ok = t->kind == PITH_SENSE_PRUNE ? prune(is, w->rows * w->cols, t->amount, data)
                                         : round_rows(w, is, (uint32_t)t->amount, data);
    enum pith_status st = !ok     ? pith_error_no_memory(s->err)
                          : *none ? PITH_OK
                                  : run_with_weight(s, w->value, data);
    free(data);
    return st;
}

/* A value without statistics - infinite, a constant - stays as it is. */
static enum pith_status try_input(struct sense *s)
{
    s->grid = s->m->values[s->changed->input].grid;
    enum pith_status st = run_samples(s, &s->run, false);
    s->grid = NULL;
    return st;
}

static enum pith_status try_layer(struct sense *s, const struct kept_layer *l,
                                  const struct pith_sense_trial *t, struct pith_sense_cost *cost)
{
    const struct pith_calibrate_opts *o = s->opts->samples;
    bool none = false;
    s->changed = l;
    enum pith_status st =
        t->kind == PITH_SENSE_ACTIVATIONS ? try_input(s) : try_weight(s, t, &none);
    s->changed = NULL;
    cost->output_db = none ? (double)NAN : pith_sqnr_db(&s->answers);
    cost->layer_db = none ? (double)NAN : pith_difference_snr_db(&s->layer_sums);
    if (!none)
        (void)pith_sqnr_predictions(&s->answers, &cost->changed);
    if (!st && o->progress &&
        !o->progress(o->user, ++s->done, (uint64_t)s->n_layers * s->opts->n_trials))
        st = pith_error_fill(s->err, PITH_ERR_ARGUMENT, "interrupted");
    return st;
}

static enum pith_status choose_grids(struct sense *s, const struct pith_sense_trial *t)
{
    const struct pith_range_opts o = {.size_bytes = sizeof o,
                                      .method = PITH_RANGE_MSE,
                                      .bits = (uint32_t)t->amount,
                                      .per = PITH_RANGE_PER_TENSOR};
    return pith_choose_grids(s->m, &o, NULL, s->err);
}

static enum pith_status try_all(struct sense *s, struct pith_sense *r)
{
    enum pith_status st = PITH_OK;
    uint64_t changed;
    for (uint32_t t = 0; t < r->n_trials && !st; t++) {
        if (s->opts->trials[t].kind == PITH_SENSE_ACTIVATIONS)
            st = choose_grids(s, &s->opts->trials[t]);
        for (uint32_t i = 0; i < s->n_layers && !st; i++)
            st = try_layer(s, &s->layer[i], &s->opts->trials[t], &r->layer[i].cost[t]);
    }
    r->predictions = pith_sqnr_predictions(&s->answers, &changed);
    return st;
}

/* ---- before and after ------------------------------------------------------------------------ */

static enum pith_status check_options(const struct pith_sense_opts *o, struct pith_error *err)
{
    if (o->size_bytes != sizeof *o || !o->samples || o->n_trials == 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot sense: no samples or no trials");
    for (uint32_t i = 0; i < o->n_trials; i++) {
        double a = o->trials[i].amount;
        double most = o->trials[i].kind == PITH_SENSE_BITS ? 8 : 16;
        bool good = o->trials[i].kind == PITH_SENSE_PRUNE   ? a >= 0 && a <= 1
                    : o->trials[i].kind == PITH_SENSE_GIVEN ? a == 0 && o->given
                                                            : a >= 2 && a <= most && a == floor(a);
        if (!good)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot sense: amount %g of trial %u", a,
                                   i);
    }
    return PITH_OK;
}

static enum pith_status calibrate(struct sense *s)
{
    struct pith_calibrate_opts o = *s->opts->samples;
    bool wanted = false;
    for (uint32_t i = 0; i < s->opts->n_trials; i++)
        wanted |= s->opts->trials[i].kind == PITH_SENSE_ACTIVATIONS;
    o.progress = NULL;
    return wanted && !pith_model_has_stats(s->m) ? pith_calibrate(s->m, &o, NULL, s->err) : PITH_OK;
}

static enum pith_status check_outputs(const struct sense *s)
{
    for (uint32_t i = 0; i < s->m->n_outputs; i++)
        if (s->m->values[pith_answer_value(s->m, i)].type == PITH_F32)
            return PITH_OK;
    return pith_error_fill(s->err, PITH_ERR_UNSUPPORTED,
                           "cannot sense: no output is of floats, so no loss can be measured");
}

static enum pith_status find_layers(struct sense *s)
{
    struct pith_weight_ref *refs = calloc(s->m->n_nodes + (size_t)1, sizeof *refs);
    s->layer = calloc(s->m->n_nodes + (size_t)1, sizeof *s->layer);
    if (!refs || !s->layer) {
        free(refs);
        return pith_error_no_memory(s->err);
    }
    s->n_layers = pith_model_weights(s->m, refs);
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct pith_node *node = &s->m->nodes[refs[i].node];
        uint32_t input = node->in[0] == refs[i].value && node->n_in > 1 ? node->in[1] : node->in[0];
        s->layer[i] = (struct kept_layer){refs[i], input, node->out[0], {NULL, 0, 0}};
    }
    free(refs);
    return s->n_layers ? check_outputs(s)
                       : pith_error_fill(s->err, PITH_ERR_UNSUPPORTED,
                                         "cannot sense: no layer has float weights");
}

static enum pith_status make_room(const struct sense *s, struct pith_sense *r)
{
    *r = (struct pith_sense){.n_layers = s->n_layers, .n_trials = s->opts->n_trials};
    r->layer = calloc(s->n_layers, sizeof *r->layer);
    r->costs = calloc((size_t)s->n_layers * r->n_trials, sizeof *r->costs);
    if (!r->layer || !r->costs)
        return pith_error_no_memory(s->err);
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct pith_weight_ref *w = &s->layer[i].ref;
        r->layer[i] = (struct pith_sense_layer){w->layer, w->tensor, w->rows * w->cols,
                                                r->costs + (size_t)i * r->n_trials};
    }
    return PITH_OK;
}

static enum pith_status open(struct sense *s)
{
    enum pith_status st = pith_calibrate_check(s->m, s->opts->samples, s->err);
    if (!st)
        st = pith_model_fold_batch_norm(s->m, NULL, s->err);
    if (!st)
        st = find_layers(s);
    if (!st)
        st = calibrate(s);
    if (!st && pith_sqnr_open(&s->answers, s->m))
        st = pith_error_no_memory(s->err);
    if (!st)
        st = pith_observed_run_open(&s->run, s->m, s->opts->samples, s->err);
    return st ? st : run_samples(s, &s->run, true);
}

static void close(struct sense *s)
{
    pith_observed_run_close(&s->run);
    pith_sqnr_close(&s->answers);
    for (uint32_t i = 0; s->layer && i < s->n_layers; i++)
        free(s->layer[i].kept.x);
    free(s->layer);
    free(s->given.x);
}

enum pith_status pith_sense(struct pith_model *m, const struct pith_sense_opts *opts,
                            struct pith_sense *result, struct pith_error *err)
{
    if (!m || !opts || !result || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct sense s = {.m = m, .opts = opts, .err = err};
    struct pith_sense r = {0};
    enum pith_status st = check_options(opts, err);
    if (st)
        return st;
    s.run.see = see;
    s.run.user = &s;
    s.run.own_sizes = true;
    st = open(&s);
    if (!st)
        st = make_room(&s, &r);
    if (!st) {
        uint64_t total = pith_observed_run_samples(&s.run);
        r.samples = total < samples_of(&s) ? total : samples_of(&s);
        st = try_all(&s, &r);
    }
    close(&s);
    if (st)
        pith_sense_free(&r);
    else
        *result = r;
    return st;
}

void pith_sense_free(struct pith_sense *s)
{
    if (!s)
        return;
    free(s->layer);
    free(s->costs);
    *s = (struct pith_sense){0};
}

void pith_sense_order(const struct pith_sense *s, uint32_t trial, uint32_t *order)
{
    if (!s || !order)
        return;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        uint32_t at = i;
        for (; at > 0; at--) {
            if (s->layer[order[at - 1]].cost[trial].output_db <= s->layer[i].cost[trial].output_db)
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}
